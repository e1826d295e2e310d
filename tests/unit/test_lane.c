/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lane: alone, then between two threads (the stress tests are what ThreadSanitizer runs). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ring/lane.h"

static void expect(struct lane *l, const char *text, uint32_t kind)
{
	struct lane_record rec;

	assert_true(lane_peek(l, &rec));
	assert_int_equal(rec.size, strlen(text));
	assert_int_equal(rec.kind, kind);
	assert_int_equal((uintptr_t)rec.bytes % 8, 0);
	assert_memory_equal(rec.bytes, text, rec.size);
}

static bool push(struct lane *l, const char *text, uint32_t kind)
{
	return lane_push(l, text, (uint32_t)strlen(text), kind);
}

static void test_commit_publishes(void **state)
{
	struct lane *l = lane_new(256);
	struct lane_record rec;

	(void)state;
	assert_true(push(l, "one", 1));
	assert_true(push(l, "", 2));
	assert_false(lane_peek(l, &rec));
	assert_true(lane_empty(l));
	assert_int_equal(lane_commit(l), 0);
	assert_false(lane_empty(l));
	expect(l, "one", 1);
	expect(l, "", 2);
	assert_false(lane_empty(l));
	lane_release(l);
	assert_true(lane_empty(l));
	/* Finding no more releases as well. */
	push(l, "three", 3);
	assert_int_equal(lane_commit(l), 24);
	expect(l, "three", 3);
	assert_false(lane_empty(l));
	assert_false(lane_peek(l, &rec));
	assert_true(lane_empty(l));
	assert_int_equal(lane_tail(l), lane_head(l));
	lane_free(l);
	lane_free(NULL);
}

static void test_full_refuses_and_keeps(void **state)
{
	struct lane *l = lane_new(256);

	(void)state;
	/* 16 bytes each: 16 fill it to the last byte. */
	for (uint32_t i = 0; i < 16; i++)
		assert_true(push(l, "12345678", i));
	assert_false(push(l, "", 99));
	lane_commit(l);
	for (uint32_t i = 0; i < 4; i++)
		expect(l, "12345678", i);
	assert_false(push(l, "12345678", 99));
	lane_release(l);
	assert_true(push(l, "abcdefgh", 16));
	lane_commit(l);
	for (uint32_t i = 4; i < 16; i++)
		expect(l, "12345678", i);
	expect(l, "abcdefgh", 16);
	lane_free(l);
}

static void test_spare(void **state)
{
	struct lane *l = lane_new(256);

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		assert_non_null(lane_reserve(l, 8, i, 64));
	assert_null(lane_reserve(l, 8, 12, 64));
	assert_non_null(lane_reserve(l, 56, 12, 0));
	assert_null(lane_reserve(l, 0, 13, 0));
	lane_free(l);
}

static void test_sizes(void **state)
{
	struct lane *l = lane_new(100); /* becomes 128 */

	(void)state;
	assert_int_equal(l->size, 128);
	assert_true(lane_can_hold(l, 56));
	assert_false(lane_can_hold(l, 57));
	assert_null(lane_reserve(l, 121, 0, 0));
	assert_null(lane_reserve(l, UINT32_MAX, 0, 0));
	assert_non_null(lane_reserve(l, 120, 0, 0));
	lane_free(l);
	assert_null(lane_new(SIZE_MAX));
}

/* Whatever lane_can_hold() says, fits from any place of an empty lane, in one piece. */
static void test_wrap_at_every_place(void **state)
{
	char text[57];

	(void)state;
	for (uint32_t lead = 0; lead < 128; lead += 8) {
		struct lane *l = lane_new(128);
		struct lane_record rec;

		if (lead) {
			assert_non_null(lane_reserve(l, lead - 8, 1, 0));
			lane_commit(l);
			assert_true(lane_peek(l, &rec));
			lane_release(l);
		}
		memset(text, 'a' + (int)(lead / 8), 56);
		text[56] = 0;
		assert_true(push(l, text, lead));
		lane_commit(l);
		expect(l, text, lead);
		assert_false(lane_peek(l, &rec));
		lane_release(l);
		assert_true(lane_empty(l));
		lane_free(l);
	}
}

