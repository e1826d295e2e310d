/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a recording's reading share; private to them. */
#ifndef PTOP_RECORDING_IMPL_H
#define PTOP_RECORDING_IMPL_H

#include <sys/types.h>

#include "base/map.h"
#include "base/notes.h"
#include "base/vec.h"
#include "options.h"
#include "output/perfdata_write.h"
#include "pipeline.h"
#include "record/perfdata.h"
#include "recording_kernel.h"
#include "recording_read.h"
#include "recording_trace.h"

struct recording {
	const struct options *options;
	struct notes *notes; /* borrowed */
	struct perfdata *pd;
	struct pipeline pipeline;
	struct reading *reading;
	int fd;                /* where to wait for more of a pipe; -1: a file */
	uint64_t done_ns;      /* time of the latest record that was applied */
	uint64_t dropped;      /* of the reading, as counted already */
	bool idle;             /* all that may leave has left */
	bool finished;         /* rnames_finish() was called */
	VEC(int) kinds;        /* of the pipeline, by event; -1: not made yet */
	VEC(uint64_t) samples; /* by event */
	struct map build_ids;  /* hash of a path -> entry of the recording's table + 1 */
	size_t build_ids_known;
	const char *arch_known; /* of the facts, and how many events, when the machine was set */
	size_t events_known;
	uint64_t regs;     /* that samples of any event carry; 0: no stacks either */
	bool no_unwinding; /* of a machine whose registers we do not know */
	bool same_host;    /* recorded here, by this kernel's release */
	bool machine_told, kernel_told, trace_told;
	size_t nr_refused; /* images whose files were not taken, as last told */
	struct image_places places;
	struct rkernel *kernel;
	struct map stored_counts; /* the same as .counts, for what is stored */
	struct map counts;        /* of groups' samples; see recording_shares.h */
	/* Called with each record once it has been applied, in time order; may be NULL. */
	void (*each)(struct recording *r, const struct record *record);
	size_t width_events;  /* how many there were when .width was found */
	int width;            /* of the longest event's name, for scripts */
	int width_source;     /* of the widest source of data so far, for scripts */
	struct rtrace *trace; /* of tracepoints, for scripts; NULL: not asked yet */
	bool trace_failed;    /* and said so */
	int error;            /* of .each: writing goes on no further */
};

struct recording_helpers {             /* each may be NULL */
	struct loader *loader;         /* reads the files that names are in */
	struct cache *cache;           /* keeps what it read */
	struct debuginfod *debuginfod; /* downloads debug files */
};

/*
 * Opens o->input and makes the pipeline that it is read into; nothing is read yet but its header.
 * Borrows all.  0, or -errno with a sentence.
 */
int recording_open(struct recording *r, const struct options *o,
		   const struct recording_helpers *with, struct notes *notes, struct reason *why);
void recording_close(struct recording *r);

/*
 * How reading ended, once it has: 0, with @why->text "" where all is well or a sentence where the
 * recorder did not finish; -EBADMSG with a sentence where the recording is damaged.
 */
int recording_verdict(const struct recording *r, struct reason *why);

/* recording_feed.c */
int feed_init(struct recording *r, const struct recording_helpers *with);
void feed_done(struct recording *r);

enum feed_state {
	FEED_MORE,  /* the time is up */
	FEED_WAITS, /* for the loader, or to be asked for more */
	FEED_END,   /* all of it is stored, or as much as has been asked for and there is no more */
	FEED_FAILED, /* no memory */
};

/*
 * Reads into the pipeline what was recorded before @before_ns (UINT64_MAX: all), until clock_ns()
 * is @until_ns.  FEED_END comes also after damage: perfdata_stopped() says how reading ended.
 */
enum feed_state feed_work(struct recording *r, uint64_t before_ns, uint64_t until_ns);

/* The same to its end, waiting for the loader where need be.  0 or -ENOMEM. */
int feed_all(struct recording *r);

/* Everything before this time is stored. */
uint64_t feed_reached(const struct recording *r);

/* recording_names.c: which names of this machine hold for the recording. */
int rnames_init(struct recording *r);
void rnames_done(struct recording *r);
void rnames_saw(struct recording *r, const struct record *record); /* each record, once applied */
void rnames_finish(struct recording *r); /* once all is read: build-ids that came last */
void rnames_tell(struct recording *
			 r); /* notes what is not named, and why: at the end, and when names came */

/* recording_save.c: struct source's. */
int recording_save_begin(const struct recording *r, int fd, struct perfdata_writer **ret,
			 int *ret_clockid);
int recording_save_kernel(const struct recording *r, struct perfdata_writer *w,
			  const struct layout *l);

/* recording_script.c: prints a sample; recording.each. */
void recording_script(struct recording *r, const struct record *record);

#endif
