/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader threads over rings of plain memory: hand-over, drops, back-pressure, and what the bound
 * promises. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ring/reader.h"
#include "unit/fake_ring.h"

#define DEADLINE_MS 20000

/* One ring, its lane, its reader. */
struct bed {
	struct fake_ring fake;
	struct lane *lane;
	struct readers *readers;
	uint64_t taken; /* records taken out of the lane so far */
};

static struct bed bed;

static void start(struct bed *b, size_t ring_bytes, size_t lane_bytes, bool side_band)
{
	struct reader_ring ring;

	memset(b, 0, sizeof(*b));
	fake_init(&b->fake, ring_bytes);
	b->lane = lane_new(lane_bytes);
	ring = (struct reader_ring){
		.fd = b->fake.fd, .ring = &b->fake.ring, .lane = b->lane, .side_band = side_band
	};
	assert_int_equal(readers_start(&b->readers, &ring, 1, NULL), 0);
}

static void stop(struct bed *b)
{
	readers_stop(b->readers);
	lane_free(b->lane);
	fake_done(&b->fake);
}

static void wait_woken(struct readers *r)
{
	struct pollfd p = { .fd = readers_eventfd(r), .events = POLLIN };

	assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
	readers_clear(r);
}

/* Waits until the reader has taken all that is in the ring (and so is asleep again, or about to
 * be). */
static void wait_drained(struct bed *b)
{
	uint64_t deadline = fake_clock_ns() + DEADLINE_MS * 1000000ull;

	while (ring_pending(&b->fake.ring)) {
		assert_true(fake_clock_ns() < deadline);
		sched_yield();
	}
}

/* Takes what is in the lane, checks that the serials go on without a gap, and gives the room back.
 */
static void take(struct bed *b, uint32_t size)
{
	struct lane_record rec;

	while (lane_peek(b->lane, &rec)) {
		assert_int_equal(rec.size, size);
		assert_true(fake_is(rec.bytes, rec.size, b->taken));
		b->taken++;
	}
	readers_consumed(b->readers, 0);
}

static void test_hands_over(void **state)
{
	struct bed *b = *state = &bed;
	struct lane_record rec;

	start(b, 4096, 1 << 16, true);
	for (uint64_t round = 0; round < 50; round++) {
		for (uint64_t i = 0; i < 10; i++)
			assert_true(fake_put(&b->fake, PERF_RECORD_MMAP2, 120, round * 10 + i));
		fake_wake(&b->fake);
		while (b->taken < (round + 1) * 10) {
			wait_woken(b->readers);
			assert_true(lane_peek(b->lane, &rec));
			assert_int_equal(rec.kind, PERF_RECORD_MMAP2);
			assert_true(fake_is(rec.bytes, rec.size, b->taken++));
			take(b, 120);
		}
	}
	assert_int_equal(readers_stats(b->readers, 0).records, 500);
	assert_int_equal(readers_stats(b->readers, 0).dropped, 0);
	stop(b);
}

static void test_takes_what_was_there_before(void **state)
{
	struct bed *b = *state = &bed;
	struct reader_ring ring;

	memset(b, 0, sizeof(*b));
	fake_init(&b->fake, 4096);
	b->lane = lane_new(1 << 16);
	fake_put(&b->fake, PERF_RECORD_COMM, 64, 0);
	ring = (struct reader_ring){ .fd = b->fake.fd, .ring = &b->fake.ring, .lane = b->lane };
	assert_int_equal(readers_start(&b->readers, &ring, 1, NULL), 0);
	wait_woken(b->readers);
	take(b, 64);
	assert_int_equal(b->taken, 1);
	stop(b);
}

