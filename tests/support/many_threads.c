// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process with many threads, each awake for a moment ten times a second.
 *
 * usage: many_threads THREADS SECONDS
 * Prints "ready PID" once all threads exist. All of them spend their time in spin_in_thread().
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static atomic_bool stopping;

static void sleep_ns(uint64_t ns)
{
	struct timespec left = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

__attribute__((noinline)) static uint64_t spin_in_thread(uint64_t value, unsigned iterations)
{
	while (iterations--) {
		value = value * UINT64_C(0x9e3779b97f4a7c15) + 1;
		__asm__ volatile("" : "+r"(value));
	}
	return value;
}

static void *thread_main(void *arg)
{
	uint64_t value = (uint64_t)(uintptr_t)arg;

	while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
		value = spin_in_thread(value, 20000);
		sleep_ns(50000000 + value % 100000000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 0;
	double seconds = argc > 2 ? atof(argv[2]) : 0;
	pthread_attr_t attr;

	if (nr < 1 || nr > 100000 || !(seconds > 0)) {
		fputs("usage: many_threads THREADS SECONDS\n", stderr);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (long i = 0; i < nr; i++) {
		pthread_t thread;
		int err = pthread_create(&thread, &attr, thread_main, (void *)(uintptr_t)i);
		if (err) {
			fprintf(stderr, "many_threads: thread %ld: %s\n", i, strerror(err));
			return 1;
		}
	}
	pthread_attr_destroy(&attr);
	printf("ready %ld\n", (long)getpid());
	fflush(stdout);
	sleep_ns((uint64_t)(seconds * 1e9));
	atomic_store(&stopping, true);
	return 0;
}
