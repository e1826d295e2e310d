/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: alias alias|gap|asm|cold|copy|kernel
 * Names that symbol tables tell many times, not at all, or without a size.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hard.h"

/* Three names of one function; the plain one is meant. */
NOINLINE void plain_name(void)
{
	spin();
	sink++;
}
extern __typeof(plain_name) __plain_name __attribute__((alias("plain_name")));
extern __typeof(plain_name) __GI___plain_name __attribute__((weak, alias("plain_name")));

/* Code that no symbol covers, behind one that is well known. */
void small_function(void), code_of_no_symbol(void);
__asm__(".text\n.globl small_function\n.type small_function, @function\n"
	"small_function: .cfi_startproc\n ret\n"
	".size small_function, . - small_function\n"
	".balign 16\n .Lgap: movl $100000, %eax\n 1: decl %eax\n jnz 1b\n ret\n .cfi_endproc\n"
	".data\n.globl gap\n gap: .quad .Lgap\n.text\n"
	/* No size, as assembler often has it. */
	".globl unsized_function\n.type unsized_function, @function\n"
	"unsized_function: movl $100000, %eax\n 2: decl %eax\n jnz 2b\n ret\n"
	".globl after_unsized\n.type after_unsized, @function\n"
	"after_unsized: ret\n .size after_unsized, . - after_unsized\n");
extern void (*gap)(void);
void unsized_function(void);

/* The unlikely half of it is moved away as whole_function.cold. */
NOINLINE void whole_function(int n)
{
	if (__builtin_expect(n > 0, 0)) {
		for (;;) {
			spin();
			sink++;
			if (sink == 1)
				abort();
		}
	}
	sink++;
}

static char from[1 << 18], to[1 << 18];

NOINLINE void copies(void)
{
	memmove(to, from, sizeof(to));
	sink += (unsigned char)to[sink % sizeof(to)];
}

NOINLINE void calls_kernel(void)
{
	char buffer[64];

	if (pread(0, buffer, sizeof(buffer), 0) < 0)
		sink++;
	sink += (unsigned long)getppid();
}

NOINLINE void calls(const char *how)
{
	if (strcmp(how, "alias") == 0)
		plain_name();
	else if (strcmp(how, "gap") == 0)
		gap();
	else if (strcmp(how, "asm") == 0)
		unsized_function();
	else if (strcmp(how, "cold") == 0)
		whole_function(1);
	else if (strcmp(how, "copy") == 0)
		copies();
	else
		calls_kernel();
	sink++;
}

int main(int argc, char **argv)
{
	ready();
	for (;;)
		calls(argc > 1 ? argv[1] : "alias");
}
