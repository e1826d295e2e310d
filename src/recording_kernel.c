/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "image/open.h"

#define KERNEL_PREFIX "[kernel.kallsyms]"

enum { MODULES_MAX = 1 << 12, NT_GNU_BUILD_ID = 3 };

struct rkernel {
	char anchor[16]; /* "_text"; "": no record told */
	uint64_t at;
	VEC(struct rkernel_map) maps; /* the anchor's, and modules' */
	bool tried;
	struct reason why;
};

struct rkernel *rkernel_new(void)
{
	return calloc(1, sizeof(struct rkernel));
}

void rkernel_free(struct rkernel *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->maps.nr; i++)
		free(k->maps.at[i].name);
	vec_done(&k->maps);
	free(k);
}

bool rkernel_waits(const struct rkernel *k)
{
	return !k->tried;
}

const char *rkernel_why(const struct rkernel *k)
{
	return k->why.text;
}

/* "/lib/modules/…/nf-tables.ko.xz" and "[nf_tables]" are nf_tables. */
static bool module_name(const char *path, size_t len, struct kallsyms_module *ret)
{
	const char *slash = memrchr(path, '/', len), *ko;
	size_t at = slash ? (size_t)(slash + 1 - path) : 0;

	ko = memmem(path + at, len - at, ".ko", 3);
	if (ko) {
		len = (size_t)(ko - path);
	} else if (len > 2 && path[0] == '[' && path[len - 1] == ']') {
		at = 1;
		len--;
	} else {
		return false;
	}
	len -= at;
	if (!len || len >= sizeof(ret->name))
		return false;
	for (size_t i = 0; i < len; i++)
		ret->name[i] = path[at + i] == '-' ? '_' : path[at + i];
	ret->name[len] = '\0';
	return true;
}

static void keep_map(struct rkernel *k, const struct record_mmap *m, const char *path, size_t len)
{
	struct rkernel_map map = { .start = m->start, .len = m->len, .pgoff = m->pgoff };

	if (k->maps.nr > MODULES_MAX)
		return;
	map.name = strndup(path, len);
	if (!map.name || vec_push(&k->maps, map))
		free(map.name);
}

bool rkernel_next_map(const struct rkernel *k, size_t *pos, struct rkernel_map *ret)
{
	if (*pos >= k->maps.nr)
		return false;
	*ret = k->maps.at[(*pos)++];
	return true;
}

void rkernel_saw(struct rkernel *k, const struct record *r)
{
	const struct record_mmap *m = &r->mmap;
	const char *path = (const char *)m->filename.at;
	const size_t prefix = sizeof(KERNEL_PREFIX) - 1;
	size_t len = strnlen(path, m->filename.size);
	struct kallsyms_module module;

	if (r->cpumode != CPUMODE_KERNEL || m->pid != UINT32_MAX)
		return;
	if (len > prefix && memcmp(path, KERNEL_PREFIX, prefix) == 0) {
		if (k->anchor[0] || len - prefix >= sizeof(k->anchor))
			return;
		memcpy(k->anchor, path + prefix, len - prefix);
		k->at = m->pgoff;
		keep_map(k, m, path, len);
	} else if (module_name(path, len, &module)) {
		keep_map(k, m, path, len);
	}
}

/* The build-id among the notes of the running kernel; its size, 0 where it is not told. */
static size_t own_build_id(uint8_t id[20])
{
	uint8_t notes[4096];
	uint32_t head[3]; /* of the name, of the contents, type */
	size_t size = 0, at = 0, next;
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, notes, sizeof(notes)) : 0;

	if (fd >= 0)
		close(fd);
	while (got > 0 && !size && (size_t)got - at >= sizeof(head)) {
		memcpy(head, notes + at, sizeof(head));
		if (head[0] > sizeof(notes) || head[1] > sizeof(notes))
			break;
		next = at + sizeof(head) + (head[0] + 3) / 4 * 4;
		at = next + (head[1] + 3) / 4 * 4;
		if (at > (size_t)got)
			break;
		if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && head[1] <= 20 &&
		    memcmp(notes + next - 4, "GNU", 4) == 0) {
			size = head[1];
			memcpy(id, notes + next, size);
		}
	}
	return size;
}

