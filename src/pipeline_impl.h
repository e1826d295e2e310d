/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pipeline*.c share; private to them. */
#ifndef PTOP_PIPELINE_IMPL_H
#define PTOP_PIPELINE_IMPL_H

#include "base/vec.h"
#include "forget.h"
#include "hold.h"
#include "park.h"
#include "pipeline.h"
#include "rescan.h"
#include "unwind/unwind.h"

#define MAX_FRAMES 1024u /* of one stack; the kernel's own limit is lower */

struct pipeline_private {
	struct pipeline_config config;
	struct pipeline_sink sink; /* .record NULL: none */
	VEC(struct record_kind) kinds;
	struct place places[MAX_FRAMES];     /* of the sample in hand */
	struct frame frames[MAX_FRAMES + 1]; /* the sample in hand; one more for a pseudo frame */
	struct unwinder *unwinder;
	enum unwind_machine machine;
	struct sample_shares shares; /* of the sample in hand */
	struct hold hold;
	struct park park;
	bool flushing;       /* nothing waits for images */
	struct ordered next; /* a record that waits for samples of its process; .bytes NULL: none */
	uint32_t recall_generation; /* of the symbols, that what is recalled holds for */
	uint32_t park_generation;   /* of the symbols, when the parking was last gone through */

	struct rescans rescans; /* processes to re-read */

	struct forget forget;
};

/* pipeline_sample.c: a kernel function without a name tells nothing, and gets the benefit of the
 * doubt. */
enum entry_answer pipeline_entry(struct pipeline *pl, const struct frame *outermost);
/* Stores a sample whose frames are known, under ptop's own outermost frame where the stack is not
 * whole. */
void pipeline_store(struct pipeline *pl, struct stored *s, struct frame *frames, uint32_t nr,
		    enum stack_end end);
/* Decides which events the sample in hand counts for, and with what weight. */
void pipeline_shares(struct pipeline *pl, const struct record *r, const struct record_kind *kind);
/* Unwinds and stores a sample, or holds its record until an image is there. */
void pipeline_sample(struct pipeline *pl, const struct record *r, const void *bytes,
		     uint32_t kind_index);

/* pipeline_wait.c: samples held for images that are there now get another attempt. */
void wait_retry(struct pipeline *pl);
/* Parked samples whose outermost image is there now are stored. */
void wait_unpark(struct pipeline *pl);
/*
 * Whether a record may be applied: not while samples of its process wait that are of before, and it
 * changes what is mapped.  Who is not patient stores those by what is known.
 */
bool wait_admits(struct pipeline *pl, const struct ordered *o);
/* Patient, and there is hardly room for more that waits. */
bool wait_full(const struct pipeline *pl);

#endif
