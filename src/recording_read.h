/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a recording's file to its records in order of time, in batches.  Large files are read by a
 * thread, which prepares batches while those before are applied:
 *
 *	reading_begin(rd, limit_ns);
 *	do
 *		... reading_next(), until it says false or the time is up ...
 *	while (all was taken && reading_turn_over(rd));
 *	reading_wait(rd);
 *	... reading_more(rd, until_ns), and again ...
 *
 * Between reading_begin() and reading_wait(), of what it was given only the perfdata may be looked
 * at, and of itself not the state.
 */
#ifndef PTOP_RECORDING_READ_H
#define PTOP_RECORDING_READ_H

#include "record/order.h"
#include "record/perfdata.h"

struct read_state {
	uint64_t known_ns;          /* nothing before this can come any more */
	uint64_t bound_ns;          /* everything up to here may leave: known, and asked for */
	uint64_t first_ns, last_ns; /* of samples */
	uint64_t no_event;          /* samples of ids that no event has */
	uint64_t no_time;           /* samples of a time that cannot be */
	uint64_t dropped;           /* records that no memory was left for */
	bool timed;                 /* some samples have a time */
	bool dry;                   /* the rest of the pipe is still to come */
	bool ended;                 /* all is read */
	bool failed;                /* no memory */
};

struct reading;

uint32_t reading_sources(const struct perfdata *pd); /* that the order needs */
/* Borrows both, and is freed before them.  NULL without memory. */
struct reading *reading_new(struct perfdata *pd, struct order *order);
void reading_free(struct reading *rd);

/* Records up to @limit_ns are asked for; only ever rises. */
void reading_begin(struct reading *rd, uint64_t limit_ns);
void reading_wait(struct reading *rd); /* until the thread stands still */

/* The next record of the batch in hand; borrowed until the batch is used up and turned over. */
bool reading_next(struct reading *rd, struct ordered *ret, size_t *ret_event, bool *ret_is_sample);
/*
 * The batch in hand is used up: the next one, as far as it is asked for.  False: there is none,
 * and will be none before reading_wait() and what can be done then.
 */
bool reading_turn_over(struct reading *rd);
/* Where there is no thread to do it: reads until more may leave, or the time is up. */
void reading_more(struct reading *rd, uint64_t until_ns);

const struct read_state *reading_state(const struct reading *rd);

#endif
