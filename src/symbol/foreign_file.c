/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "image/open.h"
#include "space/procfs.h"

enum { STATUS_BYTES_MAX = 1 << 16, FDINFO_BYTES_MAX = 4096, MOUNTS_BYTES_MAX = 16 << 20 };

bool foreign_learn(pid_t pid, struct foreign_process *ret)
{
	struct procfs_status st;
	char path[40], *bytes;
	size_t size;
	bool known;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (parse_file(path, STATUS_BYTES_MAX, &bytes, &size))
		return false;
	known = !procfs_status(bytes, size, &st);
	free(bytes);
	if (known)
		*ret = (struct foreign_process){ .ns_pid = st.ns_pid, .uid = st.euid };
	return known;
}

/* The decimal number that @at begins with; false where it begins with none. */
static bool leading_number(const char *at, size_t size, uint64_t *ret)
{
	uint64_t number = 0;
	size_t i = 0;

	for (; i < size && i < 18 && at[i] >= '0' && at[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(at[i] - '0');
	*ret = number;
	return i > 0;
}

/* The type of a mount's file system, from one line; its size, 0 where the line is of another. */
static size_t mount_type(const char *line, size_t size, uint64_t id, const char **ret)
{
	const char *dash = memmem(line, size, " - ", 3), *end;
	uint64_t number;

	if (!dash || !leading_number(line, size, &number) || number != id)
		return 0;
	*ret = dash + 3;
	end = memchr(*ret, ' ', size - (size_t)(*ret - line));
	return end ? (size_t)(end - *ret) : 0;
}

bool foreign_mount_waits(const char *bytes, size_t size, uint64_t id, bool others_own)
{
	static const char *const fronts[] = { "fuse",    "nfs",      "cifs",  "smb",    "ceph",
					      "9p",      "afs",      "ncp",   "lustre", "coda",
					      "gluster", "orangefs", "beegfs" };
	static const char overlay[] = "overlay";
	const char *at = bytes, *end = bytes + size, *type;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t line = (size_t)((newline ? newline : end) - at);
		size_t len = mount_type(at, line, id, &type);

		for (size_t i = 0; len && i < sizeof(fronts) / sizeof(fronts[0]); i++) {
			size_t front = strlen(fronts[i]);

			if (len >= front && !memcmp(type, fronts[i], front))
				return true;
		}
		if (len)
			return others_own && len == sizeof(overlay) - 1 &&
			       !memcmp(type, overlay, len);
		at += line + 1;
	}
	return true;
}

/* The id of the mount that @fd is of; false where it is not told. */
static bool mount_id(int fd, uint64_t *ret)
{
	static const char key[] = "mnt_id:\t";
	char path[48], *bytes;
	const char *at;
	size_t size;
	bool found;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (parse_file(path, FDINFO_BYTES_MAX, &bytes, &size))
		return false;
	at = memmem(bytes, size, key, sizeof(key) - 1);
	at = at ? at + sizeof(key) - 1 : bytes + size;
	found = leading_number(at, (size_t)(bytes + size - at), ret);
	free(bytes);
	return found;
}

/* Whether a process is in another user namespace than we; true where that is not told. */
static bool is_of_others(pid_t pid)
{
	struct stat own, theirs;
	char path[48];

	if (!pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat(path, &theirs) || stat("/proc/self/ns/user", &own) ||
	       own.st_dev != theirs.st_dev || own.st_ino != theirs.st_ino;
}

bool foreign_waits(int fd, pid_t pid)
{
	char path[48] = "/proc/self/mountinfo", *bytes;
	size_t size;
	uint64_t id;
	bool waits;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	if (!mount_id(fd, &id) || parse_file(path, MOUNTS_BYTES_MAX, &bytes, &size))
		return true;
	waits = foreign_mount_waits(bytes, size, id, is_of_others(pid));
	free(bytes);
	return waits;
}

/* A folder inside @root, without asking a file system where the kernel can tell (Linux 5.12). */
static int open_folder(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
					   RESOLVE_CACHED };
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd < 0 && errno == EINVAL) {
		how.resolve &= ~(uint64_t)RESOLVE_CACHED;
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	}
	if (fd < 0 &&
	    (errno == ENOSYS || errno == EPERM)) /* before Linux 5.6, or a container's filter */
		fd = openat(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/* Opens for reading what @held (O_PATH), which it takes, is; nothing but a regular file. */
static int open_held(int held, pid_t pid)
{
	struct stat st;
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
	if (foreign_waits(held, pid))
		fd = -EREMOTEIO;
	else if (fstat(held, &st))
		fd = -errno;
	else if (!S_ISREG(st.st_mode) || !open_is_stored(held))
		fd = -EINVAL;
	else
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd == -1)
		fd = -errno;
	close(held);
	return fd;
}

int foreign_open(pid_t pid, const char *path, const char *name)
{
	int root = open_root(pid), folder, fd;

	if (root < 0)
		return root;
	folder = open_folder(root, path);
	close(root);
	if (folder < 0)
		return folder;
	if (foreign_waits(folder, pid)) {
		fd = -EREMOTEIO;
	} else {
		fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(folder);
	return fd < 0 ? fd : open_held(fd, pid);
}

bool foreign_trusted(const struct stat *st, uint32_t uid)
{
	return S_ISREG(st->st_mode) && (st->st_uid == 0 || st->st_uid == uid);
}
