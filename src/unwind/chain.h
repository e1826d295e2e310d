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

#endif
