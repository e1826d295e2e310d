// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/chunk.h"
#include "profile/store.h"

#define SECOND 1000000000ull

static struct stored sample_at(uint64_t time_ns, uint64_t weight, uint32_t i)
{
	return (struct stored){
		.time_ns = time_ns,
		.weight = weight,
		.stack = i % 1000,
		.task = i % 77,
		.cpu = (uint16_t)(i * 3),
		.event = (uint8_t)(i % 3),
		.flags = (uint8_t)(i % 64),
	};
}

static void assert_sample(const struct chunk *c, uint32_t i, const struct stored *s)
{
	assert_true(c->base_ns + c->time[i] == s->time_ns);
	assert_true(chunk_weight(c, i) == s->weight);
	assert_int_equal(c->stack[i], s->stack);
	assert_int_equal(c->task[i], s->task);
	assert_int_equal(c->cpu[i], s->cpu);
	assert_int_equal(c->event[i], s->event);
	assert_int_equal(c->flags[i], s->flags);
	assert_true(s->time_ns >= c->min_ns && s->time_ns <= c->max_ns);
	assert_true(c->reach_ns >= c->max_ns);
	assert_int_equal(c->flags_any & s->flags, s->flags);
	assert_true(c->events_differ || c->event[0] == s->event);
}

/* The store holds exactly samples[dropped..nr), in the order of adding, and its sums say so. */
static void assert_holds(const struct store *s, const struct stored *samples, size_t nr)
{
	size_t dropped = (size_t)store_dropped(s), at = dropped;
	struct chunks c = store_chunks(s);
	uint64_t oldest = UINT64_MAX, newest = 0;

	assert_int_equal(store_count(s) + dropped, nr);
	for (size_t i = 0; i < c.nr; i++) {
		assert_true(c.at[i].seq == at);
		for (uint32_t j = 0; j < c.at[i].nr; j++, at++) {
			assert_true(at < nr);
			assert_sample(&c.at[i], j, &samples[at]);
			oldest = samples[at].time_ns < oldest ? samples[at].time_ns : oldest;
			newest = samples[at].time_ns > newest ? samples[at].time_ns : newest;
		}
	}
	assert_int_equal(at, nr);
	assert_true(store_oldest_ns(s) == (nr > dropped ? oldest : 0));
	assert_true(store_newest_ns(s) == newest);
}

static void test_empty(void **state)
{
	struct store *s = store_new(1 << 20);

	(void)state;
	assert_holds(s, NULL, 0);
	store_mark(s, NULL, 0, NULL, 0);
	store_rename(s, NULL, NULL);
	store_clear(s);
	assert_holds(s, NULL, 0);
	store_free(s);
	store_free(NULL);
}

/* Fills @samples and a store with them; a step of time each, some late, weights by @differ. */
static struct store *fill(size_t cap_bytes, struct stored *samples, size_t nr, uint64_t step_ns,
			  uint64_t late_ns, uint32_t differ)
{
	struct store *s = store_new(cap_bytes);

	for (size_t i = 0; i < nr; i++) {
		uint64_t time = 1000 * SECOND + i * step_ns;

		if (late_ns && i % 5 == 4)
			time -= late_ns;
		samples[i] = sample_at(time, 1000 + i % differ, (uint32_t)i);
		assert_int_equal(store_add(s, &samples[i]), 0);
	}
	return s;
}

static void test_keeps_columns(void **state)
{
	enum { NR = 100000 };
	struct stored *samples = calloc(NR, sizeof(*samples));
	struct store *s;

	(void)state;
	s = fill(64 << 20, samples, NR, 100000, 0, 1);
	assert_holds(s, samples, NR);
	assert_true(store_bytes(s) < NR * 16.0 * 1.4);
	store_free(s);
	s = fill(64 << 20, samples, NR, 100000, 0, 17);
	assert_holds(s, samples, NR);
	assert_true(store_bytes(s) > NR * 20.0 && store_bytes(s) < NR * 24.0 * 1.4);
	store_free(s);
	free(samples);
}

/* A chunk whose weights begin to differ keeps those before; the next one is equal again. */
static void test_weights_begin_to_differ(void **state)
{
	enum { NR = 3000 };
	struct stored *samples = calloc(NR, sizeof(*samples));
	struct store *s = store_new(1 << 16);
	struct chunks c;
	size_t with = 0;

	(void)state;
	for (uint32_t i = 0; i < NR; i++) {
		samples[i] = sample_at(SECOND + i, i == 2700 ? 5 : 4, i);
		assert_int_equal(store_add(s, &samples[i]), 0);
	}
	assert_holds(s, samples, NR);
	c = store_chunks(s);
	for (size_t i = 0; i < c.nr; i++)
		with += c.at[i].weights != NULL;
	assert_true(c.nr > 2);
	assert_int_equal(with, 1);
	store_free(s);
	free(samples);
}

