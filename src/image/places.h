/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the files of a recording are looked for: nothing of it runs any more, and it may be of
 * another machine.  In this order, each accepted only if it is the recorded file:
 *
 *	SYSROOT/path					--sysroot: the recorded machine's files
 *	/path						ours
 *	~/.debug/.build-id/ab/cdef…/{elf,vdso}		what perf record kept, by build-id
 *	/usr/lib/debug/.build-id/ab/cdef…{,.debug}	in the sysroot, then ours
 *
 * A build-id, where one is recorded, decides alone.  Where none is, a file in the sysroot is
 * believed, and one of ours only for a recording of this machine, by its inode.
 *
 * All directories are held open; a sysroot cannot be left by links or "..".
 */
#ifndef PTOP_IMAGE_PLACES_H
#define PTOP_IMAGE_PLACES_H

#include <stdbool.h>

#include "base/reason.h"
#include "image/debugfile.h"
#include "image/images.h"

struct image_places {
	int own;     /* the root of our own files */
	int sysroot; /* -1: none */
	int cache;   /* ~/.debug; -1: none */
};

/* @sysroot may be NULL.  0, or -errno with a sentence. */
int places_open(struct image_places *p, const char *sysroot, struct reason *why);
void places_done(struct image_places *p);

#define NR_PLACES 9u

/*
 * The first file from place *@place on that may be the one of a sight, and in *@place where it was
 * found; -ENOENT past the last place, -EACCES if it cannot be read.  Whether it is the recorded one
 * is looked at here as far as inodes go, and the build-id where @inside.
 */
int places_find(const struct image_places *p, const struct image_sight *sight, bool inside,
		unsigned *place);

/* The same as debugfile_candidates() and debugfile_open(), for a file found so. */
unsigned places_debug_candidates(const struct image_places *p, const struct debug_clue *c, int fd,
				 const char *path, int *ret_fds);
int places_debug_open(const struct image_places *p, int fd, const char *path);

/* A file that perf's cache keeps for a build-id ("kallsyms"), or -errno. */
int places_cached(const struct image_places *p, const uint8_t *id, size_t size, const char *name);

/*
 * Why no file of a sight was taken, as a sentence.  @other: the build-id of the last one that was
 * refused for it, @other_size 0: none was.  Returns @err.
 */
int places_explain(const struct image_sight *sight, int err, const uint8_t *other,
		   size_t other_size, struct reason *why);

#endif
