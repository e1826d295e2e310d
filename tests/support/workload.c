// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A workload whose profile is known by construction.
 *
 *	worker -> caller_left  -> hot_a 40 %, hot_b 20 %
 *	       -> caller_right -> hot_a 10 %, hot_b 10 %, hot_c 20 %
 *
 * so hot_a : hot_b : hot_c = 50 : 30 : 20, caller_left : caller_right = 60 : 40. Every thread does
 *the same, so the shares do not depend on how the kernel divides processors among threads. The work
 *is counted, not timed: an iteration is one dependent multiply in each hot function, so that it
 *costs the same in all three. A round takes some tens of microseconds and its length is drawn at
 *random, so that a sampling clock cannot beat with it.
 *
 * usage: workload SECONDS [THREADS [CALL_DEPTH]]
 * Prints "ready PID" once the threads run, and at the end the iterations done in each function.
 * CALL_DEPTH recursions of descend() stand between worker and the callers (default 0).
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { HOT_A, HOT_B, HOT_C, NR_HOT };
enum { MAX_THREADS = 64, MAX_DEPTH = 1000 };

struct worker {
	pthread_t thread;
	unsigned index, depth;
	uint64_t value;
	uint64_t random;
	uint64_t done[NR_HOT];
};

static atomic_bool stopping;

/* Asking for the frame's address gives a leaf a frame: without, its caller is missing from the
 * kernel's chain, whatever the compiler's options. */
#define HOT(name, factor)                                                                   \
	__attribute__((noinline)) static uint64_t name(uint64_t value, uint64_t iterations) \
	{                                                                                   \
		__asm__ volatile("" : : "r"(__builtin_frame_address(0)));                   \
		while (iterations--) {                                                      \
			value = value * (factor) + 1;                                       \
			__asm__ volatile("" : "+r"(value));                                 \
		}                                                                           \
		return value;                                                               \
	}

HOT(hot_a, UINT64_C(0x9e3779b97f4a7c15))
HOT(hot_b, UINT64_C(0xbf58476d1ce4e5b9))
HOT(hot_c, UINT64_C(0x94d049bb133111eb))

__attribute__((noinline)) static void caller_left(struct worker *w, uint64_t unit)
{
	w->value = hot_a(w->value, 40 * unit);
	w->value = hot_b(w->value, 20 * unit);
	w->done[HOT_A] += 40 * unit;
	w->done[HOT_B] += 20 * unit;
}

__attribute__((noinline)) static void caller_right(struct worker *w, uint64_t unit)
{
	w->value = hot_a(w->value, 10 * unit);
	w->value = hot_b(w->value, 10 * unit);
	w->value = hot_c(w->value, 20 * unit);
	w->done[HOT_A] += 10 * unit;
	w->done[HOT_B] += 10 * unit;
	w->done[HOT_C] += 20 * unit;
}

static void round_of_work(struct worker *w)
{
	w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	uint64_t unit = 200 + (w->random >> 33) % 600;
	caller_left(w, unit);
	caller_right(w, unit);
}

__attribute__((noinline)) static void descend(struct worker *w, unsigned depth)
{
	if (depth > 0)
		descend(w, depth - 1);
	else
		while (!atomic_load_explicit(&stopping, memory_order_relaxed))
			round_of_work(w);
	__asm__ volatile("" ::: "memory"); /* no sibling call: every level keeps its frame */
}

static void *worker(void *arg)
{
	struct worker *w = arg;
	char name[16];

	snprintf(name, sizeof(name), "work-%u", w->index);
	prctl(PR_SET_NAME, name);
	if (w->depth > 0)
		descend(w, w->depth);
	else
		while (!atomic_load_explicit(&stopping, memory_order_relaxed))
			round_of_work(w);
	return NULL;
}

static int run(struct worker *workers, unsigned nr, double seconds)
{
	for (unsigned i = 0; i < nr; i++) {
		int err = pthread_create(&workers[i].thread, NULL, worker, &workers[i]);
		if (err)
			return err;
	}
	printf("ready %ld\n", (long)getpid());
	fflush(stdout);
	struct timespec left = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
	atomic_store(&stopping, true);
	uint64_t done[NR_HOT] = { 0 };
	for (unsigned i = 0; i < nr; i++) {
		pthread_join(workers[i].thread, NULL);
		for (unsigned hot = 0; hot < NR_HOT; hot++)
			done[hot] += workers[i].done[hot];
	}
	printf("hot_a %" PRIu64 "\nhot_b %" PRIu64 "\nhot_c %" PRIu64 "\n", done[HOT_A],
	       done[HOT_B], done[HOT_C]);
	return 0;
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	long nr = argc > 2 ? atol(argv[2]) : 2;
	long depth = argc > 3 ? atol(argv[3]) : 0;

	if (!(seconds > 0) || nr < 1 || nr > MAX_THREADS || depth < 0 || depth > MAX_DEPTH) {
		fputs("usage: workload SECONDS [THREADS [CALL_DEPTH]]\n", stderr);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (long i = 0; i < nr; i++)
		workers[i] = (struct worker){
			.index = (unsigned)i + 1,
			.depth = (unsigned)depth,
			.value = (uint64_t)i,
			.random = (uint64_t)i * 7919 + 1,
		};
	return run(workers, (unsigned)nr, seconds) ? 1 : 0;
}
