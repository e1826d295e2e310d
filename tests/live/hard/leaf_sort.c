/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frame pointers everywhere but in leaves, called by a libc that keeps none. */
#include <stdlib.h>

#include "hard.h"

NOINLINE unsigned long weigh(unsigned long n)
{
	unsigned long sum = n;

	for (int i = 0; i < 300; i++)
		sum = sum * 31 + (unsigned long)i;
	return sum;
}

NOINLINE int compare(const void *a, const void *b)
{
	unsigned long x = weigh(*(const unsigned *)a), y = weigh(*(const unsigned *)b);

	return x < y ? -1 : x > y;
}

NOINLINE void sorts(void)
{
	unsigned numbers[64];

	for (unsigned i = 0; i < 64; i++)
		numbers[i] = i * 7919 % 64;
	qsort(numbers, 64, sizeof(numbers[0]), compare);
	sink += numbers[3];
}

int main(void)
{
	ready();
	for (;;)
		sorts();
}
