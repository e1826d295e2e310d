/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sampling should become, judged from what it gave: less when samples are lost, a larger copy
 * of each stack when many stacks are cut and there is room for the cost.  Pure: decides, changes
 * nothing.
 */
#ifndef PTOP_ADAPT_H
#define PTOP_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

#include "event/sampler.h"

/* Counters since the start. */
struct adapt_look {
	uint64_t time_ns;
	uint64_t samples, lost, cut;
	uint64_t own_cpu_ns;
};

/* All zeroes but .last, the first look. */
struct adapt {
	struct adapt_look last;
	uint32_t stack_most; /* bytes of a stack that more proved too many; 0: none did */
};

enum adapt_step {
	ADAPT_KEEP,
	ADAPT_SLOWER,     /* half the samples: @lost of all were lost */
	ADAPT_LESS_STACK, /* the copies of stacks cost too much: half of each */
	ADAPT_MORE_STACK, /* too many stacks are cut: twice as much of each, or four times where
			     most are */
};

/*
 * The step to take now, with @ret changed accordingly (from @s), and since the last look: how many
 * of how many samples were lost or cut (@ret_part of @ret_whole).  At most four times a second, and
 * where few are sampled not before there are enough to judge by; else ADAPT_KEEP.  @may_grow:
 * stacks' size was not chosen by a person.
 */
enum adapt_step adapt(struct adapt *a, const struct adapt_look *now, const struct sampling *s,
		      bool may_grow, struct sampling *ret, uint64_t *ret_part, uint64_t *ret_whole);

#endif
