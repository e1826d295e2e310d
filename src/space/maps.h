/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable mappings of one address space: sorted, never overlapping, shared by a fork until
 * one side changes (copied on write, counted by `refs`).  A new mapping cuts or removes what it
 * overlaps, since no record tells of munmap.  NULL is an empty set.
 */
#ifndef PTOP_SPACE_MAPS_H
#define PTOP_SPACE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "space/space.h"

enum { MAPS_MAX = 1 << 18 }; /* mappings one process may have; vm.max_map_count is 65530 */

struct maps {
	uint32_t refs;
	uint32_t nr, cap;
	uint32_t generation; /* the space's, of the last change */
	struct mapping at[];
};

/* One more owner of the same set. */
struct maps *maps_share(struct maps *m);
void maps_drop(struct maps *m);

/*
 * Adds @add (start < end) to *@m, which may move.  A neighbour that continues it is joined when
 * @join.
 * *@ret_new_image: no other mapping was of this image.  0, -ENOMEM, or -E2BIG past MAPS_MAX;
 * unchanged on failure.
 */
int maps_add(struct maps **m, const struct mapping *add, bool join, bool *ret_new_image);

/* The mapping that holds @addr, or NULL. */
const struct mapping *maps_find(const struct maps *m, uint64_t addr);

/* Whether a mapping of another image than @but lies between @start and @end. */
bool maps_overlap(const struct maps *m, uint64_t start, uint64_t end, uint32_t but);

size_t maps_bytes(const struct maps *m);

#endif
