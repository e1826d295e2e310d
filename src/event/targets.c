/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/targets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/vec.h"

/* One file of /proc/PID, cut to @size; its length or -errno. */
static ssize_t read_proc(pid_t tid, const char *file, char *out, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, out, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n;
}

/* A command name may hold anything, parentheses too: the fields begin behind the last one
 * (proc(5)). */
int task_state_read(pid_t tid, struct task_state *ret)
{
	struct task_state s;
	char stat[1024];
	const char *fields;
	unsigned long long start;
	ssize_t n = read_proc(tid, "stat", stat, sizeof(stat));

	if (n < 0)
		return (int)n;
	fields = strrchr(stat, ')');
	if (!fields ||
	    sscanf(fields + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &s.state, &s.parent, &start) != 3)
		return -EBADMSG;
	s.start = start;
	*ret = s;
	return 0;
}

bool task_is_foreign(pid_t tid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", tid);
	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

/* Calls @fn for each numbered entry of a directory until it fails; 0 or the first -errno. */
static int each_number(const char *path, int (*fn)(void *ctx, uint32_t number), void *ctx)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	uint32_t number;
	int err = 0;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(dir)))
		if (parse_u32(entry->d_name, &number) == 0)
			err = fn(ctx, number);
	closedir(dir);
	return err;
}

struct threads_scan {
	struct task_list *ret;
	pid_t pid;
};

static int add_thread(void *ctx, uint32_t tid)
{
	struct threads_scan *scan = ctx;
	struct task task = { .pid = scan->pid, .tid = (pid_t)tid };

	return vec_push(scan->ret, task);
}

int targets_scan_process(pid_t pid, struct task_list *ret)
{
	struct threads_scan scan = { .ret = ret, .pid = pid };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return each_number(path, add_thread, &scan);
}

struct user_scan {
	struct task_list *ret;
	uid_t uid;
};

/*
 * The owner of /proc/PID is the effective user, or root for what is not dumpable; its real user is
 * in the status then.
 */
static bool runs_as(pid_t pid, uid_t uid)
{
	struct stat st;
	char path[64], status[2048];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st))
		return false;
	if (st.st_uid == uid)
		return true;
	if (st.st_uid != 0 || read_proc(pid, "status", status, sizeof(status)) <= 0)
		return false;
	line = strstr(status, "\nUid:");
	return line && strtoul(line + strlen("\nUid:"), NULL, 10) == uid;
}

static int add_process_of_user(void *ctx, uint32_t pid)
{
	struct user_scan *scan = ctx;
	int err;

	if (!runs_as((pid_t)pid, scan->uid))
		return 0;
	err = targets_scan_process((pid_t)pid, scan->ret);
	return err == -ENOMEM ? err : 0;
}

static int scan_ids(const struct target *t, struct task_list *ret, uint32_t *missing)
{
	struct task_state state;
	int err;

	for (size_t i = 0; i < t->ids.nr; i++) {
		pid_t id = (pid_t)t->ids.at[i];
		struct task thread = { .pid = id, .tid = id };

		if (t->kind == TARGET_PIDS)
			err = targets_scan_process(id, ret);
		else
			err = task_state_read(id, &state) == -ESRCH ? -ESRCH
								    : vec_push(ret, thread);
		if (err == -ESRCH && *missing == 0)
			*missing = t->ids.at[i];
		if (err && err != -ESRCH)
			return err;
	}
	return 0;
}

int targets_scan(const struct target *t, struct task_list *ret, uint32_t *ret_missing)
{
	static const struct task everything = { .pid = -1, .tid = -1 };
	struct user_scan scan = { .ret = ret, .uid = t->uid };
	uint32_t missing = 0;
	int err = 0;

	switch (t->kind) {
	case TARGET_SYSTEM:
		err = vec_push(ret, everything);
		break;
	case TARGET_USER:
		err = each_number("/proc", add_process_of_user, &scan);
		break;
	case TARGET_PIDS:
	case TARGET_TIDS:
		err = scan_ids(t, ret, &missing);
		break;
	}
	if (ret_missing)
		*ret_missing = missing;
	return err;
}

struct parents_scan {
	struct task_list pairs; /* pid: the parent; tid: the process */
};

static int add_parent(void *ctx, uint32_t pid)
{
	struct parents_scan *scan = ctx;
	struct task_state state;
	struct task pair = { .tid = (pid_t)pid };

	if (task_state_read((pid_t)pid, &state))
		return 0;
	pair.pid = state.parent;
	return vec_push(&scan->pairs, pair);
}

/* Grows the set of roots by their children until it stays; PIDs wrap, so a child may be listed
 * before its parent. */
int targets_scan_children(const struct map *roots, const struct map *barred, struct task_list *ret)
{
	struct parents_scan scan = { 0 };
	struct map family = { 0 };
	const struct map_entry *entry;
	size_t pos = 0, before;
	int err = each_number("/proc", add_parent, &scan);

	while (!err && (entry = map_next(roots, &pos)))
		err = map_set(&family, entry->key, 0);
	do {
		before = family.nr;
		for (size_t i = 0; !err && i < scan.pairs.nr; i++) {
			uint64_t child = (uint32_t)scan.pairs.at[i].tid;

			if (map_find(&family, (uint32_t)scan.pairs.at[i].pid) &&
			    !map_find(&family, child) && !map_find(barred, child))
				err = map_set(&family, child, 1);
		}
	} while (!err && family.nr != before);
	pos = 0;
	while (!err && (entry = map_next(&family, &pos)))
		if (entry->value == 1 && targets_scan_process((pid_t)entry->key, ret) == -ENOMEM)
			err = -ENOMEM;
	map_done(&family);
	vec_done(&scan.pairs);
	return err;
}

void target_done(struct target *t)
{
	if (!t)
		return;
	vec_done(&t->ids);
	vec_done(&t->cpus);
}
