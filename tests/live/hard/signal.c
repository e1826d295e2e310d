/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: signal normal|alternate|first
 * A handler that spins over the function that was interrupted by its own fault: on the thread's
 * stack, on an alternate stack, at the very first instruction of the function.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "hard.h"

void fault_at_first(void);
__asm__(".globl just_before, fault_at_first\n"
	".type just_before, @function\n"
	"just_before: .cfi_startproc\n ret\n .cfi_endproc\n .size just_before, . - just_before\n"
	".type fault_at_first, @function\n"
	"fault_at_first: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n"
	".size fault_at_first, . - fault_at_first\n");

NOINLINE void fault_inside(long depth)
{
	char room[200];

	memset(room, (int)depth, sizeof(room));
	sink += (unsigned char)room[depth];
	__asm__ volatile("ud2" ::"r"(room) : "memory");
	sink += (unsigned char)room[depth];
}

NOINLINE void interrupted(const char *how)
{
	ready();
	if (strcmp(how, "first") == 0)
		fault_at_first();
	else
		fault_inside(3);
	sink++;
}

NOINLINE void handler(int number)
{
	for (;;) {
		spin();
		sink += (unsigned long)number;
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handler };
	stack_t stack = { .ss_size = 65536 };

	if (argc > 1 && strcmp(argv[1], "alternate") == 0) {
		stack.ss_sp = malloc(stack.ss_size);
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGILL, &action, NULL);
	interrupted(argc > 1 ? argv[1] : "normal");
	return 0;
}
