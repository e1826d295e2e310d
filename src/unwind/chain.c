/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/chain.h"

#include <linux/perf_event.h>

#include "record/decode.h"

static enum cpumode mode_of(uint64_t marker)
{
	switch (marker) {
	case (uint64_t)PERF_CONTEXT_KERNEL:
		return CPUMODE_KERNEL;
	case (uint64_t)PERF_CONTEXT_USER:
		return CPUMODE_USER;
	default:
		return CPUMODE_UNKNOWN; /* guests and hypervisors: no mapping is known */
	}
}

static struct place place_of(struct space *s, enum cpumode mode, uint32_t pid, uint64_t addr)
{
	if (mode == CPUMODE_KERNEL)
		return (struct place){ .image = IMAGE_KERNEL, .offset = addr };
	if (mode == CPUMODE_USER)
		return space_resolve(s, (pid_t)pid, addr);
	return (struct place){ .image = IMAGE_UNKNOWN, .offset = addr };
}

/*
 * A return address points behind its call, which may already be the next function: one less names
 * the caller.  The first address after a context marker is where the processor was.
 */
struct chain chain_walk(struct space *s, const struct record *r, uint32_t max_stack,
			struct place *places, uint32_t max)
{
	const struct u64s *chain = &r->sample.callchain;
	enum cpumode mode = r->cpumode;
	struct chain c = { 0 };
	bool exact = true;

	for (uint32_t i = 0; i < chain->nr && c.nr < max; i++) {
		uint64_t addr = u64s_get(chain, i);

		if (addr >= (uint64_t)PERF_CONTEXT_MAX) {
			mode = mode_of(addr);
			exact = true;
			continue;
		}
		places[c.nr] = place_of(s, mode, r->sid.pid, exact || !addr ? addr : addr - 1);
		if (c.nr && !exact && places[c.nr].image == IMAGE_UNKNOWN) {
			c.broken = true;
			break;
		}
		exact = false;
		c.nr++;
	}
	if (c.nr == 0)
		places[c.nr++] = place_of(s, r->cpumode, r->sid.pid, r->sample.ip);
	c.deep = c.nr >= max_stack;
	return c;
}

uint32_t chain_calls(struct space *s, const struct record *r, bool inner, struct place *places,
		     uint32_t max)
{
	const struct sample *sample = &r->sample;
	uint32_t nr = 0;

	if (max && (inner || sample->branches.nr))
		places[nr++] = place_of(s, CPUMODE_USER, r->sid.pid,
					inner ? sample->ip : sample_branch(sample, 0).to);
	for (uint32_t i = 0; i < sample->branches.nr && nr < max; i++)
		places[nr++] = place_of(s, CPUMODE_USER, r->sid.pid, sample_branch(sample, i).from);
	return nr;
}
