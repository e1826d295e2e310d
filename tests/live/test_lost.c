/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A whole session whose rings overflow: what it counts as lost is what the kernel counts, and it
 * backs off and says so.  The overflow is made by stopping this process while its target runs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "session.h"

#define SKIPPED 77
#define NR_BURNERS 4
#define DEADLINE_NS (60 * NS_PER_S)
/* Few enough not to matter would not make it back off. */
#define LOST_LEAST 5000

static pid_t burn(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (volatile unsigned int i = 0;; i++)
		;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A child stops this process, lets the targets run for a while, and lets it go on. */
static void stand_still(time_t seconds)
{
	struct timespec pause = { .tv_sec = seconds };
	pid_t self = getpid(), pid = fork();

	if (pid == 0) {
		kill(self, SIGSTOP);
		nanosleep(&pause, NULL);
		kill(self, SIGCONT);
		_exit(0);
	}
	assert_true(pid > 0);
	while (waitpid(pid, NULL, 0) < 0)
		assert_int_equal(errno, EINTR);
}

/* Polls until @done says so; false at the deadline. */
static bool poll_until(struct session *s, bool (*done)(struct session *s))
{
	struct timespec nap = { .tv_nsec = 2000000 };
	uint64_t end_ns = clock_ns() + DEADLINE_NS;

	while (!done(s)) {
		if (clock_ns() > end_ns)
			return false;
		session_ask(s);
		if (!session_poll(s, clock_ns() + 4 * NS_PER_MS))
			nanosleep(&nap, NULL);
	}
	return true;
}

static bool has_samples(struct session *s)
{
	return session_counts(s).samples > 100;
}

/* The kernel tells of a loss with the next record of the same ring, so this comes true a little
 * later. */
static bool lost_agrees(struct session *s)
{
	uint64_t kernel = sampler_kernel_lost(session_sampler(s));

	return kernel > 0 && session_counts(s).lost == kernel;
}

static bool backed_off(struct session *s)
{
	session_tidy(s);
	return session_sampling(s)->rate < 20000;
}

static bool says(const struct session *s, const char *words)
{
	const struct note *n;

	for (size_t i = 0; (n = notes_get(&s->notes, i)); i++)
		if (strstr(n->text, words))
			return true;
	return false;
}

static void test_lost_is_what_the_kernel_lost(void **state)
{
	pid_t burners[NR_BURNERS];
	char ids[NR_BURNERS * 12] = "";
	char *argv[] = { "ptop",         "-e", "cpu-clock", "-F", "20000",
			 "--call-graph", "fp", "-p",        ids,  NULL };
	struct session s;
	struct options o;
	struct reason why;
	bool agrees = false;

	(void)state;
	for (int i = 0; i < NR_BURNERS; i++) {
		burners[i] = burn();
		assert_true(burners[i] > 0);
		snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%s%d", i ? "," : "",
			 (int)burners[i]);
	}
	if (options_parse(&o, 9, argv, &why) || session_open(&s, &o, &why))
		fail_msg("%s", why.text);
	assert_true(poll_until(&s, has_samples));
	for (time_t i = 1; i < 10 && sampler_kernel_lost(session_sampler(&s)) < LOST_LEAST; i++)
		stand_still(i);
	assert_true(sampler_kernel_lost(session_sampler(&s)) >= LOST_LEAST);
	agrees = poll_until(&s, lost_agrees);
	print_message("kernel lost %" PRIu64 ", ptop says %" PRIu64 ", of %" PRIu64 " samples\n",
		      sampler_kernel_lost(session_sampler(&s)), session_counts(&s).lost,
		      session_counts(&s).samples);
	assert_true(agrees);
	assert_false(says(&s, "cannot carry the rate"));
	assert_true(poll_until(&s, backed_off));
	assert_true(says(&s, "cannot carry the rate"));
	session_close(&s);
	options_done(&o);
	for (int i = 0; i < NR_BURNERS; i++)
		end(burners[i]);
}

/* Not a test: whether this kernel lets us sample, and tells what it lost. */
static bool can_run(void)
{
	char *argv[] = { "ptop", "-e", "cpu-clock", "-p", NULL, NULL };
	char id[16];
	struct session s;
	struct options o;
	struct reason why;

	snprintf(id, sizeof(id), "%d", (int)getpid());
	argv[4] = id;
	if (options_parse(&o, 5, argv, &why))
		return true; /* the test says what is wrong */
	if (session_open(&s, &o, &why)) {
		print_message("skip: %s\n", why.text);
		options_done(&o);
		return false;
	}
	session_close(&s);
	options_done(&o);
	return true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_is_what_the_kernel_lost),
	};

	if (!can_run())
		return SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
