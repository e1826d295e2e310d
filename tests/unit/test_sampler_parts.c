/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sampler is made of, without opening events. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "event/attr.h"
#include "event/limits.h"
#include "event/set.h"
#include "event/targets.h"

static struct sampling sampling_of(const char *event, bool by_frequency, uint64_t rate)
{
	struct sampling s = { .by_frequency = by_frequency, .rate = rate };

	assert_int_equal(event_parse(event, &s.event, NULL), 0);
	return s;
}

static const struct {
	const char *event;
	bool by_frequency;
	uint64_t rate, max, bounded;
	const char *note; /* "": nothing to say; NULL: refused */
} rates[] = {
	{ "cycles", true, 999, 100000, 999, "" },
	{ "cycles", true, 200000, 100000, 100000,
	  "-F 200000: this machine allows 100000 Hz (kernel.perf_event_max_sample_rate)" },
	{ "cycles", true, 200000, 0, 200000, "" },
	{ "cpu-clock", true, 20000, 100000, 20000, "" },
	{ "cpu-clock", true, 20001, 100000, 20000,
	  "-F 20001: cpu-clock samples at 20000 Hz at most" },
	{ "cpu-clock", true, 50000, 5000, 5000,
	  "-F 50000: this machine allows 5000 Hz (kernel.perf_event_max_sample_rate)" },
	{ "task-clock:u", true, UINT64_MAX, 0, 20000,
	  "-F 18446744073709551615: task-clock:u samples at 20000 Hz at most" },
	{ "cycles", true, 0, 100000, 0, NULL },
	{ "cycles", false, 0, 100000, 0, NULL },
	{ "cycles", false, 1, 100000, 1, "" },
	{ "page-faults", false, 1, 100000, 1, "" },
	{ "cpu-clock", false, 1, 100000, 50000,
	  "-c 1: cpu-clock samples every 50000 ns at most (20000 Hz)" },
	{ "cpu-clock", false, 1, 3000, 333334,
	  "-c 1: cpu-clock samples every 333334 ns at most (3000 Hz)" },
	{ "cpu-clock", false, 50000, 100000, 50000, "" },
	{ "cycles", false, (uint64_t)INT64_MAX + 1, 100000, 0, NULL },
};

static void test_rates(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct sampling s =
			sampling_of(rates[i].event, rates[i].by_frequency, rates[i].rate);
		struct reason note, why = { "" };
		int err = rate_bound(&s, rates[i].max, &note, &why);

		if (!rates[i].note) {
			assert_true(err < 0);
			assert_true(why.text[0]);
			continue;
		}
		assert_int_equal(err, 0);
		assert_int_equal(s.rate, rates[i].bounded);
		assert_string_equal(note.text, rates[i].note);
	}
}

static void test_ids_pack(void **state)
{
	static const struct id_meaning all[] = {
		{ 0, 0, -1 },
		{ 1, 3, 1 },
		{ 0xffffff, 255, 0x7fffffff },
		{ 77, 2, 4242 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct id_meaning m = id_unpack(id_pack(all[i]));

		assert_int_equal(m.serial, all[i].serial);
		assert_int_equal(m.layout, all[i].layout);
		assert_int_equal(m.tid, all[i].tid);
	}
}

static void test_attr_of_exclusions(void **state)
{
	struct kernel_features f = { .lost = true };
	struct sampling s = sampling_of("cycles:uP", true, 999);
	struct perf_event_attr attr;

	(void)state;
	s.call_graph = CALL_GRAPH_FP;
	attr = attr_sampling(&f, TARGET_PIDS, &s);
	assert_true(attr.exclude_kernel && attr.exclude_hv && !attr.exclude_user);
	assert_true(attr.exclude_callchain_kernel && !attr.exclude_callchain_user);
	assert_true(attr.disabled && attr.inherit && attr.freq && attr.use_clockid &&
		    attr.sample_id_all);
	assert_int_equal(attr.precise_ip, 3);
	assert_int_equal(attr.sample_type, ATTR_SAMPLE_FIELDS | PERF_SAMPLE_CALLCHAIN);
	s = sampling_of("cycles", true, 999);
	s.exclude_user = true;
	attr = attr_sampling(&f, TARGET_SYSTEM, &s);
	assert_true(attr.exclude_user && !attr.exclude_kernel && !attr.inherit);
	assert_int_equal(attr.sample_type, ATTR_SAMPLE_FIELDS);
}

/* Clocks go by period; software events by period carry none, unless it is 1. */
static void test_attr_of_rates(void **state)
{
	struct kernel_features f = { .lost = true };
	struct sampling s = sampling_of("cpu-clock", true, 4000);
	struct perf_event_attr attr = attr_sampling(&f, TARGET_SYSTEM, &s);

	(void)state;
	assert_int_equal(attr.freq, 0);
	assert_int_equal(attr.sample_period, 250000);
	s = sampling_of("page-faults", false, 100);
	attr = attr_sampling(&f, TARGET_SYSTEM, &s);
	assert_false(attr.sample_type & PERF_SAMPLE_PERIOD);
	s.rate = 1;
	attr = attr_sampling(&f, TARGET_SYSTEM, &s);
	assert_true(attr.sample_type & PERF_SAMPLE_PERIOD);
	s.by_frequency = true;
	s.rate = 100;
	attr = attr_sampling(&f, TARGET_SYSTEM, &s);
	assert_true((attr.sample_type & PERF_SAMPLE_PERIOD) && attr.freq);
}

static void test_attr_of_side_band(void **state)
{
	struct kernel_features all = { true, true, true, true, true }, none = { 0 };
	struct target t = { .kind = TARGET_SYSTEM };
	struct perf_event_attr attr = attr_tracking(&all, &t);

	(void)state;
	assert_true(attr.mmap && attr.mmap2 && attr.comm && attr.comm_exec && attr.task);
	assert_true(attr.ksymbol && attr.bpf_event && attr.cgroup && attr.namespaces &&
		    !attr.inherit);
	assert_true(attr.exclude_kernel && attr.exclude_hv);
	assert_false(attr.mmap_data);
	t = (struct target){ .kind = TARGET_PIDS, .tell_data = true };
	attr = attr_tracking(&all, &t);
	assert_true(attr.mmap_data);
	assert_true(attr.inherit && attr.ksymbol && attr.bpf_event && !attr.cgroup);
	t = (struct target){ .kind = TARGET_SYSTEM };
	attr = attr_tracking(&none, &t);
	assert_false(attr.ksymbol || attr.bpf_event || attr.cgroup || attr.namespaces);
	assert_int_equal(attr.read_format, PERF_FORMAT_ID);
	attr = attr_owner(&all, 4096);
	assert_true(attr.watermark && !attr.mmap && !attr.task);
	assert_int_equal(attr.wakeup_watermark, 4096);
}

/* A child that waits to be killed, its name set by @name; with a child of its own if @nested. */
static pid_t child(const char *name, pid_t *ret_nested)
{
	int told[2];
	pid_t pid, nested = 0;

	assert_int_equal(pipe(told), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_NAME, name);
		if (ret_nested) {
			nested = fork();
			if (nested == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				pause();
				_exit(0);
			}
		}
		if (write(told[1], &nested, sizeof(nested)) == sizeof(nested))
			pause();
		_exit(0);
	}
	assert_int_equal(read(told[0], &nested, sizeof(nested)), sizeof(nested));
	if (ret_nested)
		*ret_nested = nested;
	close(told[0]);
	close(told[1]);
	return pid;
}