static void test_drops_are_counted(void **state)
{
	struct bed *b = *state = &bed;
	struct lane_record rec;
	uint64_t handed = 0;

	/* A lane of 4 KiB keeps 512 bytes back: (4096 - 512) / 256 = 14 samples of 248 + 8. */
	start(b, 1 << 16, 4096, false);
	for (uint64_t i = 0; i < 100; i++)
		assert_true(fake_put(&b->fake, PERF_RECORD_SAMPLE, 248, i));
	assert_true(fake_put(&b->fake, PERF_RECORD_LOST, 24, 100));
	readers_nudge(b->readers);
	wait_drained(b);
	assert_int_equal(readers_stats(b->readers, 0).dropped, 86);
	assert_int_equal(readers_stats(b->readers, 0).records, 15);
	while (lane_peek(b->lane, &rec)) {
		assert_true(fake_is(rec.bytes, rec.size, handed < 14 ? handed : 100));
		handed++;
	}
	assert_int_equal(handed, 15);
	lane_release(b->lane);
	stop(b);
}

/* Only samples may be dropped: a LOST record waits in the ring when even the spare room is used up.
 */
static void test_other_records_wait_in_a_sample_ring(void **state)
{
	struct bed *b = *state = &bed;

	start(b, 1 << 14, 1024, false);
	for (uint64_t i = 0; i < 200; i++)
		assert_true(fake_put(&b->fake, PERF_RECORD_LOST, 24, i));
	readers_nudge(b->readers);
	while (b->taken < 200) {
		wait_woken(b->readers);
		take(b, 24);
	}
	assert_int_equal(readers_stats(b->readers, 0).dropped, 0);
	assert_int_equal(readers_stats(b->readers, 0).records, 200);
	stop(b);
}

static void test_side_band_waits(void **state)
{
	struct bed *b = *state = &bed;
	uint64_t before = fake_clock_ns(), nr = 0;

	start(b, 1 << 16, 2048, true);
	while (fake_put(&b->fake, PERF_RECORD_SAMPLE, 200, nr))
		nr++;
	readers_nudge(b->readers);
	wait_woken(b->readers);
	/* The reader is stuck: nothing may be claimed past what it could not hand over. */
	assert_true(ring_pending(&b->fake.ring) > 0);
	assert_int_equal(readers_bound(b->readers, 0, fake_clock_ns()), 0);
	take(b, 200);
	while (b->taken < nr) {
		wait_woken(b->readers);
		take(b, 200);
	}
	assert_int_equal(readers_stats(b->readers, 0).dropped, 0);
	assert_int_equal(readers_stats(b->readers, 0).records, nr);
	wait_drained(b);
	assert_true(readers_bound(b->readers, 0, fake_clock_ns()) > before);
	stop(b);
}

/* A record no lane of this size could ever take must not stop the ring for good. */
static void test_too_large_for_the_lane(void **state)
{
	struct bed *b = *state = &bed;

	start(b, 1 << 16, 1024, true);
	assert_true(fake_put(&b->fake, PERF_RECORD_MMAP2, 2048, 9));
	assert_true(fake_put(&b->fake, PERF_RECORD_MMAP2, 64, 0));
	readers_nudge(b->readers);
	wait_woken(b->readers);
	take(b, 64);
	assert_int_equal(b->taken, 1);
	assert_int_equal(readers_stats(b->readers, 0).dropped, 1);
	stop(b);
}

static void test_bad_bytes_are_counted(void **state)
{
	struct perf_event_header bad = { .type = PERF_RECORD_SAMPLE, .size = 0 };
	struct bed *b = *state = &bed;

	start(b, 4096, 1 << 16, false);
	fake_bytes(&b->fake, &bad, sizeof(bad));
	fake_publish(&b->fake);
	readers_nudge(b->readers);
	wait_drained(b);
	assert_int_equal(readers_stats(b->readers, 0).bad, 1);
	assert_true(fake_put(&b->fake, PERF_RECORD_SAMPLE, 64, 0));
	readers_nudge(b->readers);
	wait_woken(b->readers);
	take(b, 64);
	assert_int_equal(b->taken, 1);
	stop(b);
}

