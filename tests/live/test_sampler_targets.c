/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler on the real kernel: targets that come, go, fork and exec. */
#include "sampler_rig.h"

#include <errno.h>

static void test_target_that_is_not_there(void **state)
{
	pid_t pid = sleeper();
	struct target t = target_of(TARGET_PIDS, (uint32_t)pid);
	struct sampling s = sampling_of("cpu-clock", 100);
	size_t fds = open_descriptors();
	struct rig rig;

	(void)state;
	reap(pid);
	assert_int_equal(rig_open(&rig, &t, &s), -ESRCH);
	assert_non_null(strstr(rig.why.text, "there is no process"));
	assert_int_equal(open_descriptors(), fds);
	t.kind = TARGET_TIDS;
	assert_int_equal(rig_open(&rig, &t, &s), -ESRCH);
	assert_non_null(strstr(rig.why.text, "there is no thread"));
	target_done(&t);
}

static void test_offline_cpu(void **state)
{
	struct target t = target_of(TARGET_PIDS, (uint32_t)getpid());
	struct sampling s = sampling_of("cpu-clock", 100);
	struct rig rig;

	(void)state;
	assert_int_equal(vec_push(&t.cpus, 8191), 0);
	assert_int_equal(rig_open(&rig, &t, &s), -EINVAL);
	assert_non_null(strstr(rig.why.text, "CPU 8191 is not online"));
	target_done(&t);
}

