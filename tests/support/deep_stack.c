/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: deep_stack [SECONDS]
 * Twenty distinct functions deep, with frames of 8 to 256 bytes, then libc's qsort() and its
 * comparator, for so long (default 60).  Built without frame pointers, so that only unwinding by
 * rows shows who calls.  A timer's signal handler runs on the same stack now and then.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { NUMBERS = 512 };

static unsigned int numbers[NUMBERS];
static volatile unsigned int sink;

#define NOINLINE __attribute__((noinline))

NOINLINE static unsigned int churn(unsigned int x)
{
	for (int i = 0; i < 40; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

NOINLINE static int compare(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	sink += churn(x);
	return (x > y) - (x < y);
}

NOINLINE static unsigned int level_0(unsigned int x)
{
	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = x = x * 1103515245 + 12345;
	qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
	return numbers[x % NUMBERS];
}

/* Each keeps a frame of its own and something to do after the call. */
#define LEVEL(n, below, bytes)                                       \
	NOINLINE static unsigned int level_##n(unsigned int x)       \
	{                                                            \
		volatile char frame[bytes];                          \
                                                                     \
		frame[0] = (char)x;                                  \
		frame[(bytes)-1] = (char)(x >> 8);                   \
		x = level_##below(x + (n)) + (unsigned int)frame[0]; \
		return churn(x) + (unsigned int)frame[(bytes)-1];    \
	}

LEVEL(1, 0, 8)
LEVEL(2, 1, 16)
LEVEL(3, 2, 24)
LEVEL(4, 3, 32)
LEVEL(5, 4, 40)
LEVEL(6, 5, 48)
LEVEL(7, 6, 64)
LEVEL(8, 7, 72)
LEVEL(9, 8, 96)
LEVEL(10, 9, 104)
LEVEL(11, 10, 128)
LEVEL(12, 11, 136)
LEVEL(13, 12, 144)
LEVEL(14, 13, 160)
LEVEL(15, 14, 176)
LEVEL(16, 15, 192)
LEVEL(17, 16, 208)
LEVEL(18, 17, 224)
LEVEL(19, 18, 240)
LEVEL(20, 19, 256)

static void on_alarm(int signal)
{
	for (int i = 0; i < 2000; i++)
		sink += churn((unsigned int)(signal + i));
}

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } };
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	while (time(NULL) < end)
		sink += level_20(sink);
	return 0;
}
