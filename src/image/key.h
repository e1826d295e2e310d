/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is the file just opened the one that is mapped?  Between the mapping and the opening a package
 * may have been upgraded, a container's path may mean another file, an inode number may be in use
 * again.
 */
#ifndef PTOP_IMAGE_KEY_H
#define PTOP_IMAGE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/reason.h"
#include "image/images.h"

/* What identifies an opened file. */
struct file_key {
	dev_t dev;
	uint64_t ino;
	uint64_t size;
	int64_t mtime_ns;
	uint8_t build_id[20];
	uint8_t build_id_size; /* 0: it has none, or was not asked for */
};

/* Identity of a regular file; @with_build_id reads its notes too.  0 or -errno; -ENOEXEC: not a
 * regular file. */
int file_key_read(int fd, bool with_build_id, struct file_key *ret);

/* How a file was reached. */
enum file_via {
	VIA_MAP_FILES, /* /proc/PID/map_files: the kernel's own link to the mapped file */
	VIA_PATH,      /* a path, or /proc/PID/exe */
};

/*
 * Whether @key is the file that @sight tells of:
 *
 *   build-id   Known on both sides it decides alone where it differs, and alone where it is equal.
 *   inode      Must be equal.  An exception is an overlay file system reached by map_files: its
 * inode numbers may carry the layer in their upper bits, and the link cannot lead elsewhere. device
 * The kernel tells the device of the file system that holds the data; stat(2) tells that of the
 *              view.  On overlayfs and on btrfs subvolumes they differ for one and the same file,
 * and at least one of them is anonymous (major 0).  So two different devices count as a
 *              contradiction only where both are real.
 *
 * A sight without build-id and inode is accepted: there is nothing to hold against it.
 */
bool file_key_matches(const struct file_key *key, const struct image_sight *sight,
		      enum file_via via, bool on_overlay);

#endif
