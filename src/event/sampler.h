/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open events of a session.  Three sets of descriptors:
 *   owners   two dummy events a CPU on ptop itself: they hold the rings (side-band, samples) for
 * the session's whole life, tracking dummy events on the target (mmap2, comm, task, ksymbol,
 * bpf_event, namespaces, cgroup) -> side-band rings, sampling the event asked for -> sample rings;
 * closed and opened anew when the event or exclusion changes, while tracking goes on. All carry
 * IDENTIFIER, so any record tells which event it is of.  Clock: CLOCK_MONOTONIC. Nothing here maps
 * memory or starts threads: the session gives sampler_owner() to the rings.
 */
#ifndef PTOP_EVENT_SAMPLER_H
#define PTOP_EVENT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/parse.h"
#include "base/reason.h"
#include "event/event.h"
#include "record/layout.h"

enum target_kind { TARGET_SYSTEM, TARGET_PIDS, TARGET_TIDS, TARGET_USER };

struct target {
	enum target_kind kind;
	struct u32_list ids;  /* PIDs or TIDs */
	uid_t uid;            /* TARGET_USER */
	struct u32_list cpus; /* empty: all online */
	bool tell_data;       /* tracking tells of mappings of data, too: perf unwinds by them */
	bool on_exec;         /* PIDS of one stopped child: sampling starts at its exec */
};
void target_done(struct target *t);

enum call_graph {
	CALL_GRAPH_NONE,
	CALL_GRAPH_FP,    /* the kernel's frame pointer chain */
	CALL_GRAPH_DWARF, /* user registers and a copy of the stack, unwound by ptop */
	CALL_GRAPH_LBR,   /* the processor's record of calls (Intel's and AMD's LBR), user code only
			   */
};

/* A copy of the stack in each sample: a multiple of 8, at most this (the record's size is 16 bits).
 */
#define STACK_BYTES_MOST 65000u
#define STACK_BYTES_DEFAULT 8192u

/* What is best where nobody chose: the unwind tables' stacks are true, on machines that we know. */
#if defined(__x86_64__) || defined(__aarch64__)
#define CALL_GRAPH_AUTO CALL_GRAPH_DWARF
#else
#define CALL_GRAPH_AUTO CALL_GRAPH_FP
#endif

struct sampling {
	struct event event;
	bool by_frequency;
	uint64_t rate; /* Hz, or the period in the event's unit */
	bool exclude_kernel, exclude_user;
	enum call_graph call_graph;
	uint32_t stack_bytes; /* CALL_GRAPH_DWARF */
};

enum ring_use { RING_SIDE_BAND, RING_SAMPLES, NR_RING_USES };

struct sampler;

/*
 * Opens owners, tracking and sampling for @t, all disabled but tracking (running at once).  Threads
 * born between the /proc scan and the opening are found by scanning again until nothing is new.
 * Raises RLIMIT_NOFILE as far as allowed. Falls back where the kernel refuses and tells each step
 * in @notes through @note (one sentence; may be NULL): kernel+user -> user only.
 * @s is updated to what was really opened (rate bounded, exclude_kernel set).  On failure nothing
 * stays open and @why says what happened, why, and what mends it.  -ESRCH: target gone;
 * -EACCES/-EPERM: rights; -EMFILE; -EOPNOTSUPP/-ENOENT: event.
 */
/*
 * @note and @ctx are kept: sampler_change() and sampler_rescan() tell their steps there, too.
 */
typedef void sampler_note_fn(void *ctx, const char *sentence);
int sampler_open(struct sampler **ret, const struct target *t, struct sampling *s,
		 sampler_note_fn *note, void *ctx, struct reason *why);
/* The same for a session that was given no event: takes the first of event_ladder() that opens, and
 * notes why it is not the best. */
int sampler_open_default(struct sampler **ret, const struct target *t, struct sampling *s,
			 sampler_note_fn *note, void *ctx, struct reason *why);
void sampler_free(struct sampler *sp);

