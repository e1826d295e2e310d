/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PERF_RECORD_SAMPLE: the fields in the order in which perf_output_sample() of
 * kernel/events/core.c writes them.  Each is read in its own width, so that byte order is a
 * matter of the cursor alone.
 */
#include <linux/perf_event.h>

#include "record/decode.h"
#include "record/decode_parts.h"

static unsigned bits_in(uint64_t mask)
{
	return (unsigned)__builtin_popcountll(mask);
}

enum {
	HEAD_FIELDS = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		      PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU,
	SID_FIELDS = HEAD_FIELDS & ~(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR),
};

static inline const uint8_t *take_word(const uint8_t *at, void *ret)
{
	memcpy(ret, at, 8);
	return at + 8;
}

/* In this machine's byte order, and all of it is there: every field is a word. */
static void plain_head(struct cursor *c, uint64_t type, struct sample_id *sid, uint64_t *ret_ip,
		       uint64_t *ret_addr)
{
	const uint8_t *at = c->at;
	uint32_t pair[2];

	if (type & PERF_SAMPLE_IDENTIFIER)
		at = take_word(at, &sid->id);
	if (type & PERF_SAMPLE_IP)
		at = take_word(at, ret_ip);
	if (type & PERF_SAMPLE_TID) {
		at = take_word(at, pair);
		sid->pid = pair[0];
		sid->tid = pair[1];
	}
	if (type & PERF_SAMPLE_TIME)
		at = take_word(at, &sid->time_ns);
	if (type & PERF_SAMPLE_ADDR)
		at = take_word(at, ret_addr);
	if (type & PERF_SAMPLE_ID)
		at = take_word(at, &sid->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		at = take_word(at, &sid->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		at = take_word(at, pair);
		sid->cpu = pair[0];
	}
	c->at = at;
	sid->have = type & SID_FIELDS;
}

static bool careful_head(struct cursor *c, uint64_t type, struct sample_id *sid, uint64_t *ret_ip,
			 uint64_t *ret_addr)
{
	uint32_t reserved;

	if ((type & PERF_SAMPLE_IDENTIFIER) && !cursor_u64(c, &sid->id))
		return false;
	if ((type & PERF_SAMPLE_IP) && !cursor_u64(c, ret_ip))
		return false;
	if ((type & PERF_SAMPLE_TID) && !(cursor_u32(c, &sid->pid) && cursor_u32(c, &sid->tid)))
		return false;
	if ((type & PERF_SAMPLE_TIME) && !cursor_u64(c, &sid->time_ns))
		return false;
	if ((type & PERF_SAMPLE_ADDR) && !cursor_u64(c, ret_addr))
		return false;
	if ((type & PERF_SAMPLE_ID) && !cursor_u64(c, &sid->id))
		return false;
	if ((type & PERF_SAMPLE_STREAM_ID) && !cursor_u64(c, &sid->stream_id))
		return false;
	if ((type & PERF_SAMPLE_CPU) && !(cursor_u32(c, &sid->cpu) && cursor_u32(c, &reserved)))
		return false;
	sid->have = type & SID_FIELDS;
	return true;
}

bool sample_head(struct cursor *c, uint64_t type, struct sample_id *sid, uint64_t *ret_ip,
		 uint64_t *ret_addr)
{
	const size_t most = 8 * 8; /* bits of HEAD_FIELDS, a word each */

	if (c->swap || cursor_left(c) < most)
		return careful_head(c, type, sid, ret_ip, ret_addr);
	plain_head(c, type, sid, ret_ip, ret_addr);
	return true;
}

bool read_values_decode(struct cursor *c, uint64_t format, struct read_values *v)
{
	uint64_t each = 8, skipped, nr = 1;

	*v = (struct read_values){ .format = format, .swap = c->swap };
	if (format & PERF_FORMAT_ID)
		each += 8;
	if (format & FORMAT_LOST)
		each += 8;
	if (format & PERF_FORMAT_GROUP) {
		if (!cursor_u64(c, &nr))
			return false;
	} else {
		v->at.at = c->at; /* the value leads, its id and lost come behind the times */
		if (!cursor_u64(c, &skipped))
			return false;
		each -= 8;
	}
	if ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) && !cursor_u64(c, &v->time_enabled))
		return false;
	if ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) && !cursor_u64(c, &v->time_running))
		return false;
	if (format & PERF_FORMAT_GROUP)
		v->at.at = c->at;
	if ((each && nr > cursor_left(c) / each) || !cursor_skip(c, nr * each))
		return false;
	v->at.size = (uint32_t)(c->at - v->at.at);
	v->nr = (uint32_t)nr;
	return true;
}