static void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_task_state_of_hostile_names(void **state)
{
	static const char *const names[] = { "a) Z 1 2 (b", ") R 7", "\n)\n", "" };
	struct task_state s = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		pid_t pid = child(names[i], NULL);

		assert_int_equal(task_state_read(pid, &s), 0);
		assert_int_equal(s.parent, getpid());
		assert_true(s.state == 'S' || s.state == 'R');
		assert_true(s.start > 0);
		reap(pid);
		assert_int_equal(task_state_read(pid, &s), -ESRCH);
	}
}

static bool has_tid(const struct task_list *l, pid_t tid)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->at[i].tid == tid)
			return true;
	return false;
}

static void test_children_are_found_and_barred(void **state)
{
	struct map roots = { 0 }, barred = { 0 };
	struct task_list found = { 0 };
	pid_t nested, pid = child("mother", &nested);

	(void)state;
	assert_int_equal(map_set(&roots, (uint64_t)getpid(), 0), 0);
	assert_int_equal(targets_scan_children(&roots, &barred, &found), 0);
	assert_true(has_tid(&found, pid) && has_tid(&found, nested));
	assert_false(has_tid(&found, getpid()));
	vec_clear(&found);
	assert_int_equal(map_set(&barred, (uint64_t)pid, 0), 0);
	assert_int_equal(targets_scan_children(&roots, &barred, &found), 0);
	assert_false(has_tid(&found, pid) || has_tid(&found, nested));
	kill(nested, SIGKILL);
	reap(pid);
	vec_done(&found);
	map_done(&roots);
	map_done(&barred);
}

static void test_scans(void **state)
{
	struct target t = { .kind = TARGET_PIDS };
	struct task_list found = { 0 };
	uint32_t missing;
	pid_t pid = child("target", NULL);

	(void)state;
	assert_int_equal(vec_push(&t.ids, (uint32_t)getpid()), 0);
	assert_int_equal(vec_push(&t.ids, (uint32_t)pid), 0);
	assert_int_equal(targets_scan(&t, &found, &missing), 0);
	assert_int_equal(missing, 0);
	assert_true(has_tid(&found, getpid()) && has_tid(&found, pid));
	vec_clear(&found);
	t.kind = TARGET_USER;
	t.uid = getuid();
	assert_int_equal(targets_scan(&t, &found, NULL), 0);
	assert_true(has_tid(&found, getpid()) && has_tid(&found, pid));
	vec_clear(&found);
	t.uid = 3999999999u;
	assert_int_equal(targets_scan(&t, &found, NULL), 0);
	assert_int_equal(found.nr, 0);
	reap(pid);
	t.kind = TARGET_TIDS;
	assert_int_equal(targets_scan(&t, &found, &missing), 0);
	assert_int_equal(missing, pid);
	assert_int_equal(found.nr, 1);
	vec_clear(&found);
	t.kind = TARGET_SYSTEM;
	assert_int_equal(targets_scan(&t, &found, &missing), 0);
	assert_int_equal(found.nr, 1);
	assert_int_equal(found.at[0].tid, -1);
	vec_done(&found);
	target_done(&t);
}

static void test_descriptors_are_raised(void **state)
{
	struct rlimit before, low, after;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(descriptors_raise(256), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
	assert_true(after.rlim_cur >= 256);
	assert_int_equal(descriptors_raise(1ull << 40), -EMFILE);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(after.rlim_cur, after.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_ids_pack),
		cmocka_unit_test(test_attr_of_exclusions),
		cmocka_unit_test(test_attr_of_rates),
		cmocka_unit_test(test_attr_of_side_band),
		cmocka_unit_test(test_task_state_of_hostile_names),
		cmocka_unit_test(test_children_are_found_and_barred),
		cmocka_unit_test(test_scans),
		cmocka_unit_test(test_descriptors_are_raised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
