/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs already, from /proc.  Of a process its name, its number of threads and its executable
 * mappings are read; threads get their names when they are first sampled (space_task()), since most
 * never are.
 *
 * Mappings are laid over what the records told: what was unmapped since stays for the samples of
 * then.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "space/procfs.h"
#include "space/state.h"

enum { READ_MIN = 1 << 16, MAPS_BYTES_MAX = 1 << 26, COMM_MAX = 64, PATH_BYTES_MAX = 4200 };

struct buffer {
	char *at;
	size_t size, cap;
};

/* Reads a whole file of /proc/@pid into @b. */
static int buffer_read(struct buffer *b, pid_t pid, const char *name)
{
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	b->size = 0;
	for (;;) {
		ssize_t n;

		if (b->cap - b->size < READ_MIN / 2) {
			err = b->cap >= MAPS_BYTES_MAX
				      ? -EFBIG
				      : vec_grow(&b->at, &b->cap, b->cap + READ_MIN, 1);
			if (err)
				break;
		}
		n = read(fd, b->at + b->size, b->cap - b->size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
		b->size += (size_t)n;
	}
	close(fd);
	return err;
}

static uint32_t comm_file(struct space *s, const char *path)
{
	char text[COMM_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return NONE;
	return strpool_add(s->strings, text, (size_t)(text[n - 1] == '\n' ? n - 1 : n));
}

uint32_t comm_read(struct space *s, pid_t pid, pid_t tid)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	return comm_file(s, path);
}

void space_threads(struct space *s, pid_t pid,
		   void (*fn)(void *ctx, pid_t pid, pid_t tid, const char *comm), void *ctx)
{
	struct dirent *entry;
	uint32_t tid, comm;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		if (parse_u32(entry->d_name, &tid) || tid > INT32_MAX)
			continue;
		comm = comm_read(s, pid, (pid_t)tid);
		if (comm != NONE)
			fn(ctx, pid, (pid_t)tid, strpool_get(s->strings, comm));
	}
	if (tasks)
		closedir(tasks);
}

void space_data_maps(pid_t pid, void (*fn)(void *ctx, pid_t pid, const struct data_map *m),
		     void *ctx)
{
	char path[PATH_BYTES_MAX];
	struct buffer b = { 0 };
	struct procfs_map m;
	size_t pos = 0;
	int err = buffer_read(&b, pid, "maps");

	while (!err && procfs_next_map(b.at, b.size, &pos, &m)) {
		struct data_map found = { m.start, m.end, m.pgoff, m.ino, m.maj, m.min, path };

		if (m.exec || !m.ino)
			continue;
		procfs_unescape(path, sizeof(path), m.path, m.path_size);
		fn(ctx, pid, &found);
	}
	free(b.at);
}

static uint32_t threads_read(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return stat(path, &st) || st.st_nlink < 3 ? 1 : (uint32_t)st.st_nlink - 2;
}

static struct map_source source_of(const struct procfs_map *m, char *path)
{
	struct map_source from = { .start = m->start, .end = m->end, .pgoff = m->pgoff };

	from.key.maj = m->maj;
	from.key.min = m->min;
	from.key.ino = m->ino;
	from.path = path;
	from.path_size = procfs_unescape(path, PATH_BYTES_MAX, m->path, m->path_size);
	return from;
}

static bool is_anon(const struct procfs_map *m)
{
	return !m->ino && !m->path_size;
}

/*
 * Text moved to huge pages is anonymous memory between two pieces of its file (iodlr, hugify, node
 * --use-largepages; mremap sends no record): it is still that file's code.
 */
static bool is_moved_text(const struct procfs_map *before, const struct procfs_map *m,
			  const struct procfs_map *after)
{
	return is_anon(m) && before->ino && before->ino == after->ino &&
	       before->maj == after->maj && before->min == after->min && before->end == m->start &&
	       m->end == after->start &&
	       before->start - before->pgoff == after->start - after->pgoff;
}

static void map_line(struct space *s, uint32_t process, const struct procfs_map *before,
		     struct procfs_map m, const struct procfs_map *after)
{
	char path[PATH_BYTES_MAX];
	struct map_source from;
	struct mapping mapping;

	if (is_moved_text(before, &m, after)) {
		uint64_t pgoff = before->pgoff + (m.start - before->start);
		struct procfs_map whole = *before;

		whole.start = m.start;
		whole.end = m.end;
		whole.pgoff = pgoff;
		m = whole;
	}
	from = source_of(&m, path);
	if (map_from(s, process, &from, &mapping))
		s->failed++;
	else
		process_map(s, process, &mapping);
}

static void map_bytes(struct space *s, uint32_t process, const char *bytes, size_t size)
{
	struct procfs_map before = { 0 }, at = { 0 }, after;
	size_t pos = 0;
	bool more = procfs_next_map(bytes, size, &pos, &at);

	while (more) {
		more = procfs_next_map(bytes, size, &pos, &after);
		if (!more)
			after = (struct procfs_map){ 0 };
		if (at.exec)
			map_line(s, process, &before, at, &after);
		before = at;
		at = after;
	}
}

static int scan_one(struct space *s, pid_t pid, uint64_t now_ns, struct buffer *b)
{
	int err = buffer_read(b, pid, "maps");
	uint32_t at, comm;
	struct process *p;

	if (err == -ENOENT || err == -ESRCH)
		return -ENOENT;
	at = process_find(s, pid);
	if (at != NONE && s->processes.at[at].dead && !b->size)
		return -ENOENT; /* a zombie */
	comm = comm_read(s, pid, pid);
	if (comm == NONE)
		return -ENOENT;
	s->live = true;
	at = process_get(s, pid, now_ns);
	if (at == NONE) {
		s->failed++;
		return -ENOMEM;
	}
	process_comm(s, at, comm);
	p = &s->processes.at[at];
	p->threads = threads_read(pid);
	p->scan_ns = err ? 0 : now_ns;
	if (!err)
		map_bytes(s, at, b->at, b->size);
	if (!err && s->on_scan)
		s->on_scan(s->scan_ctx, at);
	return err;
}

int space_scan(struct space *s, pid_t pid, uint64_t now_ns)
{
	struct buffer b = { 0 };
	int err = scan_one(s, pid, now_ns, &b);

	free(b.at);
	return err;
}

size_t space_scan_all(struct space *s, uint64_t now_ns)
{
	DIR *proc = opendir("/proc");
	struct buffer b = { 0 };
	struct dirent *entry;
	size_t nr = 0;

	if (!proc)
		return 0;
	while ((entry = readdir(proc))) {
		uint32_t pid;

		if (!parse_u32(entry->d_name, &pid) && pid <= INT32_MAX)
			nr += !scan_one(s, (pid_t)pid, now_ns, &b);
	}
	closedir(proc);
	free(b.at);
	return nr;
}
