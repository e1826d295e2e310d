/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each byte of code notes the state it is executed in and the function it was reached from.  Ways
 * are followed from a list of places to go on from; the surest first:
 *
 *	entries		symbols, targets of calls
 *	ways		targets of jumps, and what follows
 *	doubtful	behind a call that padding or a new function may follow, as the call may not
 *			return; behind a jump by register, as that may be a switch
 *	taken		addresses that code takes, if they are aligned: functions where they lie
 *			behind padding
 *	guesses		behind padding, or in a switch, where nothing else led
 */
#include "image/rows_x86.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "image/x86_frame.h"

enum { STATES_MAX = 0xffff, FUNCTIONS_MAX = 0xffff, FORGOTTEN_MOST = 16 };

struct cell {              /* of a byte */
	uint16_t state;    /* index + 1; 0: not reached */
	uint16_t function; /* index, and 0: none */
};

struct function {
	bool bad;
	bool sure;          /* something calls it, or a symbol names it */
	bool proven;        /* it returns as it was entered, or runs into code that does */
	uint16_t at_switch; /* the state at its jump by register; 0: it has none */
	uint32_t low, high; /* all it reached lies there */
};

struct way {
	uint32_t at;
	uint16_t state, function; /* .function 0: an entry */
};

struct analysis {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
	struct cell *cells;
	VEC(struct x86_frame) states;
	struct map state_indices; /* by hash: index + 1 */
	VEC(struct function) functions;
	VEC(struct way) entries;
	VEC(struct way) ways;
	VEC(struct way) doubtful;
	VEC(struct way) taken; /* addresses that code takes: functions, or places in them */
	uint64_t forgotten;    /* bytes gone through */
	bool failed;           /* without memory, or past a bound */
};

static const struct x86_frame at_entry = { .cfa = 8 };

static uint64_t hash_state(const struct x86_frame *s)
{
	return hash_u64(hash_u64((uint64_t)(uint32_t)s->cfa << 32 | (uint32_t)s->frame) ^
			((uint64_t)(uint32_t)s->bp_at << 32 | (uint32_t)s->bx_at));
}

static uint16_t state_index(struct analysis *a, const struct x86_frame *s)
{
	uint64_t hash = hash_state(s), *known = map_find(&a->state_indices, hash);

	if (known != NULL && memcmp(&a->states.at[*known - 1], s, sizeof(*s)) == 0)
		return (uint16_t)*known;
	if (a->states.nr >= STATES_MAX || vec_push(&a->states, *s) != 0 ||
	    map_set(&a->state_indices, hash, a->states.nr) != 0) {
		a->failed = true;
		return 1;
	}
	return (uint16_t)a->states.nr;
}

static bool same_state(const struct analysis *a, uint16_t x, uint16_t y)
{
	return x == y ||
	       memcmp(&a->states.at[x - 1], &a->states.at[y - 1], sizeof(struct x86_frame)) == 0;
}

#define PUSH(a, list, ...)                                                    \
	do {                                                                  \
		if (vec_push(&(a)->list, ((struct way){ __VA_ARGS__ })) != 0) \
			(a)->failed = true;                                   \
	} while (0)

static bool inside(const struct analysis *a, int64_t at)
{
	return at >= 0 && (uint64_t)at < a->size;
}

static void add_entry(struct analysis *a, int64_t at)
{
	if (inside(a, at) && a->cells[at].state == 0)
		PUSH(a, entries, .at = (uint32_t)at, .state = state_index(a, &at_entry));
}

static void take_address(struct analysis *a, int64_t at)
{
	if (inside(a, at) && (a->vaddr + (uint64_t)at) % 16 == 0 && a->cells[at].state == 0)
		PUSH(a, taken, .at = (uint32_t)at, .state = state_index(a, &at_entry));
}

static void judge_bad(struct analysis *a, uint16_t function)
{
	a->functions.at[function].bad = true;
}

/* ---- following ------------------------------------------------------------------------------- */

enum onward { GOES_ON, IS_DOUBTFUL, ENDS };

static void jump_to(struct analysis *a, int64_t to, const struct way *w, uint16_t state)
{
	if (inside(a, to))
		PUSH(a, ways, .at = (uint32_t)to, .state = state, .function = w->function);
	else if (a->states.at[state - 1].cfa > 8)
		judge_bad(a, w->function); /* out of the code with a frame: it was no jump */
}

