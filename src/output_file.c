/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 16 };

static const int make_flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;

int output_new(const char *path)
{
	int fd = open(path, make_flags, 0600);

	return fd < 0 ? -errno : fd;
}

static void end(struct output_file *f)
{
	if (f->folder_fd >= 0)
		close(f->folder_fd);
	if (f->fd >= 0)
		close(f->fd);
	f->folder_fd = f->fd = -1;
	f->passing[0] = '\0';
}

/* Splits @path into a folder that is open from then on, and a name in it. */
static int open_folder(struct output_file *f, const char *path, struct reason *why)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[4096] = ".";

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return reason_set(why, -EISDIR, "cannot write %s: name a file", path);
	if (strlen(name) >= sizeof(f->name) || (slash && (size_t)(slash - path) >= sizeof(folder)))
		return reason_set(why, -ENAMETOOLONG, "cannot write %s: its name is too long",
				  path);
	strcpy(f->name, name);
	if (slash)
		snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path);
	f->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->folder_fd < 0)
		return reason_set(why, -errno, "cannot write %s: its folder: %s", path,
				  strerror(errno));
	return 0;
}

/* What bears the name already: -EEXIST where it is no plain file; 1 a plain file; 0 nothing. */
static int look(const struct output_file *f, const char *path, struct reason *why)
{
	struct stat st;

	if (fstatat(f->folder_fd, f->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0
				       : reason_set(why, -errno, "cannot write %s: %s", path,
						    strerror(errno));
	if (S_ISLNK(st.st_mode))
		return reason_set(why, -EEXIST,
				  "cannot write %s: it is a symbolic link: name the file itself",
				  path);
	if (!S_ISREG(st.st_mode))
		return reason_set(why, -EEXIST,
				  "cannot write %s: there is something that is no plain file",
				  path);
	return 1;
}

int output_begin(struct output_file *f, const char *path, struct reason *why)
{
	uint32_t number;
	int err;

	*f = (struct output_file){ .folder_fd = -1, .fd = -1 };
	err = open_folder(f, path, why);
	if (err)
		return err;
	err = look(f, path, why);
	for (int i = 0; err >= 0 && f->fd < 0 && i < TRIES; i++) {
		if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
			number = (uint32_t)getpid() + (uint32_t)i;
		snprintf(f->passing, sizeof(f->passing), ".ptop-%08x", number);
		f->fd = openat(f->folder_fd, f->passing, make_flags, 0600);
		if (f->fd < 0 && errno != EEXIST)
			break;
	}
	if (err >= 0 && f->fd < 0)
		err = reason_set(why, -errno, "cannot write %s: %s", path, strerror(errno));
	if (err < 0) {
		end(f);
		return err;
	}
	return 0;
}

int output_take(struct output_file *f)
{
	int fd = f->fd;

	f->fd = -1;
	return fd;
}

/* Moves what is in the way to FILE.old. */
static int make_room(const struct output_file *f, const char *path, struct reason *why)
{
	char old[sizeof(f->name) + 4];
	int there = look(f, path, why);

	if (there <= 0)
		return there;
	snprintf(old, sizeof(old), "%s.old", f->name);
	if (renameat(f->folder_fd, f->name, f->folder_fd, old) != 0)
		return reason_set(why, -errno, "cannot write %s: it cannot be moved to %s: %s",
				  path, old, strerror(errno));
	return 0;
}

/* Fails where the name is taken, on file systems that can tell. */
static int rename_new(const struct output_file *f)
{
	if (renameat2(f->folder_fd, f->passing, f->folder_fd, f->name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return renameat(f->folder_fd, f->passing, f->folder_fd, f->name) ? -errno : 0;
}

int output_publish(struct output_file *f, const char *path, struct reason *why)
{
	int err = make_room(f, path, why);

	if (!err) {
		err = rename_new(f);
		if (err)
			reason_set(why, err, "cannot write %s: %s", path, strerror(-err));
	}
	if (err)
		output_abandon(f);
	else
		end(f);
	return err;
}

void output_abandon(struct output_file *f)
{
	if (f->folder_fd >= 0 && f->passing[0])
		(void)unlinkat(f->folder_fd, f->passing, 0);
	end(f);
}
