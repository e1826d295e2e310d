/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adapt.h"

#define LOOK_NS 250000000ull
#define LONG_LOOK_NS (40 * LOOK_NS) /* where so few are sampled that a look tells nothing */
#define LOST_SAMPLES 20             /* of at least so many in all */
#define LOST_SHARE 50               /* act when one sample in 50 is lost */
#define CUT_SHARE 10                /* or one stack in 10 is cut */
#define CUT_SAMPLES 100             /* of at least so many */
#define COST_PERCENT 8              /* of one CPU that ptop may use before stacks stop growing */
#define COST_TOO_MUCH 16            /* and above which they shrink */

static bool slower(struct sampling *s)
{
	if (s->by_frequency ? s->rate < 2 : s->rate > UINT64_MAX / 4)
		return false;
	s->rate = s->by_frequency ? s->rate / 2 : s->rate * 2;
	return true;
}

static bool less_stack(struct adapt *a, struct sampling *s)
{
	if (s->call_graph != CALL_GRAPH_DWARF || s->stack_bytes <= STACK_BYTES_DEFAULT)
		return false;
	s->stack_bytes = s->stack_bytes / 2 < STACK_BYTES_DEFAULT ? STACK_BYTES_DEFAULT
								  : s->stack_bytes / 16 * 8;
	a->stack_most = s->stack_bytes;
	return true;
}

static bool more_stack(const struct adapt *a, struct sampling *s, uint32_t times)
{
	uint32_t bytes = s->stack_bytes * times > STACK_BYTES_MOST ? STACK_BYTES_MOST
								   : s->stack_bytes * times;

	if (s->call_graph != CALL_GRAPH_DWARF || s->stack_bytes >= STACK_BYTES_MOST ||
	    (a->stack_most && bytes > a->stack_most))
		return false;
	s->stack_bytes = bytes;
	return true;
}

enum adapt_step adapt(struct adapt *a, const struct adapt_look *now, const struct sampling *s,
		      bool may_grow, struct sampling *ret, uint64_t *ret_part, uint64_t *ret_whole)
{
	uint64_t span = now->time_ns - a->last.time_ns;
	uint64_t samples = now->samples - a->last.samples, lost = now->lost - a->last.lost;
	uint64_t cut = now->cut - a->last.cut;
	uint64_t percent = span && now->own_cpu_ns > a->last.own_cpu_ns
				   ? (now->own_cpu_ns - a->last.own_cpu_ns) * 100 / span
				   : 0;

	if (span < LOOK_NS || (samples + lost < CUT_SAMPLES && span < LONG_LOOK_NS))
		return ADAPT_KEEP;
	*ret = *s;
	*ret_part = lost;
	*ret_whole = samples + lost;
	a->last = *now;
	if (lost >= LOST_SAMPLES && lost * LOST_SHARE > samples + lost) {
		if (may_grow && less_stack(a, ret))
			return ADAPT_LESS_STACK;
		return slower(ret) ? ADAPT_SLOWER : ADAPT_KEEP;
	}
	*ret_part = cut;
	if (!may_grow)
		return ADAPT_KEEP;
	if (percent > COST_TOO_MUCH && less_stack(a, ret))
		return ADAPT_LESS_STACK;
	if (samples >= CUT_SAMPLES && cut * CUT_SHARE > samples && percent < COST_PERCENT &&
	    ((cut > samples / 4 * 3 && more_stack(a, ret, 4)) || more_stack(a, ret, 2)))
		return ADAPT_MORE_STACK;
	return ADAPT_KEEP;
}
