// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Short processes at a steady rate: vfork and exec of /bin/true, RATE a second for SECONDS.
 *
 * usage: churn RATE SECONDS
 * Prints "ready PID", and at the end how many processes it started. Where the machine cannot hold
 * the rate it starts as many as it can: the count says so.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(at_ns / 1000000000),
		.tv_nsec = (long)(at_ns % 1000000000),
	};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int start_one(void)
{
	static char *const argv[] = { "true", NULL };
	static char *const envp[] = { NULL };
	pid_t pid = vfork();

	if (pid == 0) {
		execve("/bin/true", argv, envp);
		_exit(127);
	}
	return pid < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
	double rate = argc > 1 ? atof(argv[1]) : 0;
	double seconds = argc > 2 ? atof(argv[2]) : 0;
	unsigned long started = 0;

	if (!(rate > 0) || !(seconds > 0)) {
		fputs("usage: churn RATE SECONDS\n", stderr);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("ready %ld\n", (long)getpid());
	fflush(stdout);
	uint64_t step_ns = (uint64_t)(1e9 / rate);
	uint64_t next_ns = now_ns(), end_ns = next_ns + (uint64_t)(seconds * 1e9);
	while (now_ns() < end_ns) {
		if (start_one() == 0)
			started++;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		next_ns += step_ns;
		/* Behind by more than a tenth of a second: give the lost starts up, no burst. */
		if (next_ns + 100000000 < now_ns())
			next_ns = now_ns();
		sleep_until(next_ns);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	printf("started %lu\n", started);
	return 0;
}