static void test_bound_of_a_quiet_ring(void **state)
{
	struct bed *b = *state = &bed;

	start(b, 4096, 1 << 16, false);
	assert_int_equal(readers_bound(b->readers, 0, 1000), 1000);
	assert_int_equal(readers_bound(b->readers, 0, 5000), 5000);
	assert_int_equal(readers_bound(b->readers, 0, 4000), 5000); /* never falls */
	stop(b);
}

static bool line_of(const char *task, const char *file, const char *start, char *ret, size_t size)
{
	char path[320];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task, file);
	f = fopen(path, "re");
	while (f && !found && fgets(ret, (int)size, f))
		found = strncmp(ret, start, strlen(start)) == 0;
	if (f)
		fclose(f);
	return found;
}

/* Waits until the only reader sleeps, and so has nothing left to do. */
static void wait_asleep(void)
{
	uint64_t deadline = fake_clock_ns() + DEADLINE_MS * 1000000ull;
	char line[128];
	bool asleep = false;

	while (!asleep) {
		DIR *dir = opendir("/proc/self/task");

		assert_true(fake_clock_ns() < deadline);
		for (struct dirent *e; (e = readdir(dir));)
			if (line_of(e->d_name, "comm", "ptop-reader", line, sizeof(line)))
				asleep = line_of(e->d_name, "status", "State:", line,
						 sizeof(line)) &&
					 line[7] == 'S';
		closedir(dir);
		if (!asleep)
			sched_yield();
	}
}

/* A few samples wait for the main thread's next round; asking for them, or half a lane of them,
 * wakes it. */
static void test_samples_wake_rarely(void **state)
{
	struct pollfd p = { .events = POLLIN };
	struct bed *b = *state = &bed;

	start(b, 4096, 4096, false);
	p.fd = readers_eventfd(b->readers);
	wait_asleep();
	assert_true(fake_put(&b->fake, PERF_RECORD_SAMPLE, 64, 0));
	fake_wake(&b->fake);
	wait_drained(b);
	assert_int_equal(poll(&p, 1, 0), 0);
	readers_nudge(b->readers);
	assert_true(fake_put(&b->fake, PERF_RECORD_SAMPLE, 64, 1));
	readers_nudge(b->readers);
	wait_woken(b->readers);
	take(b, 64);
	for (uint64_t i = 0; i < 40; i++)
		assert_true(fake_put(&b->fake, PERF_RECORD_SAMPLE, 64, b->taken + i));
	fake_wake(&b->fake);
	wait_woken(b->readers);
	stop(b);
}

static void test_bound_of_a_busy_ring(void **state)
{
	struct bed *b = *state = &bed;
	uint64_t asleep, before, later;

	start(b, 1 << 14, 1 << 16, false);
	fake_put(&b->fake, PERF_RECORD_SAMPLE, 64, 0);
	readers_nudge(b->readers);
	wait_woken(b->readers);
	take(b, 64);
	wait_asleep();
	asleep = fake_clock_ns();

	/* In the ring, unannounced: now cannot be claimed. */
	fake_put(&b->fake, PERF_RECORD_SAMPLE, 64, 1);
	assert_true(readers_bound(b->readers, 0, fake_clock_ns()) <= asleep);

	/* In the lane, not taken out: still not. */
	before = fake_clock_ns();
	readers_nudge(b->readers);
	wait_woken(b->readers);
	assert_true(readers_bound(b->readers, 0, fake_clock_ns()) <= asleep);

	/* Taken out, while the next one is in the ring: up to the pass that brought it. */
	wait_asleep();
	fake_put(&b->fake, PERF_RECORD_SAMPLE, 64, 2);
	later = fake_clock_ns();
	take(b, 64);
	assert_true(readers_bound(b->readers, 0, fake_clock_ns()) >= before);
	assert_true(readers_bound(b->readers, 0, fake_clock_ns()) <= later);

	/* All taken out. */
	readers_nudge(b->readers);
	wait_drained(b);
	take(b, 64);
	assert_int_equal(b->taken, 3);
	later = fake_clock_ns();
	assert_int_equal(readers_bound(b->readers, 0, later), later);
	stop(b);
}

