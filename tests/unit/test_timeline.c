// SPDX-License-Identifier: GPL-2.0-or-later
/* Both forms of the timeline against a plain sum over all samples. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/query.h"
#include "profile/timeline.h"

#define MS 1000000ull
#define NR_BUCKETS 50

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static struct stored random_sample(uint32_t *seed, uint64_t *now_ns)
{
	uint64_t late = random_next(seed) % 10 ? 0 : random_next(seed) % 1500 * MS;

	*now_ns += random_next(seed) % (20 * MS);
	return (struct stored){
		.time_ns = *now_ns > late ? *now_ns - late : 0,
		.weight = random_next(seed) % 3,
		.event = (uint8_t)(random_next(seed) % 2),
		.flags = (uint8_t)(1u << random_next(seed) % 4),
	};
}

static uint64_t sum(const struct stored *samples, size_t nr, const struct query *q)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct stored *s = &samples[i];

		if (s->time_ns >= q->from_ns && s->time_ns < q->to_ns && !(s->flags & q->hide) &&
		    (q->event == QUERY_ANY_EVENT || s->event == q->event))
			weight += s->weight;
	}
	return weight;
}

static void test_buckets_of_a_window(void **state)
{
	enum { NR = 4000 };
	struct stored *samples = calloc(NR, sizeof(*samples));
	struct store *s = store_new(1 << 20);
	uint64_t now = 5000 * MS, buckets[NR_BUCKETS];
	uint32_t seed = 11;

	(void)state;
	for (size_t i = 0; i < NR; i++) {
		samples[i] = random_sample(&seed, &now);
		assert_int_equal(store_add(s, &samples[i]), 0);
	}
	for (int round = 0; round < 20; round++) {
		uint64_t width = 1 + random_next(&seed) % (200 * MS);
		struct query q = {
			.from_ns = random_next(&seed) % 40000 * MS,
			.event = round % 3 == 2 ? QUERY_ANY_EVENT : (uint8_t)(round % 3),
			.hide = (uint8_t)(random_next(&seed) % 16),
		};
		struct query one = q;

		q.to_ns = q.from_ns + NR_BUCKETS * width;
		query_timeline(s, &q, buckets, NR_BUCKETS);
		for (size_t i = 0; i < NR_BUCKETS; i++) {
			one.from_ns = q.from_ns + i * width;
			one.to_ns = one.from_ns + width;
			assert_true(buckets[i] == sum(samples, NR, &one));
		}
		q.to_ns = q.from_ns; /* nothing, and no division by it */
		query_timeline(s, &q, buckets, NR_BUCKETS);
		assert_int_equal(buckets[0] + buckets[NR_BUCKETS - 1], 0);
	}
	store_free(s);
	free(samples);
}

static void assert_strip(const struct timeline *t, const struct stored *samples, size_t nr,
			 uint64_t newest_ns)
{
	uint64_t last = newest_ns / t->width_ns;

	for (size_t i = 0; i < t->nr; i++) {
		uint64_t back = t->nr - 1 - i;
		struct query q = { .event = t->event, .hide = t->hide };

		if (back > last) {
			assert_true(timeline_bucket(t, i) == 0);
			continue;
		}
		q.from_ns = (last - back) * t->width_ns;
		q.to_ns = q.from_ns + t->width_ns;
		assert_true(timeline_bucket_ns(t, i) == q.from_ns);
		assert_true(timeline_bucket(t, i) == sum(samples, nr, &q));
	}
}

static void test_strip_moves(void **state)
{
	enum { NR = 6000 };
	struct stored *samples = calloc(NR, sizeof(*samples));
	struct store *s = store_new(16 << 20);
	struct timeline t;
	uint64_t now = 0, width = 100 * MS;
	uint8_t event = 0, hide = 0;
	uint32_t seed = 3;
	size_t nr = 0;

	(void)state;
	assert_int_equal(timeline_init(&t, NR_BUCKETS), 0);
	while (nr < NR) {
		size_t some = random_next(&seed) % 4 ? random_next(&seed) % 50 : 0;

		for (; some && nr < NR; some--, nr++) {
			samples[nr] = random_sample(&seed, &now);
			assert_int_equal(store_add(s, &samples[nr]), 0);
		}
		now += random_next(&seed) % 30 ? 0 : random_next(&seed) % 8000 * MS;
		if (!(random_next(&seed) % 20)) { /* a key: it begins anew */
			width = (1 + random_next(&seed) % 300) * MS;
			event = random_next(&seed) % 2 ? QUERY_ANY_EVENT : 1;
			hide = (uint8_t)(random_next(&seed) % 16);
		}
		timeline_update(&t, s, event, hide, width, now);
		assert_strip(&t, samples, nr, now);
	}
	timeline_done(&t);
	timeline_done(&t);
	store_free(s);
	free(samples);
}

static void test_cleared_store(void **state)
{
	struct store *s = store_new(1 << 20);
	struct stored sample = { .time_ns = 105 * MS, .weight = 4 };
	struct timeline t;

	(void)state;
	assert_int_equal(timeline_init(&t, 4), 0);
	store_add(s, &sample);
	timeline_update(&t, s, 0, 0, 10 * MS, 101 * MS); /* the sample is newer than the clock */
	assert_int_equal(timeline_bucket(&t, 3), 4);
	assert_int_equal(timeline_bucket_ns(&t, 3), 100 * MS);
	store_clear(s);
	store_add(s, &sample);
	timeline_update(&t, s, 0, 0, 10 * MS, 111 * MS);
	assert_int_equal(timeline_bucket(&t, 2), 4);
	assert_int_equal(timeline_bucket(&t, 3), 0);
	timeline_update(&t, s, 0, 0, 10 * MS, 131 * MS);
	assert_int_equal(timeline_bucket(&t, 0), 4);
	timeline_update(&t, s, 0, 0, 10 * MS, 141 * MS);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(timeline_bucket(&t, i), 0);
	timeline_done(&t);
	store_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_of_a_window),
		cmocka_unit_test(test_strip_moves),
		cmocka_unit_test(test_cleared_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
