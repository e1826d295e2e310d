/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout: [size u32][kind u32][bytes, padded to 8] ... A record is never split: where it does
 * not fit before the end of the bytes, a filler (kind LANE_FILLER, its size reaching to the
 * end) is written and the record begins at offset 0.
 *
 * Order.  There are two shared words, each with one writer:
 *
 * - head.  The producer's store in lane_commit() releases the records' bytes; its partner is
 *   the consumer's load in lane_peek() and lane_empty().
 * - tail.  The consumer's store in lane_release() releases its reads of the records; its
 *   partner is the producer's load in lane_reserve(): only after it are the bytes written over.
 *
 * Sleeping.  The consumer sleeps after lane_peek() found nothing, the producer wakes it when it
 * may have.  Each side writes its word and then reads the other's: the producer stores head in
 * lane_commit(), then loads tail in lane_wants_wake(); the consumer stores tail, then loads
 * head, both in lane_peek(), which therefore releases before it may say false.  (Look first,
 * release afterwards, sleep: a commit in between would find the old tail and wake nobody.)
 * With acquire and release alone both could read the old value, and the record would lie there
 * unseen.  All four are therefore sequentially consistent: in their one total order one of the
 * two stores comes first, and the load of the side that stored second comes after it.  So
 * either the consumer sees the new head, or the producer sees that the tail had reached the old
 * head.  This costs one locked instruction a batch on each side.  A producer that waits for
 * room leans on the same order the other way round (reader.c), which is why lane_reserve()
 * loads the tail like that too.
 */
#include "ring/lane.h"

#include <stdlib.h>
#include <string.h>

#define LANE_FILLER UINT32_MAX
#define LANE_MIN_BYTES 64

struct lane_header {
	uint32_t size; /* of the bytes, without header and padding */
	uint32_t kind;
};

static uint64_t room_of(uint32_t size)
{
	return sizeof(struct lane_header) + (((uint64_t)size + 7) & ~7ull);
}

struct lane *lane_new(size_t bytes)
{
	uint64_t size = LANE_MIN_BYTES;
	struct lane *l;

	while (size < bytes) {
		if (size > SIZE_MAX / 4)
			return NULL;
		size *= 2;
	}
	l = aligned_alloc(LANE_CACHE_LINE, sizeof(*l));
	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->size = size;
	l->bytes = aligned_alloc(LANE_CACHE_LINE, size);
	if (!l->bytes) {
		free(l);
		return NULL;
	}
	return l;
}

void lane_free(struct lane *l)
{
	if (!l)
		return;
	free(l->bytes);
	free(l);
}

bool lane_can_hold(const struct lane *l, uint32_t size)
{
	/* The filler before a record is shorter than the record. */
	return room_of(size) <= l->size / 2;
}

static void put_header(struct lane *l, uint64_t position, uint32_t size, uint32_t kind)
{
	struct lane_header h = { .size = size, .kind = kind };

	memcpy(l->bytes + (position & (l->size - 1)), &h, sizeof(h));
}

/*
 * True when @room bytes may be written.  Looks at the consumer's word only when what was last
 * seen does not do.
 */
static bool has_room(struct lane *l, uint64_t room)
{
	if (l->write + room - l->seen_tail <= l->size)
		return true;
	l->seen_tail = atomic_load_explicit(&l->tail, memory_order_seq_cst);
	return l->write + room - l->seen_tail <= l->size;
}

void *lane_reserve(struct lane *l, uint32_t size, uint32_t kind, uint32_t spare)
{
	uint64_t room = room_of(size), to_end = l->size - (l->write & (l->size - 1));
	uint64_t filler = room <= to_end ? 0 : to_end;
	uint8_t *at;

	if (room > l->size || !has_room(l, filler + room + spare))
		return NULL;
	if (filler) {
		put_header(l, l->write, (uint32_t)(filler - sizeof(struct lane_header)),
			   LANE_FILLER);
		l->write += filler;
	}
	put_header(l, l->write, size, kind);
	at = l->bytes + (l->write & (l->size - 1)) + sizeof(struct lane_header);
	l->write += room;
	return at;
}

bool lane_push(struct lane *l, const void *bytes, uint32_t size, uint32_t kind)
{
	void *at = lane_reserve(l, size, kind, 0);

	if (at && size)
		memcpy(at, bytes, size);
	return at != NULL;
}

uint64_t lane_commit(struct lane *l)
{
	uint64_t before = atomic_load_explicit(&l->head, memory_order_relaxed);

	if (l->write != before)
		atomic_store_explicit(&l->head, l->write, memory_order_seq_cst);
	return before;
}

bool lane_wants_wake(struct lane *l, uint64_t from)
{
	uint64_t tail = atomic_load_explicit(&l->tail, memory_order_seq_cst);
	uint64_t half = l->size / 2;

	l->seen_tail = tail;
	if (l->write == from)
		return false;
	if (tail >= from)
		return true;
	return from - tail <= half && l->write - tail > half;
}

bool lane_past_half(struct lane *l, uint64_t from)
{
	uint64_t tail = atomic_load_explicit(&l->tail, memory_order_seq_cst);
	uint64_t half = l->size / 2;

	l->seen_tail = tail;
	return (tail >= from || from - tail <= half) && l->write - tail > half;
}

bool lane_holds(struct lane *l)
{
	l->seen_tail = atomic_load_explicit(&l->tail, memory_order_seq_cst);
	return l->write != l->seen_tail;
}

bool lane_peek(struct lane *l, struct lane_record *ret)
{
	struct lane_header h;
	const uint8_t *at;

	for (;;) {
		if (l->read == l->seen_head) {
			l->seen_head = lane_head(l);
			if (l->read == l->seen_head && lane_tail(l) != l->read) {
				/* Only a look after the release may end in sleep. */
				lane_release(l);
				l->seen_head = lane_head(l);
			}
			if (l->read == l->seen_head)
				return false;
		}
		at = l->bytes + (l->read & (l->size - 1));
		memcpy(&h, at, sizeof(h));
		l->read += room_of(h.size);
		if (h.kind != LANE_FILLER)
			break;
	}
	*ret = (struct lane_record){ .bytes = at + sizeof(h), .size = h.size, .kind = h.kind };
	return true;
}

void lane_release(struct lane *l)
{
	if (atomic_load_explicit(&l->tail, memory_order_relaxed) != l->read)
		atomic_store_explicit(&l->tail, l->read, memory_order_seq_cst);
}

bool lane_empty(struct lane *l)
{
	return lane_head(l) == lane_tail(l);
}

uint64_t lane_head(const struct lane *l)
{
	return atomic_load_explicit(&l->head, memory_order_seq_cst);
}

uint64_t lane_tail(const struct lane *l)
{
	return atomic_load_explicit(&l->tail, memory_order_seq_cst);
}