/* A target lives on in the children that inherited its events. */
static void test_target_lives_in_its_children(void **state)
{
	int go[2], told[2];
	struct target t;
	struct sampling s = sampling_of("cpu-clock", 100);
	struct rig rig;
	pid_t pid, grandchild;
	char byte = 0;

	(void)state;
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (pid == 0) {
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		grandchild = fork();
		if (grandchild == 0) {
			pause();
			_exit(0);
		}
		_exit(write(told[1], &grandchild, sizeof(grandchild)) != sizeof(grandchild));
	}
	t = target_of(TARGET_PIDS, (uint32_t)pid);
	assert_int_equal(rig_open(&rig, &t, &s), 0);
	rig_start(&rig);
	assert_true(sampler_target_alive(rig.sp));
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(read(told[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(sampler_target_alive(rig.sp));
	kill(grandchild, SIGKILL);
	for (int i = 0; i < 5000 && sampler_target_alive(rig.sp); i++)
		burn_ms(1);
	assert_false(sampler_target_alive(rig.sp));
	rig_close(&rig);
	target_done(&t);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(told[i]);
	}
}

/*
 * A child that inherited the events and whose parent has ended is found again at a change: by the
 * records seen, for no /proc tells where it came from.
 */
static void test_orphans_follow_a_change(void **state)
{
	int go[2], told[2];
	struct sampling s = sampling_of("cpu-clock", 1000);
	struct target t;
	struct tally n;
	struct rig rig;
	pid_t pid, orphan;
	char byte = 0;

	(void)state;
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (pid == 0) {
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		orphan = fork();
		if (orphan == 0)
			burn_ms(60000);
		_exit(write(told[1], &orphan, sizeof(orphan)) != sizeof(orphan));
	}
	t = target_of(TARGET_PIDS, (uint32_t)pid);
	assert_int_equal(rig_open(&rig, &t, &s), 0);
	rig_start(&rig);
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(read(told[0], &orphan, sizeof(orphan)), sizeof(orphan));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	n = await(&rig, orphan, 1, 3);
	assert_true(n.by_serial[1] >= 3);
	change(&rig, sampling_of("task-clock", 1000));
	n = await(&rig, orphan, 2, 3);
	assert_true(n.by_serial[2] >= 3);
	assert_true(sampler_target_alive(rig.sp));
	kill(orphan, SIGKILL);
	rig_close(&rig);
	target_done(&t);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(told[i]);
	}
}

/* Children from before the opening are no part of the target, before a change and after it. */
static void test_older_children_stay_out(void **state)
{
	pid_t child = spinner(0);
	struct rig rig;
	struct tally n;

	(void)state;
	open_self(&rig, "cpu-clock", 1000);
	rig_start(&rig);
	burn_ms(10);
	change(&rig, sampling_of("task-clock", 1000));
	n = await(&rig, getpid(), 2, 20);
	assert_true(n.by_serial[2] >= 20);
	n = (struct tally){ .rig = &rig, .only_tid = child };
	burn_ms(20);
	rig_drain(&rig, count, &n);
	assert_int_equal(n.samples, 0);
	reap(child);
	rig_close(&rig);
}

/* A user's new process is found by a rescan unless a watched one started it. */
static void test_processes_of_a_user(void **state)
{
	enum { SOMEONE = 61234 };
	struct target t = { .kind = TARGET_USER, .uid = SOMEONE };
	struct sampling s = sampling_of("cpu-clock", 1000);
	struct tally n;
	struct rig rig;
	pid_t first, second;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(rig_open(&rig, &t, &s), -ESRCH);
	assert_non_null(strstr(rig.why.text, "runs no process"));
	first = spinner(SOMEONE);
	for (int i = 0; i < 5000 && rig_open(&rig, &t, &s); i++)
		burn_ms(1);
	assert_non_null(rig.sp);
	rig_start(&rig);
	n = await(&rig, first, 1, 3);
	assert_true(n.by_serial[1] >= 3);
	assert_int_equal(sampler_rescan(rig.sp), 0);
	second = spinner(SOMEONE);
	for (int i = 0; i < 5000 && sampler_rescan(rig.sp) == 0; i++)
		burn_ms(1);
	n = await(&rig, second, 1, 3);
	assert_true(n.by_serial[1] >= 3);
	assert_int_equal(sampler_rescan(rig.sp), 0);
	reap(first);
	reap(second);
	rig_close(&rig);
}

static void test_whole_system(void **state)
{
	struct target t = { .kind = TARGET_SYSTEM };
	struct sampling s = sampling_of("cpu-clock", 1000);
	pid_t child = spinner(0);
	struct tally n;
	struct rig rig;
	int err;

	(void)state;
	err = rig_open(&rig, &t, &s);
	if (err == -EACCES || err == -EPERM) {
		reap(child);
		skip();
	}
	assert_int_equal(err, 0);
	rig_start(&rig);
	n = await(&rig, child, 1, 10);
	assert_true(n.by_serial[1] >= 10);
	s.rate = 2000;
	change(&rig, s);
	n = await(&rig, child, 2, 10);
	assert_true(n.by_serial[2] >= 10);
	assert_int_equal(n.period, 500000);
	assert_int_equal(rig.strangers, 0);
	reap(child);
	rig_close(&rig);
}

/* Nothing is sampled before the exec, and all that follows is. */
static void test_command_from_its_exec(void **state)
{
	struct sampling s = sampling_of("cpu-clock", 10000);
	struct target t;
	struct tally n;
	struct rig rig;
	int go[2], status;
	pid_t pid;
	char byte = 0;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		burn_ms(20);
		execl("/bin/sh", "sh", "-c",
		      "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7", NULL);
		_exit(127);
	}
	t = target_of(TARGET_PIDS, (uint32_t)pid);
	t.on_exec = true;
	assert_int_equal(rig_open(&rig, &t, &s), 0);
	rig_start(&rig);
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 7);
	n = drained(&rig, true);
	assert_int_equal(n.comm_exec, 1);
	assert_int_equal(n.exits, 1);
	assert_true(n.samples > 0);
	assert_false(sampler_target_alive(rig.sp));
	rig_close(&rig);
	target_done(&t);
	close(go[0]);
	close(go[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target_that_is_not_there),
		cmocka_unit_test(test_offline_cpu),
		cmocka_unit_test(test_target_lives_in_its_children),
		cmocka_unit_test(test_orphans_follow_a_change),
		cmocka_unit_test(test_older_children_stay_out),
		cmocka_unit_test(test_processes_of_a_user),
		cmocka_unit_test(test_whole_system),
		cmocka_unit_test(test_command_from_its_exec),
	};
	int skip = need_perf();

	return skip ? skip : cmocka_run_group_tests(tests, NULL, NULL);
}
