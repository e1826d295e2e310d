/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pieces of code by address, none overlapping: what comes puts out all that it overlaps.
 *
 * A process decides in what order its code comes, so no order may be dear: the pieces are in blocks
 * of a few hundred, and a change moves what is in one block.  Pointers to pieces live until the
 * next change.  All zeroes is an empty map.
 */
#ifndef PTOP_SYMBOL_JITMAP_H
#define PTOP_SYMBOL_JITMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum { JITMAP_BLOCK = 256 };

struct jitdump_code {
	uint64_t start, end;
	uint32_t name; /* the caller's */
};

struct jitmap_block {
	uint32_t nr; /* never 0 */
	struct jitdump_code at[JITMAP_BLOCK];
};

struct jitmap {
	VEC(struct jitmap_block *) blocks; /* rising, as are the pieces in each */
	size_t nr;                         /* pieces */
};

void jitmap_done(struct jitmap *m);
size_t jitmap_bytes(const struct jitmap *m);

/* The piece that holds @addr; NULL. */
const struct jitdump_code *jitmap_find(const struct jitmap *m, uint64_t addr);

/* Puts @with, which is [start, end), or nothing (NULL) in place of all that overlap it.  0, or
 * -ENOMEM: then those may be gone already. */
int jitmap_replace(struct jitmap *m, uint64_t start, uint64_t end, const struct jitdump_code *with);

#endif
