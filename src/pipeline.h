/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From bytes of records to stored samples: order -> decode -> space, symbols -> stacks -> store.
 * Where the records come from (rings, a recording, a test) is the caller's affair.
 *
 * A sample whose stack ends in an image that is still being read is parked, since only the name of
 * its outermost function tells a complete stack from a broken one; it is stored once the image is
 * there, or once the parking is full (then as broken: it is not known to be complete).
 */
#ifndef PTOP_PIPELINE_H
#define PTOP_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "image/images.h"
#include "names.h"
#include "profile/stacks.h"
#include "profile/store.h"
#include "record/layout.h"
#include "record/order.h"
#include "shares.h"
#include "space/space.h"
#include "symbol/symbols.h"
#include "unwind/unwind.h"

struct pipeline_config {
	uint32_t nr_sources;
	size_t history_bytes;
	pid_t own_pid;         /* whose samples are marked SAMPLE_OWN */
	uint32_t max_stack;    /* frames at which the kernel cuts: such stacks are "deep" */
	struct loader *loader; /* reads files; borrowed.  NULL: they are read in this process */
	struct loader *opener; /* opens them; borrowed.  NULL: this process does */
	struct debuginfod *debuginfod; /* downloads debug files; borrowed, may be NULL */
	struct cache *cache; /* keeps tables of what the loader read; borrowed, may be NULL */
	bool full_names;     /* symbols_full_names() */
	bool inlined;        /* images_use_inlines() */
	struct trim *trim;   /* is told how far stacks were read; borrowed.  NULL: nobody is */
	bool live;           /* /proc may be asked for what records did not tell */
	bool patient;        /* rather wait for images than store what is not known whole */
	/*
	 * Where records come from in order of time, by kind (.tag): false where there is none now.
	 * What it gives is borrowed until it is asked again.  NULL: what pipeline_push() was given.
	 */
	bool (*next)(void *ctx, struct ordered *ret);
	/* Called with each record once it has been applied, in time order; may be NULL. */
	void (*on_record)(void *ctx, const struct record *r);
	/*
	 * Called with each sample that carries counts, once, before it is unwound: sets what it
	 * counts for in place of its own event and period.  NULL: those.
	 */
	void (*on_counts)(void *ctx, const struct record *r, uint8_t event,
			  struct sample_shares *shares);
	void *ctx;
};

/* All since the start. */
struct pipeline_counts {
	uint64_t records;
	uint64_t samples;
	uint64_t lost;           /* samples, by PERF_RECORD_LOST and LOST_SAMPLES of sample rings */
	uint64_t lost_side_band; /* records, by PERF_RECORD_LOST of side-band rings */
	uint64_t throttled;      /* PERF_RECORD_THROTTLE */
	uint64_t bad;            /* records that could not be decoded */
	uint64_t narrow;         /* samples of 32-bit tasks: registers that are not unwound */
	uint64_t ends[NR_STACK_ENDS]; /* samples by how their stack ended */
	uint64_t failed;              /* samples that no memory was left for */
};

/* What a record is of: its layout, and for samples the event's index in the session. */
struct record_kind {
	struct layout layout;
	uint64_t weight; /* of a sample that tells no period; 0: 1 */
	uint8_t event;
	bool no_user;   /* user code is left out: stacks end in the kernel */
	bool side_band; /* comes through a side-band ring */
};

struct pipeline {            /* read freely; changed by pipeline_ functions only */
	struct order *order; /* with config.next its caller's, to fill and to empty */
	struct space *space;
	struct images *images;
	struct symbols *symbols;
	struct stacks *stacks;
	struct store *store;
	struct names *names;
	struct recall *recall; /* chains and their stacks; forgotten when stacks get new ids */
	struct pipeline_counts counts;
	struct pipeline_private *p;
};

/* Who keeps records as they arrived. */
struct pipeline_sink {
	/* Each record in time order, before it is applied; borrowed during the call. */
	void (*record)(void *ctx, const void *bytes, uint32_t size, uint64_t time_ns);
	void (*tidy)(void *ctx, uint64_t now_ns); /* in each pipeline_tidy() */
	void *ctx;
};

/* 0 or -ENOMEM (then as after pipeline_done()). */
int pipeline_init(struct pipeline *pl, const struct pipeline_config *c);
void pipeline_done(struct pipeline *pl);

/* Whose registers samples carry from now on, where it is not this machine. */
void pipeline_machine(struct pipeline *pl, enum unwind_machine machine);

/* From now on records go to @sink, too (copied); NULL: to none. */
void pipeline_keep(struct pipeline *pl, const struct pipeline_sink *sink);

/* Makes a kind known; its index, or -ENOMEM. Equal kinds get equal indices. */
int pipeline_kind(struct pipeline *pl, const struct record_kind *kind);

/* Hands a record in, copied unless on @lease (may be NULL).  A failure is counted. */
void pipeline_push(struct pipeline *pl, uint32_t source, uint64_t time_ns, const void *bytes,
		   uint32_t size, int kind, struct lease *lease);

/* The same record, before it is pushed: takes hold of the file of a new mapping of code, since its
 * process may be gone when the record's turn comes. */
void pipeline_glimpse(struct pipeline *pl, const void *bytes, uint32_t size, int kind);

/* Works on what order_bound() allows until @until_ns (clock_ns()); false when nothing is left to do
 * now. */
bool pipeline_work(struct pipeline *pl, uint64_t until_ns);

/*
 * Patient, and so many samples wait for images that pipeline_work() takes no more records before
 * some of them have come.
 */
bool pipeline_crowded(const struct pipeline *pl);

/* Between refreshes: re-reads maps that were found wanting, perf maps that grew, forgets what
 * nothing needs. */
void pipeline_tidy(struct pipeline *pl, uint64_t now_ns);

/* Of a recording, any time: forgets what only samples needed that are held no more. */
void pipeline_forget(struct pipeline *pl);

/* Samples parked and images still wanted: names shown now may get better. */
bool pipeline_naming(const struct pipeline *pl);

/*
 * Of a sample in hand (in .on_record) whose registers and stack were copied: the user's frames.
 * False where there are none to unwind by.  Where @ret->end is UNWIND_WAIT, an image is wanted.
 */
bool pipeline_unwind(struct pipeline *pl, const struct record *r, struct place *places,
		     uint32_t max, struct unwound *ret);

/*
 * No image will be read any more: stores what still waits for one, by what is known (a stack whose
 * beginning is not known to be a thread's is broken).
 */
void pipeline_flush(struct pipeline *pl);

#endif
