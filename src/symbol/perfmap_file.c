/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the file is and whether to believe it.  Any user may write to /tmp and any process may
 * choose its root, so: resolved inside that root, no symbolic link at the end, regular, owned by
 * the process's user or root.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "space/procfs.h"
#include "symbol/perfmap.h"

enum { FILE_BYTES_MAX = 1 << 28, STATUS_BYTES_MAX = 1 << 16, ABSENT_MAX = 4 };

#define SECOND_NS 1000000000ull

/* The process's id in its own namespace and its user; kept from when it lived. */
static bool learn_process(struct perfmap_file *f)
{
	struct procfs_status st;
	char path[40], *bytes;
	size_t size;
	bool known;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)f->pid);
	if (parse_file(path, STATUS_BYTES_MAX, &bytes, &size))
		return false;
	known = !procfs_status(bytes, size, &st);
	free(bytes);
	if (known) {
		f->ns_pid = st.ns_pid;
		f->uid = st.euid;
	}
	return known;
}

static int open_under(const char *root, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	struct open_how how = { .flags = (uint64_t)flags,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0 &&
	    (errno == ENOSYS || errno == EPERM)) /* before Linux 5.6, or a container's filter */
		fd = openat(dir, path, flags);
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

static bool is_trusted(const struct perfmap_file *f, const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_uid == 0 || st->st_uid == f->uid);
}

static int open_map(struct perfmap_file *f)
{
	char root[40], path[40];
	bool lives = learn_process(f);
	struct stat st;
	int fd;

	if (!lives && !f->ns_pid) { /* dead before we looked: only what is surely not another's */
		f->ns_pid = f->pid;
		f->uid = geteuid();
	}
	snprintf(root, sizeof(root), "/proc/%d/root", (int)f->pid);
	snprintf(path, sizeof(path), "tmp/perf-%d.map", (int)f->ns_pid);
	fd = open_under(lives ? root : "/", path);
	if (fd >= 0 && (fstat(fd, &st) || !is_trusted(f, &st))) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* Whether the bytes before read_bytes are still those that were read. */
static bool is_continued(const struct perfmap_file *f, int fd)
{
	char have[PERFMAP_TAIL];

	return pread(fd, have, f->nr_tail, (off_t)(f->read_bytes - f->nr_tail)) ==
		       (ssize_t)f->nr_tail &&
	       !memcmp(have, f->tail, f->nr_tail);
}

static void restart(struct perfmap_file *f, const struct stat *st)
{
	perfmap_done(&f->map);
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->read_bytes = 0;
	f->nr_tail = 0;
	f->restarted = true;
}

static void keep_tail(struct perfmap_file *f, const char *bytes, size_t used)
{
	f->nr_tail = used < PERFMAP_TAIL ? (uint32_t)used : (uint32_t)PERFMAP_TAIL;
	memcpy(f->tail, bytes + used - f->nr_tail, f->nr_tail);
}

size_t perfmap_fd_read(struct perfmap_file *f, int fd, size_t max_bytes)
{
	size_t size, used = 0;
	struct stat st;
	char *bytes;
	ssize_t n;

	f->restarted = false;
	if (fstat(fd, &st) || st.st_size < 0)
		return 0;
	if ((uint64_t)st.st_dev != f->dev || (uint64_t)st.st_ino != f->ino ||
	    (uint64_t)st.st_size < f->read_bytes || !is_continued(f, fd))
		restart(f, &st);
	if ((uint64_t)st.st_size <= f->read_bytes || f->read_bytes >= FILE_BYTES_MAX)
		return f->restarted;
	size = (uint64_t)st.st_size - f->read_bytes < max_bytes
		       ? (size_t)((uint64_t)st.st_size - f->read_bytes)
		       : max_bytes;
	bytes = malloc(size);
	if (!bytes)
		return f->restarted;
	n = pread(fd, bytes, size, (off_t)f->read_bytes);
	if (n > 0 && !perfmap_parse(&f->map, bytes, (size_t)n, false, &used)) {
		if (!used && (size_t)n == max_bytes)
			used = (size_t)n; /* one endless line: passed over */
		if (used)
			keep_tail(f, bytes, used);
		f->read_bytes += used;
	}
	free(bytes);
	return used ? used : f->restarted;
}

size_t perfmap_file_read(struct perfmap_file *f, size_t max_bytes, uint64_t now_ns)
{
	int fd = open_map(f);
	size_t used;

	if (fd < 0) {
		f->due_ns = now_ns + (SECOND_NS << f->absent);
		f->absent += f->absent < ABSENT_MAX;
		f->restarted = false;
		return 0;
	}
	f->absent = 0;
	f->due_ns = now_ns + SECOND_NS;
	used = perfmap_fd_read(f, fd, max_bytes);
	close(fd);
	return used;
}
