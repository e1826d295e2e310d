/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler's inside, shared by sampler.c (life, start, ids), cover.c (which threads are open)
 * and change.c.
 */
#ifndef PTOP_EVENT_SAMPLER_IMPL_H
#define PTOP_EVENT_SAMPLER_IMPL_H

#include "base/map.h"
#include "event/attr.h"
#include "event/diagnose.h"
#include "event/sampler.h"
#include "event/set.h"
#include "event/targets.h"

/* Bits. */
enum {
	LAYOUT_PLAIN = 0,
	LAYOUT_CALLCHAIN = 1,
	LAYOUT_NO_PERIOD = 2,
	LAYOUT_STACK = 4,
	LAYOUT_CALLS = 8, /* LBR */
	NR_LAYOUTS = 16
};

/* Samplings whose records may still be in flight: their ids stay known. */
enum { KEPT_GENERATIONS = 8 };

/* What is known of a thread of the target, by tid: values of sampler.watched. */
enum watched { WATCHED_DIRECT = 1, WATCHED_INHERITED = 2 };

struct generation { /* a sampling that is closed */
	uint64_t *ids;
	size_t nr_ids;
	uint32_t serial;
	struct perf_event_attr attr;
};

struct sampler {
	struct target target;
	struct u32_list cpus;
	struct kernel_features features;
	struct facts facts;
	uint32_t watermark;
	int *owners[NR_RING_USES]; /* a descriptor a CPU, -1 where closed */
	struct event_set tracking, sampling;
	struct sampling current;
	struct layout layouts[NR_LAYOUTS];
	struct map ids;                             /* event id -> id_pack() */
	struct generation closed[KEPT_GENERATIONS]; /* newest first */
	uint32_t serial;                            /* the last given out */
	uint64_t lost_closed;                       /* by samplings that are closed */
	bool started;

	struct map watched;       /* tid -> enum watched */
	struct map outsiders;     /* PIDs: descendants of the target from before it was opened */
	struct task_list pending; /* born while the sampling was changed: not yet opened */
	struct map ambiguous; /* tids with an ambiguous slot in .sampling -> samples by that slot */
	uint64_t covered_ns;  /* when all threads were open in the present sampling; CLOCK_MONOTONIC
			       */
	uint32_t round;       /* rescans so far */
	size_t nr_wanted;     /* threads of the last scan */
	size_t nr_protected;  /* threads that refused (TARGET_USER) */

	sampler_note_fn *note;
	void *note_ctx;
};

void sampler_tell(struct sampler *sp, const char *sentence);

/* Fills .err and what is known of the target's @tid (0: none), and diagnoses. */
int sampler_refuse(struct sampler *sp, int err, const struct event *e, bool wants_kernel, pid_t tid,
		   struct reason *why);

/* Which of the layouts an attr's records have. */
uint8_t sampler_layout_bits(const struct perf_event_attr *attr);

/* Notes that @tid is open by its own name.  0 or -ENOMEM. */
int sampler_mark(struct sampler *sp, pid_t tid, bool ambiguous);

/* Descriptors needed in all for @nr_threads. */
uint64_t sampler_descriptors(const struct sampler *sp, size_t nr_threads);

/*
 * Opens @sampling (and the tracking where @tracking is not NULL) on every thread in @tasks and on
 * those born meanwhile, until a scan finds nothing new.  Threads born meanwhile are marked
 * ambiguous.  -ESRCH when none was open in the end.
 */
int cover_all(struct sampler *sp, struct event_set *tracking, struct event_set *sampling,
	      struct reason *why);

/* All threads of the target now, for an opening: scanned, inherited and descended.  0 or -errno;
 * @ret_missing as targets_scan(). */
int cover_scan(struct sampler *sp, struct task_list *ret, uint32_t *ret_missing);

/* Before the first opening: which children of the target are not part of it.  0 or -errno. */
int cover_note_outsiders(struct sampler *sp, const struct task_list *tasks);

/*
 * Bounds and checks @s, finds the attr the kernel takes on one of @tasks, steps down to user-only
 * where kernel samples are refused.
 * @s and @ret are set on success.
 */
int cover_negotiate(struct sampler *sp, const struct task_list *tasks, struct sampling *s,
		    struct perf_event_attr *ret, struct reason *why);

uint64_t monotonic_ns(void);

#endif
