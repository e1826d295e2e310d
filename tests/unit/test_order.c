// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of records, against a plain sort of what was pushed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record/order.h"

struct pushed {
	uint64_t time_ns;
	uint32_t source;
	uint64_t tag; /* the order of pushing */
};

static uint64_t random_next(uint64_t *random)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return *random >> 33;
}

/* A record whose bytes can be told from its tag alone. */
static uint32_t fill(uint8_t *bytes, uint32_t tag)
{
	uint32_t size = 8 + (uint32_t)(tag * 7919 % 300);

	for (uint32_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(tag + i * 3);
	return size;
}

static void is_record(const struct ordered *got, uint64_t time_ns, uint32_t source, uint32_t tag)
{
	uint8_t want[512];
	uint32_t size = fill(want, tag);

	assert_int_equal(got->time_ns, time_ns);
	assert_int_equal(got->source, source);
	assert_int_equal(got->tag, tag);
	assert_int_equal(got->size, size);
	assert_memory_equal(got->bytes, want, size);
}

static void push(struct order *o, uint32_t source, uint64_t time_ns, uint32_t tag)
{
	uint8_t bytes[512];
	uint32_t size = fill(bytes, tag);

	assert_int_equal(order_push(o, source, time_ns, bytes, size, tag, NULL), 0);
}

static void pop_is(struct order *o, uint64_t time_ns, uint32_t source, uint32_t tag)
{
	struct ordered got;

	assert_true(order_pop(o, &got));
	is_record(&got, time_ns, source, tag);
}

static void pop_is_none(struct order *o)
{
	struct ordered got;

	assert_false(order_pop(o, &got));
}

static void bounds_hold_back(void **state)
{
	struct order *o = order_new(2);

	(void)state;
	assert_non_null(o);
	push(o, 0, 10, 1);
	push(o, 1, 20, 2);
	pop_is_none(o);
	order_bound(o, 0, 15);
	pop_is_none(o); /* source 1 may still bring 5 */
	order_bound(o, 1, 9);
	pop_is_none(o);
	order_bound(o, 1, 10);
	pop_is(o, 10, 0, 1);
	pop_is_none(o);
	order_bound(o, 1, 100);
	pop_is_none(o); /* source 0 stands at 15 */
	order_bound(o, 0, 5);
	order_bound(o, 1, 5); /* bounds do not fall */
	order_bound(o, 0, 20);
	pop_is(o, 20, 1, 2);
	assert_int_equal(order_pending(o), 0);
	assert_int_equal(order_pending_bytes(o), 0);
	order_free(o);
	order_free(NULL);
}

static void a_source_that_ended_holds_nothing_back(void **state)
{
	struct order *o = order_new(3);

	(void)state;
	push(o, 1, UINT64_MAX, 1);
	order_bound(o, 0, UINT64_MAX);
	order_bound(o, 2, UINT64_MAX);
	pop_is_none(o);
	order_bound(o, 1, UINT64_MAX - 1);
	pop_is_none(o);
	order_bound(o, 1, UINT64_MAX);
	pop_is(o, UINT64_MAX, 1, 1);
	order_free(o);
}

static void time_zero_waits_for_all(void **state)
{
	struct order *o = order_new(2);

	(void)state;
	push(o, 1, 0, 1);
	pop_is_none(o);
	push(o, 0, 0, 2);
	order_bound(o, 0, 0);
	order_bound(o, 1, 0);
	pop_is(o, 0, 0, 2);
	pop_is(o, 0, 1, 1);
	order_free(o);
}

static void equal_times(void **state)
{
	struct order *o = order_new(3);

	(void)state;
	push(o, 2, 5, 1);
	push(o, 0, 5, 2);
	push(o, 1, 5, 3);
	push(o, 0, 5, 4);
	push(o, 2, 4, 5);
	push(o, 2, 5, 6);
	for (uint32_t i = 0; i < 3; i++)
		order_bound(o, i, 5);
	pop_is(o, 4, 2, 5);
	pop_is(o, 5, 0, 2);
	pop_is(o, 5, 0, 4);
	pop_is(o, 5, 1, 3);
	pop_is(o, 5, 2, 1);
	pop_is(o, 5, 2, 6);
	order_free(o);
}

static void late_ones_leave_at_once(void **state)
{
	struct order *o = order_new(2);

	(void)state;
	push(o, 0, 100, 1);
	push(o, 0, 300, 2);
	order_bound(o, 0, 200);
	order_bound(o, 1, 200);
	pop_is(o, 100, 0, 1);
	assert_int_equal(order_late(o), 0);
	push(o, 1, 100, 3); /* not below what was popped */
	push(o, 1, 99, 4);
	push(o, 1, 50, 5);
	push(o, 0, 60, 6);
	assert_int_equal(order_late(o), 3);
	assert_int_equal(order_pending(o), 5);
	pop_is(o, 99, 1, 4);
	pop_is(o, 50, 1, 5);
	pop_is(o, 60, 0, 6);
	pop_is(o, 100, 1, 3);
	pop_is_none(o);
	order_bound(o, 0, 300);
	order_bound(o, 1, 300);
	pop_is(o, 300, 0, 2);
	assert_int_equal(order_late(o), 3);
	order_free(o);
}

static void sources_that_are_not(void **state)
{
	struct order *o = order_new(1), *none = order_new(0);

	(void)state;
	assert_int_equal(order_push(o, 1, 0, "x", 1, 0, NULL), -EINVAL);
	order_bound(o, 1, 0);
	pop_is_none(o);
	assert_int_equal(order_push(none, 0, 0, "x", 1, 0, NULL), -EINVAL);
	pop_is_none(none);
	order_free(o);
	order_free(none);
}

static void records_of_any_size(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 7, 8, 65528, 300000, 262144, 262145, 16 };
	enum { NR = sizeof(sizes) / sizeof(sizes[0]) };
	uint8_t *bytes = malloc(300000);
	struct order *o = order_new(1);
	struct ordered got;
	size_t sum = 0;

	(void)state;
	assert_non_null(bytes);
	for (int i = 0; i < NR; i++) {
		memset(bytes, 'a' + i, sizes[i]);
		assert_int_equal(order_push(o, 0, (uint64_t)i, bytes, sizes[i], 0, NULL), 0);
		sum += sizes[i];
	}
	assert_int_equal(order_pending_bytes(o), sum);
	assert_int_equal(order_push(o, 0, 0, bytes, UINT32_MAX, 0, NULL), -ENOMEM);
	order_bound(o, 0, 100);
	for (int i = 0; i < NR; i++) {
		assert_true(order_pop(o, &got));
		assert_int_equal(got.size, sizes[i]);
		memset(bytes, 'a' + i, sizes[i]);
		assert_int_equal(memcmp(got.bytes, bytes, sizes[i]), 0);
	}
	pop_is_none(o);
	order_free(o);
	free(bytes);
}

