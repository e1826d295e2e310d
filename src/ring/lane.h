/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A lane: a byte ring between exactly one producer and one consumer thread, for records of any
 * size.  The only memory that readers of rings share with another thread.
 *
 * The producer reserves room, fills it, and commits a batch at a time; the consumer peeks
 * records, each in one piece, and releases a batch at a time.  No locks, no system calls, no
 * allocation after lane_new(). A full lane refuses: what is lost then is the caller's to count.
 */
#ifndef PTOP_RING_LANE_H
#define PTOP_RING_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANE_SAMPLE_BYTES (1u << 20)
#define LANE_SIDE_BAND_BYTES (256u << 10)
#define LANE_CACHE_LINE 64

/* Positions only rise; modulo the size they are offsets into the bytes. */
struct lane {
	uint8_t *bytes;
	uint64_t size; /* a power of two */

	/* The producer's own line: it alone touches these. */
	_Alignas(LANE_CACHE_LINE) uint64_t write; /* behind the last record reserved */
	uint64_t seen_tail; /* the tail as last looked at: saves the other line most times */

	/* Published by the producer, read by the consumer. */
	_Alignas(LANE_CACHE_LINE) _Atomic uint64_t head;

	/* The consumer's own line. */
	_Alignas(LANE_CACHE_LINE) uint64_t read; /* behind the last record peeked */
	uint64_t seen_head;

	/* Published by the consumer, read by the producer. */
	_Alignas(LANE_CACHE_LINE) _Atomic uint64_t tail;
};

struct lane_record {
	const void *bytes; /* 8-aligned, valid until lane_release() */
	uint32_t size;
	uint32_t kind; /* the producer's own; any but UINT32_MAX */
};

/* @bytes is rounded up to a power of two, at least 64.  NULL without memory. */
struct lane *lane_new(size_t bytes);
void lane_free(struct lane *l);

/*
 * True when a record of @size bytes fits into the lane once that is empty, wherever the
 * positions stand.
 */
bool lane_can_hold(const struct lane *l, uint32_t size);

/* Producer. */

/*
 * Room for one record of @size bytes, 8-aligned and in one piece, to be filled before the commit.
 * NULL: full.  @spare bytes more must be left behind it (0: the last byte may go).
 */
void *lane_reserve(struct lane *l, uint32_t size, uint32_t kind, uint32_t spare);

/* lane_reserve() and a copy.  False: full. */
bool lane_push(struct lane *l, const void *bytes, uint32_t size, uint32_t kind);

/* Publishes all that was reserved.  Returns the head before: what lane_wants_wake() asks for. */
uint64_t lane_commit(struct lane *l);

/*
 * After a commit, and after publishing whatever else goes with it: must the consumer be woken?
 * True when it may have found the lane empty at or since @from (the head before the commit), or
 * when this commit went past half full.
 */
bool lane_wants_wake(struct lane *l, uint64_t from);

/* The same for a consumer that comes by itself now and then: true only when this commit went past
 * half full. */
bool lane_past_half(struct lane *l, uint64_t from);

/* Producer: true while the consumer has not released all that was committed. */
bool lane_holds(struct lane *l);

/* Consumer. */

/*
 * The next record that was committed.  Peeked records stay in the lane until lane_release(), or
 * until this finds no more. False: there is none; all before it are released, and a wake-up
 * will come for the next one, so the consumer may sleep.
 */
bool lane_peek(struct lane *l, struct lane_record *ret);

/*
 * Gives the room of all peeked records back.  Who stops before lane_peek() said false must come
 * back unasked: no wake-up comes for what was left, nor for what was committed meanwhile.
 */
void lane_release(struct lane *l);

/* True when all that is committed was peeked and released. */
bool lane_empty(struct lane *l);

/*
 * The positions up to which records are committed, and released: a record committed before some
 * moment is consumed when the tail has reached the head of that moment.
 */
uint64_t lane_head(const struct lane *l);
uint64_t lane_tail(const struct lane *l);

#endif
