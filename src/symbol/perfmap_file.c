/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/foreign_file.h"
#include "symbol/perfmap.h"

enum { FILE_BYTES_MAX = 1 << 28, ABSENT_MAX = 4 };

#define SECOND_NS 1000000000ull

static int open_map(struct perfmap_file *f)
{
	struct foreign_process p;
	char name[32];
	bool lives = foreign_learn(f->pid, &p);
	struct stat st;
	int fd;

	if (lives) { /* kept from when it lived */
		f->ns_pid = p.ns_pid;
		f->uid = p.uid;
	} else if (!f->ns_pid) { /* dead before we looked: only what is surely not another's */
		f->ns_pid = f->pid;
		f->uid = geteuid();
	}
	snprintf(name, sizeof(name), "perf-%d.map", (int)f->ns_pid);
	fd = foreign_open(lives ? f->pid : 0, "tmp", name);
	if (fd >= 0 && (fstat(fd, &st) || !foreign_trusted(&st, f->uid))) {
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
