/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who and where, for a recording made of the store: numbers for threads, addresses for places.
 * Each is told to the recording when it is first asked for, as records without a time.
 */
#ifndef PTOP_HISTORY_PLACES_H
#define PTOP_HISTORY_PLACES_H

#include "base/map.h"
#include "base/vec.h"
#include "output/perfdata_write.h"
#include "output/synth.h"
#include "pipeline.h"

/* A stretch of an image in a process of the recording. */
struct placed {
	struct mapping m;
	uint32_t next; /* of the same process and image + 1; 0: none */
};

struct history_places {
	const struct pipeline *pl;
	struct perfdata_writer *w;
	const struct layout *layout;
	struct blob b;
	struct map pids;    /* a real pid -> the process that has it here + 1 */
	struct map told;    /* threads and processes that are told */
	struct map stretch; /* process and image -> place in .placed + 1 */
	VEC(struct placed) placed;
	uint64_t made_up; /* next address for what is mapped nowhere */
	int err;          /* of telling */
};

void history_places_init(struct history_places *p, const struct pipeline *pl,
			 struct perfdata_writer *w, const struct layout *layout);
void history_places_done(struct history_places *p);

/* The thread of a task. */
struct numbers {
	uint32_t pid, tid, process;
};
/* Which process keeps its number: call it for all tasks before the first history_who(). */
void history_claim(struct history_places *p, uint32_t task);
struct numbers history_who(struct history_places *p, uint32_t task);

/* The address of a place of user code in that process. */
uint64_t history_address(struct history_places *p, const struct numbers *who, uint32_t image,
			 uint64_t offset);

#endif
