/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What no sample held names any more goes: ended tasks, stacks, images.  Each 5 seconds, or of a
 * recording once there is twice as much; the cost is a pass over the store.  All zeroes to begin
 * with.
 */
#ifndef PTOP_FORGET_H
#define PTOP_FORGET_H

#include "base/vec.h"
#include "park.h"
#include "pipeline.h"

struct forget {
	uint64_t last_ns;
	size_t nodes_kept; /* left by the last pruning */
	size_t ids_kept;   /* of tasks, processes and stacks, left by the last time */
	VEC(uint8_t) used_nodes;
	VEC(uint8_t) used_tasks;
	VEC(uint8_t) used_images;
	VEC(uint32_t) node_map;
	VEC(uint32_t) task_map;
};

void forget_done(struct forget *f);

/* Does so where it is time to; samples in @park count like stored ones. */
void forget(struct forget *f, struct pipeline *pl, struct park *park, uint64_t now_ns);

/* Of a recording: only what samples named that are held no more, and nothing is folded. */
void forget_recorded(struct forget *f, struct pipeline *pl, struct park *park);

#endif
