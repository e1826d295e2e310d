/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program whose work is done by functions that a compiler puts into others: three quarters of it
 * by three_parts(), inlined into both() and that into work(), a quarter by one_part(), inlined into
 * work().  Runs until its time is over: usage inlined SECONDS.  Built with -O2 -g.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define INLINED static inline __attribute__((always_inline))

volatile uint64_t sink;

/* Steps that no compiler shortens. */
INLINED uint64_t churn(uint64_t x, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

INLINED uint64_t three_parts(uint64_t x)
{
	return churn(x ^ 1, 30000);
}

INLINED uint64_t one_part(uint64_t x)
{
	return churn(x ^ 2, 10000);
}

INLINED uint64_t both(uint64_t x)
{
	return three_parts(x) + 1;
}

__attribute__((noinline)) uint64_t work(uint64_t x)
{
	x = both(x);
	x += one_part(x);
	return x;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);

	puts("ready");
	fflush(stdout);
	while (time(NULL) < until)
		sink = work(sink);
	return 0;
}
