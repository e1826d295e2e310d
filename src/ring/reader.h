/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader threads: they carry records from the kernel's rings to the lanes and do nothing
 * else. One thread a CPU, at most 16; signals are blocked in them; they sleep without a timeout
 * until a ring wakes or the main thread nudges.
 *
 * All functions are for the one thread that consumes the lanes ("the main thread").  Its round:
 *
 *	readers_clear(r);			the wake-up is taken
 *	now = clock;
 *	for each ring i:
 *		while (lane_peek(lane[i], &rec))
 *			order_push(...);
 *		readers_consumed(r, i);		lets a reader go on that waits for room
 *		order_bound(..., readers_bound(r, i, now));
 *	while (order_pop(...)) ...
 *
 * The descriptor becomes readable at once for side-band; for samples when a lane is more than half
 *full, so that a burst of them wakes the main thread rarely.  When it wants all there is by now (at
 *a refresh): readers_nudge(), one round, then go on when the descriptor is readable.  A round that
 *ends before lane_peek() said false (a slice of time used up) calls lane_release() before
 *readers_consumed(), and comes back to that lane unasked.
 *
 * Losses: only PERF_RECORD_SAMPLE is ever dropped, when its lane is full, and each one is
 * counted.  Any other record waits in the kernel's ring until there is room.  The kernel's own
 * losses come as PERF_RECORD_LOST.
 */
#ifndef PTOP_RING_READER_H
#define PTOP_RING_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "ring/lane.h"
#include "ring/ring.h"
#include "ring/trim.h"

#define READERS_MAX_THREADS 16

struct reader_ring {
	int fd; /* readable (edge) when the ring has something; borrowed; -1: only nudges */
	struct ring *ring;       /* borrowed; only its reader touches it until readers_stop() */
	struct lane *lane;       /* borrowed; its reader is the producer, the caller the consumer */
	uint32_t cpu;            /* rings of one CPU are served by one thread, in the order given */
	bool side_band;          /* nothing of it may be dropped, whatever its type */
	const struct trim *trim; /* what of samples is left in the ring; borrowed; NULL: nothing */
};

struct reader_stats {
	uint64_t records; /* handed over */
	uint64_t dropped; /* samples for which the lane had no room */
	uint64_t bad;     /* batches ended by a record that cannot be */
};

struct readers;

/*
 * Starts the threads over a copy of @rings.  -ENOMEM, -EAGAIN, -EMFILE with a sentence; then
 * nothing runs.
 */
int readers_start(struct readers **ret, const struct reader_ring *rings, size_t nr,
		  struct reason *why);

/*
 * Stops and joins all threads (a few ms at most, under any load) and frees.  Rings and lanes
 * stay as they are.  Accepts NULL.
 */
void readers_stop(struct readers *r);

/*
 * Readable when there is something to take: see above. Written once as a side-band lane stops being
 * empty and as a lane goes past half full, and after a nudge.  Borrowed.
 */
int readers_eventfd(const struct readers *r);

/* Makes the descriptor unreadable again: call before looking at the lanes. */
void readers_clear(struct readers *r);

/*
 * Asks the readers to hand over all that is in the rings by now.  Wakes only those whose rings
 * hold something.
 */
void readers_nudge(struct readers *r);

/*
 * Call after records of ring @i's lane were released: lets its reader go on if it waits for
 * room.
 */
void readers_consumed(struct readers *r, size_t i);

/*
 * Up to which time all records of ring @i are known to have come out of its lane: nothing the
 * kernel stamped and published by then is still under way.  @now_ns: CLOCK_MONOTONIC, read
 * before the call.  Call when lane_peek() said false, or after lane_release().  Never falls.  A
 * ring and lane found empty give @now_ns, so that a quiet CPU holds nothing up and is not
 * woken. (The kernel stamps a
 * record a moment before it publishes it, and processors show each other a store some 100 ns
 * late: the order leaves a slack for both.)
 */
uint64_t readers_bound(struct readers *r, size_t i, uint64_t now_ns);

struct reader_stats readers_stats(const struct readers *r, size_t i);
size_t readers_nr_threads(const struct readers *r);

#endif
