/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolic links on the way are followed, and then the way is checked that was really taken: from
 * the directory found upwards by "..", each must be root's or ours, and closed to others or sticky.
 * Nothing is made in a directory before that is known of it.
 */
#include "image/cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 64

bool cache_dir_others_write(const struct stat *st)
{
	if ((st->st_mode & S_IWOTH) != 0)
		return true;
	return (st->st_mode & S_IWGRP) != 0 && st->st_gid != 0 &&
	       (geteuid() == 0 || st->st_uid != geteuid() || st->st_gid != getegid());
}

static int open_directory(int at, const char *name, int flags)
{
	int fd = openat(at, name, O_DIRECTORY | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

/* Whether @fd and all above it are in root's or our hands. */
static int check_way(int fd, const char *path, struct reason *why)
{
	struct stat st, above;
	int at = fcntl(fd, F_DUPFD_CLOEXEC, 3), err = at < 0 ? -errno : 0;

	for (int depth = 0; err == 0 && depth < DEPTH_MAX; depth++) {
		int up;

		if (fstat(at, &st) != 0) {
			err = -errno;
			break;
		}
		if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
		    (cache_dir_others_write(&st) && (st.st_mode & S_ISVTX) == 0)) {
			close(at);
			return reason_set(
				why, -EPERM,
				"%s is in a directory of another user, or one that others can write to",
				path);
		}
		up = open_directory(at, "..", O_PATH);
		close(at);
		at = up;
		if (at < 0)
			return reason_set(why, at, "%s: %s", path, strerror(-at));
		if (fstat(at, &above) == 0 && above.st_dev == st.st_dev &&
		    above.st_ino == st.st_ino)
			break;
	}
	if (at >= 0)
		close(at);
	return err == 0 ? 0 : reason_set(why, err, "%s: %s", path, strerror(-err));
}

/* The directory @name in @at, made where there is none; takes @at. */
static int step_into(int at, const char *name, const char *path, struct reason *why)
{
	int fd = open_directory(at, name, O_PATH), err;

	if (fd == -ENOENT) {
		err = check_way(at, path, why);
		if (err != 0) {
			close(at);
			return err;
		}
		fd = mkdirat(at, name, 0700) == 0 || errno == EEXIST
			     ? open_directory(at, name, O_PATH)
			     : -errno;
	}
	close(at);
	return fd >= 0 ? fd
		       : reason_set(why, fd, "cannot make or open %s: %s", path, strerror(-fd));
}

/* The directory itself: ours, and closed. */
static int check_own(int fd, const char *path, struct reason *why)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return reason_set(why, -errno, "%s: %s", path, strerror(errno));
	if (st.st_uid != geteuid())
		return reason_set(why, -EPERM, "%s belongs to another user", path);
	if ((st.st_mode & 077) != 0 && fchmod(fd, 0700) != 0)
		return reason_set(why, -EPERM, "%s is open to others: chmod 700 %s", path, path);
	return 0;
}

int cache_dir_open(const char *path, struct reason *why)
{
	int at = open_directory(AT_FDCWD, "/", O_PATH), fd, err;
	const char *whole = path;
	char name[256];

	if (path[0] != '/')
		err = reason_set(why, -EINVAL, "%s is not a path from the root", path);
	else
		err = at < 0 ? at : 0;
	while (err == 0 && *(path += strspn(path, "/")) != '\0') {
		size_t length = strcspn(path, "/");

		if (length >= sizeof(name)) {
			err = reason_set(why, -ENAMETOOLONG, "a name in it is too long");
			break;
		}
		memcpy(name, path, length);
		name[length] = '\0';
		path += length;
		at = step_into(at, name, whole, why);
		err = at < 0 ? at : 0;
	}
	if (err != 0) {
		if (at >= 0)
			close(at);
		return err;
	}
	fd = open_directory(at, ".", O_RDONLY);
	close(at);
	if (fd < 0)
		return reason_set(why, fd, "cannot open it: %s", strerror(-fd));
	err = check_way(fd, whole, why);
	if (err == 0)
		err = check_own(fd, whole, why);
	if (err == 0)
		return fd;
	close(fd);
	return err;
}