/*
 * The promise itself, with three threads: a record published before the bound has been taken out by
 * then.  The kernel's part notes the time after publishing, so that a record not yet seen at a
 * bound must bear a later time.
 */
#define NR_PROMISED 20000u
/*
 * A store may be seen by others later than its thread reads the clock after it: up to 300 ns
 * were measured.
 */
#define CPU_SLACK_NS 10000u
static _Atomic uint64_t published_at[NR_PROMISED];

static void *fake_kernel(void *arg)
{
	struct fake_ring *f = arg;

	for (uint64_t i = 0; i < NR_PROMISED; i++) {
		while (!fake_put(f, PERF_RECORD_SAMPLE, (uint16_t)(24 + 8 * (i % 20)), i)) {
			fake_wake(f);
			sched_yield();
		}
		published_at[i] = fake_clock_ns();
		if (i % 16 == 0)
			fake_wake(f);
	}
	fake_wake(f);
	return NULL;
}

static void test_bound_keeps_its_promise(void **state)
{
	static struct {
		uint64_t bound, seen;
	} claims[NR_PROMISED];
	struct bed *b = *state = &bed;
	struct lane_record rec;
	size_t nr_claims = 0;
	uint64_t seen = 0;
	pthread_t kernel;

	start(b, 1 << 13, 1 << 14, true);
	assert_int_equal(pthread_create(&kernel, NULL, fake_kernel, &b->fake), 0);
	while (seen < NR_PROMISED) {
		uint64_t now = fake_clock_ns(), bound;

		uint64_t end = seen + 100;

		/* Slices now and then, so that lanes are left half taken out. */
		while (seen < end && lane_peek(b->lane, &rec))
			assert_true(fake_is(rec.bytes, rec.size, seen++));
		lane_release(b->lane);
		readers_consumed(b->readers, 0);
		bound = readers_bound(b->readers, 0, now);
		if (nr_claims < NR_PROMISED &&
		    (!nr_claims || claims[nr_claims - 1].bound != bound)) {
			claims[nr_claims].bound = bound;
			claims[nr_claims++].seen = seen;
		}
		/*
		 * First at all times, so as to hit the reader in the midst of a pass; then
		 * when woken.
		 */
		if (seen >= NR_PROMISED / 2 && seen < end && seen < NR_PROMISED)
			wait_woken(b->readers);
	}
	pthread_join(kernel, NULL);
	assert_true(nr_claims > 1);
	for (size_t i = 0; i < nr_claims; i++)
		if (claims[i].seen < NR_PROMISED)
			assert_true(published_at[claims[i].seen] + CPU_SLACK_NS > claims[i].bound);
	assert_int_equal(readers_stats(b->readers, 0).records, NR_PROMISED);
	stop(b);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A descriptor that hung up stays readable for ever; its reader must sleep all the same, and still
 * take nudges. */
static void test_hang_up_does_not_spin(void **state)
{
	struct bed *b = *state = &bed;
	struct reader_ring ring;
	struct pollfd p;
	uint64_t used;
	int ends[2];

	memset(b, 0, sizeof(*b));
	fake_init(&b->fake, 4096);
	b->lane = lane_new(1 << 16);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	close(ends[1]);
	ring = (struct reader_ring){ .fd = ends[0], .ring = &b->fake.ring, .lane = b->lane };
	assert_int_equal(readers_start(&b->readers, &ring, 1, NULL), 0);
	used = cpu_ns();
	p = (struct pollfd){ .fd = readers_eventfd(b->readers), .events = POLLIN };
	assert_int_equal(poll(&p, 1, 60), 0);
	assert_true(cpu_ns() - used < 30000000);
	fake_put(&b->fake, PERF_RECORD_SAMPLE, 64, 0);
	readers_nudge(b->readers);
	wait_woken(b->readers);
	take(b, 64);
	assert_int_equal(b->taken, 1);
	stop(b);
	close(ends[0]);
}

/* Stops at once, also with a full ring that nobody takes out. */
static void test_stops_while_waiting(void **state)
{
	struct bed *b = *state = &bed;
	uint64_t began;

	start(b, 1 << 16, 1024, true);
	for (uint64_t i = 0; fake_put(&b->fake, PERF_RECORD_FORK, 64, i); i++)
		continue;
	readers_nudge(b->readers);
	wait_woken(b->readers);
	began = fake_clock_ns();
	stop(b);
	assert_true(fake_clock_ns() - began < 1000000000u);
	readers_stop(NULL);
}

static void test_threads(void **state)
{
	enum { NR = 80 };
	static struct fake_ring fakes[NR];
	struct reader_ring rings[NR];
	struct readers *r;
	unsigned named = 0;
	char line[128];
	DIR *dir;

	(void)state;
	for (size_t i = 0; i < NR; i++) {
		fake_init(&fakes[i], 4096);
		rings[i] = (struct reader_ring){ .fd = fakes[i].fd,
						 .ring = &fakes[i].ring,
						 .lane = lane_new(4096),
						 .cpu = (uint32_t)(i / 2) * 3 };
	}
	assert_int_equal(readers_start(&r, rings, 6, NULL), 0);
	assert_int_equal(readers_nr_threads(r), 3);
	readers_stop(r);

	assert_int_equal(readers_start(&r, rings, NR, NULL), 0);
	assert_int_equal(readers_nr_threads(r), READERS_MAX_THREADS);
	dir = opendir("/proc/self/task");
	for (struct dirent *e; (e = readdir(dir));) {
		if (!line_of(e->d_name, "comm", "ptop-reader", line, sizeof(line)))
			continue;
		named++;
		assert_true(line_of(e->d_name, "status", "SigBlk:", line, sizeof(line)));
		/* All but SIGKILL and SIGSTOP, which cannot be, and the C library's own two. */
		assert_int_equal(strtoull(line + 7, NULL, 16) | 0x180040100ull,
				 0xfffffffffffbfeffull | 0x180040100ull);
	}
	closedir(dir);
	assert_int_equal(named, READERS_MAX_THREADS);
	for (size_t i = 0; i < NR; i++)
		fake_put(&fakes[i], PERF_RECORD_SAMPLE, 64, i);
	readers_nudge(r);
	for (size_t i = 0; i < NR; i++) {
		struct lane_record rec;

		while (!lane_peek(rings[i].lane, &rec))
			sched_yield();
		assert_true(fake_is(rec.bytes, rec.size, i));
	}
	readers_stop(r);
	for (size_t i = 0; i < NR; i++) {
		lane_free(rings[i].lane);
		fake_done(&fakes[i]);
	}
}

static void test_start_fails_whole(void **state)
{
	struct bed *b = *state = &bed;
	struct reason why = { "" };
	struct reader_ring ring;
	struct readers *r = NULL;

	fake_init(&b->fake, 4096);
	b->lane = lane_new(4096);
	ring = (struct reader_ring){ .fd = 1 << 20, .ring = &b->fake.ring, .lane = b->lane };
	assert_true(readers_start(&r, &ring, 1, &why) < 0);
	assert_null(r);
	assert_true(strlen(why.text) > 0);
	lane_free(b->lane);
	fake_done(&b->fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hands_over),
		cmocka_unit_test(test_takes_what_was_there_before),
		cmocka_unit_test(test_drops_are_counted),
		cmocka_unit_test(test_other_records_wait_in_a_sample_ring),
		cmocka_unit_test(test_side_band_waits),
		cmocka_unit_test(test_too_large_for_the_lane),
		cmocka_unit_test(test_bad_bytes_are_counted),
		cmocka_unit_test(test_samples_wake_rarely),
		cmocka_unit_test(test_bound_of_a_quiet_ring),
		cmocka_unit_test(test_bound_of_a_busy_ring),
		cmocka_unit_test(test_bound_keeps_its_promise),
		cmocka_unit_test(test_hang_up_does_not_spin),
		cmocka_unit_test(test_stops_while_waiting),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_start_fails_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
