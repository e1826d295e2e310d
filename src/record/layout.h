/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a record of one event looks like: the few fields of perf_event_attr that
 * decide which fields a record carries.  One per distinct event, borrowed by the decoder.
 */
#ifndef PTOP_RECORD_LAYOUT_H
#define PTOP_RECORD_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* PERF_SAMPLE_* bits of Linux 6.18 by number: older headers lack the last ones. */
enum {
	SAMPLE_CGROUP = 1u << 21,
	SAMPLE_DATA_PAGE_SIZE = 1u << 22,
	SAMPLE_CODE_PAGE_SIZE = 1u << 23,
	SAMPLE_WEIGHT_STRUCT = 1u << 24,
};

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