static void test_late(void **state)
{
	enum { NR = 5000 };
	struct stored *samples = calloc(NR, sizeof(*samples));
	struct store *s;
	struct chunks c;

	(void)state;
	/* A little late costs nothing. */
	s = fill(64 << 20, samples, NR, 1000, SECOND / 3, 1);
	assert_holds(s, samples, NR);
	assert_int_equal(store_chunks(s).nr, 1);
	store_free(s);
	/* Very late is exact as well, and a search from the newest back finds it. */
	s = fill(64 << 20, samples, NR, SECOND / 100, 60 * SECOND, 1);
	assert_holds(s, samples, NR);
	c = store_chunks(s);
	for (size_t i = 0; i < NR; i += 500) {
		size_t from = chunks_from(&c, samples[i].time_ns + 1);

		for (size_t j = 0; j < from; j++)
			assert_true(c.at[j].max_ns <= samples[i].time_ns);
	}
	assert_int_equal(chunks_from(&c, 0), 0);
	assert_int_equal(chunks_from(&c, UINT64_MAX), c.nr);
	store_free(s);
	free(samples);
}

/* Seldom samples and jumps of time beyond 32 bits of nanoseconds. */
static void test_far_apart(void **state)
{
	enum { NR = 500 };
	struct stored *samples = calloc(NR, sizeof(*samples));
	struct store *s = fill(1 << 20, samples, NR, 3 * SECOND, 0, 2);

	(void)state;
	assert_holds(s, samples, NR);
	assert_true(store_bytes(s) < NR * 24 + 300 * 200 + 10000);
	store_free(s);
	s = store_new(1 << 20);
	samples[0] = sample_at(0, 1, 0);
	samples[1] = sample_at(UINT64_MAX, 1, 1);
	samples[2] = sample_at(UINT32_MAX, 1, 2);
	samples[3] = sample_at(0, 1, 3);
	samples[4] = sample_at(UINT32_MAX + 1ull, 1, 4);
	for (int i = 0; i < 5; i++)
		assert_int_equal(store_add(s, &samples[i]), 0);
	assert_holds(s, samples, 5);
	store_free(s);
	free(samples);
}

static void test_cap(void **state)
{
	enum { NR = 400000 };
	static const size_t caps[] = { 1, 20000, 5 << 19, 4 << 20 };
	struct stored *samples = calloc(NR, sizeof(*samples));

	(void)state;
	for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++) {
		for (uint32_t differ = 1; differ < 3; differ++) {
			struct store *s = fill(caps[i], samples, NR, 20000, 0, differ);

			assert_holds(s, samples, NR);
			assert_true(store_dropped(s) > 0);
			assert_true(store_count(s) > 0);
			if (caps[i] > 10000) {
				assert_true(store_bytes(s) <= caps[i]);
				assert_true(store_bytes(s) > caps[i] / 2);
			}
			store_clear(s);
			assert_int_equal(store_count(s), 0);
			assert_true(store_bytes(s) < 20000);
			store_free(s);
		}
	}
	free(samples);
}

static void test_mark_and_rename(void **state)
{
	enum { NR = 2000 };
	struct stored *samples = calloc(NR, sizeof(*samples));
	struct store *s = fill(1 << 16, samples, NR, 1000, 0, 1);
	uint8_t used[500] = { 0 }, tasks[100] = { 0 };
	uint32_t stacks[1000], task_map[77];

	(void)state;
	store_mark(s, used, sizeof(used), tasks, sizeof(tasks)); /* ids beyond are let be */
	for (size_t i = 0; i < sizeof(used); i++)
		assert_int_equal(used[i], 1);
	for (size_t i = 0; i < sizeof(tasks); i++)
		assert_int_equal(tasks[i], i < 77);
	for (uint32_t i = 0; i < 1000; i++)
		stacks[i] = 5000 - i;
	for (uint32_t i = 0; i < 77; i++)
		task_map[i] = i * 2;
	store_rename(s, stacks, task_map);
	for (size_t i = 0; i < NR; i++) {
		samples[i].stack = stacks[samples[i].stack];
		samples[i].task = task_map[samples[i].task];
	}
	assert_holds(s, samples, NR);
	store_free(s);
	free(samples);
}

static void test_full_stack_is_none(void **state)
{
	struct store *s = store_new(1 << 20);
	struct stored sample = sample_at(5, 1, 0);

	(void)state;
	sample.stack = STACKS_FULL;
	assert_int_equal(store_add(s, &sample), 0);
	sample.stack = STACKS_NONE;
	assert_holds(s, &sample, 1);
	store_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_keeps_columns),
		cmocka_unit_test(test_weights_begin_to_differ),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_far_apart),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_mark_and_rename),
		cmocka_unit_test(test_full_stack_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
