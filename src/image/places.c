/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/key.h"
#include "image/open.h"

#define SYSTEM_DEBUG "/usr/lib/debug"
#define HINT "give the recorded files with --sysroot DIR"

enum { ID_TEXT_BYTES = 2 * 20 + 2, ID_SHOWN = 16 };

static int open_dir(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int places_open(struct image_places *p, const char *sysroot, struct reason *why)
{
	const char *home = getenv("HOME");
	char name[4096];

	*p = (struct image_places){ .own = open_dir("/"), .sysroot = -1, .cache = -1 };
	if (sysroot) {
		p->sysroot = open_dir(sysroot);
		if (p->sysroot < 0)
			return reason_set(why, p->sysroot, "--sysroot %s: %s", sysroot,
					  strerror(-p->sysroot));
	}
	if (home && home[0] == '/' &&
	    (size_t)snprintf(name, sizeof(name), "%s/.debug", home) < sizeof(name))
		p->cache = open_dir(name);
	return 0;
}

void places_done(struct image_places *p)
{
	const int fds[] = { p->own, p->sysroot, p->cache };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*p = (struct image_places){ -1, -1, -1 };
}

/* "ab/cdef…" */
static void id_path(char text[ID_TEXT_BYTES], const uint8_t *id, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < size; i++) {
		at += (size_t)snprintf(text + at, ID_TEXT_BYTES - at, "%02x", id[i]);
		if (!i)
			text[at++] = '/';
	}
	text[at] = '\0';
}

/* Records pad a short build-id with zeroes up to 20 bytes, the names of files do not. */
static size_t unpadded(const uint8_t *id, size_t size)
{
	static const size_t usual[] = { 8, 16 };

	for (size_t i = 0; i < 2; i++) {
		size_t zeroes = 0;

		while (usual[i] + zeroes < size && !id[usual[i] + zeroes])
			zeroes++;
		if (size > usual[i] && usual[i] + zeroes == size)
			return usual[i];
	}
	return size;
}

/* Links inside of perf's cache are relative: they stay in it. */
static int open_cached(int cache, const uint8_t *id, size_t size, const char *name)
{
	char text[ID_TEXT_BYTES], path[128];

	size = unpadded(id, size);
	if (cache < 0 || size < 2 || size > 20)
		return -ENOENT;
	id_path(text, id, size);
	snprintf(path, sizeof(path), "/.build-id/%s%s%s", text, *name ? "/" : "", name);
	return open_in_root(cache, path);
}

static int open_system(int root, const struct image_sight *s, const char *suffix)
{
	size_t size = unpadded(s->build_id, s->build_id_size);
	char text[ID_TEXT_BYTES], path[128];

	if (root < 0 || size < 2 || size > 20)
		return -ENOENT;
	id_path(text, s->build_id, size);
	snprintf(path, sizeof(path), SYSTEM_DEBUG "/.build-id/%s%s", text, suffix);
	return open_in_root(root, path);
}

static int open_path(int root, const struct image_sight *s)
{
	return root >= 0 && s->path[0] == '/' ? open_in_root(root, s->path) : -ENOENT;
}

static int open_place(const struct image_places *p, const struct image_sight *s, unsigned place)
{
	switch (place) {
	case 0:
		return open_path(p->sysroot, s);
	case 1:
		return s->foreign && !s->build_id_size ? -ENOENT : open_path(p->own, s);
	case 2:
		return open_cached(p->cache, s->build_id, s->build_id_size, "elf");
	case 3:
		return open_cached(p->cache, s->build_id, s->build_id_size, "vdso");
	case 4: /* of old, the file itself */
		return open_cached(p->cache, s->build_id, s->build_id_size, "");
	case 5:
		return open_system(p->sysroot, s, "");
	case 6:
		return open_system(p->own, s, "");
	case 7:
		return open_system(p->sysroot, s, ".debug");
	default:
		return open_system(p->own, s, ".debug");
	}
}