static void test_wakes_once(void **state)
{
	struct lane *l = lane_new(256);
	struct lane_record rec;
	uint64_t from;

	(void)state;
	from = lane_commit(l);
	assert_false(lane_wants_wake(l, from)); /* nothing new */
	push(l, "12345678", 0);
	from = lane_commit(l);
	assert_true(lane_wants_wake(l, from)); /* was empty */
	for (int i = 0; i < 7; i++) {
		push(l, "12345678", 0);
		from = lane_commit(l);
		assert_false(lane_wants_wake(l, from)); /* up to 128 bytes */
	}
	push(l, "12345678", 0);
	from = lane_commit(l);
	assert_true(lane_wants_wake(l, from)); /* past half */
	push(l, "12345678", 0);
	from = lane_commit(l);
	assert_false(lane_wants_wake(l, from));
	/* Emptied between the commit and the question: the consumer may have looked in vain for
	 * what goes with it. */
	push(l, "12345678", 0);
	from = lane_commit(l);
	while (lane_peek(l, &rec))
		continue;
	assert_true(lane_wants_wake(l, from));
	/*
	 * A consumer that took all and is about to look again is not asleep yet; one that
	 * found nothing may be.
	 */
	push(l, "12345678", 0);
	lane_commit(l);
	assert_true(lane_peek(l, &rec));
	push(l, "12345678", 0);
	from = lane_commit(l);
	assert_false(lane_wants_wake(l, from));
	assert_true(lane_peek(l, &rec));
	assert_false(lane_peek(l, &rec));
	assert_true(lane_empty(l));
	push(l, "12345678", 0);
	from = lane_commit(l);
	assert_true(lane_wants_wake(l, from));
	lane_free(l);
}

struct pair {
	struct lane *lane;
	uint64_t nr;
	int wake; /* -1: both sides spin */
};

static uint32_t size_of(uint64_t serial)
{
	return 8 + (uint32_t)((serial * 2654435761u) >> 7) % 200;
}

static void *produce(void *arg)
{
	struct pair *p = arg;
	uint64_t from;

	for (uint64_t i = 0; i < p->nr;) {
		uint64_t batch = i + 1 + i % 13;

		for (; i < p->nr && i < batch; i++) {
			uint8_t *at = lane_reserve(p->lane, size_of(i), (uint32_t)(i & 0xffff), 0);

			if (!at)
				break;
			memset(at, (int)(i & 0xff), size_of(i));
			memcpy(at, &i, sizeof(i));
		}
		from = lane_commit(p->lane);
		if (lane_wants_wake(p->lane, from) && p->wake >= 0) {
			uint64_t one = 1;

			if (write(p->wake, &one, sizeof(one)) != sizeof(one))
				abort();
		}
		if (i < batch)
			sched_yield();
	}
	return NULL;
}

static void check_record(const struct lane_record *rec, uint64_t serial)
{
	const uint8_t *at = rec->bytes;
	uint64_t found;

	assert_int_equal(rec->size, size_of(serial));
	assert_int_equal(rec->kind, serial & 0xffff);
	memcpy(&found, at, sizeof(found));
	assert_int_equal(found, serial);
	assert_int_equal(at[rec->size - 1], rec->size == 8 ? found >> 56 : serial & 0xff);
}

/* Sleeps until woken; a wake-up that was lost is a failure here. */
static void sleep_on(int wake)
{
	struct pollfd p = { .fd = wake, .events = POLLIN };
	uint64_t n;

	if (wake < 0) {
		sched_yield();
		return;
	}
	assert_int_equal(poll(&p, 1, 20000), 1);
	assert_int_equal(read(wake, &n, sizeof(n)), sizeof(n));
}

static void stress(uint64_t nr, size_t lane_bytes, int wake)
{
	struct pair p = { .lane = lane_new(lane_bytes), .nr = nr, .wake = wake };
	struct lane_record rec;
	pthread_t producer;
	uint64_t i = 0;

	assert_int_equal(pthread_create(&producer, NULL, produce, &p), 0);
	while (i < nr) {
		uint64_t end = i + 29;

		while (i < end && lane_peek(p.lane, &rec))
			check_record(&rec, i++);
		if (i == end)
			lane_release(p.lane);
		else if (i < nr)
			sleep_on(wake);
	}
	assert_false(lane_peek(p.lane, &rec));
	pthread_join(producer, NULL);
	assert_true(lane_empty(p.lane));
	lane_free(p.lane);
}

static void test_two_threads(void **state)
{
	(void)state;
	stress(60000, 4096, -1);
	stress(60000, 1 << 18, -1);
}

static void test_two_threads_asleep(void **state)
{
	int wake = eventfd(0, EFD_CLOEXEC);

	(void)state;
	stress(30000, 4096, wake);
	close(wake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commit_publishes),
		cmocka_unit_test(test_full_refuses_and_keeps),
		cmocka_unit_test(test_spare),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_wrap_at_every_place),
		cmocka_unit_test(test_wakes_once),
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_two_threads_asleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
