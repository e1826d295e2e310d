/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rings and readers over the kernel's own buffers: samples of this process (cpu-clock, user
 * side), and the side-band of a mapping it makes.  Skips where perf_event_open() is refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring/reader.h"

#define DEADLINE_MS 20000
#define SKIPPED 77
#define CLOCK_SLACK_NS 1000000u

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int open_event(struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->exclude_kernel = attr->exclude_hv = 1;
	attr->disabled = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->sample_id_all = 1;
	return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A sample each @period_ns of this thread's time. */
static int open_clock(uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	};

	return open_event(&attr);
}

static int open_mappings(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
	};

	return open_event(&attr);
}

/* What PERF_SAMPLE_IP | TID | TIME looks like. */
struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
};

static void check_sample(const void *bytes, size_t size, uint64_t began, uint64_t *last)
{
	struct sample s;

	assert_int_equal(size, sizeof(s));
	memcpy(&s, bytes, sizeof(s));
	assert_int_equal(s.header.type, PERF_RECORD_SAMPLE);
	assert_int_equal(s.pid, getpid());
	/* The kernel's NMI-safe clock may be off by a little around its own updates. */
	assert_true(s.time >= began && s.time <= clock_ns() + CLOCK_SLACK_NS);
	assert_true(s.time + CLOCK_SLACK_NS >= *last);
	*last = s.time;
}

/* Uses processor time until the ring holds that much. */
static void burn(const struct ring *r, uint64_t pending)
{
	uint64_t deadline = clock_ns() + DEADLINE_MS * 1000000ull;

	while (ring_pending(r) < pending)
		assert_true(clock_ns() < deadline);
}

static void test_ring_of_samples(void **state)
{
	uint64_t began = clock_ns(), last = 0, nr = 0;
	int fd = open_clock(200000);
	struct ring_record rec;
	struct ring r = { 0 };
	char copy[256];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ring_open(&r, fd, 5000, NULL), 0);
	assert_int_equal(r.size, 8192);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	/* Several times around the buffer: 32-byte records never wrap, but positions do. */
	while (nr < 3 * 8192 / sizeof(struct sample)) {
		burn(&r, 2048);
		assert_true(ring_begin(&r) >= 2048);
		while (ring_peek(&r, &rec) == 1) {
			ring_copy(&rec, copy);
			/* Throttled on a slow machine: those records have other sizes. */
			if (rec.type == PERF_RECORD_SAMPLE)
				check_sample(copy, rec.size, began, &last);
			nr++;
			ring_next(&r, &rec);
		}
		ring_release(&r);
	}
	assert_int_equal(r.bad, 0);
	ring_close(&r);
	ring_close(&r);
	close(fd);
}

static void wait_woken(struct readers *readers)
{
	struct pollfd p = { .fd = readers_eventfd(readers), .events = POLLIN };

	assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
	readers_clear(readers);
}

/* The kernel wakes the reader, the reader wakes us; in between nobody polls. */
static void test_readers(void **state)
{
	enum { SAMPLES, MAPPINGS, NR };
	int fds[NR] = { open_clock(1000000), open_mappings() };
	uint64_t began = clock_ns(), last = 0, samples = 0, mappings = 0;
	struct reader_ring rings[NR];
	struct ring maps[NR] = { 0 };
	struct lane_record rec;
	struct readers *readers;
	void *map;
	int self;

	(void)state;
	for (int i = 0; i < NR; i++) {
		assert_true(fds[i] >= 0);
		assert_int_equal(ring_open(&maps[i], fds[i], 1 << 16, NULL), 0);
		rings[i] = (struct reader_ring){ .fd = fds[i],
						 .ring = &maps[i],
						 .lane = lane_new(1 << 18),
						 .side_band = i == MAPPINGS };
		ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0);
	}
	assert_int_equal(readers_start(&readers, rings, NR, NULL), 0);
	assert_int_equal(readers_nr_threads(readers), 1);

	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, 0);
	assert_true(map != MAP_FAILED);
	while (!mappings) {
		wait_woken(readers);
		while (lane_peek(rings[MAPPINGS].lane, &rec)) {
			uint64_t start;

			memcpy(&start, (const char *)rec.bytes + 16, sizeof(start));
			mappings += rec.kind == PERF_RECORD_MMAP2 && start == (uintptr_t)map;
		}
		readers_consumed(readers, MAPPINGS);
	}
	for (uint64_t deadline = clock_ns() + DEADLINE_MS * 1000000ull; samples < 20;) {
		assert_true(clock_ns() < deadline);
		for (; lane_peek(rings[SAMPLES].lane, &rec); samples++)
			if (rec.kind == PERF_RECORD_SAMPLE)
				check_sample(rec.bytes, rec.size, began, &last);
	}
	ioctl(fds[SAMPLES], PERF_EVENT_IOC_DISABLE, 0);
	readers_nudge(readers);
	/* Nothing comes any more, so that the bound reaches the present. */
	for (uint64_t now = 0, bound = 1; bound != now;
	     bound = readers_bound(readers, SAMPLES, now)) {
		now = clock_ns();
		assert_true(now < began + 2 * DEADLINE_MS * 1000000ull);
		while (lane_peek(rings[SAMPLES].lane, &rec))
			continue;
	}
	assert_int_equal(readers_stats(readers, MAPPINGS).dropped, 0);
	assert_int_equal(readers_stats(readers, SAMPLES).bad, 0);
	readers_stop(readers);
	munmap(map, 4096);
	close(self);
	for (int i = 0; i < NR; i++) {
		ring_close(&maps[i]);
		lane_free(rings[i].lane);
		close(fds[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_of_samples),
		cmocka_unit_test(test_readers),
	};
	int fd = open_clock(1000000);

	if (fd < 0) {
		printf("SKIP: perf_event_open is refused here: %s\n", strerror(errno));
		return SKIPPED;
	}
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
