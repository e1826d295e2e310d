/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/open.h"
#include "symbol/foreign_file.h"
#include "symbol/jitdump.h"

enum { CHUNK = 16384, CHUNKS_MAX = 256, LOOK_NS = 20000000 };

bool jitdump_is_path(const char *path)
{
	static const char front[] = "jit-", back[] = ".dump";
	const char *name = strrchr(path, '/');
	size_t digits;

	name = name ? name + 1 : path;
	if (strncmp(name, front, sizeof(front) - 1) != 0)
		return false;
	name += sizeof(front) - 1;
	digits = strspn(name, "0123456789");
	name += digits;
	return digits && !strncmp(name, back, sizeof(back) - 1) &&
	       (!name[sizeof(back) - 1] || !strcmp(name + sizeof(back) - 1, " (deleted)"));
}

/* What a recording tells of the file is enough: it does not tell whose the process was. */
static bool is_the_one(int fd, const struct image_sight *sight)
{
	struct foreign_process p = { .uid = geteuid() };
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (!sight->pid && sight->ino)
		return S_ISREG(st.st_mode);
	if (sight->pid)
		(void)foreign_learn(sight->pid, &p);
	return foreign_trusted(&st, p.uid);
}

/* A recording's files are read by who asks for it; those of a process must not let us wait. */
static int open_dump(const struct image_sight *sight)
{
	struct reason why;
	enum file_via via;
	int pin, fd;

	if (!sight->pid)
		return open_mapped(sight, &why);
	pin = open_pin(sight, &via);
	if (pin < 0)
		return pin;
	fd = foreign_waits(pin, sight->pid) ? -EREMOTEIO : open_pinned(pin, sight, via);
	close(pin);
	return fd;
}

struct jitdump_file *jitdump_open(const struct image_sight *sight)
{
	int fd = open_dump(sight);
	struct jitdump_file *f;

	if (fd < 0)
		return NULL;
	f = is_the_one(fd, sight) ? calloc(1, sizeof(*f)) : NULL;
	if (!f) {
		close(fd);
		return NULL;
	}
	f->fd = fd;
	return f;
}

void jitdump_close(struct jitdump_file *f)
{
	if (!f)
		return;
	close(f->fd);
	jitdump_done(&f->dump);
	free(f);
}

/* Whether there is more than was applied. */
static bool look(struct jitdump_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) || st.st_size < 0)
		return false;
	f->size = (uint64_t)st.st_size;
	if (f->size < f->at) { /* begun anew */
		jitdump_done(&f->dump);
		f->at = 0;
		f->restarted = true;
	}
	return f->size > f->at;
}

/* True where it got on; false: nothing more can be applied now. */
static bool apply_chunk(struct jitdump_file *f, uint64_t until_ns)
{
	uint8_t chunk[CHUNK];
	ssize_t n = pread(f->fd, chunk, sizeof(chunk), (off_t)f->at);
	uint64_t on;

	if (n <= 0)
		return false;
	on = jitdump_apply(&f->dump, chunk, (size_t)n, f->size - f->at, until_ns, &f->later_ns);
	f->at += on;
	f->stuck = !on && !f->later_ns;
	return on > 0 && !f->later_ns;
}

bool jitdump_advance(struct jitdump_file *f, uint64_t until_ns, uint64_t now_ns)
{
	uint64_t before = f->at;

	if (f->until_ns < until_ns)
		f->until_ns = until_ns;
	if (f->dump.ended || f->later_ns > until_ns)
		return false;
	if (!f->later_ns && (f->at >= f->size || f->stuck)) {
		if (now_ns < f->due_ns)
			return false;
		f->due_ns = now_ns + LOOK_NS;
		if (!look(f))
			return false;
	}
	for (int i = 0; i < CHUNKS_MAX && apply_chunk(f, until_ns) && f->at < f->size; i++)
		;
	return f->at != before;
}
