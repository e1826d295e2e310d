/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of names that processes write: where they are and whether to believe them.  Any user may
 * write to /tmp and any process may choose its root, so: resolved inside that root, no symbolic
 * link at the end, regular, owned by the process's user or root.
 */
#ifndef PTOP_SYMBOL_FOREIGN_FILE_H
#define PTOP_SYMBOL_FOREIGN_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct foreign_process {
	pid_t ns_pid; /* its id in its own, innermost namespace */
	uint32_t uid; /* effective */
};

/* What /proc tells of a process; false, and *@ret as it was, where it is gone. */
bool foreign_learn(pid_t pid, struct foreign_process *ret);

/* Opens @path inside the directory @root, for reading and never waiting; -errno. */
int foreign_open(const char *root, const char *path);

/* A regular file of @uid or root. */
bool foreign_trusted(const struct stat *st, uint32_t uid);

#endif
