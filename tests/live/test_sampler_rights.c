/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler as an ordinary user: each test body runs in a child that gave its rights up. */
#include "sampler_rig.h"

#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "event/diagnose.h"
#include "event/doctor.h"
#include "event/probe.h"

enum { NOBODY = 65534 };

static void become_nobody(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			       setresuid(NOBODY, NOBODY, NOBODY)))
		_exit(77);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Runs @fn without rights; it exits 0, or prints and exits 1. */
static void without_rights(void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		become_nobody();
		fn();
		fflush(stdout);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void check(bool good, const char *what, const char *text)
{
	if (good)
		return;
	printf("%s: %s\n", what, text);
	fflush(stdout);
	_exit(1);
}

static long paranoid(void)
{
	struct facts f;

	facts_read(&f);
	return f.paranoid;
}

struct modes {
	uint64_t user, kernel;
};

static void count_modes(void *ctx, const struct seen *seen)
{
	struct modes *m = ctx;

	if (seen->record.type != RECORD_SAMPLE)
		return;
	m->user += seen->record.cpumode == CPUMODE_USER;
	m->kernel += seen->record.cpumode == CPUMODE_KERNEL;
}

static void own_process(void)
{
	struct target t = { .kind = TARGET_PIDS };
	struct sampling s = { .by_frequency = true, .rate = 1000, .call_graph = CALL_GRAPH_FP };
	struct modes m = { 0 };
	size_t fds = open_descriptors();
	struct rig rig;

	check(vec_push(&t.ids, (uint32_t)getpid()) == 0, "no memory", "");
	event_parse("cpu-clock", &s.event, NULL);
	check(rig_open(&rig, &t, &s) == 0, "own process", rig.why.text);
	check(s.exclude_kernel, "the kernel is still included", "");
	check(strstr(rig.notes,
		     "kernel samples need more rights: sudo sysctl kernel.perf_event_paranoid=1\n"),
	      "note", rig.notes);
	rig_start(&rig);
	/* A busy machine gives less than one sample a millisecond. */
	for (int i = 0; i < 100 && m.user < 20; i++) {
		burn_ms(40);
		rig_drain(&rig, count_modes, &m);
	}
	check(m.user >= 20, "samples", "too few of user code");
	check(m.kernel == 0, "samples", "not user only");
	s.rate = 2000;
	check(sampler_change(rig.sp, &s, &rig.why) == 0, "change", rig.why.text);
	event_parse("context-switches", &s.event, NULL);
	s.exclude_kernel = false;
	check(sampler_change(rig.sp, &s, &rig.why) == -EACCES, "context-switches", rig.why.text);
	check(strstr(rig.why.text, "context-switches happens in the kernel"), "sentence",
	      rig.why.text);
	rig_close(&rig);
	check(open_descriptors() == fds, "descriptors", "leaked");
	target_done(&t);
}

static void default_event(void)
{
	struct target t = { .kind = TARGET_PIDS };
	struct sampling s = { .by_frequency = true, .rate = 999 };
	struct rig rig = { 0 };

	check(vec_push(&t.ids, (uint32_t)getpid()) == 0, "no memory", "");
	check(sampler_open_default(&rig.sp, &t, &s, rig_note, &rig, &rig.why) == 0, "ladder",
	      rig.why.text);
	check(s.event.unit != EVENT_COUNT, "event", s.event.name);
	check(!event_is_clock(&s.event) || strstr(rig.notes, "cpu-clock stands in for cycles"),
	      "note", rig.notes);
	rig_close(&rig);
	target_done(&t);
}

static void refused(enum target_kind kind, uint32_t id, const char *part, const char *command)
{
	struct target t = { .kind = kind, .uid = 0 };
	struct sampling s = { .by_frequency = true, .rate = 999 };
	size_t fds = open_descriptors();
	struct rig rig;

	if (id)
		check(vec_push(&t.ids, id) == 0, "no memory", "");
	event_parse("cpu-clock", &s.event, NULL);
	check(rig_open(&rig, &t, &s) == -EACCES, "not refused", rig.why.text);
	check(strstr(rig.why.text, part), "sentence", rig.why.text);
	check(strstr(rig.why.text, command), "command", rig.why.text);
	check(open_descriptors() == fds, "descriptors", "leaked");
	target_done(&t);
}

static void foreign_process(void)
{
	refused(TARGET_PIDS, 1, "process 1 belongs to another user", "sudo ptop -p 1");
	refused(TARGET_TIDS, 1, "thread 1 belongs to another user", "sudo ptop -t 1");
}

static void foreign_user(void)
{
	refused(TARGET_USER, 0, "another user's processes", "sudo setcap cap_perfmon");
}

static void whole_system(void)
{
	refused(TARGET_SYSTEM, 0, "the whole system needs more rights",
		"sudo sysctl kernel.perf_event_paranoid=0");
}

static void probes(void)
{
	struct probed *p;
	size_t nr;
	bool clock = false, switches = false;

	check(probe_all(TARGET_PIDS, &p, &nr) == 0, "no memory", "");
	for (size_t i = 0; i < nr; i++) {
		clock |= strcmp(p[i].row->name, "cpu-clock") == 0 &&
			 p[i].result == PROBE_USER_ONLY &&
			 strstr(p[i].why.text, "kernel samples need more rights");
		switches |= strcmp(p[i].row->name, "context-switches") == 0 &&
			    p[i].result == PROBE_REFUSED &&
			    strstr(p[i].why.text, "happens in the kernel");
	}
	check(clock, "cpu-clock", "not user only");
	check(switches, "context-switches", "not refused");
	free(p);
}

static void doctor(void)
{
	char *text = NULL;
	size_t len = 0, lines = 0;
	FILE *out = open_memstream(&text, &len);

	check(out && doctor_write(out, "0.0") == 0, "doctor", "failed");
	fclose(out);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	check(lines <= 40, "too long", text);
	check(strstr(text, "whole system: refused, rights are missing"), "whole system", text);
	check(strstr(text, "sudo sysctl kernel.perf_event_paranoid=1"), "command", text);
	free(text);
}

static void test_own_process(void **state)
{
	(void)state;
	without_rights(own_process);
}

static void test_default_event(void **state)
{
	(void)state;
	without_rights(default_event);
}

static void test_foreign_process(void **state)
{
	(void)state;
	without_rights(foreign_process);
}

static void test_foreign_user(void **state)
{
	(void)state;
	without_rights(foreign_user);
}

static void test_whole_system(void **state)
{
	(void)state;
	without_rights(whole_system);
}

static void test_probes(void **state)
{
	(void)state;
	without_rights(probes);
}

static void test_doctor(void **state)
{
	(void)state;
	without_rights(doctor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_process),     cmocka_unit_test(test_default_event),
		cmocka_unit_test(test_foreign_process), cmocka_unit_test(test_foreign_user),
		cmocka_unit_test(test_whole_system),    cmocka_unit_test(test_probes),
		cmocka_unit_test(test_doctor),
	};
	int skip = need_perf();

	if (skip)
		return skip;
	if (paranoid() != 2) {
		printf("skipped: kernel.perf_event_paranoid is %ld here, the sentences of level 2 are tested\n",
		       paranoid());
		return 77;
	}
	if (getuid() != 0 && geteuid() != getuid()) {
		printf("skipped: runs setuid\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
