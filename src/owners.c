/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One pass over the directory serves all files that were asked for before it began; what is asked
 * meanwhile waits for the next one.
 */
#include "owners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "clock.h"

#define FILES_MAX 4096u      /* files that are remembered */
#define LIST_MAX (64u << 20) /* bytes of a list */

struct file {
	char *path;
	char package[PACKAGE_ROOM];
	enum advice_owner state;
	bool debug_installed;
	bool in_pass; /* the pass under way looks for it */
};

struct owners {
	const char *info_dir;
	VEC(struct file) files;
	size_t nr_searching;
	DIR *dir; /* of the pass under way; NULL: none */
	VEC(char) bytes;
};

struct owners *owners_new(const char *info_dir)
{
	struct owners *o = calloc(1, sizeof(*o));

	if (o)
		o->info_dir = info_dir;
	return o;
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->files.nr; i++)
		free(o->files.at[i].path);
	vec_done(&o->files);
	vec_done(&o->bytes);
	if (o->dir)
		closedir(o->dir);
	free(o);
}

struct owner owners_get(struct owners *o, const char *path, bool search)
{
	struct file new = { .state = OWNER_SEARCHING };

	for (size_t i = 0; i < o->files.nr; i++) {
		const struct file *f = &o->files.at[i];

		if (!strcmp(f->path, path))
			return (struct owner){ .state = f->state,
					       .package = f->package,
					       .debug_installed = f->debug_installed };
	}
	if (!search)
		return (struct owner){ .state = OWNER_SEARCHING };
	if (o->files.nr >= FILES_MAX)
		return (struct owner){ .state = OWNER_UNKNOWN };
	new.path = strdup(path);
	if (!new.path || vec_push(&o->files, new)) {
		free(new.path);
		return (struct owner){ .state = OWNER_UNKNOWN };
	}
	o->nr_searching++;
	return (struct owner){ .state = OWNER_SEARCHING };
}

/* Reads a list whole; false where it is none. */
static bool read_list(struct owners *o, const char *name)
{
	int fd = openat(dirfd(o->dir), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	ssize_t n = 0;

	o->bytes.nr = 0;
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= LIST_MAX && vec_reserve(&o->bytes, (size_t)st.st_size) == 0) {
		do {
			n = read(fd, o->bytes.at + o->bytes.nr, o->bytes.cap - o->bytes.nr);
			o->bytes.nr += n > 0 ? (size_t)n : 0;
		} while (n > 0 && o->bytes.nr < o->bytes.cap);
	}
	close(fd);
	return n >= 0 && o->bytes.nr;
}

/* "libc6:amd64.list" -> is there a "libc6-dbg.list", or "libc6-dbg:amd64.list"? */
static bool has_debug(struct owners *o, const char *package, const char *list)
{
	const char *arch = strchr(list, ':');
	char debug[PACKAGE_ROOM + 8], name[2 * PACKAGE_ROOM];

	advice_debug_package(package, debug, sizeof(debug));
	snprintf(name, sizeof(name), "%s.list", debug);
	if (faccessat(dirfd(o->dir), name, F_OK, 0) == 0)
		return true;
	if (!arch)
		return false;
	snprintf(name, sizeof(name), "%s%.32s", debug, arch);
	return faccessat(dirfd(o->dir), name, F_OK, 0) == 0;
}

static void look_into(struct owners *o, const char *list)
{
	char package[PACKAGE_ROOM];

	if (!dpkg_package(list, package, sizeof(package)) || !read_list(o, list))
		return;
	for (size_t i = 0; i < o->files.nr; i++) {
		struct file *f = &o->files.at[i];

		if (!f->in_pass || !dpkg_list_names(o->bytes.at, o->bytes.nr, f->path))
			continue;
		memcpy(f->package, package, sizeof(package));
		f->debug_installed = has_debug(o, package, list);
		f->state = OWNER_FOUND;
		f->in_pass = false;
		o->nr_searching--;
	}
}

/* What was not found by the pass that is over belongs to none. */
static void end_pass(struct owners *o, enum advice_owner state)
{
	for (size_t i = 0; i < o->files.nr; i++) {
		struct file *f = &o->files.at[i];

		if (!f->in_pass)
			continue;
		f->in_pass = false;
		f->state = state;
		o->nr_searching--;
	}
	if (o->dir)
		closedir(o->dir);
	o->dir = NULL;
	vec_done(&o->bytes);
}

static void begin_pass(struct owners *o)
{
	for (size_t i = 0; i < o->files.nr; i++)
		o->files.at[i].in_pass = o->files.at[i].state == OWNER_SEARCHING;
	o->dir = opendir(o->info_dir);
	if (!o->dir)
		end_pass(o, OWNER_UNKNOWN);
}

bool owners_searching(const struct owners *o)
{
	return o->nr_searching > 0;
}

bool owners_work(struct owners *o, uint64_t budget_ns)
{
	uint64_t until = clock_ns() + budget_ns;
	const struct dirent *entry;

	while (owners_searching(o) || o->dir) {
		if (!o->dir)
			begin_pass(o);
		else if (owners_searching(o) && (entry = readdir(o->dir)))
			look_into(o, entry->d_name);
		else
			end_pass(o, OWNER_NONE);
		if (clock_ns() >= until)
			break;
	}
	return owners_searching(o);
}
