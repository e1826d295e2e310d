// SPDX-License-Identifier: GPL-2.0-or-later
/* store_add() and the bytes it takes, with equal and with differing weights, below and at the cap.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "profile/store.h"

#define SAMPLES 4000000u
#define BOUND_NS 15.0
#define BOUND_BYTES 16.5

/* Of this process alone, so that what else the machine does counts less. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct store *fill(size_t cap_bytes, uint64_t differ, double *ret_ns)
{
	struct store *s = store_new(cap_bytes);
	uint64_t start = cpu_ns();

	for (uint32_t i = 0; s && i < SAMPLES; i++) {
		struct stored sample = {
			.time_ns = 1000000000u + (uint64_t)i * 100000,
			.weight = 1000000 + i % differ,
			.stack = i * 2654435761u % 20000,
			.task = i % 500,
			.cpu = (uint16_t)(i % 64),
			.flags = SAMPLE_USER,
		};

		if (store_add(s, &sample))
			abort();
	}
	*ret_ns = (double)(cpu_ns() - start) / SAMPLES;
	return s;
}

int main(void)
{
	double ns, differing_ns, capped_ns, bytes, differing_bytes;
	struct store *s = fill(1u << 30, 1, &ns);

	bytes = (double)store_bytes(s) / (double)store_count(s);
	store_free(s);
	s = fill(1u << 30, 1000, &differing_ns);
	differing_bytes = (double)store_bytes(s) / (double)store_count(s);
	store_free(s);
	s = fill(5u << 19, 1, &capped_ns);
	printf("store_add_ns\t%.1f\t<= %.0f\n", ns, BOUND_NS);
	printf("store_add_differing_ns\t%.1f\n", differing_ns);
	printf("store_add_capped_ns\t%.1f\t<= %.0f\t%zu bytes of %u\n", capped_ns, BOUND_NS,
	       store_bytes(s), 5u << 19);
	printf("store_bytes_per_sample\t%.2f\t<= %.1f\n", bytes, BOUND_BYTES);
	printf("store_bytes_per_sample_differing\t%.2f\n", differing_bytes);
	store_free(s);
	return ns > BOUND_NS || capped_ns > BOUND_NS || bytes > BOUND_BYTES;
}
