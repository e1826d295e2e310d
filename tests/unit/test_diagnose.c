/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/diagnose.h"
#include "event/doctor.h"

#define SELF "/usr/bin/ptop"
#define SETCAP "sudo setcap cap_perfmon,cap_sys_ptrace=ep " SELF

static struct facts facts_of(long paranoid, bool perfmon)
{
	struct facts f = {
		.paranoid = paranoid,
		.mlock_kb = 516,
		.max_sample_rate = 100000,
		.euid = perfmon ? 0 : 1000,
		.cap_perfmon = perfmon,
		.nofile = 1024,
		.nofile_max = 524288,
		.self = SELF,
	};

	return f;
}

enum { CLOCK, SWITCHES, CYCLES, SIDE_BAND };

static const struct {
	long paranoid;
	bool perfmon;
	enum target_kind kind;
	int event;
	int err;
	bool wants_kernel;
	uint32_t id;
	bool foreign;
	const char *parts[2];
} rights[] = {
	/* Whole system by level. */
	{ -1, false, TARGET_SYSTEM, CLOCK, EACCES, true, 0, false, { "seccomp", "dmesg" } },
	{ 0, false, TARGET_SYSTEM, CLOCK, EACCES, true, 0, false, { "seccomp", "dmesg" } },
	{ 1,
	  false,
	  TARGET_SYSTEM,
	  CLOCK,
	  EACCES,
	  true,
	  0,
	  false,
	  { "whole system", "perf_event_paranoid=0" } },
	{ 2,
	  false,
	  TARGET_SYSTEM,
	  CLOCK,
	  EACCES,
	  false,
	  0,
	  false,
	  { "whole system", "perf_event_paranoid=0" } },
	{ 2,
	  false,
	  TARGET_SYSTEM,
	  SIDE_BAND,
	  EACCES,
	  false,
	  0,
	  false,
	  { "(kernel.perf_event_paranoid=2)", SETCAP } },
	{ 3,
	  false,
	  TARGET_SYSTEM,
	  CLOCK,
	  EACCES,
	  true,
	  0,
	  false,
	  { "no perf events at all", "perf_event_paranoid=0" } },
	{ 4,
	  false,
	  TARGET_SYSTEM,
	  CLOCK,
	  EACCES,
	  true,
	  0,
	  false,
	  { "no perf events at all", SETCAP } },
	/* Own processes by level. */
	{ 1,
	  false,
	  TARGET_PIDS,
	  CLOCK,
	  EACCES,
	  true,
	  7,
	  false,
	  { "process 7 is protected", "sudo ptop -p 7" } },
	{ 2,
	  false,
	  TARGET_PIDS,
	  CLOCK,
	  EACCES,
	  true,
	  7,
	  false,
	  { "kernel samples need", "perf_event_paranoid=1" } },
	{ 2,
	  false,
	  TARGET_PIDS,
	  SWITCHES,
	  EACCES,
	  true,
	  7,
	  false,
	  { "context-switches happens in the kernel", "perf_event_paranoid=1" } },
	{ 3,
	  false,
	  TARGET_PIDS,
	  CLOCK,
	  EACCES,
	  false,
	  7,
	  false,
	  { "no perf events at all", "perf_event_paranoid=1" } },
	{ 4,
	  false,
	  TARGET_PIDS,
	  CLOCK,
	  EPERM,
	  false,
	  7,
	  true,
	  { "no perf events at all", SETCAP } },
	/* Of another user. */
	{ 0,
	  false,
	  TARGET_PIDS,
	  CLOCK,
	  EACCES,
	  true,
	  7,
	  true,
	  { "process 7 belongs to another user", SETCAP } },
	{ 2,
	  false,
	  TARGET_PIDS,
	  CLOCK,
	  EACCES,
	  true,
	  7,
	  true,
	  { "process 7 belongs to another user", "sudo ptop -p 7" } },
	{ 2,
	  false,
	  TARGET_TIDS,
	  CLOCK,
	  EACCES,
	  false,
	  9,
	  true,
	  { "thread 9 belongs to another user", "sudo ptop -t 9" } },
	{ 2,
	  false,
	  TARGET_USER,
	  CLOCK,
	  EACCES,
	  true,
	  0,
	  true,
	  { "another user's processes", "sudo ptop" } },
	/* With CAP_PERFMON no level explains it. */
	{ -1, true, TARGET_SYSTEM, CLOCK, EPERM, true, 0, false, { "seccomp", "dmesg" } },
	{ 2, true, TARGET_SYSTEM, CLOCK, EACCES, true, 0, false, { "security module", "dmesg" } },
	{ 4,
	  true,
	  TARGET_PIDS,
	  CLOCK,
	  EACCES,
	  true,
	  7,
	  true,
	  { "process 7 is protected", "sudo ptop" } },
	/* Not a question of rights. */
	{ 2,
	  false,
	  TARGET_SYSTEM,
	  CYCLES,
	  ENOENT,
	  true,
	  0,
	  false,
	  { "cycles is not there", "-e cpu-clock" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  CYCLES,
	  EOPNOTSUPP,
	  true,
	  7,
	  false,
	  { "cycles is not there", "-e cpu-clock" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  SWITCHES,
	  ENOENT,
	  true,
	  7,
	  false,
	  { "older than the event", "-e cpu-clock" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  CYCLES,
	  EBUSY,
	  true,
	  7,
	  false,
	  { "no free hardware counter", "nmi_watchdog=0" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  CYCLES,
	  EINVAL,
	  true,
	  7,
	  false,
	  { "cannot be sampled in this way", "-e cpu-clock" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  CLOCK,
	  ENOMEM,
	  true,
	  7,
	  false,
	  { "no memory for more events", "-t" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  CLOCK,
	  ESRCH,
	  true,
	  7,
	  false,
	  { "there is no process 7", "ps -e" } },
	{ 2,
	  true,
	  TARGET_TIDS,
	  CLOCK,
	  ESRCH,
	  true,
	  8,
	  false,
	  { "there is no thread 8", "ps -eL" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  SIDE_BAND,
	  ESRCH,
	  false,
	  0,
	  false,
	  { "has ended", "nothing is left" } },
	{ PARANOID_ABSENT,
	  true,
	  TARGET_SYSTEM,
	  CLOCK,
	  ENOSYS,
	  true,
	  0,
	  false,
	  { "built without perf", "CONFIG_PERF" } },
	{ PARANOID_ABSENT,
	  false,
	  TARGET_SYSTEM,
	  CLOCK,
	  ENOSYS,
	  true,
	  0,
	  false,
	  { "built without perf", "boot one" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  CLOCK,
	  EMFILE,
	  true,
	  7,
	  false,
	  { "9000 descriptors", "ulimit -n 9000" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  CLOCK,
	  ENFILE,
	  true,
	  7,
	  false,
	  { "out of file descriptors", "fs.file-max" } },
	{ 2,
	  true,
	  TARGET_PIDS,
	  CLOCK,
	  EIO,
	  true,
	  7,
	  false,
	  { "cpu-clock cannot be opened", "error" } },
};

static void test_every_level(void **state)
{
	static const char *const names[] = { "cpu-clock", "context-switches", "cycles" };

	(void)state;
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		struct facts f = facts_of(rights[i].paranoid, rights[i].perfmon);
		struct refusal r = {
			.err = rights[i].err,
			.kind = rights[i].kind,
			.wants_kernel = rights[i].wants_kernel,
			.id = rights[i].id,
			.id_foreign = rights[i].foreign,
			.descriptors = 9000,
		};
		struct reason why = { "" };
		struct event e;

		if (rights[i].event != SIDE_BAND) {
			assert_int_equal(event_parse(names[rights[i].event], &e, NULL), 0);
			r.event = &e;
		}
		assert_int_equal(diagnose(&f, &r, &why), -rights[i].err);
		for (int part = 0; part < 2; part++)
			if (!strstr(why.text, rights[i].parts[part]))
				fail_msg("row %zu: no \"%s\" in: %s", i, rights[i].parts[part],
					 why.text);
		assert_null(strchr(why.text, '\n'));
		assert_int_equal(diagnose(&f, &r, NULL), -rights[i].err);
	}
}

/* The longest path still leaves whole sentences. */
static void test_sentences_fit(void **state)
{
	struct facts f = facts_of(2, false);
	struct refusal r = { .err = EACCES, .kind = TARGET_SYSTEM };
	struct reason why;

	(void)state;
	memset(f.self, 'x', sizeof(f.self) - 1);
	diagnose(&f, &r, &why);
	assert_true(strlen(why.text) < sizeof(why.text) - 1);
	assert_int_equal(why.text[strlen(why.text) - 1], 'x');
}

static void test_hardware_in_a_virtual_machine(void **state)
{
	struct facts f = facts_of(2, true);
	struct refusal r = { .err = ENOENT };
	struct reason why;
	struct event e;

	(void)state;
	assert_int_equal(event_parse("L1-dcache-loads", &e, NULL), 0);
	r.event = &e;
	f.virtual_machine = true;
	diagnose(&f, &r, &why);
	assert_non_null(strstr(why.text, "virtual machine"));
	f.virtual_machine = false;
	diagnose(&f, &r, &why);
	assert_null(strstr(why.text, "virtual machine"));
}

static void test_containers(void **state)
{
	struct facts f = facts_of(2, true);
	struct refusal r = { .err = EPERM, .kind = TARGET_SYSTEM };
	struct reason why;

	(void)state;
	f.container = true;
	assert_int_equal(diagnose(&f, &r, &why), -EPERM);
	assert_non_null(strstr(why.text, "--cap-add PERFMON"));
}

static void test_descriptors(void **state)
{
	struct facts f = facts_of(2, true);
	struct refusal r = { .err = EMFILE, .descriptors = 1000000 };
	struct reason why;

	(void)state;
	diagnose(&f, &r, &why);
	assert_non_null(strstr(why.text, "1000000 descriptors are needed"));
	assert_non_null(strstr(why.text, "as root, ulimit -n 1000000"));
	r.descriptors = 0;
	diagnose(&f, &r, &why);
	assert_non_null(strstr(why.text, "ulimit -n 2048"));
}

static void test_rings(void **state)
{
	struct facts f = facts_of(2, false);
	struct refusal r = { .step = STEP_MMAP, .err = EPERM, .ring_kb = 4096 };
	struct reason why;

	(void)state;
	assert_int_equal(diagnose(&f, &r, &why), -EPERM);
	assert_non_null(strstr(why.text, "(4096 KiB)"));
	assert_non_null(strstr(why.text, "sudo sysctl kernel.perf_event_mlock_kb=2064"));
	r.err = ENOMEM;
	assert_int_equal(diagnose(&f, &r, &why), -ENOMEM);
	assert_non_null(strstr(why.text, "no memory"));
	assert_int_equal(diagnose_mmap(EPERM, 64, &why), -EPERM);
	assert_non_null(strstr(why.text, "kernel.perf_event_mlock_kb"));
}

static void test_limits_by_facts(void **state)
{
	static const bool kernel[] = { false, false, false, true, true },
			  sys[] = { false, false, true, true, true };

	(void)state;
	for (long level = -1; level <= 3; level++) {
		struct facts user = facts_of(level, false), root = facts_of(level, true);
		struct reason why;

		assert_int_equal(facts_no_kernel(&user), kernel[level + 1]);
		assert_int_equal(facts_no_system(&user), sys[level + 1]);
		assert_false(facts_no_kernel(&root) || facts_no_system(&root));
		if (!kernel[level + 1])
			continue;
		diagnose_kernel_note(&user, &why);
		assert_string_equal(
			why.text,
			"kernel samples need more rights: sudo sysctl kernel.perf_event_paranoid=1");
	}
}

static void test_facts_of_this_machine(void **state)
{
	struct facts f;

	(void)state;
	facts_read(&f);
	assert_true(f.self[0]);
	assert_true(f.nofile > 0 && f.nofile <= f.nofile_max);
	assert_true(f.paranoid >= -1);
}

static void fill(struct probed *p, const struct event_row *row, enum probe_result result, int err)
{
	*p = (struct probed){ .row = row, .result = result, .err = err };
	if (result != PROBE_USABLE)
		snprintf(p->why.text, sizeof(p->why.text), "because");
}

/* Hardware and cache events absent, software ones as told. */
static size_t fill_all(struct probed *p, enum probe_result software, int err)
{
	const struct event_row *row;
	size_t i;

	for (i = 0; (row = event_row(i)); i++) {
		if (strcmp(row->group, "software") != 0)
			fill(&p[i], row, PROBE_REFUSED, ENOENT);
		else
			fill(&p[i], row, software, software == PROBE_REFUSED ? err : 0);
	}
	return i;
}

static char *report(const struct facts *f, enum probe_result system, enum probe_result own)
{
	static struct probed of_system[128], of_own[128];
	struct doctor_case c = {
		.version = "1.0",
		.kernel = "6.18.0",
		.machine = "x86_64",
		.nr_cpus = 8,
		.facts = f,
		.system = of_system,
		.own = of_own,
	};
	char *text = NULL;
	size_t len, lines = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	c.nr = fill_all(of_system, system, EACCES);
	fill_all(of_own, own, EACCES);
	assert_int_equal(doctor_report(out, &c), 0);
	fclose(out);
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, lines++)
		assert_true(end - line <= 120);
	assert_in_range(lines, 10, 40);
	return text;
}

static void test_doctor_by_rights(void **state)
{
	struct facts user = facts_of(2, false), root = facts_of(2, true);
	char *text = report(&user, PROBE_REFUSED, PROBE_USER_ONLY);

	(void)state;
	assert_non_null(strstr(text, "whole system: refused, rights are missing\n"));
	assert_non_null(
		strstr(text, "own processes: 12 of 54 events can be sampled\n  user only:\n"));
	assert_non_null(strstr(text, "32 cache events\n"));
	assert_non_null(strstr(text, "sudo sysctl kernel.perf_event_paranoid=1 "));
	assert_non_null(strstr(text, SETCAP));
	free(text);

	text = report(&root, PROBE_USABLE, PROBE_USABLE);
	assert_non_null(strstr(text, "whole system and own processes: 12 of 54"));
	assert_null(strstr(text, "paranoid=1"));
	assert_non_null(strstr(text, "nothing is locked"));
	free(text);

	root.kptr_restrict = 2;
	text = report(&root, PROBE_USABLE, PROBE_USABLE);
	assert_non_null(strstr(text, "kernel names are hidden"));
	assert_non_null(strstr(text, "sudo sysctl kernel.kptr_restrict=0"));
	free(text);

	user = facts_of(4, false);
	text = report(&user, PROBE_REFUSED, PROBE_REFUSED);
	assert_non_null(strstr(text, "0 of 54 events can be sampled"));
	assert_non_null(strstr(text, "rights are missing:"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_level),
		cmocka_unit_test(test_sentences_fit),
		cmocka_unit_test(test_hardware_in_a_virtual_machine),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_limits_by_facts),
		cmocka_unit_test(test_facts_of_this_machine),
		cmocka_unit_test(test_doctor_by_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
