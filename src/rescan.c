/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rescan.h"

#include <string.h>

#include "clock.h"

#define AGAIN_NS NS_PER_S
#define MOST 4096

void rescans_done(struct rescans *r)
{
	map_done(&r->last);
	vec_done(&r->wanting);
}

void rescans_want(struct rescans *r, pid_t pid, uint64_t now_ns)
{
	uint64_t *last = map_find(&r->last, (uint64_t)(uint32_t)pid);

	if (pid <= 0 || r->wanting.nr >= MOST || (last && now_ns - *last < AGAIN_NS))
		return;
	if (r->last.nr >= MOST)
		map_done(&r->last);
	if (map_set(&r->last, (uint64_t)(uint32_t)pid, now_ns) == 0)
		(void)vec_push(&r->wanting, pid);
}

size_t rescans_take(struct rescans *r, pid_t *ret, size_t max)
{
	size_t nr = r->wanting.nr < max ? r->wanting.nr : max;

	if (!nr)
		return 0;
	memcpy(ret, r->wanting.at, nr * sizeof(*ret));
	r->wanting.nr -= nr;
	memmove(r->wanting.at, r->wanting.at + nr, r->wanting.nr * sizeof(*ret));
	return nr;
}
