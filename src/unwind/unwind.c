/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/code.h"
#include "unwind/frame.h"
#include "unwind/guess.h"

/* How far above the frame in work the stack is fetched ahead, from memory mostly: frames are short.
 */
#define AHEAD 1024u

struct unwinder {
	struct code_table code;
};

struct unwinder *unwinder_new(struct images *images)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (u != NULL && code_init(&u->code, images) != 0) {
		free(u);
		return NULL;
	}
	return u;
}

void unwinder_free(struct unwinder *u)
{
	if (u == NULL)
		return;
	code_done(&u->code);
	free(u);
}

void unwinder_forget(struct unwinder *u, uint32_t image)
{
	code_forget(&u->code, image);
}

/*
 * What changes from frame to frame, in registers of this machine: nearly all steps are plain, and
 * only others go through the whole struct frame.
 */
struct hot {
	uint64_t pc, sp, bp, bx;
	uint64_t known; /* as unwind_regs.known */
};

static inline struct hot hot_of(const struct frame *f)
{
	const struct machine *m = f->machine;
	const uint64_t *value = f->regs.value;

	return (struct hot){ value[m->pc], value[m->sp], value[m->bp], value[m->bx],
			     f->regs.known };
}

static inline void hot_into(const struct hot *h, struct frame *f)
{
	const struct machine *m = f->machine;

	f->regs.value[m->bx] = h->bx;
	f->regs.value[m->bp] = h->bp;
	f->regs.value[m->sp] = h->sp;
	f->regs.value[m->pc] = h->pc;
	f->regs.known = h->known;
}

/* The word at @offset of the copy where @saved, else @old; without a branch, for which it is is
 * hard to predict.  *@bad collects what lies outside. */
static inline uint64_t word_or(const struct stack_copy *stack, uint64_t saved, uint64_t offset,
			       uint64_t old, uint64_t *bad)
{
	uint64_t word, out, mask = 0 - saved;

	offset &= mask;
	out = offset > stack->size - 8;
	*bad |= out;
	memcpy(&word, stack->at + (offset & (out - 1)), 8);
	return old ^ ((old ^ word) & mask);
}

/* The step of a plain rule on x86-64, from a copy of 8 bytes or more.  false: something is wrong
 * with it, and nothing changed; frame_step() will tell. */
static inline bool hot_step(struct hot *h, const struct stack_copy *stack, uint64_t plain)
{
	uint64_t by_bp = plain_bit(plain, PLAIN_BY_BP);
	uint64_t bp_saved = plain_bit(plain, PLAIN_BP_SAVED);
	uint64_t bx_saved = plain_bit(plain, PLAIN_BX_SAVED);
	uint64_t cfa = (h->sp ^ ((h->sp ^ h->bp) & (0 - by_bp))) + plain_cfa(plain);
	uint64_t at = cfa - stack->sp, ahead = at + AHEAD, ra, bp, bx;
	uint64_t bad = (cfa & 7) | (cfa <= h->sp) | (by_bp & ~(h->known >> DWARF_X86_64_BP));

	__builtin_prefetch(stack->at + (ahead < stack->size ? ahead : 0));
	ra = word_or(stack, 1, at - 8, 0, &bad);
	bp = word_or(stack, bp_saved, at + plain_bp(plain), h->bp, &bad);
	bx = word_or(stack, bx_saved, at + plain_bx(plain), h->bx, &bad);
	if (bad)
		return false;
	h->known |= bp_saved << DWARF_X86_64_BP | bx_saved << DWARF_X86_64_BX;
	h->sp = cfa;
	h->bp = bp;
	h->bx = bx;
	h->pc = ra;
	return true;
}

/* The chain of frame pointers where no rule is, where it leads to code: as guess_step() takes it
 * first but in the innermost frame of a file. */
static inline bool hot_chain(struct hot *h, const struct stack_copy *stack,
			     const struct code_view *view)
{
	uint64_t at = h->bp - stack->sp, bp, ra;
	const struct code *code;

	if (!(h->known >> DWARF_X86_64_BP & 1) || h->bp < h->sp || h->bp % 8 || at >= stack->size ||
	    stack->size - at < 16)
		return false;
	memcpy(&bp, stack->at + at, 8);
	memcpy(&ra, stack->at + at + 8, 8);
	if (ra == 0 || code_find(view, ra - 1, &code) != 0 || code_is(code, &code_nowhere))
		return false;
	h->sp = h->bp + 16;
	h->bp = bp;
	h->pc = ra;
	return true;
}

/* One step from @f at @code: by its rule, else by a guess.  0, or -EAGAIN and ret->waiting. */
static int step(struct frame *f, const struct stack_copy *stack, const struct code_view *view,
		const struct code *code, enum step *ret_step, struct unwound *ret)
{
	struct unwind_rule rule = code_rule(code);
	int err;

	if (!code_has_no_rule(code)) {
		*ret_step = frame_step(f, stack, &rule);
		ret->by_rules += *ret_step == STEP_OK;
		return 0;
	}
	err = guess_step(f, stack, view, code, ret_step, &ret->waiting);
	ret->by_guess += err == 0 && *ret_step == STEP_OK;
	return err;
}

static const enum unwind_end ends[] = {
	[STEP_END] = UNWIND_COMPLETE,
	[STEP_CUT] = UNWIND_CUT,
	[STEP_BROKEN] = UNWIND_BROKEN,
};

/* All that was read lies below the outermost frame's sp, but where other than plain steps looked
 * further; it is elsewhere where that frame is on another stack. */