/* Full of records that never leave: freed all the same. */
static void freed_while_full(void **state)
{
	struct order *o = order_new(4);
	struct ordered got;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++)
		push(o, i % 4, (i * 7919) % 1000, i);
	for (uint32_t i = 0; i < 4; i++)
		order_bound(o, i, 500);
	assert_true(order_pop(o, &got));
	push(o, 0, 1001, 1);
	assert_true(order_pop(o, &got));
	order_free(o);
}

static int compare(const void *a, const void *b)
{
	const struct pushed *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

enum { NR_RECORDS = 4000 };

/* Pushes all, then pops all: exactly what sorting gives. */
static void sorts_like_a_sort(uint32_t sources, uint64_t jitter, uint64_t seed)
{
	static struct pushed all[NR_RECORDS];
	struct order *o = order_new(sources);
	uint64_t random = seed;

	for (uint64_t i = 0; i < NR_RECORDS; i++) {
		all[i].source = (uint32_t)(random_next(&random) % sources);
		all[i].time_ns =
			1000000 + i * 10 / 4 - (jitter ? random_next(&random) % jitter : 0);
		all[i].tag = i;
		push(o, all[i].source, all[i].time_ns, i);
	}
	assert_int_equal(order_pending(o), NR_RECORDS);
	qsort(all, NR_RECORDS, sizeof(all[0]), compare);
	for (uint32_t i = 0; i < sources; i++)
		order_bound(o, i, UINT64_MAX);
	for (uint64_t i = 0; i < NR_RECORDS; i++)
		pop_is(o, all[i].time_ns, all[i].source, all[i].tag);
	pop_is_none(o);
	assert_int_equal(order_late(o), 0);
	order_free(o);
}

static void any_disorder_is_sorted(void **state)
{
	static const uint32_t sources[] = { 1, 2, 4, 7, 64, 300 };
	static const uint64_t jitters[] = { 0, 3, 20, 500, 1000000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		for (size_t j = 0; j < sizeof(jitters) / sizeof(jitters[0]); j++)
			sorts_like_a_sort(sources[i], jitters[j], i * 100 + j);
}

/* Pushes and pops in turn under honest bounds: in order, none late, none lost. */
static void in_turn_under_bounds(void **state)
{
	enum { SOURCES = 5, ROUNDS = 400 };
	struct order *o = order_new(SOURCES);
	uint64_t clock[SOURCES] = { 0 }, random = 3, tag = 0, popped = 0, least, last = 0;
	struct ordered got;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		least = UINT64_MAX;
		for (uint32_t s = 0; s < SOURCES; s++) {
			uint64_t nr = random_next(&random) % 20;

			/* Times lie in (bound, bound + 50]; then the bound moves up to 40. */
			for (uint64_t i = 0; i < nr; i++)
				push(o, s, clock[s] + 1 + random_next(&random) % 50, tag++);
			clock[s] += random_next(&random) % 40;
			order_bound(o, s, clock[s]);
			least = clock[s] < least ? clock[s] : least;
		}
		while (order_pop(o, &got)) {
			assert_true(got.time_ns >= last);
			assert_true(got.time_ns <= least);
			is_record(&got, got.time_ns, got.source, got.tag);
			last = got.time_ns;
			popped++;
		}
		assert_int_equal(order_pending(o), tag - popped);
	}
	for (uint32_t s = 0; s < SOURCES; s++)
		order_bound(o, s, UINT64_MAX);
	while (order_pop(o, &got))
		popped++;
	assert_int_equal(popped, tag);
	assert_int_equal(order_late(o), 0);
	order_free(o);
}

/* Late or not, each record pushed comes out once, unharmed. */
static void none_is_lost(void **state)
{
	enum { SOURCES = 3, NR = 20000 };
	static uint8_t seen[NR];
	struct order *o = order_new(SOURCES);
	uint64_t random = 11, nr = 0, late = 0, newest = 0;
	struct ordered got;

	(void)state;
	memset(seen, 0, sizeof(seen));
	for (uint64_t tag = 0; tag < NR; tag++) {
		uint64_t r = random_next(&random);

		push(o, (uint32_t)(r % SOURCES), tag + r % 5000 * (r % 37 == 0), tag);
		order_bound(o, (uint32_t)(random_next(&random) % SOURCES), tag);
		while (r % 3 == 0 && order_pop(o, &got)) {
			is_record(&got, got.time_ns, got.source, got.tag);
			assert_false(seen[got.tag]++);
			late += got.time_ns < newest;
			newest = got.time_ns > newest ? got.time_ns : newest;
			nr++;
		}
	}
	for (uint32_t s = 0; s < SOURCES; s++)
		order_bound(o, s, UINT64_MAX);
	while (order_pop(o, &got)) {
		assert_false(seen[got.tag]++);
		late += got.time_ns < newest;
		newest = got.time_ns > newest ? got.time_ns : newest;
		nr++;
	}
	assert_int_equal(nr, NR);
	assert_int_equal(late, order_late(o));
	assert_int_equal(order_pending(o), 0);
	order_free(o);
}

/* Of equal times the one pushed first, whatever the source, also where one strays far back. */
static void equal_times_by_arrival(void **state)
{
	enum { SOURCES = 5, NR = 500 };
	static const uint32_t sources[] = { 4, 0, 3, 1, 2 };
	struct order *o = order_new(SOURCES);
	struct ordered got;
	uint64_t last = 0;

	(void)state;
	order_ties_by_arrival(o);
	for (uint64_t tag = 0; tag < NR; tag++)
		push(o, sources[tag % SOURCES], 10 + tag % 3, tag);
	for (uint32_t s = 0; s < SOURCES; s++)
		order_bound(o, s, UINT64_MAX);
	for (int i = 0; i < NR; i++) {
		assert_true(order_pop(o, &got));
		if (i && got.tag < last)
			assert_int_equal(got.tag % 3, last % 3 + 1);
		last = got.tag;
	}
	order_free(o);
}

/* What leaves next can be asked for, wherever it lies. */
static void the_next_time_is_known(void **state)
{
	struct order *o = order_new(2);
	uint64_t next_ns = 1;

	(void)state;
	assert_false(order_next_ns(o, &next_ns));
	assert_int_equal(next_ns, 1);
	for (uint64_t tag = 0; tag < 100; tag++)
		push(o, 0, 1000 + tag, tag);
	assert_true(order_next_ns(o, &next_ns));
	assert_int_equal(next_ns, 1000);
	push(o, 1, 900, 100);
	assert_true(order_next_ns(o, &next_ns));
	assert_int_equal(next_ns, 900);
	push(o, 0, 800, 101); /* too far back for its queue */
	assert_true(order_next_ns(o, &next_ns));
	assert_int_equal(next_ns, 800);
	order_bound(o, 0, 900);
	order_bound(o, 1, 900);
	pop_is(o, 800, 0, 101);
	pop_is(o, 900, 1, 100);
	push(o, 0, 700, 102); /* late: it leaves at once */
	assert_true(order_next_ns(o, &next_ns));
	assert_int_equal(next_ns, 900);
	order_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_time_is_known),
		cmocka_unit_test(bounds_hold_back),
		cmocka_unit_test(a_source_that_ended_holds_nothing_back),
		cmocka_unit_test(time_zero_waits_for_all),
		cmocka_unit_test(equal_times),
		cmocka_unit_test(equal_times_by_arrival),
		cmocka_unit_test(late_ones_leave_at_once),
		cmocka_unit_test(sources_that_are_not),
		cmocka_unit_test(records_of_any_size),
		cmocka_unit_test(freed_while_full),
		cmocka_unit_test(any_disorder_is_sorted),
		cmocka_unit_test(in_turn_under_bounds),
		cmocka_unit_test(none_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
