/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/perfdata_impl.h"

enum {
	OTHERS_MAX = 1024, /* threads of perf: one a CPU at most */
	OTHER_WINDOW_BYTES = 1 << 17,
};

static int open_regular(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -ENOEXEC;
}

int folder_open_first(int fd, struct reason *why)
{
	int first = open_regular(fd, "data");

	if (first >= 0)
		return first;
	if (first == -ENOENT)
		return reason_set(why, first,
				  "it is a folder, and has no file \"data\" in it: no "
				  "recording of perf");
	return reason_set(why, first, "the file \"data\" in it cannot be read: %s",
			  first == -ENOEXEC ? "it is no regular file" : strerror(-first));
}

static int compare(const void *a, const void *b)
{
	const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

/* The numbers of files named "data.N", sorted; how many, or -errno. */
static int list(int folder, unsigned numbers[OTHERS_MAX], struct reason *why)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	char name[24];
	unsigned number;
	int nr = 0;

	if (!dir) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return reason_set(why, err, "the folder cannot be read: %s", strerror(-err));
	}
	while (nr >= 0 && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "data.%6u", &number) != 1)
			continue;
		snprintf(name, sizeof(name), "data.%u", number);
		if (strcmp(name, entry->d_name) != 0)
			continue;
		if (nr == OTHERS_MAX)
			nr = reason_set(why, -E2BIG, "the folder has more than %d files of records",
					OTHERS_MAX);
		else
			numbers[nr++] = number;
	}
	closedir(dir);
	if (nr > 0)
		qsort(numbers, (size_t)nr, sizeof(numbers[0]), compare);
	return nr;
}

static int add(struct perfdata *pd, int folder, unsigned number, struct reason *why)
{
	struct perfdata_input *in = calloc(1, sizeof(*in));
	int err = -ENOMEM, fd;

	if (!in || vec_push(&pd->others, in)) {
		free(in);
		return reason_set(why, err, "out of memory");
	}
	snprintf(in->name, sizeof(in->name), "data.%u", number);
	in->stream.fd = -1;
	fd = open_regular(folder, in->name);
	err = fd < 0 ? fd : stream_init_fd(&in->stream, fd, OTHER_WINDOW_BYTES);
	if (err)
		return reason_set(why, err, "the file %s in it cannot be read: %s", in->name,
				  err == -ENOEXEC  ? "it is no regular file"
				  : err == -EMFILE ? "too many open files; raise ulimit -n"
						   : strerror(-err));
	in->data_end = in->stream.size;
	return 0;
}

int folder_open_others(struct perfdata *pd, int fd, struct reason *why)
{
	unsigned numbers[OTHERS_MAX];
	int nr = pd->pipe ? 0 : list(fd, numbers, why), err = nr < 0 ? nr : 0;

	for (int i = 0; i < nr && !err; i++)
		err = add(pd, fd, numbers[i], why);
	if (nr > 0)
		pd->leave_ns = 0;
	return err;
}

bool folder_choose(struct perfdata *pd)
{
	struct perfdata_input *best = pd->first.ended ? NULL : &pd->first;

	pd->leave_ns = UINT64_MAX;
	for (size_t i = 0; i < pd->others.nr; i++) {
		struct perfdata_input *in = pd->others.at[i], *second = in;

		if (in->ended)
			continue;
		if (!best || in->time_ns < best->time_ns) {
			second = best;
			best = in;
		}
		if (second && second->time_ns < pd->leave_ns)
			pd->leave_ns = second->time_ns;
	}
	if (best)
		pd->in = best;
	return best;
}