struct read_value read_values_get(const struct read_values *v, uint32_t i)
{
	struct cursor c = cursor_of(v->at.at, v->at.size, v->swap);
	struct read_value ret = { 0 };
	bool id = v->format & PERF_FORMAT_ID, lost = v->format & FORMAT_LOST;

	if (v->format & PERF_FORMAT_GROUP)
		(void)cursor_skip(&c, (uint64_t)i * 8 * (1u + id + lost));
	(void)cursor_u64(&c, &ret.value);
	if (!(v->format & PERF_FORMAT_GROUP))
		(void)cursor_skip(&c, 8 * bits_in(v->format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
							       PERF_FORMAT_TOTAL_TIME_RUNNING)));
	if (id)
		(void)cursor_u64(&c, &ret.id);
	if (lost)
		(void)cursor_u64(&c, &ret.lost);
	return ret;
}

/*
 * nr, the index of the newest entry in the hardware (where asked), the entries, the counters (where
 * asked).  A kernel that took no branch stack writes nr 0 alone, without the index: @bare reads it
 * so.
 */
static bool branches_decode(struct cursor *c, const struct layout *l, bool bare, struct sample *s)
{
	uint64_t index;

	s->branches.swap = c->swap;
	if (!cursor_u64(c, &s->branches.nr))
		return false;
	if ((l->branch_sample_type & BRANCH_HW_INDEX) && !(bare && !s->branches.nr)) {
		if (!cursor_u64(c, &index))
			return false;
		s->branches.hw_index = (int64_t)index;
		s->branches.has_hw_index = true;
	}
	if (s->branches.nr > cursor_left(c) / BRANCH_ENTRY_BYTES ||
	    !cursor_bytes(c, s->branches.nr * BRANCH_ENTRY_BYTES, &s->branches.at))
		return false;
	if ((l->branch_sample_type & BRANCH_COUNTERS) &&
	    !cursor_u64s(c, s->branches.nr, &s->branches.counters))
		return false;
	return true;
}

/*
 * The flags of an entry are C bit-fields, laid out from the other end by a big-endian compiler:
 * mispred, predicted, in_tx, abort, cycles (16), type (4), spec (2), new_type (4), priv (3).
 */
static uint64_t branch_flags_from_big_endian(uint64_t big)
{
	static const uint8_t widths[] = { 1, 1, 1, 1, 16, 4, 2, 4, 3 };
	uint64_t little = 0;
	unsigned at = 0;

	for (unsigned i = 0; i < sizeof(widths); i++) {
		uint64_t field = big >> (64 - at - widths[i]) & ((1ull << widths[i]) - 1);

		little |= field << at;
		at += widths[i];
	}
	return little;
}

struct branch sample_branch(const struct sample *s, uint32_t i)
{
	struct cursor c = cursor_of(s->branches.at.at, s->branches.at.size, s->branches.swap);
	struct branch ret = { 0 };

	(void)cursor_skip(&c, (uint64_t)i * BRANCH_ENTRY_BYTES);
	(void)cursor_u64(&c, &ret.from);
	(void)cursor_u64(&c, &ret.to);
	(void)cursor_u64(&c, &ret.flags);
	if (data_is_big_endian(s->branches.swap))
		ret.flags = branch_flags_from_big_endian(ret.flags);
	return ret;
}

static bool raw_decode(struct cursor *c, struct sample *s)
{
	uint32_t size;

	/* The size counts the padding that lets the next field start at a multiple of 8. */
	return cursor_u32(c, &size) && cursor_bytes(c, size, &s->raw);
}

