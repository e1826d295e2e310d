/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two shapes are tried.  *Called*: the innermost frame has not moved sp, as in short hand-written
 * functions, so the return address is where the call left it.  *Chain*: the frame pointer is kept,
 * as JIT compilers, Go and programs built for profiling do.
 *
 * Any code address may lie at sp by chance, so *called* must lead to a frame that can be unwound
 * one step more; JIT code keeps frame pointers and spills code addresses, so there the chain comes
 * first.
 */
#include "unwind/guess.h"

#include <errno.h>

/* How far above the copy a frame pointer is still believed to be one. */
#define CHAIN_REACH (1ull << 20)

enum verdict { SENSE, NONSENSE, UNSURE };

/* Whether the frame @f returns to code; *@ret is what is there. */
static enum verdict in_code(const struct frame *f, const struct code_view *view,
			    const struct code **ret)
{
	uint64_t pc = f->regs.value[f->machine->pc];

	if (pc == 0)
		return NONSENSE;
	if (code_find(view, f->exact ? pc : pc - 1, ret) != 0)
		return UNSURE;
	return !code_is(*ret, &code_nowhere) ? SENSE : NONSENSE;
}

/* Whether the frame @f, at @code, leads on to another or is the outermost. */
static enum verdict leads_on(const struct frame *f, const struct stack_copy *stack,
			     const struct code_view *view, const struct code *code,
			     uint32_t *ret_waiting)
{
	struct unwind_rule rule = code_rule(code);
	struct frame next = *f;
	const struct code *there;
	enum verdict verdict;
	enum step step;

	if (code_has_no_rule(code))
		step = frame_step_chain(f, stack, &next);
	else
		step = frame_step(&next, stack, &rule);
	if (step == STEP_END)
		return SENSE;
	if (step == STEP_CUT)
		return rule.cfa == RULE_CFA_REG && rule.cfa_reg == f->machine->sp ? SENSE
										  : NONSENSE;
	if (step != STEP_OK)
		return NONSENSE;
	if (next.regs.value[next.machine->pc] == 0)
		return SENSE;
	verdict = in_code(&next, view, &there);
	*ret_waiting = there->image;
	return verdict;
}

/* As if just called. */
static int try_called(struct frame *f, const struct stack_copy *stack, const struct code_view *view,
		      enum step *ret, uint32_t *ret_waiting)
{
	enum verdict verdict = NONSENSE;
	struct frame next;
	const struct code *code;

	*ret = STEP_BROKEN;
	if (!f->exact || frame_step_called(f, stack, &next) != STEP_OK)
		return 0;
	if (next.regs.value[f->machine->pc] != 0) {
		verdict = in_code(&next, view, &code);
		*ret_waiting = code->image;
	}
	if (verdict == SENSE)
		verdict = leads_on(&next, stack, view, code, ret_waiting);
	if (verdict == UNSURE)
		return -EAGAIN;
	if (verdict == SENSE) {
		*f = next;
		*ret = STEP_OK;
	}
	return 0;
}

/* As if it kept the frame pointer. */
static int try_chain(struct frame *f, const struct stack_copy *stack, const struct code_view *view,
		     bool jit, enum step *ret, uint32_t *ret_waiting)
{
	uint64_t bp = f->regs.value[f->machine->bp];
	bool known = frame_knows(f, f->machine->bp);
	enum verdict verdict;
	struct frame next;
	const struct code *code;

	/* The outermost function of a thread or program clears the frame pointer. */
	if (known && bp == 0) {
		*ret = !f->exact || frame_at_entry(f, stack) ? STEP_END : STEP_BROKEN;
		return 0;
	}
	*ret = frame_step_chain(f, stack, &next);
	/* Above the copy, as in deep stacks of Go: it is believed of code that keeps the frame
	 * pointer, and of callers, which were come to by what makes sense. */
	if (*ret == STEP_CUT && !((jit || !f->exact) && bp - stack->sp < stack->size + CHAIN_REACH))
		*ret = STEP_BROKEN;
	if (*ret != STEP_OK || next.regs.value[f->machine->pc] == 0) {
		if (*ret == STEP_OK)
			*ret = STEP_END;
		return 0;
	}
	verdict = in_code(&next, view, &code);
	if (verdict == UNSURE) {
		*ret_waiting = code->image;
		return -EAGAIN;
	}
	if (verdict == SENSE)
		*f = next;
	else
		*ret = STEP_BROKEN;
	return 0;
}

int guess_step(struct frame *f, const struct stack_copy *stack, const struct code_view *view,
	       const struct code *code, enum step *ret, uint32_t *ret_waiting)
{
	bool jit = code_is(code, &code_jit);
	enum step first;
	int err;

	if (!jit) {
		err = try_called(f, stack, view, ret, ret_waiting);
		if (err != 0 || *ret != STEP_BROKEN)
			return err;
	}
	err = try_chain(f, stack, view, jit, ret, ret_waiting);
	if (err != 0 || *ret != STEP_BROKEN || !jit)
		return err;
	return try_called(f, stack, view, &first, ret_waiting) ?: (*ret = first, 0);
}
