/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events a sample of a recording is of, and how much of each: one, but for those that carry
 * the counts of a group.
 */
#ifndef PTOP_RECORDING_SHARES_H
#define PTOP_RECORDING_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "record/perfdata.h"

enum { SHARES_MOST = 64 };

struct share {
	int event;
	uint64_t period;
};

/* Whether samples of @event have shares other than their own period. */
bool shares_differ(const struct perfdata *pd, int event);

/*
 * The shares of sample @r, in order of its counts; returns how many (0: nothing grew). @counts
 * keeps the last count of each id: samples of one id have to come in order.
 */
size_t shares_of(struct map *counts, const struct perfdata *pd, const struct record *r, int event,
		 struct share *ret, size_t most);

#endif
