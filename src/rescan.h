/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes whose mappings did not explain their samples, to be read again from /proc: soon, but
 * each at most once a second, and never more than some thousands at a time.  All zeroes is empty.
 */
#ifndef PTOP_RESCAN_H
#define PTOP_RESCAN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"

struct rescans {
	struct map last;    /* pid -> when it was last asked for */
	VEC(pid_t) wanting; /* oldest first */
};

void rescans_done(struct rescans *r);

/* Cheap; a process that was asked for a moment ago, or one too many, is passed over. */
void rescans_want(struct rescans *r, pid_t pid, uint64_t now_ns);

/* Takes at most @max of those that wait; returns how many. */
size_t rescans_take(struct rescans *r, pid_t *ret, size_t max);

#endif
