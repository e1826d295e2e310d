/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lane between two threads, beside memcpy() of the same bytes between the same two: each
 * record is copied in by one and read through by the other.  memcpy's threads hand over whole
 * buffers of half a lane, so that they hardly ever wait for each other: it is what the memory
 * gives.
 *
 * Bounds: 25 ns a record of 256 bytes, and twice memcpy's time.  The best of several runs
 * counts, since the machine has other work.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ring/lane.h"

#define RECORD_BYTES 256u
#define NR_RECORDS 204800u
#define BATCH 64u
#define RUNS 25
#define BOUND_NS 25.0
#define BOUND_RATIO 2.0

#define BLOCK_BYTES (LANE_SAMPLE_BYTES / 2)
#define BLOCK_RECORDS (BLOCK_BYTES / RECORD_BYTES)

static uint8_t source[1 << 16];

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const uint8_t *source_record(uint64_t i)
{
	return source + i * RECORD_BYTES % sizeof(source);
}

/* Reads all of a record, as whoever copies it on would. */
static uint64_t read_record(const uint8_t *at)
{
	uint64_t sum = 0, word;

	for (size_t i = 0; i < RECORD_BYTES; i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		sum += word;
	}
	return sum;
}

/* Puts the calling thread on the @i-th CPU that it may use. */
static void pin(int i)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || i-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
		return;
	}
}

static void *lane_producer(void *arg)
{
	struct lane *l = arg;

	pin(1);
	for (uint64_t i = 0; i < NR_RECORDS;) {
		uint64_t before = i;

		while (i < NR_RECORDS && i - before < BATCH &&
		       lane_push(l, source_record(i), RECORD_BYTES, 9))
			i++;
		lane_wants_wake(l, lane_commit(l));
		if (i == before)
			sched_yield();
	}
	return NULL;
}

static double lane_run(uint64_t *sum)
{
	struct lane *l = lane_new(LANE_SAMPLE_BYTES);
	uint64_t began, nr = 0;
	struct lane_record rec;
	pthread_t thread;

	if (!l || pthread_create(&thread, NULL, lane_producer, l))
		exit(1);
	began = clock_ns();
	while (nr < NR_RECORDS) {
		uint64_t before = nr;

		for (; nr - before < BATCH && lane_peek(l, &rec); nr++)
			*sum += read_record(rec.bytes);
		lane_release(l);
		if (nr == before)
			sched_yield();
	}
	began = clock_ns() - began;
	pthread_join(thread, NULL);
	lane_free(l);
	return (double)began / NR_RECORDS;
}

/* Two blocks that change hands. */
struct blocks {
	uint8_t *at[2];
	_Alignas(64) _Atomic uint64_t filled;
	_Alignas(64) _Atomic uint64_t emptied;
};

#define NR_BLOCKS (NR_RECORDS / BLOCK_RECORDS)

static void *block_producer(void *arg)
{
	struct blocks *b = arg;
	uint64_t record = 0;

	pin(1);
	for (uint64_t i = 0; i < NR_BLOCKS; i++) {
		while (i - atomic_load_explicit(&b->emptied, memory_order_acquire) == 2)
			sched_yield();
		for (size_t k = 0; k < BLOCK_RECORDS; k++)
			memcpy(b->at[i % 2] + k * RECORD_BYTES, source_record(record++),
			       RECORD_BYTES);
		atomic_store_explicit(&b->filled, i + 1, memory_order_release);
	}
	return NULL;
}

static double memcpy_run(uint64_t *sum)
{
	static struct blocks b;
	pthread_t thread;
	uint64_t began;

	memset(&b, 0, sizeof(b));
	for (int i = 0; i < 2; i++)
		if (!(b.at[i] = aligned_alloc(64, BLOCK_BYTES)))
			exit(1);
	if (pthread_create(&thread, NULL, block_producer, &b))
		exit(1);
	began = clock_ns();
	for (uint64_t i = 0; i < NR_BLOCKS; i++) {
		while (atomic_load_explicit(&b.filled, memory_order_acquire) <= i)
			sched_yield();
		for (size_t k = 0; k < BLOCK_RECORDS; k++)
			*sum += read_record(b.at[i % 2] + k * RECORD_BYTES);
		atomic_store_explicit(&b.emptied, i + 1, memory_order_release);
	}
	began = clock_ns() - began;
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++)
		free(b.at[i]);
	return (double)began / (NR_BLOCKS * BLOCK_RECORDS);
}

int main(void)
{
	double lane = 1e9, plain = 1e9;
	uint64_t sum = 0;
	bool good;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		printf("SKIP: two CPUs are needed\n");
		return 77;
	}
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i * 31);
	pin(0);
	for (int i = 0; i < RUNS; i++) {
		double l = lane_run(&sum), p = memcpy_run(&sum);

		lane = l < lane ? l : lane;
		plain = p < plain ? p : plain;
	}
	good = lane <= BOUND_NS && lane <= plain * BOUND_RATIO;
	printf("lane    %6.1f ns a record of %u bytes  %5.1f GB/s  (bound %.0f ns)\n", lane,
	       RECORD_BYTES, RECORD_BYTES / lane, BOUND_NS);
	printf("memcpy  %6.1f ns a record of %u bytes  %5.1f GB/s\n", plain, RECORD_BYTES,
	       RECORD_BYTES / plain);
	printf("lane / memcpy  %.2f  (bound %.1f)  %s  [%08x]\n", lane / plain, BOUND_RATIO,
	       good ? "ok" : "BROKEN", (unsigned)sum);
	return good ? 0 : 1;
}
