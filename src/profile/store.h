/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every sample seen, as columns in time-ordered chunks.  Bounded: beyond the cap the oldest chunk
 * goes whole, and store_oldest_ns() tells.  Samples are added in nearly rising time; one that is
 * late is filed in the newest chunk with its exact time (half a second is for free, later than that
 * begins a chunk).  About 16 bytes a sample while all weights of a chunk are equal, 24 else.
 *
 * A chunk spans at most 3.8 seconds and at most 1/32 of the cap, and grows with what is in it.
 */
#ifndef PTOP_PROFILE_STORE_H
#define PTOP_PROFILE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/stacks.h"

enum sample_flags {
	SAMPLE_KERNEL = 1 << 0, /* taken in kernel (or hypervisor, guest kernel) mode */
	SAMPLE_USER = 1 << 1,
	SAMPLE_IDLE = 1 << 2, /* the idle task */
	SAMPLE_OWN = 1 << 3,  /* ptop itself */
	SAMPLE_END_SHIFT = 4, /* two bits: enum stack_end */
};

enum stack_end { STACK_COMPLETE, STACK_CUT, STACK_BROKEN, STACK_DEEP, NR_STACK_ENDS };

struct stored {
	uint64_t time_ns;
	uint64_t weight; /* the sample's period */
	uint32_t stack;  /* node of struct stacks */
	uint32_t task;   /* id of a thread, from the space */
	uint16_t cpu;
	uint8_t event; /* index of the event in the session's list */
	uint8_t flags; /* enum sample_flags */
};

struct store;

/* The newest chunk is kept whatever the cap.  NULL without memory. */
struct store *store_new(size_t cap_bytes);
void store_free(struct store *s);

/* Copies @sample; a stack of STACKS_FULL is kept as STACKS_NONE.  0 or -ENOMEM. */
int store_add(struct store *s, const struct stored *sample);
void store_clear(struct store *s);

uint64_t store_count(const struct store *s);     /* samples held */
uint64_t store_dropped(const struct store *s);   /* samples gone with old chunks */
uint64_t store_oldest_ns(const struct store *s); /* time of the oldest sample held; 0 when empty */
uint64_t store_newest_ns(const struct store *s);
size_t store_bytes(const struct store *s);

/*
 * Marks (sets to 1) in @used[node] every stack, in @used_tasks[task] every task that samples still
 * name.  Either may be NULL.
 */
void store_mark(const struct store *s, uint8_t *used, size_t nr_used, uint8_t *used_tasks,
		size_t nr_tasks);

/* Renames stacks and tasks after pruning: new = map[old].  Either map may be NULL. */
void store_rename(struct store *s, const uint32_t *stack_map, const uint32_t *task_map);

#endif