static void read_up_to(const struct hot *h, const struct stack_copy *stack, struct unwound *ret)
{
	uint64_t below_sp = h->sp - stack->sp;

	if (below_sp > stack->size)
		below_sp = stack->size;
	ret->read_bytes = (uint32_t)(below_sp > *stack->read_to ? below_sp : *stack->read_to);
}

/* Any step.  false: the walk ends here, as *@ret tells. */
static bool slow_step(struct hot *h, struct frame *f, const struct stack_copy *stack,
		      const struct code_view *view, const struct code *code, struct unwound *ret)
{
	enum step how;

	hot_into(h, f);
	if (step(f, stack, view, code, &how, ret) != 0) {
		ret->end = UNWIND_WAIT;
		return false;
	}
	*h = hot_of(f);
	if (how != STEP_OK) {
		ret->end = ends[how];
		read_up_to(h, stack, ret);
	}
	return how == STEP_OK;
}

/* Where a frame is.  Nobody called the trampoline that a handler returns to: its first byte is
 * meant. */
static inline struct place place_of(const struct code *code, bool exact)
{
	bool trampoline = !exact && !(code->how & PLAIN) && (code_rule(code).flags & RULE_SIGNAL);

	return (struct place){ code->image, code->offset + trampoline };
}

/*
 * No call returns to a function's first byte unless it is the last of the function before; where no
 * row covers what lies before (*@code), the address was put there by hand: makecontext() has a
 * coroutine's function return so to what ends the coroutine.  True: its place is *@ret, and the
 * stack begins there.
 */
static bool put_there(const struct code_view *view, uint64_t pc, const struct code **code,
		      struct place *ret)
{
	bool there;

	if (pc % 16 != 0 || !code_has_no_rule(*code) || code_is(*code, &code_jit) ||
	    code_is(*code, &code_no_rows))
		return false;
	there = code_find(view, pc, code) == 0 && !code_has_no_rule(*code);
	if (there)
		*ret = (struct place){ (*code)->image, (*code)->offset };
	else
		(void)code_find(view, pc - 1, code);
	return there;
}

/* How a stack ends whose outermost frame returns to no code. */
static enum unwind_end end_nowhere(const struct hot *h, struct frame *f,
				   const struct stack_copy *stack)
{
	hot_into(h, f);
	return frame_is_first(f, stack) ? UNWIND_COMPLETE : UNWIND_BROKEN;
}

/* From frame to frame; the innermost one's code is @code. */
static void walk(struct frame *f, const struct stack_copy *stack, const struct code_view *view,
		 const struct code *code, struct place *places, uint32_t max, struct unwound *ret)
{
	uint64_t plain = f->regs.machine == UNWIND_X86_64 && stack->size >= 8 ? PLAIN : 0;
	struct hot h = hot_of(f);
	struct place begin;
	int err;

	for (;;) {
		if ((code->how & plain) && hot_step(&h, stack, code->how)) {
			f->exact = false;
			ret->by_rules++;
		} else if (plain && (!f->exact || code_is(code, &code_jit)) &&
			   code_has_no_rule(code) && hot_chain(&h, stack, view)) {
			f->exact = false;
			ret->by_guess++;
		} else if (!slow_step(&h, f, stack, view, code, ret)) {
			return;
		}
		h.known &= f->machine->followed;
		if (h.pc == 0) {
			ret->end = UNWIND_COMPLETE;
			read_up_to(&h, stack, ret);
			return;
		}
		err = code_find(view, f->exact ? h.pc : h.pc - 1, &code);
		if (code_is(code, &code_nowhere)) {
			ret->end = end_nowhere(&h, f, stack);
			read_up_to(&h, stack, ret);
			return;
		}
		if (ret->nr == max) {
			ret->end = UNWIND_DEEP;
			return;
		}
		if (!f->exact && err == 0 && put_there(view, h.pc, &code, &begin)) {
			places[ret->nr++] = begin;
			ret->end = UNWIND_COMPLETE;
			read_up_to(&h, stack, ret);
			return;
		}
		places[ret->nr++] = place_of(code, f->exact);
		if (err != 0) {
			ret->end = UNWIND_WAIT;
			ret->waiting = code->image;
			return;
		}
	}
}

uint64_t unwind_sp(const struct unwind_regs *regs)
{
	return regs->value[machine_of(regs->machine)->sp];
}

struct unwound unwind_user(struct unwinder *u, struct space *s, pid_t pid,
			   const struct unwind_regs *regs, const struct bytes *stack,
			   struct place *places, uint32_t max)
{
	struct frame f = { .machine = machine_of(regs->machine), .regs = *regs, .exact = true };
	uint64_t read_to = 0;
	struct stack_copy copy = { stack->at, unwind_sp(regs), stack->size, &read_to };
	struct code_view view = { &u->code, s, pid, space_generation(s, pid) };
	struct unwound ret = { 0 };
	const struct code *code;

	code_settle(&u->code);
	for (uint64_t i = 0; i < AHEAD && i < copy.size; i += 64)
		__builtin_prefetch(copy.at + i);
	if (code_find(&view, f.regs.value[f.machine->pc], &code) != 0) {
		ret.end = UNWIND_WAIT;
		ret.waiting = code->image;
	}
	places[ret.nr++] = (struct place){ code->image, code->offset };
	if (ret.end != UNWIND_WAIT)
		walk(&f, &copy, &view, code, places, max, &ret);
	return ret;
}
