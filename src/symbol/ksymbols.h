/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel code that came and went while ptop ran, from KSYMBOL records: BPF programs, trampolines.
 * A name outlives its unregistering, for the samples of before, until its addresses are given to
 * another.
 */
#ifndef PTOP_SYMBOL_KSYMBOLS_H
#define PTOP_SYMBOL_KSYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "record/record.h"

struct ksymbol {
	uint64_t start, end;
	uint32_t function;
	bool gone;
};

struct ksymbols {
	VEC(struct ksymbol) at; /* sorted, not overlapping */
};

void ksymbols_done(struct ksymbols *k);

/* Adds [@start, @end), dropping what it overlaps.  *@ret_replaced: something was there.  0,
 * -EINVAL, -ENOMEM or -E2BIG. */
int ksymbols_add(struct ksymbols *k, uint64_t start, uint64_t end, uint32_t function,
		 bool *ret_replaced);
void ksymbols_remove(struct ksymbols *k, uint64_t start);

/* What lies at @addr, registered or gone; NULL. */
const struct ksymbol *ksymbols_find(const struct ksymbols *k, uint64_t addr);

#endif
