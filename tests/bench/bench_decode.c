// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decoding and peeking one sample as ptop takes it: IDENTIFIER, IP, TID, TIME, CPU, PERIOD and a
 * chain of 20; every address of the chain is read, as the next stage would.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <linux/perf_event.h>

#include "record/decode.h"
#include "unit/record_build.h"

enum { CHAIN = 20, SAMPLES = 64, ROUNDS = 30000, RUNS = 5, BOUND_NS = 100 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct build sample_of(uint64_t i)
{
	struct build b = build_begin(RECORD_SAMPLE, PERF_RECORD_MISC_USER, false);

	build_u64(&b, 7);
	build_u64(&b, 0x401000 + i);
	build_u32(&b, 4242);
	build_u32(&b, (uint32_t)(4242 + i));
	build_u64(&b, 1000000 + i);
	build_u32(&b, (uint32_t)(i % 4));
	build_u32(&b, 0);
	build_u64(&b, 1000003);
	build_u64(&b, CHAIN);
	for (uint64_t k = 0; k < CHAIN; k++)
		build_u64(&b, 0x400000 + i * 64 + k);
	build_end(&b);
	return b;
}

int main(void)
{
	static struct build samples[SAMPLES];
	const struct layout l = {
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN,
		.sample_id_all = true,
	};
	double decode = 1e9, peek = 1e9;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < SAMPLES; i++)
		samples[i] = sample_of(i);
	for (int run = 0; run < RUNS; run++) {
		uint64_t start = now_ns(), middle, end;

		for (int i = 0; i < ROUNDS * SAMPLES; i++) {
			const struct build *b = &samples[i % SAMPLES];
			struct record r;

			if (record_decode(&l, b->at, b->size, &r))
				return 1;
			for (uint32_t k = 0; k < r.sample.callchain.nr; k++)
				sum += u64s_get(&r.sample.callchain, k);
		}
		middle = now_ns();
		for (int i = 0; i < ROUNDS * SAMPLES; i++) {
			const struct build *b = &samples[i % SAMPLES];
			struct sample_id sid;
			uint32_t type;

			if (record_peek(&l, b->at, b->size, &type, &sid))
				return 1;
			sum += sid.time_ns;
		}
		end = now_ns();
		if ((double)(middle - start) / (ROUNDS * SAMPLES) < decode)
			decode = (double)(middle - start) / (ROUNDS * SAMPLES);
		if ((double)(end - middle) / (ROUNDS * SAMPLES) < peek)
			peek = (double)(end - middle) / (ROUNDS * SAMPLES);
	}
	printf("decode_ns_per_sample\t%.1f\tbound %d\n", decode, BOUND_NS);
	printf("peek_ns_per_sample\t%.1f\n", peek);
	return sum == 0 || decode > BOUND_NS;
}
