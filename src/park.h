/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples that wait for a name: how their stack ends is not known before an image has been read.
 * Bounded: a full parking refuses, and the caller decides.  All zeroes is an empty one.
 */
#ifndef PTOP_PARK_H
#define PTOP_PARK_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/stacks.h"
#include "profile/store.h"

#define PARK_MAX_SAMPLES 8192
#define PARK_MAX_FRAMES (128 * 1024)

struct parked {
	struct stored sample; /* .stack is not set yet */
	uint32_t first;       /* of its frames */
	uint32_t nr;          /* frames; 0: taken */
};

struct park {
	VEC(struct parked) entries;
	VEC(struct frame) frames;
};

void park_done(struct park *p);

/* Copies.  0, -ENOSPC when full, -ENOMEM. */
int park_add(struct park *p, const struct stored *s, const struct frame *frames, uint32_t nr);

/* Walks what is parked: start with *@pos == 0; NULL ends. */
struct parked *park_next(struct park *p, size_t *pos);
/* The frames of an entry, with room for one more behind them. */
struct frame *park_frames(struct park *p, const struct parked *at);
void park_take(struct parked *at);

/* Gives the room of taken entries back, after a walk. */
void park_pack(struct park *p);

/* As store_mark() and store_rename(), for what is parked. */
void park_mark(const struct park *p, uint8_t *used_tasks, uint8_t *used_images, size_t nr_images);
void park_rename(struct park *p, const uint32_t *task_map);

#endif
