/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/diagnose.h"

/* Rings and lanes of all CPUs together stay within these; one CPU gets no more than the second
 * figure. */
#define RING_SAMPLES_ALL (16u << 20)
#define RING_SAMPLES_MOST (512u << 10)
#define RING_SIDE_BAND_ALL (8u << 20)
#define RING_SIDE_BAND_MOST (128u << 10)
#define LANE_SAMPLES_LEAST (64u << 10)
#define LANES_ALL (16u << 20)

/* The stack pointer among the registers of a sample (asm/perf_regs.h). */
#if defined(__aarch64__)
#define SP_BIT 31
#else
#define SP_BIT 7
#endif

int rings_init(struct rings *r, const struct sampler *sp)
{
	const struct layout *l = sampler_stack_layout(sp);

	r->trim = trim_new(l->sample_type, l->regs_user, SP_BIT);
	return r->trim ? 0 : -ENOMEM;
}

static uint32_t share(uint32_t all, uint32_t most, uint32_t least, size_t nr_cpus)
{
	uint64_t each = all / nr_cpus;
	uint64_t size = least;

	while (size * 2 <= each && size * 2 <= most)
		size *= 2;
	return (uint32_t)size;
}

/* The most that a sample ring of one CPU gets: half a megabyte, or 32 records with the largest
 * stacks. */
static uint32_t ring_samples_most(const struct sampler *sp)
{
	const struct sampling *sampling = sampler_current(sp);
	uint32_t most = RING_SAMPLES_MOST;

	if (sampling->call_graph == CALL_GRAPH_DWARF)
		while (most < 32 * STACK_BYTES_MOST)
			most *= 2;
	return most;
}

/* Maps all rings, the sample rings at @sample_bytes.  0, -EPERM when the mlock quota does not allow
 * it, -errno. */
static int map_rings(struct rings *r, const struct sampler *sp, uint32_t sample_bytes,
		     uint32_t side_band_bytes, struct reason *why)
{
	int err;

	for (size_t i = 0; i < r->nr; i++) {
		enum ring_use use = ring_use_of(i);

		err = ring_open(&r->at[i].ring, sampler_owner(sp, i / NR_RING_USES, use),
				use == RING_SAMPLES ? sample_bytes : side_band_bytes, why);
		if (!err)
			continue;
		while (i--)
			ring_close(&r->at[i].ring);
		return err;
	}
	return 0;
}

/* The largest rings that the quota allows, halving; told when they are small. */
int rings_map(struct rings *r, struct sampler *sp, struct notes *notes, uint64_t now_ns,
	      struct reason *why)
{
	size_t nr_cpus = sampler_nr_cpus(sp);
	uint32_t samples = share(RING_SAMPLES_ALL, ring_samples_most(sp), 64u << 10, nr_cpus);
	uint32_t side = share(RING_SIDE_BAND_ALL, RING_SIDE_BAND_MOST, 16u << 10, nr_cpus);
	uint32_t wanted = samples, page = (uint32_t)sysconf(_SC_PAGESIZE);
	int err;

	r->nr = nr_cpus * NR_RING_USES;
	r->at = calloc(r->nr, sizeof(*r->at));
	if (!r->at)
		return reason_set(why, -ENOMEM, "out of memory");
	for (;;) {
		err = sampler_set_watermark(sp, samples / 2);
		if (err)
			return reason_set(why, err, "cannot open the rings' events: %s",
					  strerror(-err));
		err = map_rings(r, sp, samples, side, why);
		if (err != -EPERM || samples <= 2 * page)
			break;
		samples /= 2;
		if (side > 2 * page)
			side /= 2;
	}
	if (err)
		return diagnose_mmap(-err, (uint64_t)(samples + side) * nr_cpus / 1024, why);
	if (samples < wanted)
		notes_add(notes, "rings", now_ns,
			  "small rings of %u KB: the quota of locked memory is used up "
			  "(sudo sysctl kernel.perf_event_mlock_kb=4096)",
			  samples / 1024);
	return 0;
}

int rings_start(struct rings *r, const struct sampler *sp, struct reason *why)
{
	size_t nr_cpus = sampler_nr_cpus(sp);
	uint32_t samples = share(LANES_ALL, 2 * ring_samples_most(sp), LANE_SAMPLES_LEAST, nr_cpus);
	struct reader_ring *rings;
	int err;

	rings = calloc(r->nr, sizeof(*rings));
	if (!rings)
		return reason_set(why, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->nr; i++) {
		bool side = ring_use_of(i) == RING_SIDE_BAND;

		r->at[i].lane = lane_new(
			side && samples > LANE_SIDE_BAND_BYTES ? LANE_SIDE_BAND_BYTES : samples);
		if (!r->at[i].lane) {
			free(rings);
			return reason_set(why, -ENOMEM, "out of memory");
		}
		rings[i] = (struct reader_ring){
			.fd = sampler_owner(sp, i / NR_RING_USES, ring_use_of(i)),
			.ring = &r->at[i].ring,
			.lane = r->at[i].lane,
			.cpu = sampler_cpu(sp, i / NR_RING_USES),
			.side_band = side,
			.trim = r->trim,
		};
	}
	err = readers_start(&r->readers, rings, r->nr, why);
	free(rings);
	return err;
}

void rings_close(struct rings *r)
{
	readers_stop(r->readers);
	for (size_t i = 0; i < r->nr && r->at; i++) {
		ring_close(&r->at[i].ring);
		lane_free(r->at[i].lane);
	}
	free(r->at);
	trim_free(r->trim);
	*r = (struct rings){ 0 };
}
