/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What decode.c (records in general) and decode_sample.c (PERF_RECORD_SAMPLE) share, and
 * the bits of perf_event.h up to Linux 6.18 that an older installed header may lack.
 */
#ifndef PTOP_RECORD_DECODE_PARTS_H
#define PTOP_RECORD_DECODE_PARTS_H

#include "record/cursor.h"
#include "record/layout.h"
#include "record/record.h"

enum {
	FORMAT_LOST = 1u << 4,      /* PERF_FORMAT_LOST, Linux 6.0 */
	BRANCH_HW_INDEX = 1u << 17, /* PERF_SAMPLE_BRANCH_HW_INDEX, 5.7 */
	BRANCH_COUNTERS = 1u << 19, /* PERF_SAMPLE_BRANCH_COUNTERS, 6.8 */
	BRANCH_ENTRY_BYTES = 24,    /* from, to, flags */
	HEADER_BYTES = 8,
};

/* Whether the record's numbers, not those of this machine, are big-endian. */
static inline bool data_is_big_endian(bool swap)
{
	return swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* The sample's fixed leading fields, IDENTIFIER to CPU, into @sid, @ret_ip and @ret_addr. */
bool sample_head(struct cursor *c, uint64_t sample_type, struct sample_id *sid, uint64_t *ret_ip,
		 uint64_t *ret_addr);

/* The body of a PERF_RECORD_SAMPLE; @s and @sid are zeroed by the caller. */
bool sample_decode(struct cursor *c, const struct layout *l, struct sample *s,
		   struct sample_id *sid);

/* What read(2) gives for a counter, as it stands in READ records and samples. */
bool read_values_decode(struct cursor *c, uint64_t format, struct read_values *ret);

#endif
