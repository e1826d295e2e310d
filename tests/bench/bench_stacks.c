// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stacks_add() at depth 20: random stacks over a warm trie (the worst case: nothing in common with
 * the stack before but by chance), and stacks of one thread, which share their outer frames.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "profile/stacks.h"

#define DEPTH 20
#define STACKS 4096
#define ROUNDS 100
#define BOUND_NS 200.0

/* Of this process alone, so that what else the machine does counts less. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Stack @i: frames @fixed.. vary, further out they are those of one of 16 threads. */
static void make_stack(struct frame *frames, uint64_t *seed, int fixed)
{
	uint64_t thread = random_next(seed) % 16;

	for (int i = 0; i < DEPTH; i++) {
		uint64_t which = i < fixed ? random_next(seed) % 4 : thread;

		frames[i] = (struct frame){ .offset = 0x1000 + (uint64_t)i * 0x100 + which * 16,
					    .image = (uint32_t)(1 + i % 5) };
	}
}

static double measure(struct stacks *s, const struct frame *frames, size_t nr)
{
	uint64_t start, sum = 0;

	for (size_t i = 0; i < nr; i++)
		stacks_add(s, frames + i * DEPTH, DEPTH);
	start = cpu_ns();
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < nr; i++)
			sum += stacks_add(s, frames + i * DEPTH, DEPTH);
	}
	if (!sum)
		abort();
	return (double)(cpu_ns() - start) / (double)(nr * ROUNDS);
}

int main(void)
{
	struct frame *frames = calloc(STACKS * DEPTH, sizeof(*frames));
	static const struct {
		const char *name;
		int fixed;
	} cases[] = {
		{ "stacks_add_ns", 8 },
		{ "stacks_add_same_ns", 0 },
	};
	uint64_t seed = 88172645463325252ull;
	int failed = 0;

	for (size_t c = 0; frames && c < sizeof(cases) / sizeof(*cases); c++) {
		struct stacks *s = stacks_new();
		double ns;

		for (size_t i = 0; i < STACKS; i++)
			make_stack(frames + i * DEPTH, &seed, cases[c].fixed);
		ns = measure(s, frames, STACKS);
		printf("%s\t%.1f\t<= %.0f\t%zu nodes, %zu bytes each\n", cases[c].name, ns,
		       BOUND_NS, stacks_count(s), stacks_bytes(s) / stacks_count(s));
		failed |= ns > BOUND_NS;
		stacks_free(s);
	}
	free(frames);
	return failed;
}
