/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "space/procfs.h"

enum { STATUS_BYTES_MAX = 1 << 16 };

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

int foreign_open(const char *root, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	struct open_how how = { .flags = (uint64_t)flags,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (dir < 0)
		return -errno;
	while (*path == '/')
		path++;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0 &&
	    (errno == ENOSYS || errno == EPERM)) /* before Linux 5.6, or a container's filter */
		fd = openat(dir, path, flags);
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

bool foreign_trusted(const struct stat *st, uint32_t uid)
{
	return S_ISREG(st->st_mode) && (st->st_uid == 0 || st->st_uid == uid);
}
