/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event names -> perf_event_attr.  Names and modifiers are perf's own (perf-list(1)); the table is
 * events.def.
 */
#ifndef PTOP_EVENT_EVENT_H
#define PTOP_EVENT_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"

enum event_unit {
	EVENT_COUNT,   /* a plain count: shares only */
	EVENT_TIME_NS, /* cpu-clock, task-clock: weight is ns, CPUs = weight / wall */
	EVENT_CYCLES,  /* time-like in cycles; CPUs by share of samples at a frequency */
};

struct event {
	char name[64]; /* canonical, with modifiers: "cpu-clock", "cycles:u" */
	uint32_t type;
	uint64_t config, config1, config2;
	bool exclude_kernel, exclude_user, exclude_hv; /* by modifiers k, u, h */
	uint8_t precise;                               /* modifiers p, pp, ppp; PRECISE_MAX for P */
	enum event_unit unit;
	bool kernel_only; /* happens in kernel mode: without kernel samples there are none */
};
#define PRECISE_MAX 0xff

/* Parses "cycles:u".  -EINVAL with a sentence that names the nearest events. */
int event_parse(const char *text, struct event *ret, struct reason *why);

/* The default event, best first: "cycles:P", "cycles", "cpu-clock".  NULL past the end. */
const char *event_ladder(size_t i);

/* Whether the kernel drives it by a timer: the period is a time in ns whatever was asked. */
bool event_is_clock(const struct event *e);

/* The table, in menu order: hardware, software, cache.  NULL past the end. */
struct event_row {
	const char *name;
	const char *alias;
	const char *group;
	const char *help;
};
const struct event_row *event_row(size_t i);

#endif
