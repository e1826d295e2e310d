/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests of the loader share: files to send, waiting for answers, finding its processes. */
#ifndef PTOP_UNIT_LOADER_BED_H
#define PTOP_UNIT_LOADER_BED_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "image/loader.h"
#include "image/inlines_kept.h"
#include "image/loader_child.h"
#include "support/elf_bytes.h"

#define BED_WAIT_MS 20000
/* CPU time that "WORK" takes. */
#define BED_WORK_MS 50

/* A file with a text in it. */
static inline int bed_text(const char *text)
{
	return elf_bytes_fd(text, strlen(text));
}

static inline int bed_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static inline uint64_t bed_send(struct loader *l, enum loader_what what, uint32_t image, int fd)
{
	struct loader_request r = { .what = what, .image = image, .fds = { fd }, .nr_fds = 1 };
	uint64_t serial = 0;

	assert_int_equal(loader_send(l, &r, &serial), 0);
	assert_true(serial != 0);
	return serial;
}

/* The next answer; the descriptor must tell of it. */
static inline void bed_take(struct loader *l, struct loader_answer *ret)
{
	struct pollfd p = { .fd = loader_fd(l), .events = POLLIN };

	while (!loader_take(l, ret))
		assert_int_equal(poll(&p, 1, BED_WAIT_MS), 1);
}

static inline struct loader_answer bed_ask(struct loader *l, enum loader_what what, int fd)
{
	struct loader_answer a;
	uint64_t serial = bed_send(l, what, 7, fd);

	bed_take(l, &a);
	assert_int_equal(a.serial, serial);
	assert_int_equal(a.image, 7);
	assert_int_equal(a.what, what);
	assert_int_equal(loader_in_flight(l), 0);
	return a;
}

/* The state of a process, as in proc(5), /proc/PID/stat, and its parent; 0: there is none. */
static inline char bed_stat(pid_t pid, int *ret_parent)
{
	char name[64], line[256], state = 0;
	FILE *stat;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	stat = fopen(name, "re");
	if (stat == NULL)
		return 0;
	if (fgets(line, sizeof(line), stat) == NULL || strrchr(line, ')') == NULL ||
	    sscanf(strrchr(line, ')') + 1, " %c %d", &state, ret_parent) != 2)
		state = 0;
	fclose(stat);
	return state;
}

static inline char bed_state(pid_t pid)
{
	int parent;

	return bed_stat(pid, &parent);
}

/* Children of process @parent that live; *@ret_first: one of them, 0: none. */
static inline size_t bed_children(pid_t parent, pid_t *ret_first)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t nr = 0;

	assert_non_null(proc);
	*ret_first = 0;
	while ((entry = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		int ppid = 0;
		char state = pid > 0 ? bed_stat(pid, &ppid) : 0;

		if (state == 0 || state == 'Z' || ppid != parent)
			continue;
		if (nr++ == 0)
			*ret_first = pid;
	}
	closedir(proc);
	return nr;
}

static inline pid_t bed_child(pid_t parent)
{
	pid_t first;

	bed_children(parent, &first);
	return first;
}

static inline size_t bed_count_children(pid_t parent)
{
	pid_t first;

	return bed_children(parent, &first);
}

static inline size_t bed_count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t nr = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		nr++;
	closedir(d);
	return nr;
}

/* Memory that can still be had, in steps of 64 MiB, up to 8 GiB. */
static inline uint64_t bed_eat(void)
{
	const size_t step = (size_t)64 << 20;
	uint64_t eaten = 0;

	while (eaten < UINT64_C(8) << 30 &&
	       mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0) != MAP_FAILED)
		eaten += step;
	return eaten;
}

/* What the first word of a file makes the worker do, before it is read as usual. */
static inline void bed_misbehave(const int *fds)
{
	char word[8] = { 0 };
	volatile int turns = 1;

	if (pread(fds[0], word, sizeof(word) - 1, 0) < 4)
		return;
	if (strcmp(word, "SPIN") == 0) {
		while (turns)
			turns = 1;
	} else if (strcmp(word, "DIE!") == 0) {
		_exit(1);
	} else if (strcmp(word, "WORK") == 0) {
		struct timespec t, start;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
		do {
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		} while ((t.tv_sec - start.tv_sec) * 1000 + (t.tv_nsec - start.tv_nsec) / 1000000 <
			 BED_WORK_MS);
	} else if (strcmp(word, "CALL") == 0) {
		socket(AF_INET, SOCK_STREAM, 0);
	} else if (strcmp(word, "EXEC") == 0) {
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
}

/* A worker that does as files tell it. */
static inline void bed_serve(int socket)
{
	struct worker_message m;
	struct inlines_kept kept = { 0 };
	struct worker_request r;
	int fds[LOADER_FDS_MAX], fd;
	unsigned nr;

	loader_ready(socket);
	while (loader_get(socket, &r, sizeof(r), fds, LOADER_FDS_MAX, &nr) == 1) {
		char word[5] = { 0 };

		loader_begin(socket, &r);
		bed_misbehave(fds);
		fd = loader_do(&r, fds, nr, &m, &kept);
		if (pread(fds[0], word, 4, 0) == 4 && strcmp(word, "EAT!") == 0) {
			m.err = -ENOMEM;
			snprintf(m.why.text, sizeof(m.why.text), "%lu", bed_eat() >> 20);
		}
		loader_close_fds(fds, nr);
		loader_put(socket, &m, sizeof(m), &fd, fd >= 0);
		if (fd >= 0)
			close(fd);
	}
}

#endif
