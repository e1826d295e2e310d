/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files are safe to remember.  The time of change (ctime) is what makes an identity: no call
 * sets it.  That holds where the kernel writes it to a file system of its own, not where a server
 * or a user's process tells it; and it tells two states of a file apart only when its clock has
 * ticked in between.
 */
#include "image/cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "image/cache_dir.h"

#define NS_PER_S INT64_C(1000000000)
#define MOUNTS_BYTES_MAX ((size_t)16 << 20)

/* What linux/magic.h has not got (kernel, fs/). */
#define BCACHEFS_MAGIC 0xca451a4e
#define JFS_MAGIC 0x3153464a
#define UBIFS_MAGIC 0x24051905
#define ZFS_MAGIC 0x2fc12fc1

/*
 * Whether what @fd holds is of a mount that we see.  Any user may mount an overlay in a namespace
 * of his own, over a file system whose server is his (FUSE) and makes up owners and times.
 */
static bool is_our_mount(int fd)
{
	bool found = false;
	struct statx st;
	char *bytes, *at;
	size_t size;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) != 0 ||
	    (st.stx_mask & STATX_MNT_ID) == 0 ||
	    parse_file("/proc/self/mountinfo", MOUNTS_BYTES_MAX, &bytes, &size) != 0)
		return false;
	/* proc_pid_mountinfo(5): a line each, which begins with the number. */
	for (at = bytes; at != NULL && *at != '\0' && !found;) {
		found = strtoull(at, NULL, 10) == st.stx_mnt_id;
		at = strchr(at, '\n');
		at += at != NULL;
	}
	free(bytes);
	return found;
}

static bool is_local(int fd, const struct statfs *fs)
{
	switch ((uint32_t)fs->f_type) {
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case SQUASHFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case REISERFS_SUPER_MAGIC:
	case BCACHEFS_MAGIC:
	case JFS_MAGIC:
	case UBIFS_MAGIC:
	case ZFS_MAGIC:
		return true;
	case OVERLAYFS_SUPER_MAGIC:
		return is_our_mount(fd);
	default:
		return false;
	}
}

static int64_t in_ns(const struct timespec *t)
{
	return t->tv_sec * NS_PER_S + t->tv_nsec;
}

bool cache_file_read(int fd, uint64_t settled_ns, struct cache_file *ret)
{
	struct timespec now;
	struct statfs fs;
	struct stat st;
	int64_t before;

	if (fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0 ||
	    clock_gettime(CLOCK_REALTIME, &now) != 0)
		return false;
	*ret = (struct cache_file){
		.identity = { .dev = st.st_dev,
			      .ino = st.st_ino,
			      .size = (uint64_t)st.st_size,
			      .mtime_ns = in_ns(&st.st_mtim),
			      .ctime_ns = in_ns(&st.st_ctim),
			      .uid = st.st_uid },
		.trusted = S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid()) &&
			   !cache_dir_others_write(&st) && is_local(fd, &fs) &&
			   (fs.f_flags & ST_NOSUID) == 0,
	};
	before = in_ns(&now) - (int64_t)settled_ns;
	ret->settled = ret->identity.ctime_ns <= before && ret->identity.mtime_ns <= before;
	return true;
}

bool cache_maker_read(struct cache_identity *ret)
{
	struct cache_file self;
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	bool known = fd >= 0 && cache_file_read(fd, 0, &self);

	if (fd >= 0)
		close(fd);
	if (known)
		*ret = self.identity;
	return known;
}
