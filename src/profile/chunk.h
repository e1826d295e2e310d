/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's inside, for those in profile/ that scan it: an array of chunks, oldest first, each
 * with one allocation of columns.  Borrowed from the store until its next change.
 *
 * Chunks follow each other in the order of adding, not strictly of time: a sample later than
 * the slack begins a chunk that lies before its elder in time.  So a search for a window walks from
 * the newest chunk back and stops at .reach_ns < from; what is in between it tests by .min_ns and
 * .max_ns.
 */
#ifndef PTOP_PROFILE_CHUNK_H
#define PTOP_PROFILE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/store.h"

struct chunk {
	uint64_t base_ns;        /* what .time counts from */
	uint64_t min_ns, max_ns; /* of the samples in it */
	uint64_t reach_ns;       /* the newest time in this and all older chunks */
	uint64_t seq;            /* number of its first sample since the store began */
	uint64_t weight;         /* of every sample, where .weights is NULL */
	uint64_t *weights; /* NULL while all are equal; also the start of the allocation else */
	uint32_t *time;    /* ns since .base_ns */
	uint32_t *stack, *task;
	uint16_t *cpu;
	uint8_t *event, *flags;
	uint32_t nr, cap;
	uint8_t flags_any;  /* of all samples, or-ed */
	bool events_differ; /* else all are event[0] */
};

struct chunks {
	const struct chunk *at; /* oldest first */
	size_t nr;
	uint64_t clears; /* how often the store was cleared */
};

struct chunks store_chunks(const struct store *s);

/* Index of the oldest chunk that may hold samples of @from_ns and later; .nr for none. */
size_t chunks_from(const struct chunks *c, uint64_t from_ns);

static inline uint64_t chunk_weight(const struct chunk *c, uint32_t i)
{
	return c->weights ? c->weights[i] : c->weight;
}

#endif
