/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one sample counts for: its event by its period, or, where it carries the counts of a group,
 * each member whose count has grown (perf's {a,b}:S).
 */
#ifndef PTOP_SHARES_H
#define PTOP_SHARES_H

#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_SHARES_MOST = 64 };

struct sample_shares {
	uint64_t nr; /* 0: it counts for nothing */
	struct {
		uint64_t weight;
		uint64_t event;
	} at[SAMPLE_SHARES_MOST];
};

static inline size_t shares_bytes(uint64_t nr)
{
	return offsetof(struct sample_shares, at) + nr * sizeof(((struct sample_shares *)0)->at[0]);
}

#endif
