/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of one record -> struct record, bounds first.  Pure; allocates nothing; any bytes are
 * safe.  Unknown types and unknown trailing fields are taken: type, misc, size, and what is known.
 */
#ifndef PTOP_RECORD_DECODE_H
#define PTOP_RECORD_DECODE_H

#include <stddef.h>

#include "record/layout.h"
#include "record/record.h"

/*
 * Decodes the record at @bytes (header included, @size its whole length and equal to header.size).
 * @ret borrows @bytes.  Returns 0, or -EBADMSG when a field points past the end (@ret undefined).
 */
int record_decode(const struct layout *l, const void *bytes, size_t size, struct record *ret);

/*
 * Only type and sid (time, id, pid, tid, cpu), much cheaper: what ordering and routing need.
 * sid.have is 0 for records without a sample_id.  0 or -EBADMSG.
 */
int record_peek(const struct layout *l, const void *bytes, size_t size, uint32_t *ret_type,
		struct sample_id *ret);

/* The i-th value of a READ; i < v->nr. */
struct read_value read_values_get(const struct read_values *v, uint32_t i);
struct branch sample_branch(const struct sample *s, uint32_t i); /* i < branches.nr */

/* "MMAP2", "SAMPLE", …; NULL for types the kernel of 6.18 does not have. */
const char *record_type_name(uint32_t type);

#endif