static bool begins_padding(const struct analysis *a, size_t at)
{
	struct x86 i;

	return at >= a->size || at % 16 == (16 - a->vaddr % 16) % 16 ||
	       (x86_decode(a->bytes + at, a->size - at, &i) && x86_is_padding(&i));
}

/* Where instruction @i at @at leads; @state is the one after it. */
static enum onward follow(struct analysis *a, const struct way *w, size_t at, const struct x86 *i,
			  uint16_t state)
{
	size_t next = at + i->length;
	uint8_t op = i->opcode;

	if (i->map == X86_0F && op >= 0x80 && op <= 0x8f)
		jump_to(a, (int64_t)next + i->imm, w, state);
	if (i->map == X86_0F)
		return op == 0x0b || op == 0xff ? ENDS : GOES_ON; /* ud2 */
	if (i->map != X86_ONE_BYTE)
		return GOES_ON;
	if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3)) {
		jump_to(a, (int64_t)next + i->imm, w, state);
		return GOES_ON;
	}
	if (op == 0xe9 || op == 0xeb) {
		jump_to(a, (int64_t)next + i->imm, w, state);
		return ENDS;
	}
	if (op == 0xc3 || op == 0xc2 || op == 0xf4 || op == 0xcc)
		return ENDS;
	if (op == 0xe8) {
		add_entry(a, (int64_t)next + i->imm);
		return begins_padding(a, next) ? IS_DOUBTFUL : GOES_ON;
	}
	if (op == 0x8d && i->by_ip)
		take_address(a, (int64_t)next + i->disp);
	if (op == 0xff && (i->reg & 7) == 2)
		return begins_padding(a, next) ? IS_DOUBTFUL : GOES_ON;
	if (op == 0xff && (i->reg & 6) == 4) {
		if (a->states.at[state - 1].cfa <= 8)
			return ENDS;
		a->functions.at[w->function].at_switch = state;
		return IS_DOUBTFUL;
	}
	return GOES_ON;
}

static bool returns(const struct x86 *i)
{
	return i->map == X86_ONE_BYTE && (i->opcode == 0xc3 || i->opcode == 0xc2);
}

/* A return must find the stack as at the entry. */
static bool returns_wrongly(const struct x86_frame *s, const struct x86 *i)
{
	return returns(i) && s->cfa != 0 && s->cfa != 8;
}

/* The instruction loses sp, or takes the return address: no function that is but supposed does. */
static bool gives_up(const struct x86_frame *before, const struct x86_frame *after)
{
	return before->cfa != 0 && after->cfa == 0 && after->frame == 0;
}

/* Fill of sections, which decodes as additions. */
static bool is_zeroes(const struct analysis *a, size_t at)
{
	return a->bytes[at] == 0 && at + 1 < a->size && a->bytes[at + 1] == 0;
}

static void note(struct analysis *a, size_t at, const struct x86 *i, const struct way *w,
		 uint16_t state)
{
	struct function *f = &a->functions.at[w->function];

	if (f->high == 0 || at < f->low)
		f->low = (uint32_t)at;
	if (at + i->length > f->high)
		f->high = (uint32_t)(at + i->length);
	for (size_t k = 0; k < i->length; k++)
		a->cells[at + k] = (struct cell){ state, w->function };
}

/* Whether a function's rows are to be believed. */
static bool is_told(const struct analysis *a, uint16_t function)
{
	const struct function *f = &a->functions.at[function];

	return !f->bad && (f->sure || f->proven);
}

/* Forgets what was reached as part of a function. */
static void forget(struct analysis *a, uint16_t function)
{
	const struct function *f = &a->functions.at[function];

	if (f->high <= f->low || a->forgotten + (f->high - f->low) > FORGOTTEN_MOST * a->size)
		return;
	a->forgotten += f->high - f->low;
	for (size_t i = f->low; i < f->high; i++) {
		if (a->cells[i].function == function)
			a->cells[i] = (struct cell){ 0 };
	}
}

/*
 * The way meets code reached before.  A call that does not return may have a function behind it;
 * what was but supposed gives way.  True: go on.
 */
static bool meet(struct analysis *a, const struct way *w, const struct cell *cell, uint16_t state,
		 bool behind_call)
{
	const struct x86_frame *there = &a->states.at[cell->state - 1];
	bool sure = a->functions.at[w->function].sure;
	uint16_t function = cell->function;

	if (same_state(a, cell->state, state) && is_told(a, function))
		a->functions.at[w->function].proven = true;
	if (same_state(a, cell->state, state) ||
	    (behind_call && memcmp(there, &at_entry, sizeof(*there)) == 0))
		return false;
	if (sure || !a->functions.at[function].sure)
		judge_bad(a, function);
	if (!sure || a->functions.at[function].sure) {
		judge_bad(a, w->function);
		return false;
	}
	forget(a, function);
	return cell->state == 0;
}