static bool regs_decode(struct cursor *c, uint64_t mask, uint64_t *ret_abi, uint64_t *ret_mask,
			struct u64s *ret_regs)
{
	if (!cursor_u64(c, ret_abi))
		return false;
	if (*ret_abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	*ret_mask = mask;
	return cursor_u64s(c, bits_in(mask), ret_regs);
}

/* Room reserved, that many bytes, and how many of them were written. */
static bool stack_decode(struct cursor *c, struct sample *s)
{
	uint64_t size;

	if (!cursor_u64(c, &size))
		return false;
	if (!size)
		return true;
	if (!cursor_bytes(c, size, &s->stack.bytes) || !cursor_u64(c, &s->stack.dyn_size))
		return false;
	if (s->stack.bytes.size > s->stack.dyn_size)
		s->stack.bytes.size = (uint32_t)s->stack.dyn_size;
	return true;
}

/*
 * WEIGHT_STRUCT overlays one u64 with { u32, u16, u16 }, declared in reverse on big-endian
 * machines: taken from the u64 by value it is the same everywhere.
 */
static bool weight_decode(struct cursor *c, uint64_t type, struct sample *s)
{
	if (!cursor_u64(c, &s->weight))
		return false;
	if (type & SAMPLE_WEIGHT_STRUCT) {
		s->weight3 = (uint32_t)(s->weight >> 48);
		s->weight2 = (uint32_t)(s->weight >> 32) & 0xffff;
		s->weight &= UINT32_MAX;
	}
	return true;
}

/* DATA_SRC to the end. */
static bool tail_decode(struct cursor *c, const struct layout *l, struct sample *s)
{
	uint64_t type = l->sample_type, size;

	if ((type & PERF_SAMPLE_DATA_SRC) && !cursor_u64(c, &s->data_src))
		return false;
	if ((type & PERF_SAMPLE_TRANSACTION) && !cursor_u64(c, &s->transaction))
		return false;
	if ((type & PERF_SAMPLE_REGS_INTR) &&
	    !regs_decode(c, l->regs_intr, &s->intr.abi, &s->intr.mask, &s->intr.regs))
		return false;
	if ((type & PERF_SAMPLE_PHYS_ADDR) && !cursor_u64(c, &s->phys_addr))
		return false;
	if ((type & SAMPLE_CGROUP) && !cursor_u64(c, &s->cgroup))
		return false;
	if ((type & SAMPLE_DATA_PAGE_SIZE) && !cursor_u64(c, &s->data_page_size))
		return false;
	if ((type & SAMPLE_CODE_PAGE_SIZE) && !cursor_u64(c, &s->code_page_size))
		return false;
	if ((type & PERF_SAMPLE_AUX) && !(cursor_u64(c, &size) && cursor_bytes(c, size, &s->aux)))
		return false;
	return true;
}

/* BRANCH_STACK to the end. */
static bool from_branches_decode(struct cursor *c, const struct layout *l, bool bare,
				 struct sample *s)
{
	uint64_t type = l->sample_type;

	if ((type & PERF_SAMPLE_BRANCH_STACK) && !branches_decode(c, l, bare, s))
		return false;
	if ((type & PERF_SAMPLE_REGS_USER) &&
	    !regs_decode(c, l->regs_user, &s->user.abi, &s->user.mask, &s->user.regs))
		return false;
	if ((type & PERF_SAMPLE_STACK_USER) && !stack_decode(c, s))
		return false;
	if ((type & (PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT)) && !weight_decode(c, type, s))
		return false;
	return tail_decode(c, l, s);
}

/*
 * With a hardware index asked for and no branches, the bytes alone say whether the index is there:
 * the reading that uses the record up exactly is the right one.
 */
static bool unsure_branches_decode(struct cursor *c, const struct layout *l, struct sample *s)
{
	struct cursor start = *c;
	struct sample before = *s;
	uint64_t nr;

	if (from_branches_decode(c, l, false, s) && !cursor_left(c))
		return true;
	*c = start;
	if (cursor_u64(c, &nr) && !nr) {
		*c = start;
		*s = before;
		if (from_branches_decode(c, l, true, s) && !cursor_left(c))
			return true;
	}
	*c = start;
	*s = before;
	return from_branches_decode(c, l, false, s);
}

bool sample_decode(struct cursor *c, const struct layout *l, struct sample *s,
		   struct sample_id *sid)
{
	uint64_t type = l->sample_type, nr;

	if (!sample_head(c, type, sid, &s->ip, &s->addr))
		return false;
	if ((type & PERF_SAMPLE_PERIOD) && !cursor_u64(c, &s->period))
		return false;
	if ((type & PERF_SAMPLE_READ) && !read_values_decode(c, l->read_format, &s->read))
		return false;
	if ((type & PERF_SAMPLE_CALLCHAIN) &&
	    !(cursor_u64(c, &nr) && cursor_u64s(c, nr, &s->callchain)))
		return false;
	if (!(type & ~(uint64_t)(HEAD_FIELDS | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
				 PERF_SAMPLE_CALLCHAIN)))
		return true; /* nothing behind it, as with most */
	if ((type & PERF_SAMPLE_RAW) && !raw_decode(c, s))
		return false;
	if ((type & PERF_SAMPLE_BRANCH_STACK) && (l->branch_sample_type & BRANCH_HW_INDEX))
		return unsure_branches_decode(c, l, s);
	return from_branches_decode(c, l, false, s);
}
