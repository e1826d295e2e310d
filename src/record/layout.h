/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a record of one event looks like: the few fields of perf_event_attr that
 * decide which fields a record carries.  One per distinct event, borrowed by the decoder.
 */
#ifndef PTOP_RECORD_LAYOUT_H
#define PTOP_RECORD_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct layout {
	uint64_t sample_type;        /* PERF_SAMPLE_* */
	uint64_t read_format;        /* PERF_FORMAT_* */
	uint64_t branch_sample_type; /* PERF_SAMPLE_BRANCH_* */
	uint64_t regs_user;          /* masks */
	uint64_t regs_intr;
	bool sample_id_all; /* records but samples end in a sample_id */
	bool swap;          /* bytes of the other order (recordings only) */
};

struct perf_event_attr;
struct layout layout_of(const struct perf_event_attr *attr);

/* Samples tell the calls of user code as the processor recorded them. */
bool layout_has_calls(const struct layout *l);

#endif
