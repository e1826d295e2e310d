/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file large enough for a thread, read with and without one: the same records in the same order.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording_read.h"

#define TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define WITH_A_THREAD UINT64_MAX
#define WITHOUT (UINT64_MAX - 1) /* asked for a part only, which is what is played */

enum {
	HEADER_BYTES = 104,
	ATTR_BYTES = 128,
	SAMPLE_BYTES = 40,
	COMM_BYTES = 24,
	BUILD_ID_BYTES = 8 + 4 + 24 + 12,
	ROUNDS = 300,
	CPUS = 2,
	SAMPLES = 200, /* of a CPU in a round */
	RECORDS = ROUNDS * (CPUS * SAMPLES + 1),
};

struct file {
	uint8_t *bytes;
	size_t size;
};

static void put(struct file *f, uint64_t x, size_t width)
{
	memcpy(f->bytes + f->size, &x, width);
	f->size += width;
}

static void put_header(struct file *f, uint32_t type, uint16_t size)
{
	put(f, type, 4);
	put(f, 0, 2);
	put(f, size, 2);
}

static void put_sample(struct file *f, uint64_t ip, uint64_t time_ns)
{
	put_header(f, RECORD_SAMPLE, SAMPLE_BYTES);
	put(f, 1, 8);
	put(f, ip, 8);
	put(f, 7, 4);
	put(f, 7, 4);
	put(f, time_ns, 8);
}

/* Without a time: no sample_id is at its end. */
static void put_comm(struct file *f, uint64_t n)
{
	put_header(f, RECORD_COMM, COMM_BYTES);
	put(f, n, 4);
	put(f, n, 4);
	put(f, 'c', 8);
}

static void put_build_id(struct file *f, uint64_t n)
{
	put_header(f, PERFDATA_BUILD_ID, BUILD_ID_BYTES);
	put(f, UINT32_MAX, 4);
	for (int i = 0; i < 3; i++)
		put(f, n, 8);
	put(f, '/' | 'x' << 8, 8);
	put(f, 0, 4);
}

/* The times of the CPUs overlap, of rounds that follow each other too. */
static void put_round(struct file *f, uint64_t round)
{
	uint64_t n = round * CPUS * SAMPLES;

	put_comm(f, round);
	for (uint64_t cpu = 0; cpu < CPUS; cpu++)
		for (uint64_t i = 0; i < SAMPLES; i++)
			put_sample(f, n + cpu * SAMPLES + i,
				   1000 + round * 1000 + i * (5 + cpu) + cpu);
	if (round % 50 == 10)
		put_build_id(f, round);
	put_header(f, PERFDATA_FINISHED_ROUND, 8);
}

static void put_file(struct file *f)
{
	const size_t data = HEADER_BYTES + ATTR_BYTES + 16;
	uint64_t size;

	f->bytes = calloc(1, data + (size_t)ROUNDS * (CPUS * SAMPLES * SAMPLE_BYTES + 256));
	assert_non_null(f->bytes);
	memcpy(f->bytes, "PERFILE2", 8);
	f->size = 8;
	put(f, HEADER_BYTES, 8);
	put(f, ATTR_BYTES + 16, 8);
	put(f, HEADER_BYTES, 8);
	put(f, ATTR_BYTES + 16, 8);
	put(f, data, 8);
	f->size = HEADER_BYTES;
	put(f, PERF_TYPE_SOFTWARE, 4);
	put(f, ATTR_BYTES, 4);
	put(f, PERF_COUNT_SW_CPU_CLOCK, 8);
	put(f, 1000, 8);
	put(f, TYPE, 8);
	f->size = data;
	for (uint64_t round = 0; round < ROUNDS; round++)
		put_round(f, round);
	size = f->size - data;
	memcpy(f->bytes + 48, &size, 8);
}

struct bed {
	struct perfdata *pd;
	struct order *order;
	struct reading *reading;
};

