/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Built twice: FUNCTION's name and PADDING differ, so the same offsets mean other functions. */
volatile unsigned long sink;

__attribute__((noinline)) void padding(void)
{
	PADDING;
}

__attribute__((noinline, noclone)) void FUNCTION(void)
{
	for (int i = 0; i < 100000; i++)
		sink += (unsigned long)i;
}

void entry(void)
{
	FUNCTION();
	sink++;
}
