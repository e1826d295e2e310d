/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of tracepoints' samples, printed by a process without rights: it is forked at the first
 * one, with the kernel's names as they are known then, gives up everything
 * (image/loader_sandbox.h), reads the recording's formats and answers sample by sample.  If it dies
 * or hangs, no more texts are printed, and one sentence says so.
 */
#ifndef PTOP_RECORDING_TRACE_H
#define PTOP_RECORDING_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reason.h"
#include "record/perfdata.h"
#include "symbol/symbols.h"

struct rtrace;

/* Borrows all.  NULL without memory. */
struct rtrace *rtrace_new(struct perfdata *pd, struct symbols *symbols, bool sandbox);
void rtrace_free(struct rtrace *t);

/* The text of a sample, borrowed until the next call; NULL: there is none. */
const char *rtrace_text(struct rtrace *t, uint32_t cpu, const struct bytes *raw);

/* Why there are no texts, or no more; "". */
const char *rtrace_why(const struct rtrace *t);

#endif
