/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs of hard cases share. */
#ifndef PTOP_TESTS_HARD_H
#define PTOP_TESTS_HARD_H

#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;

/* A millisecond or so; the caller does something afterwards, so that no call is a tail call. */
NOINLINE void spin(void)
{
	for (int i = 0; i < 100000; i++)
		sink += (unsigned long)i;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

#endif
