/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "recall.h"

enum { MANY = 40000, EACH = 8, LONG = 4096 };

static const struct recall_ground ground = { .mappings = 7, .kind = 1, .cpumode = CPUMODE_USER };

static struct u64s chain_of(const uint64_t *words, uint32_t nr)
{
	return (struct u64s){ .at = (const uint8_t *)words, .nr = nr };
}

static void keep(struct recall *r, const struct recall_ground *g, const struct u64s *chain,
		 uint32_t stack)
{
	struct recalled what = { .stack = stack, .end = 1 }, got;

	assert_false(recall_find(r, g, chain, &got));
	recall_keep(r, chain, &what);
	assert_true(recall_find(r, g, chain, &got));
	assert_int_equal(got.stack, stack);
	assert_int_equal(got.end, 1);
}

/* Of all lengths, what differs in one word, in the length or in the ground is another chain. */
static void test_all_of_it_counts(void **state)
{
	struct recall *r = recall_new();
	struct recalled got;

	(void)state;
	assert_non_null(r);
	for (uint32_t nr = 1; nr <= 9; nr++) {
		uint64_t words[10] = { 0 };
		const struct u64s chain = chain_of(words, nr), longer = chain_of(words, nr + 1);
		struct recall_ground other = ground;

		words[0] = nr;
		keep(r, &ground, &chain, nr);
		for (uint32_t i = 0; i < nr; i++) {
			words[i] ^= 1ull << 40;
			assert_false(recall_find(r, &ground, &chain, &got));
			words[i] ^= 1ull << 40;
		}
		assert_false(recall_find(r, &ground, &longer, &got));
		other.mappings++;
		assert_false(recall_find(r, &other, &chain, &got));
		other = ground;
		other.kind++;
		assert_false(recall_find(r, &other, &chain, &got));
		other = ground;
		other.cpumode = CPUMODE_KERNEL;
		assert_false(recall_find(r, &other, &chain, &got));
		assert_true(recall_find(r, &ground, &chain, &got));
		assert_int_equal(got.stack, nr);
	}
	recall_free(r);
}

/* More than there is room for: what is told is right, what came last is known. */
static void test_old_ones_give_way(void **state)
{
	struct recall *r = recall_new();
	uint64_t words[EACH] = { 0 };
	const struct u64s chain = chain_of(words, EACH);
	struct recalled got;
	uint32_t known = 0;

	(void)state;
	assert_non_null(r);
	for (words[3] = 0; words[3] < MANY; words[3]++)
		keep(r, &ground, &chain, (uint32_t)words[3]);
	for (words[3] = 0; words[3] < MANY; words[3]++)
		if (recall_find(r, &ground, &chain, &got)) {
			assert_int_equal(got.stack, words[3]);
			known++;
		}
	assert_true(known > 1000 && known < MANY / 2);
	words[3] = MANY - 1;
	assert_true(recall_find(r, &ground, &chain, &got));
	recall_free(r);
}

static void test_forgotten(void **state)
{
	struct recall *r = recall_new();
	uint64_t words[EACH] = { 1, 2, 3 };
	const struct u64s chain = chain_of(words, EACH);

	(void)state;
	assert_non_null(r);
	for (uint32_t i = 0; i < 3; i++) {
		keep(r, &ground, &chain, i);
		recall_forget(r);
	}
	recall_free(r);
}

/* Chains that would fill the room for all others are not kept, nor is one without words. */
static void test_sizes_refused(void **state)
{
	struct recall *r = recall_new();
	uint64_t *words = calloc(LONG, sizeof(*words));
	const struct u64s very_long = chain_of(words, LONG), none = chain_of(words, 0);
	const struct recalled what = { .stack = 1 };
	struct recalled got;

	(void)state;
	assert_true(r && words);
	assert_false(recall_find(r, &ground, &very_long, &got));
	recall_keep(r, &very_long, &what);
	assert_false(recall_find(r, &ground, &very_long, &got));
	assert_false(recall_find(r, &ground, &none, &got));
	recall_keep(r, &none, &what);
	assert_false(recall_find(r, &ground, &none, &got));
	free(words);
	recall_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_it_counts),
		cmocka_unit_test(test_old_ones_give_way),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_sizes_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
