/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader's side of one perf ring buffer: a page of positions and a power of two of bytes
 * that the kernel fills (perf_event_open(2), "MMAP layout").
 *
 * One thread reads a ring: ring_begin(), ring_peek() and ring_next() over the records that are
 * there, then ring_release() once they were copied: until then the kernel keeps off them.
 * ring_pending() may be called from any thread.  Nothing in the bytes is trusted: a record that
 * cannot be ends the batch, and the ring is skipped to the kernel's head, since nothing tells
 * where the next one begins.
 */
#ifndef PTOP_RING_RING_H
#define PTOP_RING_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"

struct ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t size;       /* bytes of data, a power of two */
	size_t mapped_bytes; /* 0: borrowed memory */
	uint64_t head;       /* the kernel's head at ring_begin() */
	uint64_t tail;       /* where the reader is; published by ring_release() */
	uint64_t bad;        /* batches that ended in a record that cannot be */
};

/*
 * A record in place: one piece, or two where it wraps around the end of the buffer (the second
 * may be empty).
 */
struct ring_record {
	const uint8_t *at[2];
	uint32_t len[2];
	uint32_t size; /* len[0] + len[1], header included */
	uint32_t type;
	uint16_t misc;
};

/*
 * Maps the ring of @fd (borrowed; the mapping outlives it) with @data_bytes of data, rounded up
 * to a power of two of pages. -EPERM: the mlock quota (kernel.perf_event_mlock_kb,
 * RLIMIT_MEMLOCK) is used up: try a smaller one. -ENOMEM, -EBADF and others as mmap(2).
 */
int ring_open(struct ring *r, int fd, size_t data_bytes, struct reason *why);

/* A ring over the caller's memory; @data_bytes is a power of two.  Borrows both. */
void ring_over(struct ring *r, struct perf_event_mmap_page *page, const void *data,
	       size_t data_bytes);

/* Unmaps; also an all-zero ring. */
void ring_close(struct ring *r);

/* Takes the kernel's head: what is there now is the batch.  Returns its bytes. */
uint64_t ring_begin(struct ring *r);

/*
 * The record at the reader's place.  1: there is one; 0: the batch is used up; -EBADMSG: not a
 * record (size below 8 or beyond the head, or a head that went backwards or over the size):
 * counted in r->bad, and the reader now stands at the head.
 */
int ring_peek(struct ring *r, struct ring_record *ret);

/* Steps over the record peeked. */
static inline void ring_next(struct ring *r, const struct ring_record *rec)
{
	r->tail += rec->size;
}

/* Copies the whole record to @out (rec->size bytes). */
void ring_copy(const struct ring_record *rec, void *out);

/* Gives everything stepped over back to the kernel. */
void ring_release(struct ring *r);

/* Bytes written by the kernel and not yet released.  Any thread. */
uint64_t ring_pending(const struct ring *r);

#endif
