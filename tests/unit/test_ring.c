/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring's reading side over bytes: wrap-around, full, torn, and everything a record cannot be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "ring/ring.h"
#include "unit/fake_ring.h"

#define SIZE 4096u

static struct fake_ring fake;

static int setup(void **state)
{
	fake_init(&fake, SIZE);
	*state = &fake;
	return 0;
}

static int teardown(void **state)
{
	fake_done(*state);
	return 0;
}

/* Moves both sides to @position, which the kernel reaches after so many bytes. */
static void stand_at(struct fake_ring *f, uint64_t position)
{
	f->head = position;
	f->page.data_head = f->page.data_tail = position;
	ring_over(&f->ring, &f->page, f->data, SIZE);
}

static void expect_record(struct fake_ring *f, uint32_t size, uint64_t serial)
{
	struct ring_record rec;
	uint8_t copy[UINT16_MAX];

	assert_int_equal(ring_peek(&f->ring, &rec), 1);
	assert_int_equal(rec.size, size);
	assert_int_equal(rec.len[0] + rec.len[1], size);
	ring_copy(&rec, copy);
	assert_true(fake_is(copy, size, serial));
	ring_next(&f->ring, &rec);
}

static void expect_nothing(struct fake_ring *f)
{
	struct ring_record rec;

	assert_int_equal(ring_peek(&f->ring, &rec), 0);
}

static void expect_bad(struct fake_ring *f)
{
	struct ring_record rec;
	uint64_t before = f->ring.bad;

	assert_int_equal(ring_peek(&f->ring, &rec), -EBADMSG);
	assert_int_equal(f->ring.bad, before + 1);
	expect_nothing(f);
	ring_release(&f->ring);
	assert_int_equal(f->page.data_tail, f->page.data_head);
}

/* After a bad batch the ring must work again. */
static void expect_recovery(struct fake_ring *f)
{
	assert_true(fake_put(f, PERF_RECORD_SAMPLE, 48, 77));
	assert_int_equal(ring_begin(&f->ring), 48);
	expect_record(f, 48, 77);
	expect_nothing(f);
}

static void put_header(struct fake_ring *f, uint16_t size)
{
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE, .size = size };

	fake_bytes(f, &h, sizeof(h));
}

static void test_empty(void **state)
{
	struct fake_ring *f = *state;

	assert_int_equal(ring_begin(&f->ring), 0);
	expect_nothing(f);
	assert_int_equal(ring_pending(&f->ring), 0);
}

static void test_release_after_reading(void **state)
{
	struct fake_ring *f = *state;

	fake_put(f, PERF_RECORD_MMAP2, 64, 1);
	fake_put(f, PERF_RECORD_SAMPLE, 32, 2);
	assert_int_equal(ring_pending(&f->ring), 96);
	assert_int_equal(ring_begin(&f->ring), 96);
	expect_record(f, 64, 1);
	expect_record(f, 32, 2);
	expect_nothing(f);
	assert_int_equal(f->page.data_tail, 0);
	assert_int_equal(ring_pending(&f->ring), 96);
	ring_release(&f->ring);
	assert_int_equal(f->page.data_tail, 96);
	assert_int_equal(ring_pending(&f->ring), 0);
}

static void test_later_records_wait_for_the_next_batch(void **state)
{
	struct fake_ring *f = *state;

	fake_put(f, PERF_RECORD_SAMPLE, 32, 1);
	ring_begin(&f->ring);
	fake_put(f, PERF_RECORD_SAMPLE, 32, 2);
	expect_record(f, 32, 1);
	expect_nothing(f);
	assert_int_equal(ring_begin(&f->ring), 32);
	expect_record(f, 32, 2);
}

static void test_wrap_at_every_place(void **state)
{
	struct fake_ring *f = *state;

	for (uint64_t at = SIZE - 128; at <= SIZE; at += 8) {
		stand_at(f, 7 * SIZE + at);
		fake_put(f, PERF_RECORD_SAMPLE, 128, at);
		fake_put(f, PERF_RECORD_SAMPLE, 16, at + 1);
		ring_begin(&f->ring);
		struct ring_record rec;

		assert_int_equal(ring_peek(&f->ring, &rec), 1);
		assert_int_equal(rec.len[0], at == SIZE ? 128 : SIZE - at);
		expect_record(f, 128, at);
		expect_record(f, 16, at + 1);
		expect_nothing(f);
	}
}

