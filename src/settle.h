/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting, for a bounded time, until what is shown is as good as it gets.
 */
#ifndef PTOP_SETTLE_H
#define PTOP_SETTLE_H

#include <stdbool.h>

#include "session.h"

#define SETTLE_NS (250 * NS_PER_MS)

/* Reads the images that the stacks so far need, and with @inlined what was inlined in them, until
 * @until_ns at most. */
void settle_names(struct session *s, uint64_t until_ns, bool inlined);

/* Takes in everything sampled up to now, for 100 ms at most; returns up to when it got. */
uint64_t settle_records(struct session *s);

#endif
