/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a recording's reading share; private to them. */
#ifndef PTOP_RECORDING_IMPL_H
#define PTOP_RECORDING_IMPL_H

#include <sys/types.h>

#include "base/map.h"
#include "base/notes.h"
#include "base/vec.h"
#include "options.h"
#include "pipeline.h"
#include "record/perfdata.h"
#include "recording_kernel.h"

/* Where the feed is in time; see recording_feed.c. */
struct feed {
	uint32_t nr_sources;
	uint64_t *last_ns; /* time pushed last, by source */
	uint32_t source;   /* in use now */
	uint64_t bound_ns; /* everything up to here has left */
	uint64_t most_ns;  /* latest time pushed */
	uint64_t round_ns; /* the same as of the end of the last round */
	uint64_t cut;      /* times that memory forced records out before their round's end */
};

struct recording {
	const struct options *options;
	struct perfdata *pd;
	struct pipeline pipeline;
	struct feed feed;
	VEC(int) kinds;             /* of the pipeline, by event; -1: not made yet */
	VEC(uint64_t) samples;      /* by event */
	uint64_t no_event;          /* samples of ids that no event has */
	uint64_t first_ns, last_ns; /* of samples */
	bool timed;                 /* some have a time */
	struct map build_ids;       /* hash of a path -> entry of the recording's table + 1 */
	size_t build_ids_known;
	const char *arch_known; /* of the facts, and how many events, when the machine was set */
	size_t events_known;
	bool by_registers; /* samples carry registers and stacks */
	bool no_unwinding; /* of a machine whose registers we do not know */
	bool same_host;    /* recorded here, by this kernel's release */
	size_t nr_refused; /* images whose files were not taken, as last told */
	struct image_places places;
	struct rkernel *kernel;
	struct notes notes;
	struct map counts;   /* of groups' samples; see recording_shares.h */
	uint64_t started_ns; /* clock_ns() */
	/* Called with each record once it has been applied, in time order; may be NULL. */
	void (*each)(struct recording *r, const struct record *record);
	int error; /* of .each: writing goes on no further */
};

/* recording_feed.c */
int feed_init(struct recording *r);
void feed_done(struct recording *r);
/* Reads all of it into the pipeline.  0 or -ENOMEM; perfdata_stopped() says how reading ended. */
int feed_all(struct recording *r);

/* recording_names.c: which names of this machine hold for the recording. */
int rnames_init(struct recording *r);
void rnames_done(struct recording *r);
void rnames_saw(struct recording *r, const struct record *record); /* each record, once applied */
void rnames_finish(struct recording *r); /* once all is read: build-ids that came last */
void rnames_tell(struct recording *r);   /* notes which files are missing; each time names came */

/* recording_report.c: all of it as one refresh for each event.  0 or -errno. */
int recording_report(struct recording *r);

/* recording_script.c: prints a sample; recording.each. */
void recording_script(struct recording *r, const struct record *record);

#endif
