// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/stacks.h"

#define MAX_DEPTH 24

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static size_t random_stack(uint32_t *seed, struct frame *frames)
{
	size_t nr = random_next(seed) % (MAX_DEPTH + 1);

	for (size_t i = 0; i < nr; i++)
		frames[i] = (struct frame){
			.offset = random_next(seed) % 3 ? 7 : ~(uint64_t)(random_next(seed) % 5),
			.image = random_next(seed) % 2 ? UINT32_MAX : 3,
		};
	return nr;
}

/* The node spells the stack, innermost first, and ends at the root. */
static void assert_spells(const struct stacks *s, uint32_t node, const struct frame *frames,
			  size_t nr)
{
	const struct stack_node *nodes = stacks_nodes(s);

	for (size_t i = 0; i < nr; i++) {
		assert_true(node > 0 && node < stacks_count(s));
		assert_true(nodes[node].offset == frames[i].offset);
		assert_int_equal(nodes[node].image, frames[i].image);
		assert_true(nodes[node].parent < node);
		node = nodes[node].parent;
	}
	assert_int_equal(node, STACKS_NONE);
}

static void test_empty(void **state)
{
	struct stacks *s = stacks_new();

	(void)state;
	assert_non_null(s);
	assert_int_equal(stacks_count(s), 1);
	assert_int_equal(stacks_add(s, NULL, 0), STACKS_NONE);
	assert_int_equal(stacks_count(s), 1);
	stacks_free(s);
	stacks_free(NULL);
}

static void test_shares_callers(void **state)
{
	struct stacks *s = stacks_new();
	struct frame a[] = { { 3, 1 }, { 2, 1 }, { 1, 1 } };
	struct frame b[] = { { 4, 1 }, { 2, 1 }, { 1, 1 } };
	struct frame c[] = { { 3, 1 }, { 2, 2 }, { 1, 1 } };
	uint32_t na, nb;

	(void)state;
	na = stacks_add(s, a, 3);
	nb = stacks_add(s, b, 3);
	assert_int_equal(stacks_count(s), 5);
	assert_int_not_equal(na, nb);
	assert_int_equal(stacks_nodes(s)[na].parent, stacks_nodes(s)[nb].parent);
	assert_int_equal(stacks_add(s, a + 1, 2), stacks_nodes(s)[na].parent);
	assert_int_equal(stacks_count(s), 5);
	stacks_add(s, c, 3);
	assert_int_equal(stacks_count(s),
			 7); /* the same offset of another image is another frame */
	assert_int_equal(stacks_add(s, a, 3), na);
	stacks_free(s);
}

/* The path of the stack before must not leak into the next one. */
static void test_prefix_of_last(void **state)
{
	struct stacks *s = stacks_new();
	struct frame deep[] = { { 5, 1 }, { 4, 1 }, { 3, 1 }, { 2, 1 }, { 1, 1 } };
	struct frame other[] = { { 5, 1 }, { 4, 1 }, { 9, 1 }, { 2, 1 }, { 1, 1 } };

	(void)state;
	for (int round = 0; round < 3; round++) {
		assert_spells(s, stacks_add(s, deep, 5), deep, 5);
		assert_spells(s, stacks_add(s, deep + 3, 2), deep + 3, 2);
		assert_spells(s, stacks_add(s, other, 5), other, 5);
		assert_int_equal(stacks_add(s, NULL, 0), STACKS_NONE);
		assert_spells(s, stacks_add(s, other, 5), other, 5);
	}
	assert_int_equal(stacks_count(s), 1 + 5 + 3);
	stacks_free(s);
}

static void test_random(void **state)
{
	enum { NR = 5000 };
	struct stacks *s = stacks_new();
	struct frame(*frames)[MAX_DEPTH] = calloc(NR, sizeof(*frames));
	uint32_t *node = calloc(NR, sizeof(*node));
	size_t *nr = calloc(NR, sizeof(*nr)), count, bytes;
	uint32_t seed = 42;

	(void)state;
	for (size_t i = 0; i < NR; i++) {
		nr[i] = random_stack(&seed, frames[i]);
		node[i] = stacks_add(s, frames[i], nr[i]);
	}
	count = stacks_count(s);
	bytes = stacks_bytes(s);
	assert_true(count > 10000);
	assert_true(bytes < count * 40);
	for (size_t i = 0; i < NR; i++) {
		size_t j = (i * 7919) % NR;

		assert_spells(s, node[j], frames[j], nr[j]);
		assert_int_equal(stacks_add(s, frames[j], nr[j]), node[j]);
	}
	assert_int_equal(stacks_count(s), count);
	free(frames);
	free(node);
	free(nr);
	stacks_free(s);
}

static void test_prune(void **state)
{
	enum { NR = 2000 };
	struct stacks *s = stacks_new();
	struct frame(*frames)[MAX_DEPTH] = calloc(NR, sizeof(*frames));
	uint32_t *node = calloc(NR, sizeof(*node)), *map;
	size_t *nr = calloc(NR, sizeof(*nr)), count, bytes;
	uint32_t seed = 7, before = 0;
	uint8_t *keep;

	(void)state;
	for (size_t i = 0; i < NR; i++) {
		nr[i] = random_stack(&seed, frames[i]);
		node[i] = stacks_add(s, frames[i], nr[i]);
	}
	count = stacks_count(s);
	bytes = stacks_bytes(s);
	keep = calloc(count, 1);
	map = malloc(count * sizeof(*map));
	for (size_t i = 0; i < NR; i += 10)
		keep[node[i]] = 1;
	assert_int_equal(stacks_prune(s, keep, map), 0);
	assert_true(stacks_count(s) < count / 2);
	assert_true(stacks_bytes(s) < bytes);
	assert_int_equal(map[0], 0);
	for (size_t i = 1; i < count; i++) {
		assert_true(!map[i] || map[i] > before); /* the same order */
		before = map[i] ? map[i] : before;
	}
	assert_int_equal(before, stacks_count(s) - 1);
	for (size_t i = 0; i < NR; i += 10) {
		assert_spells(s, map[node[i]], frames[i], nr[i]);
		assert_int_equal(stacks_add(s, frames[i], nr[i]), map[node[i]]);
	}
	assert_int_equal(stacks_count(s), before + 1);
	for (size_t i = 0; i < NR; i++) /* what went comes back */
		assert_spells(s, stacks_add(s, frames[i], nr[i]), frames[i], nr[i]);
	assert_int_equal(stacks_count(s), count);
	memset(keep, 0, count);
	assert_int_equal(stacks_prune(s, keep, map), 0);
	assert_int_equal(stacks_count(s), 1);
	free(keep);
	free(map);
	free(frames);
	free(node);
	free(nr);
	stacks_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),          cmocka_unit_test(test_shares_callers),
		cmocka_unit_test(test_prefix_of_last), cmocka_unit_test(test_random),
		cmocka_unit_test(test_prune),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
