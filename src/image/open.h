/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files named by other processes, safely: whatever the path leads to, nothing but a regular
 * file is ever opened (a FIFO could block, a device could act on being opened), and none that the
 * kernel makes up (open_is_stored()).
 */
#ifndef PTOP_IMAGE_OPEN_H
#define PTOP_IMAGE_OPEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/reason.h"
#include "image/images.h"
#include "image/key.h"

/*
 * Opens the file that a sight tells of: /proc/PID/map_files (deleted and replaced files too; needs
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN), the path under the process's root, /proc/PID/exe (the
 * program itself where deleted), the plain path.  Each is accepted only if file_key_matches().
 * Returns a descriptor or -errno; -ESTALE: only another file was found.
 */
int open_mapped(const struct image_sight *sight, struct reason *why);

/*
 * Takes hold of the file without opening it: a descriptor with O_PATH, or -errno.  Waits for no
 * file system: -EAGAIN where one would have to be asked for the path (-EINVAL before Linux 5.12,
 * which cannot tell), so it is not known yet to be the mapped file. *@ret_via: how it was reached.
 */
int open_pin(const struct image_sight *sight, enum file_via *ret_via);

/* The same file for reading, if it is the mapped one; as open_mapped(). Borrows @pin. */
int open_pinned(int pin, const struct image_sight *sight, enum file_via via);

/*
 * Whether @fd (O_PATH will do) is of a file system that stores files.  Those of proc, sysfs,
 * tracefs and others like them are regular to stat(2), but reading may take what is read away from
 * others
 * (/proc/kmsg, trace_pipe) or touch a device; and a symbolic link is enough to name one to us.
 */
bool open_is_stored(int fd);

/* A directory that stands for the root of process @pid's view, for open_in_root(); our own for pid
 * 0. -errno. */
int open_root(pid_t pid);

/* Opens a regular file under @root; symbolic links and ".." cannot leave it. */
int open_in_root(int root, const char *path);

#endif
