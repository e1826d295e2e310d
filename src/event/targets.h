/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which threads a target is now, by /proc.  A scan is a moment's picture: whoever needs all threads
 * scans, opens, and scans again until nothing is new.  Inside event/ only.
 */
#ifndef PTOP_EVENT_TARGETS_H
#define PTOP_EVENT_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "event/sampler.h"

struct task {
	pid_t pid, tid;
};
struct task_list {
	struct task *at;
	size_t nr, cap;
}; /* a VEC with a name */

/*
 * Appends all threads of @t: each thread of each PID, the TIDs that exist, each thread of the
 * user's processes; for TARGET_SYSTEM one entry with tid -1, which perf_event_open(2) takes for
 * all.  @ret_missing (may be NULL): the first PID or TID that is not there, else 0.  0 or -ENOMEM,
 * or the -errno of /proc.
 */
int targets_scan(const struct target *t, struct task_list *ret, uint32_t *ret_missing);

/* Appends all threads of one process; 0, -ESRCH or -ENOMEM. */
int targets_scan_process(pid_t pid, struct task_list *ret);

/*
 * Appends all threads of processes that descend from a process in @roots (keys: PIDs), roots left
 * out, and those in @barred with what descends from them only.  0 or -errno.
 */
int targets_scan_children(const struct map *roots, const struct map *barred, struct task_list *ret);

/* What /proc/PID/stat says of a process or thread. */
struct task_state {
	pid_t parent;
	char state;     /* 'R', 'S', …; 'Z' or 'X': ended */
	uint64_t start; /* clock ticks after boot */
};
int task_state_read(pid_t tid, struct task_state *ret); /* 0, -ESRCH or -errno */

/* Whether @tid runs as another user than ptop, or hides as one (setuid, not dumpable). */
bool task_is_foreign(pid_t tid);

#endif
