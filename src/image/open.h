/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files named by other processes, safely: whatever the path leads to, nothing but a regular
 * file is ever opened (a FIFO could block, a device could act on being opened).
 */
#ifndef PTOP_IMAGE_OPEN_H
#define PTOP_IMAGE_OPEN_H

#include <sys/types.h>

#include "base/reason.h"
#include "image/images.h"

/*
 * Opens the file that a sight tells of: /proc/PID/map_files (deleted and replaced files too; needs
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN), the path under the process's root, /proc/PID/exe (the
 * program itself where deleted), the plain path.  Each is accepted only if file_key_matches().
 * Returns a descriptor or -errno; -ESTALE: only another file was found.
 */
int open_mapped(const struct image_sight *sight, struct reason *why);

/* A directory that stands for the root of process @pid's view, for open_in_root(); our own for pid
 * 0. -errno. */
int open_root(pid_t pid);

/* Opens a regular file under @root; symbolic links and ".." cannot leave it. */
int open_in_root(int root, const char *path);

#endif
