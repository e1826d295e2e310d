/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of an unwinding: registers of a frame and the rule of its place -> registers of its
 * caller.  Pure: reads nothing but the copy of the stack.  Private to this folder.
 *
 * A walk keeps its registers in one struct unwind_regs: all that were sampled in the innermost
 * frame, afterwards those that rules follow.
 */
#ifndef PTOP_UNWIND_FRAME_H
#define PTOP_UNWIND_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "image/rows.h"
#include "record/record.h"
#include "unwind/unwind.h"

/* What differs between machines. */
struct machine {
	uint8_t pc, sp, bp, bx, lr; /* DWARF numbers; lr is pc itself where there is none */
	uint64_t followed;          /* the registers known in every frame, a bit each */
	uint64_t address_mask; /* of a return address: the rest may be its authentication code */
};
const struct machine *machine_of(enum unwind_machine machine);

/* The bytes of a stack from @sp upwards. */
struct stack_copy {
	const uint8_t *at;
	uint64_t sp, size;
	uint64_t *read_to; /* one byte past the furthest that stack_word() gave */
};

struct frame {
	const struct machine *machine;
	struct unwind_regs regs;
	/* It was interrupted here, it did not call: its pc is exact, it may be anywhere in its
	 * function. */
	bool exact;
};

enum step { STEP_OK, STEP_END, STEP_CUT, STEP_BROKEN };

/* The word at @addr: STEP_OK, STEP_CUT (above the copy), STEP_BROKEN (below it). */
enum step stack_word(const struct stack_copy *stack, uint64_t addr, uint64_t *ret);

static inline bool frame_knows(const struct frame *f, uint32_t reg)
{
	return reg < UNWIND_NR_REGS && (f->regs.known >> reg & 1);
}

/* Turns @f into its caller by @rule, whose cfa is not RULE_CFA_NONE.  @f is undefined unless
 * STEP_OK. */
enum step frame_step(struct frame *f, const struct stack_copy *stack,
		     const struct unwind_rule *rule);

/*
 * The same where no rule is: as if the frame had just been called (*@sp is the return address, or
 * lr has it), and as if it kept the frame pointer.  *@ret is set on STEP_OK only; the caller checks
 * that it makes sense.
 */
enum step frame_step_called(const struct frame *f, const struct stack_copy *stack,
			    struct frame *ret);
enum step frame_step_chain(const struct frame *f, const struct stack_copy *stack,
			   struct frame *ret);

/* Whether sp is where the kernel starts a program: argc, argv[], NULL. */
bool frame_at_entry(const struct frame *f, const struct stack_copy *stack);

/* Whether @f is no caller but what the kernel put on the stack of a program's first function: its
 * return address is argc. */
bool frame_is_first(const struct frame *f, const struct stack_copy *stack);

#endif
