// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/map.h"
#include "base/vec.h"

static void vec_grows_and_keeps(void **state)
{
	VEC(uint64_t) v = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(vec_push(&v, i * 3), 0);
	assert_int_equal(v.nr, 1000);
	assert_true(v.cap >= 1000);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(v.at[i], i * 3);
	vec_clear(&v);
	assert_int_equal(v.nr, 0);
	assert_non_null(v.at);
	vec_done(&v);
	assert_null(v.at);
	assert_int_equal(v.cap, 0);
	vec_done(&v);
}

static void vec_refuses_what_cannot_be(void **state)
{
	struct {
		struct {
			char bytes[4096];
		} * at;
		size_t nr, cap;
	} v = { 0 };

	(void)state;
	assert_int_equal(vec_reserve(&v, 3), 0);
	assert_int_equal(vec_reserve(&v, SIZE_MAX / 4096), -ENOMEM);
	assert_int_equal(vec_reserve(&v, SIZE_MAX), -ENOMEM);
	assert_true(v.cap >= 3 && v.cap < 100);
	vec_done(&v);
}

static void map_of_nothing(void **state)
{
	struct map m = { 0 };
	size_t pos = 0;

	(void)state;
	assert_null(map_find(&m, 0));
	assert_false(map_remove(&m, 0));
	assert_null(map_next(&m, &pos));
	map_done(&m);
	map_done(NULL);
}

static void map_takes_any_key(void **state)
{
	static const uint64_t keys[] = { 0, 1, UINT64_MAX, 1ull << 63, 0xffffffff };
	struct map m = { 0 };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(map_set(&m, keys[i], i), 0);
	assert_int_equal(map_set(&m, 0, 77), 0);
	assert_int_equal(m.nr, 5);
	assert_int_equal(*map_find(&m, 0), 77);
	for (size_t i = 1; i < 5; i++)
		assert_int_equal(*map_find(&m, keys[i]), i);
	assert_null(map_find(&m, 2));
	map_done(&m);
}

/* Against a plain table of the same keys, over many changes. */
static void map_survives_churn(void **state)
{
	enum { KEYS = 512, STEPS = 200000 };
	static uint64_t want[KEYS];
	static uint8_t have[KEYS];
	struct map m = { 0 };
	size_t nr = 0;
	uint64_t random = 1;

	(void)state;
	for (size_t step = 0; step < STEPS; step++) {
		/* Grows for a while, shrinks for a while. */
		unsigned keep = step / 20000 % 2 ? 3 : 13;
		size_t k;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		k = (random >> 33) % KEYS;
		if ((random >> 20) % 16 < keep) {
			assert_int_equal(map_set(&m, k << 12, step), 0);
			nr += !have[k];
			have[k] = 1;
			want[k] = step;
		} else {
			assert_int_equal(map_remove(&m, k << 12), have[k]);
			nr -= have[k];
			have[k] = 0;
		}
		assert_int_equal(m.nr, nr);
		k = (random >> 45) % KEYS;
		if (have[k])
			assert_int_equal(*map_find(&m, k << 12), want[k]);
		else
			assert_null(map_find(&m, k << 12));
	}
	map_done(&m);
}

static void map_walk_meets_each_once(void **state)
{
	uint8_t seen[300] = { 0 };
	struct map m = { 0 };
	const struct map_entry *e;
	size_t pos = 0, nr = 0;

	(void)state;
	for (uint64_t i = 0; i < 300; i++)
		assert_int_equal(map_set(&m, i * 4096, i), 0);
	while ((e = map_next(&m, &pos))) {
		assert_int_equal(e->key, e->value * 4096);
		assert_false(seen[e->value]);
		seen[e->value] = 1;
		nr++;
	}
	assert_int_equal(nr, 300);
	map_done(&m);
}

static void map_gives_memory_back(void **state)
{
	struct map m = { 0 };
	size_t most;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(map_set(&m, i, i), 0);
	most = m.cap;
	for (uint64_t i = 10; i < 10000; i++)
		assert_true(map_remove(&m, i));
	assert_true(m.cap < most / 64);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(*map_find(&m, i), i);
	for (uint64_t i = 0; i < 10; i++)
		assert_true(map_remove(&m, i));
	assert_null(m.at);
	assert_int_equal(m.cap, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vec_grows_and_keeps),
		cmocka_unit_test(vec_refuses_what_cannot_be),
		cmocka_unit_test(map_of_nothing),
		cmocka_unit_test(map_takes_any_key),
		cmocka_unit_test(map_survives_churn),
		cmocka_unit_test(map_walk_meets_each_once),
		cmocka_unit_test(map_gives_memory_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
