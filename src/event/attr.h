/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf_event_attr of each kind of event that ptop opens, and what this kernel takes.  Inside
 * event/ only.
 *
 * All kinds share their fixed sample fields (ATTR_SAMPLE_FIELDS) and clock: so one layout peeks
 * into every record, and any event can be redirected into any ring of its CPU (the kernel refuses
 * to mix clocks in one ring).
 */
#ifndef PTOP_EVENT_ATTR_H
#define PTOP_EVENT_ATTR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "event/sampler.h"

#define ATTR_SAMPLE_FIELDS                                                              \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

struct kernel_features {
	bool lost;               /* PERF_FORMAT_LOST, Linux 6.0 */
	bool ksymbol, bpf_event; /* 5.1 */
	bool cgroup;             /* 5.7 */
	bool namespaces;         /* 4.12, and only with CAP_PERFMON */
};

/* Tries each on ptop's own process; some tens of microseconds. */
void features_probe(struct kernel_features *ret);

/* perf_event_open(2) with close-on-exec: a descriptor or -errno. */
int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu);

/* A dummy that counts nothing and holds a ring; the ring wakes its reader each @watermark bytes. */
struct perf_event_attr attr_owner(const struct kernel_features *f, uint32_t watermark);

/* Side-band of the target, not disabled; inherited unless @t is the whole system. */
struct perf_event_attr attr_tracking(const struct kernel_features *f, const struct target *t);

/*
 * Whether the kernel takes a sample of each single event if its period is asked for in the samples,
 * whatever period was set: software events by period, clocks aside (perf_swevent_event()).  They
 * leave PERF_SAMPLE_PERIOD out for periods above 1.
 */
bool counts_each(const struct sampling *s);

/* Adds the user's registers and @stack_bytes of its stack to each sample. */
void attr_add_stack(struct perf_event_attr *attr, uint32_t stack_bytes);
/* Adds the calls of user code as the processor recorded them (LBR). */
void attr_add_calls(struct perf_event_attr *attr);

/* The event of @s, disabled, its precision at the most that was asked for (see attr_negotiate()).
 */
struct perf_event_attr attr_sampling(const struct kernel_features *f, enum target_kind kind,
				     const struct sampling *s);

/*
 * Finds by trial on (@pid, @cpu) the closest attr that the kernel takes: less precision where the
 * event asks for the most there is, guests not excluded where the driver cannot.  0 with @attr
 * changed, or the -errno of the best try.
 */
int attr_negotiate(struct perf_event_attr *attr, const struct event *e, pid_t pid, int cpu);

#endif
