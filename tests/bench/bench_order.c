// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One push and one pop of a 256-byte record, from 1, 4 and 64 sources: slices are pushed, source by
 * source as readers hand them over, then what the bounds allow is popped.  One record in 64 is out
 * of order.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "record/order.h"

enum { RECORD_BYTES = 256, SLICES = 1600, SLICE = 512, RUNS = 5, BOUND_NS = 25, BOUND_COPIES = 6 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ns a record, or below 0 when records were lost or out of order. */
static double run(uint32_t sources)
{
	static uint8_t bytes[64][RECORD_BYTES];
	struct order *o = order_new(sources);
	uint64_t pushed = 0, popped = 0, last = 0, sum = 0, took;
	const uint64_t each = SLICE / sources;
	struct ordered got;

	if (!o)
		return -1;
	took = now_ns();
	for (uint64_t slice = 0; slice < SLICES; slice++) {
		const uint64_t begin = 1000 + slice * 1000000, step = 1000000 / each;

		for (uint32_t s = 0; s < sources; s++) {
			for (uint64_t i = 0; i < each; i++) {
				uint64_t back = i % 64 == 63 ? step * 3 : 0;

				pushed += !order_push(o, s, begin + i * step + s - back,
						      bytes[i % 64], RECORD_BYTES, (uint32_t)i,
						      NULL);
			}
			order_bound(o, s, begin + 900000);
		}
		while (order_pop(o, &got)) {
			if (got.time_ns < last)
				return -1;
			last = got.time_ns;
			sum += *(const uint8_t *)got.bytes;
			popped++;
		}
	}
	took = now_ns() - took;
	if (sum || popped + order_pending(o) != pushed || pushed != SLICES * each * sources)
		return -1;
	order_free(o);
	return (double)took / (double)pushed;
}

/* ns to copy such a record into a buffer as large as a slice. */
static double run_copy(void)
{
	static uint8_t from[64][RECORD_BYTES], to[SLICE][RECORD_BYTES];
	uint64_t took = now_ns();

	for (uint64_t i = 0; i < SLICES * SLICE; i++) {
		memcpy(to[i % SLICE], from[i % 64], RECORD_BYTES);
		__asm__ volatile("" : : "r"(to) : "memory");
	}
	return (double)(now_ns() - took) / (SLICES * SLICE);
}

int main(void)
{
	static const uint32_t sources[] = { 1, 4, 64 };
	double copy = 1e9;
	int broken = 0;

	for (int k = 0; k < RUNS; k++) {
		double ns = run_copy();

		copy = ns < copy ? ns : copy;
	}
	printf("copy_ns_per_record\t%.1f\n", copy);
	for (int i = 0; i < 3; i++) {
		double best = 1e9;

		for (int k = 0; k < RUNS; k++) {
			double ns = run(sources[i]);

			if (ns < 0)
				return 1;
			best = ns < best ? ns : best;
		}
		printf("order_ns_per_record_%u\t%.1f", sources[i], best);
		if (sources[i] == 4) {
			printf("\tbound %d, or %d copies", BOUND_NS, BOUND_COPIES);
			broken = best > BOUND_NS && best > BOUND_COPIES * copy;
		}
		printf("\n");
	}
	return broken;
}
