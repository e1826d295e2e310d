/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A handler returns to the restorer that sigaction(2) was given; above the return address is the
 * kernel's ucontext (struct rt_sigframe, arch/x86/include/asm/sigframe.h), with the registers of
 * what was interrupted at fixed offsets.
 */
#include "image/rows_code.h"

#include <stdbool.h>
#include <string.h>

/* Offsets from sp: struct ucontext, its sigcontext (asm/sigcontext.h). */
static const struct unwind_rule signal_return = {
	.cfa = RULE_CFA_DEREF,
	.cfa_reg = DWARF_X86_64_SP,
	.cfa_offset = 160,
	.ra = RULE_AT_REG,
	.ra_offset = 168,
	.bp = RULE_AT_REG,
	.bp_offset = 120,
	.bx = RULE_AT_REG,
	.bx_offset = 128,
	.flags = RULE_SIGNAL,
};

/* mov $15, %eax or %rax (__NR_rt_sigreturn); syscall */
static const uint8_t restorers[][9] = {
	{ 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
	{ 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 },
};
static const uint8_t restorer_sizes[] = { 9, 7 };

/* The first restorer from @from on; @size where there is none. */
static size_t find_restorer(const uint8_t *bytes, size_t size, size_t from, size_t *ret_size)
{
	size_t first = size;

	for (size_t i = 0; i < sizeof(restorer_sizes); i++) {
		const uint8_t *at =
			memmem(bytes + from, size - from, restorers[i], restorer_sizes[i]);

		if (at != NULL && (size_t)(at - bytes) < first) {
			first = (size_t)(at - bytes);
			*ret_size = restorer_sizes[i];
		}
	}
	return first;
}

/*
 * The row begins a byte early, as in glibc: return addresses are looked up in the byte before, and
 * no call is there.
 */
int rows_code(const uint8_t *bytes, size_t size, uint64_t vaddr, enum rows_machine machine,
	      rows_code_fn *put, void *ctx)
{
	size_t from = 0, length = 0;
	int err = 0;

	if (machine != ROWS_X86_64)
		return 0;
	while (err == 0 && from < size) {
		size_t at = find_restorer(bytes, size, from, &length);

		if (at == size)
			break;
		err = put(ctx, vaddr + at - (at > from), &signal_return);
		if (err == 0)
			err = put(ctx, vaddr + at + length, NULL);
		from = at + length;
	}
	return err;
}