/* Whether what is known of a file without looking inside speaks for it. */
static bool may_be(int fd, const struct image_sight *sight, bool inside, unsigned place)
{
	struct image_sight s = *sight;
	struct file_key key;

	if (s.build_id_size || place == 0)
		s.ino = 0; /* the build-id tells, or the sysroot is believed */
	if (file_key_read(fd, inside && s.build_id_size, &key) != 0)
		return false;
	if (s.build_id_size && !inside)
		return true;
	return file_key_matches(&key, &s, VIA_PATH, false);
}

int places_find(const struct image_places *p, const struct image_sight *sight, bool inside,
		unsigned *place)
{
	int err = -ENOENT;

	for (; *place < NR_PLACES; ++*place) {
		int fd = open_place(p, sight, *place);

		if (fd >= 0 && may_be(fd, sight, inside, *place))
			return fd;
		if (fd >= 0) {
			close(fd);
			err = -ESTALE;
		} else if (fd != -ENOENT && fd != -ENOTDIR && err == -ENOENT) {
			err = fd;
		}
	}
	return err;
}

unsigned places_debug_candidates(const struct image_places *p, const struct debug_clue *c, int fd,
				 const char *path, int *ret_fds)
{
	const int roots[] = { p->sysroot, p->own };
	unsigned nr = 0;
	int cached;

	if (c->has_symbols)
		return 0;
	cached = open_cached(p->cache, c->build_id, c->build_id_size, "debug");
	if (cached >= 0)
		ret_fds[nr++] = cached;
	return nr + debugfile_candidates_in(c, fd, roots, 2, path, ret_fds + nr,
					    DEBUG_CANDIDATES_MAX - nr);
}

int places_debug_open(const struct image_places *p, int fd, const char *path)
{
	int fds[DEBUG_CANDIDATES_MAX], err;
	struct debug_clue c;

	err = debugfile_clue(fd, &c, NULL);
	if (err != 0)
		return err;
	return debugfile_choose(&c, fds, places_debug_candidates(p, &c, fd, path, fds));
}

int places_cached(const struct image_places *p, const uint8_t *id, size_t size, const char *name)
{
	return open_cached(p->cache, id, size, name);
}

static void id_shown(char text[ID_SHOWN], const uint8_t *id, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < size && i < 4; i++)
		at += (size_t)snprintf(text + at, ID_SHOWN - at, "%02x", id[i]);
	if (size > 4)
		snprintf(text + at, ID_SHOWN - at, "...");
}

int places_explain(const struct image_sight *sight, int err, const uint8_t *other,
		   size_t other_size, struct reason *why)
{
	char recorded[ID_SHOWN], here[ID_SHOWN];

	if (err == -EACCES || err == -EPERM)
		return reason_set(why, err, "no right to read the file; run ptop as root");
	if (err == -EMFILE || err == -ENFILE)
		return reason_set(why, err, "too many open files; raise ulimit -n");
	id_shown(recorded, sight->build_id, sight->build_id_size);
	id_shown(here, other, other_size);
	if (other_size)
		return reason_set(why, -ESTALE,
				  "the file here is another build (build-id %s) than the recorded "
				  "one (%s): " HINT,
				  here, recorded);
	if (sight->build_id_size && err == -ESTALE)
		return reason_set(why, err,
				  "the file here is not the recorded build (build-id %s): " HINT,
				  recorded);
	if (sight->build_id_size)
		return reason_set(why, err, "there is no file with build-id %s here: " HINT,
				  recorded);
	if (sight->foreign)
		return reason_set(why, err,
				  "recorded on another machine and without a build-id, nothing "
				  "tells whether a file here is the recorded one: " HINT);
	if (err == -ESTALE)
		return reason_set(why, err, "the file was replaced since it was recorded: " HINT);
	return reason_set(why, err, "the recorded file is not here any more: " HINT);
}
