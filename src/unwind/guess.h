/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames that no row covers: hand-written code, JIT code, musl, Go.  A guess is taken only where
 * what it leads to makes sense.  Private to this folder.
 */
#ifndef PTOP_UNWIND_GUESS_H
#define PTOP_UNWIND_GUESS_H

#include "unwind/code.h"
#include "unwind/frame.h"

/*
 * Turns @f, at @code without a rule, into its caller.  As frame_step(); -EAGAIN where the judgement
 * waits for image *@ret_waiting, else 0 and *@ret.
 */
int guess_step(struct frame *f, const struct stack_copy *stack, const struct code_view *view,
	       const struct code *code, enum step *ret, uint32_t *ret_waiting);

#endif
