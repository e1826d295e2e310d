/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's callchain -> frames.  The kernel follows frame pointers in user space and cannot
 * tell a saved frame pointer from any other number: what lies in no executable mapping was never a
 * return address, and ends the walk.
 */
#ifndef PTOP_UNWIND_CHAIN_H
#define PTOP_UNWIND_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "space/space.h"

struct chain {
	uint32_t nr; /* frames written */
	bool broken; /* ended in a number that is no code address */
	bool deep;   /* the kernel's limit of frames was reached */
};

/*
 * Writes the places of the sample's frames, innermost first, into @places (@max of them, >= 1).  A
 * sample without a chain gives its instruction pointer.  @max_stack: the kernel's limit
 * (kernel.perf_event_max_stack).
 */
struct chain chain_walk(struct space *s, const struct record *r, uint32_t max_stack,
			struct place *places, uint32_t max);

/*
 * The user's part of a stack as the processor recorded its calls (PERF_SAMPLE_BRANCH_CALL_STACK):
 * where it is, then each call that is not back yet, innermost first.  @inner: it was in user code,
 * at the sample's address; else the function that was called last is all that is known of it.
 * Returns how many places were written, at most @max; there may have been more calls than a
 * processor keeps (8 to 32).
 */
uint32_t chain_calls(struct space *s, const struct record *r, bool inner, struct place *places,
		     uint32_t max);

#endif