/* Follows the straight way from @w to its end. */
static void walk(struct analysis *a, struct way w)
{
	size_t at = w.at;
	uint16_t state = w.state;
	bool behind_call = false;

	while (at < a->size && !a->failed) {
		const struct cell *cell = &a->cells[at];
		enum onward onward;
		struct x86_frame next;
		struct x86 i;

		if (cell->state != 0 && !meet(a, &w, cell, state, behind_call))
			return;
		next = a->states.at[state - 1];
		if (!x86_decode(a->bytes + at, a->size - at, &i) || is_zeroes(a, at) ||
		    returns_wrongly(&next, &i)) {
			judge_bad(a, w.function);
			return;
		}
		note(a, at, &i, &w, state);
		if (returns(&i) && next.cfa == 8)
			a->functions.at[w.function].proven = true;
		x86_frame_apply(&next, &i);
		if (!a->functions.at[w.function].sure &&
		    gives_up(&a->states.at[state - 1], &next)) {
			judge_bad(a, w.function);
			return;
		}
		state = state_index(a, &next);
		onward = follow(a, &w, at, &i, state);
		at += i.length;
		behind_call = i.map == X86_ONE_BYTE && (i.opcode == 0xe8 || i.opcode == 0xff);
		if (onward == IS_DOUBTFUL)
			PUSH(a, doubtful, .at = (uint32_t)at, .state = state,
			     .function = w.function);
		if (onward != GOES_ON)
			return;
	}
	if (!behind_call)
		judge_bad(a, w.function); /* off the end of the code */
}

/* A new function's number; 0: there is no room. */
static uint16_t new_function(struct analysis *a, bool sure)
{
	if (a->functions.nr > FUNCTIONS_MAX ||
	    vec_push(&a->functions, ((struct function){ .sure = sure })) != 0) {
		a->failed = true;
		return 0;
	}
	return (uint16_t)(a->functions.nr - 1);
}

/* Follows what is but supposed to go on so; where it does not add up, as if nothing had been.
 * @proven: though it may never return.  Its number, or 0. */
static uint16_t suppose(struct analysis *a, struct way w, bool proven)
{
	size_t ways = a->ways.nr, doubtful = a->doubtful.nr;
	uint16_t parent;

	parent = w.function;
	w.function = new_function(a, false);
	a->functions.at[w.function].proven = proven;
	a->functions.at[w.function].at_switch = a->functions.at[parent].at_switch;
	walk(a, w);
	while (a->ways.nr > ways && !a->failed)
		walk(a, a->ways.at[--a->ways.nr]);
	if (!a->functions.at[w.function].bad || a->failed)
		return w.function;
	a->doubtful.nr = doubtful;
	forget(a, w.function);
	return 0;
}

static void walk_entry(struct analysis *a, struct way w, bool sure)
{
	const struct cell *cell = &a->cells[w.at];

	if (cell->state == 0 && !sure) {
		suppose(a, w, w.at > 0 && cell[-1].state == 0);
	} else if (cell->state == 0) {
		w.function = new_function(a, true);
		walk(a, w);
	} else if (sure && !same_state(a, cell->state, w.state)) {
		judge_bad(a, cell->function); /* who came there as into the middle was wrong */
	}
}

/*
 * Leads on unless a function begins there: padding is skipped, as it is where a loop is aligned.
 * What comes of it does not count against the function it came from; where it does not add up, a
 * function may begin there.
 */
static void walk_doubtful(struct analysis *a, struct way w)
{
	uint16_t parent = w.function, function;
	uint32_t at = w.at;
	struct x86 i;

	while (w.at < a->size && a->cells[w.at].state == 0 &&
	       x86_decode(a->bytes + w.at, a->size - w.at, &i) && x86_is_padding(&i))
		w.at += i.length;
	if (w.at >= a->size || a->cells[w.at].state != 0)
		return;
	function = suppose(a, w, w.at == at && is_told(a, parent));
	if (function == 0)
		take_address(a, w.at);
	else if (a->functions.at[function].proven)
		a->functions.at[parent].proven = true;
}