/* Where the running kernel has the anchor; 0 where that is hidden or unknown. */
static uint64_t own_anchor(const char *symbol)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr = 0, found = 0;
	char line[512], type, name[256];

	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %255s", &addr, &type, name) == 3 && !strcmp(name, symbol))
			found = addr;
	fclose(f);
	return found;
}

static int load(struct rkernel *k, struct symbols *sy, int fd)
{
	struct kallsyms_module *modules;
	struct kallsyms_places places = { .anchor = k->anchor, .at = k->at };
	int err = -ENOMEM;

	if (fd < 0)
		return fd;
	places.modules = modules = calloc(k->maps.nr + 1, sizeof(*modules));
	for (size_t i = 0; modules && i < k->maps.nr; i++) {
		const struct rkernel_map *map = &k->maps.at[i];

		modules[places.nr_modules].start = map->start;
		places.nr_modules +=
			module_name(map->name, strlen(map->name), &modules[places.nr_modules]);
	}
	if (modules)
		err = symbols_load_recorded_kernel(sy, fd, &places);
	free(modules);
	close(fd);
	return err;
}

static int open_named(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

static void load_given(struct rkernel *k, struct symbols *sy, const char *file)
{
	int err = load(k, sy, open_named(file));

	if (err == -EACCES)
		reason_set(&k->why, err,
			   "the kernel has no names: the addresses in %s are hidden; read "
			   "/proc/kallsyms as root on the recorded machine",
			   file);
	else if (err == -ESRCH)
		reason_set(&k->why, err,
			   "the kernel has no names: %s has no symbol %s, by which to find where "
			   "the recording had it",
			   file, k->anchor);
	else if (err == -ENODATA)
		reason_set(&k->why, err, "the kernel has no names: no symbols are in %s", file);
	else if (err)
		reason_set(&k->why, err, "the kernel has no names: %s: %s", file, strerror(-err));
	else if (!k->at)
		reason_set(&k->why, 0,
			   "the recording does not tell where its kernel was: the addresses in %s "
			   "are taken as they are",
			   file);
}

static bool is_own_kernel(const struct rkernel_clue *clue)
{
	uint8_t id[20];
	size_t size = clue->build_id_size ? own_build_id(id) : 0;

	/* Recordings pad it with zeroes. */
	return size && size <= clue->build_id_size && memcmp(id, clue->build_id, size) == 0;
}

static int load_kcore_dir(struct rkernel *k, struct symbols *sy, const char *recording)
{
	char path[4096];

	if (!recording || (size_t)snprintf(path, sizeof(path), "%s/kcore_dir/kallsyms",
					   recording) >= sizeof(path))
		return -ENOENT;
	return load(k, sy, open_named(path));
}

static int load_system_map(struct rkernel *k, struct symbols *sy, const struct rkernel_clue *clue)
{
	char path[512];

	if (clue->places->sysroot < 0 || !clue->osrelease ||
	    (size_t)snprintf(path, sizeof(path), "/boot/System.map-%s", clue->osrelease) >=
		    sizeof(path))
		return -ENOENT;
	return load(k, sy, open_in_root(clue->places->sysroot, path));
}

void rkernel_name(struct rkernel *k, const struct rkernel_clue *clue, struct symbols *sy)
{
	bool same_boot = clue->same_host && k->at && own_anchor(k->anchor) == k->at;

	k->tried = true;
	symbols_recorded(sy, same_boot);
	if (clue->file) {
		load_given(k, sy, clue->file);
		return;
	}
	if (!load_kcore_dir(k, sy, clue->recording))
		return;
	if (same_boot && !symbols_load_kernel(sy))
		return;
	if (k->at && is_own_kernel(clue) && !load(k, sy, open_named("/proc/kallsyms")))
		return;
	if (k->at &&
	    !load(k, sy,
		  places_cached(clue->places, clue->build_id, clue->build_id_size, "kallsyms")))
		return;
	if (k->at && !load_system_map(k, sy, clue))
		return;
	reason_set(&k->why, 0,
		   same_boot ? "the kernel has no names: %s"
			     : "the kernel has no names: this is not the recorded kernel; give the "
			       "recorded machine's /proc/kallsyms with --kallsyms FILE",
		   symbols_kernel_why(sy));
}
