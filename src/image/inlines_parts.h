/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which table answers for which addresses of an image: ranges apart from each other, rising.  An
 * address that a table answers for already is not taken over by another.
 */
#ifndef PTOP_IMAGE_INLINES_PARTS_H
#define PTOP_IMAGE_INLINES_PARTS_H

#include <stdint.h>

#include "base/vec.h"
#include "image/inlines.h"

struct inlines_table;

struct inlines_part {
	uint64_t start, end;         /* vaddrs */
	struct inlines_table *table; /* NULL: nothing is inlined there */
};

struct inlines_parts {
	VEC(struct inlines_part) at;
};

/* The part that holds @vaddr; NULL: nobody answers for it. */
struct inlines_part *parts_find(const struct inlines_parts *p, uint64_t vaddr);

/* Adds what is not answered for yet of [start, end).  0 or -ENOMEM. */
int parts_add(struct inlines_parts *p, uint64_t start, uint64_t end, struct inlines_table *table);

/*
 * The same for many at once: rising and apart.  In time by the number of what is there and of what
 * comes, for a file decides how its units lie among each other.
 */
int parts_add_spans(struct inlines_parts *p, const struct inlines_span *spans, uint32_t nr,
		    struct inlines_table *table);

/* Takes out all parts of a table. */
void parts_drop(struct inlines_parts *p, const struct inlines_table *table);

#endif