static void walk_all(struct analysis *a)
{
	while (!a->failed) {
		if (a->ways.nr > 0)
			walk(a, a->ways.at[--a->ways.nr]);
		else if (a->entries.nr > 0)
			walk_entry(a, a->entries.at[--a->entries.nr], true);
		else if (a->doubtful.nr > 0)
			walk_doubtful(a, a->doubtful.at[--a->doubtful.nr]);
		else if (a->taken.nr > 0)
			walk_entry(a, a->taken.at[--a->taken.nr], false);
		else
			return;
	}
}

/* The code at @at, where nothing led: a function behind padding, or the next branch of a switch in
 * the function before. */
static void guess(struct analysis *a, size_t at, bool behind_padding)
{
	const struct cell *before = at > 0 ? &a->cells[at - 1] : NULL;
	bool behind_end = before != NULL && before->state != 0;
	uint16_t state = behind_end ? a->functions.at[before->function].at_switch : 0;

	if ((behind_padding || behind_end) && (a->vaddr + at) % 16 == 0) {
		struct way w = { .at = (uint32_t)at, .state = state_index(a, &at_entry) };

		suppose(a, w, false);
	}
	if (state != 0 && a->cells[at].state == 0)
		PUSH(a, ways, .at = (uint32_t)at, .state = state, .function = before->function);
	walk_all(a);
}

static void guess_all(struct analysis *a)
{
	bool behind_padding = true;
	struct x86 i;

	for (size_t at = 0; at < a->size && !a->failed; at += i.length) {
		if (a->cells[at].state == 0 && x86_decode(a->bytes + at, a->size - at, &i)) {
			if (!x86_is_padding(&i))
				guess(a, at, behind_padding);
			behind_padding = x86_is_padding(&i);
			continue;
		}
		i.length = 1;
		behind_padding = false;
	}
}

static struct unwind_rule rule_of(const struct x86_frame *s)
{
	struct unwind_rule r = { .cfa = RULE_CFA_NONE };

	if (s->cfa == 0 && s->frame == 0)
		return r;
	r.cfa = RULE_CFA_REG;
	r.cfa_reg = s->cfa != 0 ? DWARF_X86_64_SP : DWARF_X86_64_BP;
	r.cfa_offset = s->cfa != 0 ? s->cfa : s->frame;
	r.ra = RULE_AT_CFA;
	r.ra_offset = -8;
	if (s->bp_at != 0) {
		r.bp = RULE_AT_CFA;
		r.bp_offset = s->bp_at;
	}
	if (s->bx_at != 0) {
		r.bx = RULE_AT_CFA;
		r.bx_offset = s->bx_at;
	}
	return r;
}

static int put_rows(const struct analysis *a, rows_code_fn *put, void *ctx)
{
	uint16_t last = 0;
	int err = 0;

	for (size_t at = 0; err == 0 && at < a->size; at++) {
		const struct cell *c = &a->cells[at];
		uint16_t state = is_told(a, c->function) ? c->state : 0;
		struct unwind_rule rule;

		if (state == last)
			continue;
		last = state;
		if (state != 0)
			rule = rule_of(&a->states.at[state - 1]);
		err = put(ctx, a->vaddr + at,
			  state != 0 && rule.cfa != RULE_CFA_NONE ? &rule : NULL);
	}
	return err != 0 ? err : put(ctx, a->vaddr + a->size, NULL);
}

int rows_x86(const uint8_t *bytes, size_t size, uint64_t vaddr, const uint64_t *entries,
	     size_t nr_entries, rows_code_fn *put, void *ctx)
{
	struct analysis a = { .bytes = bytes, .size = size, .vaddr = vaddr };
	int err = 0;

	if (size == 0 || size > ROWS_X86_MAX)
		return 0;
	a.cells = calloc(size, sizeof(*a.cells));
	a.failed = a.cells == NULL || vec_push(&a.functions, (struct function){ 0 }) != 0;
	for (size_t i = 0; i < nr_entries && !a.failed; i++) {
		if (entries[i] >= vaddr && entries[i] - vaddr < size)
			add_entry(&a, (int64_t)(entries[i] - vaddr));
	}
	walk_all(&a);
	if (!a.failed)
		guess_all(&a);
	if (!a.failed)
		err = put_rows(&a, put, ctx);
	free(a.cells);
	vec_done(&a.states);
	map_done(&a.state_indices);
	vec_done(&a.functions);
	vec_done(&a.taken);
	vec_done(&a.entries);
	vec_done(&a.ways);
	vec_done(&a.doubtful);
	return err;
}
