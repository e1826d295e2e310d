/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/code.h"
#include "unwind/frame.h"
#include "unwind/guess.h"

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

/* One step from @f at @code: by its rule, else by a guess.  0, or -EAGAIN and ret->waiting. */
static int step(struct frame *f, const struct stack_copy *stack, const struct code_view *view,
		const struct code *code, enum step *ret_step, struct unwound *ret)
{
	int err;

	if (code->rule->cfa != RULE_CFA_NONE || (code->rule->flags & RULE_END)) {
		*ret_step = frame_step(f, stack, code->rule);
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

/* From frame to frame; the innermost one's code is in @code. */
static void walk(struct frame *f, const struct stack_copy *stack, const struct code_view *view,
		 struct code *code, struct place *places, uint32_t max, struct unwound *ret)
{
	const uint64_t *pc = &f->regs.value[f->machine->pc];

	for (;;) {
		enum step how;
		int err;

		if (step(f, stack, view, code, &how, ret) != 0) {
			ret->end = UNWIND_WAIT;
			return;
		}
		if (how != STEP_OK || *pc == 0) {
			ret->end = how != STEP_OK ? ends[how] : UNWIND_COMPLETE;
			return;
		}
		err = code_find(view, f->exact ? *pc : *pc - 1, code);
		if (code_rows(code) == CODE_NOWHERE) {
			ret->end = UNWIND_BROKEN;
			return;
		}
		if (ret->nr == max) {
			ret->end = UNWIND_DEEP;
			return;
		}
		/* Nobody called the trampoline that a handler returns to: its first byte is meant.
		 */
		if (code->rule->flags & RULE_SIGNAL && !f->exact)
			code->offset++;
		places[ret->nr++] = (struct place){ code->image, code->offset };
		if (err != 0) {
			ret->end = UNWIND_WAIT;
			ret->waiting = code->image;
			return;
		}
	}
}

struct unwound unwind_user(struct unwinder *u, struct space *s, pid_t pid,
			   const struct unwind_regs *regs, const struct bytes *stack,
			   struct place *places, uint32_t max)
{
	struct frame f = { .machine = machine_of(regs->machine), .regs = *regs, .exact = true };
	struct stack_copy copy = { stack->at, regs->value[f.machine->sp], stack->size };
	struct code_view view = { &u->code, s, pid, space_generation(s, pid) };
	struct unwound ret = { 0 };
	struct code code;

	code_settle(&u->code);
	if (code_find(&view, f.regs.value[f.machine->pc], &code) != 0) {
		ret.end = UNWIND_WAIT;
		ret.waiting = code.image;
	}
	places[ret.nr++] = (struct place){ code.image, code.offset };
	if (ret.end != UNWIND_WAIT)
		walk(&f, &copy, &view, &code, places, max, &ret);
	return ret;
}
