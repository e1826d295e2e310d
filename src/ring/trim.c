/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An entry is one word, so that it needs no more than to be atomic: the thread's id in the low 22
 * bits (no kernel has more threads: PID_MAX_LIMIT), above it the end in units of 64 bytes.  A stack
 * above 2^48 has no place there and is copied whole.  The readers' loads are relaxed: an old entry
 * is as right as a new one.
 *
 * A sample is, in words (perf_event_open(2), PERF_SAMPLE_*): header, a fixed number of fields, the
 * call chain's length and the chain, the registers' ABI and the registers, the size of the room for
 * the stack, that room, and how much of it was written.  A record of which these do not add up to
 * its size is of another event.
 */
#include "ring/trim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_LOG2 12
#define TID_BITS 22
#define TID_MASK ((1u << TID_BITS) - 1)
#define UNIT 64u
#define END_MOST (1ull << 48)
#define LEFT_ALONE (UINT64_MAX >> TID_BITS) /* as an end: above all addresses */

/* The fields before the call chain, a word each. */
#define FIXED_FIELDS                                                                               \
	((uint64_t)(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		    PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |  \
		    PERF_SAMPLE_PERIOD))
#define STACK_FIELDS ((uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER))

struct trim {
	bool known;        /* the shape: else nothing is left out */
	bool chain;        /* there is one */
	uint32_t tid_at;   /* bytes from the record's start */
	uint32_t fixed;    /* bytes of header and fixed fields */
	uint32_t nr_regs;  /* of the user */
	uint32_t sp_index; /* of the stack pointer among them */
	_Atomic uint64_t slots[1 << SLOTS_LOG2];
};

static uint32_t words(uint64_t mask)
{
	return (uint32_t)__builtin_popcountll(mask);
}

struct trim *trim_new(uint64_t sample_type, uint64_t regs_user, unsigned int sp_bit)
{
	const uint64_t before_tid = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	struct trim *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->known = (sample_type & STACK_FIELDS) == STACK_FIELDS &&
		   (sample_type & PERF_SAMPLE_TID) && (regs_user >> sp_bit & 1) &&
		   !(sample_type & ~(FIXED_FIELDS | STACK_FIELDS | PERF_SAMPLE_CALLCHAIN));
	t->chain = sample_type & PERF_SAMPLE_CALLCHAIN;
	t->tid_at = 8 + 8 * words(sample_type & before_tid) + 4; /* behind the pid */
	t->fixed = 8 + 8 * words(sample_type & FIXED_FIELDS);
	t->nr_regs = words(regs_user);
	t->sp_index = words(regs_user & ((1ull << sp_bit) - 1));
	return t;
}

void trim_free(struct trim *t)
{
	free(t);
}

static inline uint32_t slot_of(uint32_t tid)
{
	return (tid * 0x9e3779b1u) >> (32 - SLOTS_LOG2);
}

static uint64_t entry_of(const struct trim *t, uint32_t tid)
{
	uint64_t entry = atomic_load_explicit(&t->slots[slot_of(tid)], memory_order_relaxed);

	return (entry & TID_MASK) == tid ? entry >> TID_BITS : 0;
}

static void set_entry(struct trim *t, uint32_t tid, uint64_t end)
{
	atomic_store_explicit(&t->slots[slot_of(tid)], end << TID_BITS | tid, memory_order_relaxed);
}

void trim_read_to(struct trim *t, uint32_t tid, uint64_t end)
{
	uint64_t units = end / UNIT + (end % UNIT != 0);

	if (tid && tid <= TID_MASK && end < END_MOST && units > entry_of(t, tid))
		set_entry(t, tid, units);
}

void trim_ended(struct trim *t, uint32_t tid, uint64_t copied_to)
{
	uint64_t units = tid <= TID_MASK ? entry_of(t, tid) : 0;

	/* A copy begins at any address and is a multiple of 8. */
	if (units && units != LEFT_ALONE && copied_to - units * UNIT < 8)
		set_entry(t, tid, LEFT_ALONE);
}

/* Records and rings are made of words of 8 bytes: none is split by a wrap. */
static inline const uint8_t *at(const struct ring_record *rec, uint32_t offset)
{
	return offset < rec->len[0] ? rec->at[0] + offset : rec->at[1] + (offset - rec->len[0]);
}

static inline uint64_t word_at(const struct ring_record *rec, uint32_t offset)
{
	uint64_t x;

	memcpy(&x, at(rec, offset), sizeof(x));
	return x;
}

static inline uint32_t tid_of(const struct trim *t, const struct ring_record *rec)
{
	uint32_t tid;

	memcpy(&tid, at(rec, t->tid_at), sizeof(tid));
	return tid;
}

/* Bytes of the copy that are worth it, of @written from @sp up. */
static uint32_t worth(const struct trim *t, uint32_t tid, uint64_t sp, uint32_t written)
{
	uint64_t end = tid <= TID_MASK ? entry_of(t, tid) * UNIT : 0;

	return end > sp && end - sp < written ? (uint32_t)(end - sp) : written;
}

bool trim_sample(const struct trim *t, const struct ring_record *rec, struct trimmed *ret)
{
	uint64_t nr = 0, size, written;
	uint32_t off = t->fixed, sp_at, keep;

	if (!t->known || rec->size % 8 || rec->size < off + 8 * (t->nr_regs + 5))
		return false;
	if (t->chain) {
		nr = word_at(rec, off);
		off += 8;
		if (nr > (rec->size - off) / 8)
			return false;
		off += 8 * (uint32_t)nr;
	}
	if (rec->size - off < 8 * (t->nr_regs + 3) || word_at(rec, off) != PERF_SAMPLE_REGS_ABI_64)
		return false;
	sp_at = off + 8 * (1 + t->sp_index);
	off += 8 * (1 + t->nr_regs);
	size = word_at(rec, off);
	off += 8;
	if (size == 0 || size % 8 || rec->size - off != size + 8)
		return false;
	written = word_at(rec, off + (uint32_t)size);
	if (written > size)
		return false;
	written = worth(t, tid_of(t, rec), word_at(rec, sp_at), (uint32_t)written);
	keep = ((uint32_t)written + 7) & ~7u;
	keep = keep ? keep : 8; /* a size of 0 would leave out the last field, too */
	if (keep >= size)
		return false;
	*ret = (struct trimmed){ off, keep, (uint32_t)written, off + keep + 8 };
	return true;
}

void trim_copy(const struct ring_record *rec, const struct trimmed *what, void *out)
{
	uint64_t kept = what->kept, dyn_size = what->dyn_size;
	uint32_t end = what->stack_at + what->kept, first = end < rec->len[0] ? end : rec->len[0];
	uint16_t size = (uint16_t)what->size;
	uint8_t *to = out;

	memcpy(to, rec->at[0], first);
	if (first < end)
		memcpy(to + first, rec->at[1], end - first);
	memcpy(to + offsetof(struct perf_event_header, size), &size, sizeof(size));
	memcpy(to + what->stack_at - 8, &kept, sizeof(kept));
	memcpy(to + end, &dyn_size, sizeof(dyn_size));
}
