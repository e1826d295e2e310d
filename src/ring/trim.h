/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of a sample's stack copy is worth carrying out of the ring.
 *
 * The kernel copies as many bytes from the stack pointer up as it was asked for; unwinding reads up
 * to the thread's outermost frame, which never moves while the thread lives.  So whoever unwinds
 * tells, for each stack that was found complete, up to which address it was read, and the readers
 * leave out what lies above in later samples of that thread.  What they leave of a sample is a
 * sample with a smaller copy, in the kernel's own format.
 *
 * Nothing is lost by that: should a stack end at the place where it was cut off, that is noticed
 * and the thread's copies are carried whole from then on.
 *
 * A fixed table by thread id; a thread that is not in it is copied whole.  trim_read_to() and
 * trim_ended() are for one thread (who unwinds), trim_sample() for any.
 */
#ifndef PTOP_RING_TRIM_H
#define PTOP_RING_TRIM_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/ring.h"

struct trim;

/*
 * For samples of @sample_type (PERF_SAMPLE_*) with the user registers of mask @regs_user, of which
 * the stack pointer is bit @sp_bit.  NULL without memory.  Samples of another shape are left alone,
 * and so are all where @sample_type has fields that nothing here knows.
 */
struct trim *trim_new(uint64_t sample_type, uint64_t regs_user, unsigned int sp_bit);
void trim_free(struct trim *t);

/* A complete stack of thread @tid was read below address @end only. */
void trim_read_to(struct trim *t, uint32_t tid, uint64_t end);

/*
 * The walk of a stack of thread @tid ended otherwise, with a copy that reached up to address
 * @copied_to: if that is where it was cut off here, the thread is left alone from now on.
 */
void trim_ended(struct trim *t, uint32_t tid, uint64_t copied_to);

/* What is left of a sample. */
struct trimmed {
	uint32_t stack_at; /* offset of the stack's copy in the record */
	uint32_t kept;     /* bytes of it: a multiple of 8 */
	uint32_t dyn_size; /* of which so many were written */
	uint32_t size;     /* of the record then */
};

/* False: the whole record is worth it. */
bool trim_sample(const struct trim *t, const struct ring_record *rec, struct trimmed *ret);

/* Writes the ret->size bytes of what is left of @rec. */
void trim_copy(const struct ring_record *rec, const struct trimmed *what, void *out);

#endif
