/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of names that processes write: where they are and whether to believe them.  Any user may
 * write to /tmp and any process may choose its root, so: resolved inside that root, no symbolic
 * link at the end, regular, owned by the process's user or root.
 */
#ifndef PTOP_SYMBOL_FOREIGN_FILE_H
#define PTOP_SYMBOL_FOREIGN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct foreign_process {
	pid_t ns_pid; /* its id in its own, innermost namespace */
	uint32_t uid; /* effective */
};

/* What /proc tells of a process; false, and *@ret as it was, where it is gone. */
bool foreign_learn(pid_t pid, struct foreign_process *ret);

/*
 * Opens the file @name in the folder @path inside the root of process @pid (0: ours), for reading;
 * -errno.  Waits for no file system: -EREMOTEIO where foreign_waits() says that it could.
 */
int foreign_open(pid_t pid, const char *path, const char *name);

/*
 * Whether reading what @fd holds, of a mount that process @pid sees (0: we), could wait for a
 * server: of another machine, or a user's own process (FUSE), which may never answer.  Asks no file
 * system; true where it cannot be told.
 */
bool foreign_waits(int fd, pid_t pid);

/*
 * The same by the bytes of /proc/PID/mountinfo (proc_pid_mountinfo(5)) and the mount's id.
 * @others_own: the process is in another user namespace than we, where any user may mount an
 * overlay over what waits.
 */
bool foreign_mount_waits(const char *bytes, size_t size, uint64_t id, bool others_own);

/* A regular file of @uid or root. */
bool foreign_trusted(const struct stat *st, uint32_t uid);

#endif
