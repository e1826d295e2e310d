/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one clock: CLOCK_MONOTONIC, which the kernel stamps our records with (use_clockid).
 * Read by the wiring only; the folders get time passed in.
 */
#ifndef PTOP_CLOCK_H
#define PTOP_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

#endif
