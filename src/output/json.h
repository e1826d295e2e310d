/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A refresh as one JSON object on one line.  Names are stable: others may be added, none
 * renamed.
 *
 *	{"version", "host",
 *	 "target": {"kind", "pids" or "tids": [...], "command", "user", "cpus", "ended",
 *"exit_status"}, "event", "frequency_hz" or "period", "exclude": [...], "start_s", "duration_s",
 *	 "samples", "weight", "cpus", "lost", "dropped", "throttled",
 *	 "stacks": {"complete", "cut", "broken", "deep"}, "unnamed",
 *	 "own": {"cpu_percent", "rss_bytes"}, "hidden": {"idle_cpus"}, "notes": [...],
 *	 "group_by": "process" or "thread" or null,
 *	 "functions": [{"group", "function", "module", "self_samples", "total_samples",
 *	                "self_percent", "total_percent", "self_cpus", "total_cpus"}],
 *	 "tree": [{"function", "module", "self_samples", "total_samples", "total_percent",
 *	           "children": [...]}]}
 *
 * - Percentages are shares of "weight", the whole of the window.  "cpus", "self_cpus",
 *   "total_cpus" and "idle_cpus" are null for events that do not measure time.  Members of
 *   "target" that do not apply are left out.
 * - For every tree node, total_samples is self_samples plus the total_samples of its children.
 *   "--min-percent" merges siblings below it into one child {"function": "[other]", "module":
 *   ""} without children, whose self is all of theirs.
 * - Samples without any frame are one top {"function": "[no stack]", "module": ""}, so that the
 *   tops add up to "samples".
 * - "group" is in functions only with grouping; then the tops of "tree" are {"group": name,
 *   self_samples, total_samples, total_percent, children} without a function.
 * - Every string is UTF-8 without control characters.
 */
#ifndef PTOP_OUTPUT_JSON_H
#define PTOP_OUTPUT_JSON_H

#include <stdio.h>

#include "output/report.h"

/* Writes one line and flushes.  0, -ENOMEM, or -errno of the write (-EPIPE, -ENOSPC). */
int json_write(FILE *out, const struct report *r);

#endif