static void test_exactly_full(void **state)
{
	struct fake_ring *f = *state;
	uint64_t n = 0;

	stand_at(f, 3 * SIZE + 1000);
	while (fake_put(f, PERF_RECORD_SAMPLE, 64, n))
		n++;
	assert_int_equal(n, SIZE / 64);
	assert_int_equal(ring_begin(&f->ring), SIZE);
	for (uint64_t i = 0; i < n; i++)
		expect_record(f, 64, i);
	expect_nothing(f);
}

static void test_positions_wrap_64_bits(void **state)
{
	struct fake_ring *f = *state;

	stand_at(f, (uint64_t)0 - 64);
	fake_put(f, PERF_RECORD_SAMPLE, 64, 1);
	fake_put(f, PERF_RECORD_SAMPLE, 64, 2);
	assert_int_equal(ring_pending(&f->ring), 128);
	assert_int_equal(ring_begin(&f->ring), 128);
	expect_record(f, 64, 1);
	expect_record(f, 64, 2);
	ring_release(&f->ring);
	assert_int_equal(ring_pending(&f->ring), 0);
}

static void test_sizes_that_cannot_be(void **state)
{
	static const uint16_t sizes[] = { 0, 1, 4, 7, 72, 4096, UINT16_MAX };
	struct fake_ring *f = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint8_t zeroes[56] = { 0 };

		fake_put(f, PERF_RECORD_SAMPLE, 40, i);
		put_header(f, sizes[i]);
		fake_bytes(f, zeroes, sizeof(zeroes)); /* 64 in all: 72 is one word too much */
		fake_publish(f);
		ring_begin(&f->ring);
		expect_record(f, 40, i);
		expect_bad(f);
		expect_recovery(f);
		ring_release(&f->ring);
	}
}

static void test_torn_header(void **state)
{
	struct fake_ring *f = *state;

	fake_bytes(f, "abcd", 4);
	fake_publish(f);
	ring_begin(&f->ring);
	expect_bad(f);
	/* The next records are unaligned now: the header of one may be split by the end. */
	stand_at(f, SIZE - 4);
	put_header(f, 8);
	fake_publish(f);
	ring_begin(&f->ring);
	expect_bad(f);
}

static void test_head_backwards(void **state)
{
	struct fake_ring *f = *state;

	stand_at(f, SIZE);
	f->head = SIZE - 64;
	fake_publish(f);
	assert_int_equal(ring_pending(&f->ring), 0);
	ring_begin(&f->ring);
	expect_bad(f);
	expect_recovery(f);
}

static void test_head_beyond_size(void **state)
{
	struct fake_ring *f = *state;

	f->head = SIZE + 8;
	fake_publish(f);
	ring_begin(&f->ring);
	expect_bad(f);
	expect_recovery(f);
}

static void test_random_traffic(void **state)
{
	struct fake_ring *f = *state;
	uint64_t written = 0, read = 0;
	uint32_t sizes[64];
	unsigned seed = 12345;

	while (read < 20000) {
		for (;;) {
			uint32_t size = 16 + 8 * ((uint32_t)rand_r(&seed) % 40);

			if (written - read == 64 ||
			    !fake_put(f, PERF_RECORD_SAMPLE, (uint16_t)size, written))
				break;
			sizes[written++ % 64] = size;
		}
		ring_begin(&f->ring);
		for (uint64_t until = read + (uint64_t)rand_r(&seed) % (written - read + 1);
		     read < until; read++)
			expect_record(f, sizes[read % 64], read);
		ring_release(&f->ring);
	}
	assert_int_equal(f->ring.bad, 0);
}

static void test_open_refused(void **state)
{
	struct reason why = { "" };
	struct ring r = { 0 };
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(ring_open(&r, -1, 1 << 16, &why), -EBADF);
	assert_true(strstr(why.text, "64 KiB") != NULL);
	assert_true(ring_open(&r, fd, 1 << 16, NULL) < 0);
	assert_null(r.page);
	ring_close(&r);
	close(fd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_empty),
		T(test_release_after_reading),
		T(test_later_records_wait_for_the_next_batch),
		T(test_wrap_at_every_place),
		T(test_exactly_full),
		T(test_positions_wrap_64_bits),
		T(test_sizes_that_cannot_be),
		T(test_torn_header),
		T(test_head_backwards),
		T(test_head_beyond_size),
		T(test_random_traffic),
		T(test_open_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
