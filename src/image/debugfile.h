/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The separate debug file of a stripped program, where distributions put it:
 *
 *	/usr/lib/debug/.build-id/ab/cdef….debug		by build-id
 *	DIR/LINK, DIR/.debug/LINK, /usr/lib/debug/DIR/LINK	by .gnu_debuglink
 *
 * each under the root of the process that mapped the program, then under our own.  Accepted only
 *with the same build-id, or where the program has none, with the checksum that .gnu_debuglink
 *tells.
 */
#ifndef PTOP_IMAGE_DEBUGFILE_H
#define PTOP_IMAGE_DEBUGFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Finds the debug file of @fd, mapped as @path (absolute, as the process sees it; may be NULL) by
 * @pid (0: search our own root only).  Returns a descriptor or -errno; -ENOENT: none, or @fd has
 * its symbols itself.
 */
int debugfile_open(int fd, pid_t pid, const char *path);

/* The checksum of .gnu_debuglink (CRC-32 as in zlib) over a file.  0 or -errno; -EFBIG past 256
 * MiB. */
int debugfile_crc(int fd, uint32_t *ret);

#endif
