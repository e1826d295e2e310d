/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of one function: the kernel enters it, nothing called it. */
static const char text[] = "ready\n";

void _start(void)
{
	unsigned long n;
	volatile unsigned long sum = 0;

	__asm__ volatile("syscall"
			 : "=a"(n)
			 : "a"(1), "D"(1), "S"(text), "d"(sizeof(text) - 1)
			 : "rcx", "r11", "memory");
	for (;;)
		sum += n;
}
