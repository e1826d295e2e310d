/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A strip of weight over time that moves with the clock: a ring of equal buckets, each covering
 * [k * width, (k + 1) * width) of absolute time.  timeline_update() visits only samples added since
 * the last call, and begins anew (visiting the chunks inside the strip) when the event, the hidden
 * flags or the width changed or the store was cleared.  So choose widths in steps, not a new one at
 * every refresh.
 *
 * What was counted stays until it leaves the strip, also when the store dropped the samples
 * meanwhile.
 */
#ifndef PTOP_PROFILE_TIMELINE_H
#define PTOP_PROFILE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/store.h"

/* Made by timeline_init(); all zeroes is done. */
struct timeline {
	uint64_t *ring; /* bucket k is ring[k % nr] */
	size_t nr;
	uint64_t width_ns; /* 0: nothing counted yet */
	uint64_t last;     /* absolute number of the newest bucket */
	uint64_t seen;     /* samples up to this sequence number are counted */
	uint64_t clears;   /* the store's, as of then */
	uint8_t event, hide;
};

int timeline_init(struct timeline *t, size_t nr_buckets); /* 0 or -ENOMEM; @nr_buckets > 0 */
void timeline_done(struct timeline *t);

/*
 * Counts what is new.  The newest bucket becomes the one that holds @now_ns or the newest sample,
 * whichever is later (it never moves back but by beginning anew).  @event may be QUERY_ANY_EVENT;
 * @hide as in struct query; @width_ns > 0.
 */
void timeline_update(struct timeline *t, const struct store *s, uint8_t event, uint8_t hide,
		     uint64_t width_ns, uint64_t now_ns);

/* Weight of bucket @i, 0 is the oldest, nr - 1 the newest. */
uint64_t timeline_bucket(const struct timeline *t, size_t i);

/* Time at which bucket @i begins; 0 where the strip reaches back before time 0. */
uint64_t timeline_bucket_ns(const struct timeline *t, size_t i);

#endif
