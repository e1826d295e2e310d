/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/code.h"
#include "unwind/frame.h"
#include "unwind/guess.h"

/*
 * How far above the frame in work the stack is fetched ahead.  Each read waits for the one before,
 * which tells where it is: a stack that is in memory would cost its latency for each frame. Fetched
 * are all lines, in order, since that is what the processor's own prefetcher goes on with: lines
 * here and there, even the very ones that will be read, are slower.
 */
#define AHEAD 2048u
#define LINE 64u

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

/* The lines from *@fetched to AHEAD bytes above @at of the copy. */
static inline void fetch_ahead(const struct stack_copy *stack, uint64_t at, uint64_t *fetched)
{
	uint64_t to = at + AHEAD < stack->size ? at + AHEAD : stack->size;

	for (; *fetched < to; *fetched += LINE)
		__builtin_prefetch(stack->at + *fetched);
}

/* The word at @offset of the copy where @mask is all ones, else @old; without a branch, for which
 * it is is hard to predict. */
static inline uint64_t word_or(const struct stack_copy *stack, uint64_t mask, uint64_t offset,
			       uint64_t old)
{
	uint64_t word;

	memcpy(&word, stack->at + offset, 8);
	return old ^ ((old ^ word) & mask);
}

/*
 * The step of a plain rule on x86-64, from a copy of 8 bytes or more.  false: something is wrong
 * with it, and nothing changed; frame_step() will tell.  All checks come before anything is read.
 */
static inline bool hot_step(struct hot *h, const struct stack_copy *stack, uint64_t plain)
{
	uint64_t by_bp = plain_bit(plain, PLAIN_BY_BP);
	uint64_t bp_saved = plain_bit(plain, PLAIN_BP_SAVED);
	uint64_t bx_saved = plain_bit(plain, PLAIN_BX_SAVED);
	uint64_t cfa = (h->sp ^ ((h->sp ^ h->bp) & (0 - by_bp))) + plain_cfa(plain);
	uint64_t at = cfa - stack->sp, last = stack->size - 8;
	uint64_t ra_at = at - 8;
	uint64_t bp_at = (at + plain_bp(plain)) & (0 - bp_saved);
	uint64_t bx_at = (at + plain_bx(plain)) & (0 - bx_saved);

	if ((cfa & 7) | (cfa <= h->sp) | (by_bp & ~(h->known >> DWARF_X86_64_BP)) | (ra_at > last) |
	    (bp_at > last) | (bx_at > last))
		return false;
	memcpy(&h->pc, stack->at + ra_at, 8);
	h->bp = word_or(stack, 0 - bp_saved, bp_at, h->bp);
	h->bx = word_or(stack, 0 - bx_saved, bx_at, h->bx);
	h->known |= bp_saved << DWARF_X86_64_BP | bx_saved << DWARF_X86_64_BX;
	h->sp = cfa;
	return true;
}

/* A walk from frame to frame. */
struct walk {
	const struct stack_copy *stack;
	const struct code_view *view;
	struct place *places;
	uint32_t max;
	struct unwound *ret;
	uint64_t fetched; /* bytes of the copy */
};

/*
 * Plain steps from @code on, as long as each leads to remembered code with a plain rule: a loop of
 * its own, so that all it needs is in registers.  Any other step is left to the caller.  Returns
 * the code of the frame that it came to.
 */
static __attribute__((noinline)) const struct code *hot_run(struct walk *w, struct hot *from,
							    struct frame *f,
							    const struct code *code)
{
	const struct stack_copy stack = *w->stack;
	const struct code_view view = *w->view;
	struct place *to = w->places + w->ret->nr, *end = w->places + w->max;
	uint64_t fetched = w->fetched;
	struct hot h = *from;
	uint32_t nr;

	while (to < end) {
		struct hot next = h;
		const struct code *there;

		if (!hot_step(&next, &stack, code->how))
			break;
		there = code_known(&view, next.pc - 1);
		if (next.pc == 0 || there == NULL || !(there->how & PLAIN))
			break;
		fetch_ahead(&stack, next.sp - stack.sp, &fetched);
		h = next;
		code = there;
		*to++ = (struct place){ code->image, code->offset };
	}
	nr = (uint32_t)(to - w->places) - w->ret->nr;
	w->ret->nr += nr;
	w->ret->by_rules += nr;
	w->fetched = fetched;
	if (nr) {
		h.known &= f->machine->followed;
		f->exact = false;
	}
	*from = h;
	return code;
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
static void walk(struct walk *w, struct frame *f, const struct code *code)
{
	const struct stack_copy *stack = w->stack;
	struct unwound *ret = w->ret;
	uint64_t plain = f->regs.machine == UNWIND_X86_64 && stack->size >= 8 ? PLAIN : 0;
	struct hot h = hot_of(f);
	struct place begin;
	int err;

	for (;;) {
		if (code->how & plain)
			code = hot_run(w, &h, f, code);
		if ((code->how & plain) && hot_step(&h, stack, code->how)) {
			f->exact = false;
			ret->by_rules++;
		} else if (plain && (!f->exact || code_is(code, &code_jit)) &&
			   code_has_no_rule(code) && hot_chain(&h, stack, w->view)) {
			f->exact = false;
			ret->by_guess++;
		} else if (!slow_step(&h, f, stack, w->view, code, ret)) {
			return;
		}
		fetch_ahead(stack, h.sp - stack->sp, &w->fetched);
		h.known &= f->machine->followed;
		if (h.pc == 0) {
			ret->end = UNWIND_COMPLETE;
			read_up_to(&h, stack, ret);
			return;
		}
		err = code_find(w->view, f->exact ? h.pc : h.pc - 1, &code);
		if (code_is(code, &code_nowhere)) {
			ret->end = end_nowhere(&h, f, stack);
			read_up_to(&h, stack, ret);
			return;
		}
		if (ret->nr == w->max) {
			ret->end = UNWIND_DEEP;
			return;
		}
		if (!f->exact && err == 0 && put_there(w->view, h.pc, &code, &begin)) {
			w->places[ret->nr++] = begin;
			ret->end = UNWIND_COMPLETE;
			read_up_to(&h, stack, ret);
			return;
		}
		w->places[ret->nr++] = place_of(code, f->exact);
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
	struct walk w = { &copy, &view, places, max, &ret, 0 };
	const struct code *code;

	code_settle(&u->code);
	fetch_ahead(&copy, 0, &w.fetched);
	if (code_find(&view, f.regs.value[f.machine->pc], &code) != 0) {
		ret.end = UNWIND_WAIT;
		ret.waiting = code->image;
	}
	places[ret.nr++] = (struct place){ code->image, code->offset };
	if (ret.end != UNWIND_WAIT)
		walk(&w, &f, code);
	return ret;
}
