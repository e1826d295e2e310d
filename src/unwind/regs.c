/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers as perf numbers them (arch/x86/include/uapi/asm/perf_regs.h, arch/arm64/…) by the
 * numbers of DWARF. */
#include <linux/perf_event.h>
#include <string.h>

#include "unwind/frame.h"
#include "unwind/unwind.h"

enum { NONE = UNWIND_NR_REGS };

static const uint8_t x86_64_numbers[] = {
	0,    3,    2,    1,    4,    5,    6,    7,  16, /* ax bx cx dx si di bp sp ip */
	NONE, NONE, NONE, NONE, NONE, NONE, NONE,         /* flags cs ss ds es fs gs */
	8,    9,    10,   11,   12,   13,   14,   15,
};

static uint32_t dwarf_number(enum unwind_machine machine, uint32_t perf_number)
{
	if (machine == UNWIND_AARCH64)
		return perf_number < UNWIND_NR_REGS ? perf_number : NONE;
	return perf_number < sizeof(x86_64_numbers) ? x86_64_numbers[perf_number] : NONE;
}

/*
 * x86-64 refuses to sample ds, es, fs and gs, which others have other registers under, and needs
 * none of the upper half; aarch64 has sp and pc there.
 */
enum unwind_machine unwind_machine_of(const char *arch, uint64_t regs_user)
{
	const uint64_t segments = 0xf000, sp_pc = 3ull << 31;

	if (arch)
		return !strcmp(arch, "x86_64")                              ? UNWIND_X86_64
		       : !strcmp(arch, "aarch64") || !strcmp(arch, "arm64") ? UNWIND_AARCH64
									    : UNWIND_OTHER;
	if ((regs_user & sp_pc) == sp_pc)
		return UNWIND_AARCH64;
	return regs_user & (segments | ~0xffffffull) ? UNWIND_OTHER : UNWIND_X86_64;
}

bool unwind_regs_of(const struct sample_regs *regs, enum unwind_machine machine,
		    struct unwind_regs *ret)
{
	struct unwind_regs r = { .machine = machine };
	const struct machine *m;
	uint64_t mask = regs->mask, needed;

	if (regs->abi != PERF_SAMPLE_REGS_ABI_64 || machine == UNWIND_OTHER)
		return false;
	m = machine_of(machine);
	needed = 1ull << m->pc | 1ull << m->sp;
	for (uint32_t i = 0; mask && i < regs->regs.nr; i++) {
		uint32_t number = dwarf_number(machine, (uint32_t)__builtin_ctzll(mask));

		mask &= mask - 1;
		if (number == NONE)
			continue;
		r.value[number] = u64s_get(&regs->regs, i);
		r.known |= 1ull << number;
	}
	if ((r.known & needed) != needed)
		return false;
	*ret = r;
	return true;
}
