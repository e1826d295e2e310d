/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the machine bounds: rates and descriptors.  Inside event/ only.
 */
#ifndef PTOP_EVENT_LIMITS_H
#define PTOP_EVENT_LIMITS_H

#include <stdint.h>

#include "base/reason.h"
#include "event/sampler.h"

/* A timer interrupt costs about 2 us with a callchain: at 20 kHz a twentieth of each CPU. */
#define CLOCK_MAX_HZ 20000u

/*
 * Bounds s->rate by @max_sample_rate (kernel.perf_event_max_sample_rate; 0: unknown) and, for
 * clocks, CLOCK_MAX_HZ. 0, with the sentence in @note when it had to ("" else); -EINVAL with @why
 * for what cannot be sampled at all.
 */
int rate_bound(struct sampling *s, uint64_t max_sample_rate, struct reason *note,
	       struct reason *why);

/*
 * Raises RLIMIT_NOFILE to @needed plus what is open already and some room: the soft limit, and the
 * hard one where allowed. 0, or -EMFILE when the limit stays below (it is raised as far as it goes
 * all the same).
 */
int descriptors_raise(uint64_t needed);

#endif