size_t sampler_nr_cpus(const struct sampler *sp);
uint32_t sampler_cpu(const struct sampler *sp, size_t i);
int sampler_owner(const struct sampler *sp, size_t i,
		  enum ring_use use); /* descriptor to mmap, borrowed */

/* Call once the rings are mapped: redirects tracking and sampling into them (an event can only be
 * redirected to a mapped one), and starts. */
int sampler_start(struct sampler *sp, struct reason *why);

/*
 * Sets how full (bytes) the sample ring wakes its reader.  The kernel takes this from the event
 * that is mapped, at mmap: so call it before the rings are mapped; it opens the owners of the
 * sample rings anew.  Side-band always wakes at once.  0 or -errno.
 */
int sampler_set_watermark(struct sampler *sp, uint32_t sample_bytes);

/*
 * Changes event, exclusion, call graph or rate, without a gap.  Only the rate differs: by
 * PERF_EVENT_IOC_PERIOD where that reaches every thread and tells the new weight (not for clocks,
 * not with inherited threads alive); else by opening anew.  On failure the old sampling goes on.
 * Steps down and bounds are told to the note function of sampler_open().
 */
int sampler_change(struct sampler *sp, struct sampling *s, struct reason *why);
const struct sampling *sampler_current(const struct sampler *sp);

/* Threads that appeared and are not inherited (TARGET_USER new processes; stray threads): opens
 * what is new.  Number of newly watched. */
size_t sampler_rescan(struct sampler *sp);

/*
 * What the records tell, in the order they are processed; no-ops for TARGET_SYSTEM.  Children of
 * watched tasks are watched by inheritance and leave no other trace: sampler_change() must find
 * them again to open the new event on them. FORK and EXIT of the side-band (@pid, @tid: the new or
 * ended task; @time_ns: the record's).
 */
void sampler_saw_fork(struct sampler *sp, pid_t pid, pid_t tid, uint64_t time_ns);
void sampler_saw_exit(struct sampler *sp, pid_t tid);
/*
 * Each sample's event and thread.  A thread born while its parent was being opened is opened by
 * name although it may be inherited as well; the first sample that comes by inheritance shows it,
 * and its own events are closed.  Costs one test unless there are such threads.
 */
void sampler_saw_sample(struct sampler *sp, uint64_t id, pid_t tid);

bool sampler_target_alive(const struct sampler *sp); /* always for TARGET_SYSTEM and TARGET_USER */

/* By the id in a record's sample_id: its layout, and the serial of the sampling (0: tracking or
 * owner).  NULL: not ours. */
const struct layout *sampler_layout(const struct sampler *sp, uint64_t id, uint32_t *ret_serial);
/*
 * As the events of that serial were opened (0: tracking), for recordings; NULL: closed too long
 * ago.  Borrowed until the next change.
 */
struct perf_event_attr;
const struct perf_event_attr *sampler_attr(const struct sampler *sp, uint32_t serial);
/*
 * The weight of each sample of that serial where its records carry none (record.sample.period is 0
 * then): a software event with -c N > 1, which the kernel would sample each time if asked for
 * PERF_SAMPLE_PERIOD (perf_swevent_event(), kernel/events/core.c).  0 everywhere else.
 */
uint64_t sampler_fixed_period(const struct sampler *sp, uint32_t serial);

/* The layout all our records share for their fixed fields (IDENTIFIER): enough for record_peek().
 */
const struct layout *sampler_common_layout(const struct sampler *sp);
/* The layout of samples with a copy of the stack: of all but those that tell no period. */
const struct layout *sampler_stack_layout(const struct sampler *sp);
uint32_t sampler_serial(
	const struct sampler *sp); /* of the current sampling; rises with each reopening */

/* PERF_FORMAT_LOST summed over all events so far, 0 where the kernel has it not. */
uint64_t sampler_kernel_lost(const struct sampler *sp);
size_t sampler_nr_events(const struct sampler *sp); /* open descriptors */

#endif
