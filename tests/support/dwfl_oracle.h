/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same stacks as elfutils' libdwfl sees them: one Dwfl kept for a process, all its modules
 * reported, memory read from the sample.
 */
#ifndef PTOP_TESTS_DWFL_ORACLE_H
#define PTOP_TESTS_DWFL_ORACLE_H

#include "support/stack_samples.h"

struct dwfl_oracle;
struct dwfl_oracle *dwfl_oracle_new(pid_t pid); /* a living process; NULL on failure */
void dwfl_oracle_free(struct dwfl_oracle *o);

/* Writes the addresses of a sample's frames as they are looked up (one back in callers). */
uint32_t dwfl_oracle_unwind(struct dwfl_oracle *o, const struct stack_sample *s, uint64_t *addrs,
			    uint32_t max);

/*
 * How the two chains of a sample compare.  Where they differ, libdwfl is provably wrong if it left
 * out a frame whose return address follows a call, or stopped before one, or went on in addresses
 * that are no code.
 */
enum chain_kind {
	CHAIN_SAME,
	CHAIN_LOST_CALLER,
	CHAIN_LOST_REST,
	CHAIN_NO_CODE,
	CHAIN_DIFFERENT,
	NR_CHAIN_KINDS
};
extern const char *const chain_kind_names[NR_CHAIN_KINDS];
enum chain_kind chain_compare(const struct stack_samples *s, const struct unwound *u,
			      const struct place *places, const uint64_t *addrs, uint32_t nr);

#endif
