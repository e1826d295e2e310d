/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/PID/{maps,status} from bytes (proc_pid_maps(5), proc_pid_status(5)).  Pure: any bytes are
 * safe, bad lines are passed over.
 */
#ifndef PTOP_SPACE_PROCFS_H
#define PTOP_SPACE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct procfs_map {
	uint64_t start, end, pgoff, ino;
	uint32_t maj, min;
	bool exec;
	const char *path; /* in the given bytes, no NUL behind it; size 0 for anonymous memory */
	size_t path_size; /* "\012" stands for a newline: see procfs_unescape() */
};

/* The next well-formed line of @bytes from *@pos on; false at the end. */
bool procfs_next_map(const char *bytes, size_t size, size_t *pos, struct procfs_map *ret);

/* Copies a path with the kernel's "\012" undone; returns its size, at most @room - 1,
 * NUL-terminated. */
size_t procfs_unescape(char *out, size_t room, const char *path, size_t size);

struct procfs_status {
	pid_t tgid;
	pid_t ns_pid;     /* the process id in its own, innermost namespace */
	uint32_t threads; /* 0 where not told */
	uint32_t uid, euid;
};

/* 0, or -EINVAL where Tgid or Uid is missing.  ns_pid is tgid where NSpid is missing. */
int procfs_status(const char *bytes, size_t size, struct procfs_status *ret);

#endif