static void bed_open(struct bed *b)
{
	struct file f = { 0 };
	struct reason why;
	int fd = memfd_create("recording", MFD_CLOEXEC);

	put_file(&f);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, f.bytes, f.size), f.size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	free(f.bytes);
	assert_int_equal(perfdata_open(&b->pd, fd, &why), 0);
	b->order = order_new(reading_sources(b->pd));
	assert_non_null(b->order);
	b->reading = reading_new(b->pd, b->order);
	assert_non_null(b->reading);
}

static void bed_close(struct bed *b)
{
	reading_free(b->reading);
	order_free(b->order);
	perfdata_free(b->pd);
}

struct seen {
	uint64_t time_ns;
	uint64_t word; /* the second of its body: of a sample the ip */
};

/* Reads all; returns how many records came. */
static size_t read_all(struct bed *b, uint64_t limit_ns, struct seen *seen)
{
	const struct read_state *state = reading_state(b->reading);
	struct ordered rec;
	bool is_sample;
	size_t event, nr = 0;
	unsigned turns = 0;

	while (!state->ended || nr < RECORDS) {
		reading_begin(b->reading, limit_ns);
		do
			while (reading_next(b->reading, &rec, &event, &is_sample)) {
				assert_true(nr < RECORDS);
				assert_int_equal(event, 0);
				assert_int_equal(rec.size, is_sample ? SAMPLE_BYTES : COMM_BYTES);
				seen[nr].time_ns = rec.time_ns;
				memcpy(&seen[nr++].word, (const uint8_t *)rec.bytes + 16, 8);
			}
		while (++turns % 5 && reading_turn_over(b->reading));
		reading_wait(b->reading);
		reading_more(b->reading, UINT64_MAX);
	}
	assert_int_equal(perfdata_nr_build_ids(b->pd), ROUNDS / 50);
	assert_int_equal(order_pending(b->order), 0);
	assert_int_equal(state->first_ns, 1000);
	assert_int_equal(state->no_event + state->no_time + state->dropped, 0);
	assert_true(state->timed && !state->failed);
	return nr;
}

static void test_the_same_with_a_thread(void **state)
{
	struct seen *with = calloc(RECORDS, sizeof(*with)),
		    *without = calloc(RECORDS, sizeof(*with));
	struct bed b;
	uint64_t last = 0;

	(void)state;
	assert_true(with && without);
	bed_open(&b);
	assert_int_equal(read_all(&b, WITHOUT, without), RECORDS);
	bed_close(&b);
	bed_open(&b);
	assert_int_equal(read_all(&b, WITH_A_THREAD, with), RECORDS);
	bed_close(&b);
	assert_memory_equal(with, without, RECORDS * sizeof(*with));
	for (size_t i = 0; i < RECORDS; i++) {
		assert_true(with[i].time_ns >= last);
		last = with[i].time_ns;
	}
	free(with);
	free(without);
}

static unsigned nr_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned nr = 0;

	assert_non_null(tasks);
	for (struct dirent *d; (d = readdir(tasks));)
		nr += d->d_name[0] != '.';
	closedir(tasks);
	return nr;
}

/* Only what is worth it gets one, and gives it back. */
static void test_a_thread(void **state)
{
	const unsigned before = nr_threads();
	cpu_set_t set;
	struct bed b;

	(void)state;
	if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 2)
		skip();
	bed_open(&b);
	reading_begin(b.reading, WITHOUT);
	assert_int_equal(nr_threads(), before);
	bed_close(&b);
	bed_open(&b);
	reading_begin(b.reading, WITH_A_THREAD);
	assert_int_equal(nr_threads(), before + 1);
	bed_close(&b);
	assert_int_equal(nr_threads(), before);
}

/* Left in the middle of everything. */
static void test_left_early(void **state)
{
	struct ordered rec;
	bool is_sample;
	size_t event;
	struct bed b;

	(void)state;
	bed_open(&b);
	reading_begin(b.reading, WITH_A_THREAD);
	bed_close(&b);
	bed_open(&b);
	reading_begin(b.reading, WITH_A_THREAD);
	assert_true(reading_turn_over(b.reading));
	assert_true(reading_next(b.reading, &rec, &event, &is_sample));
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_with_a_thread),
		cmocka_unit_test(test_a_thread),
		cmocka_unit_test(test_left_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
