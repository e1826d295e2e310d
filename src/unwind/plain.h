/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule of nearly every x86-64 frame in one word: CFA = sp or bp + offset, the return address
 * right below it, bp and bx unchanged or saved below (so that nothing above the CFA is read).
 *Private to this folder.
 *
 *	bit 0		1, which no pointer to a rule has
 *	bit 1		the CFA is by bp
 *	bit 2, 3	bp, bx are saved
 *	bits 4..23, 24..43, 44..63	signed offsets of the CFA, bp and bx, in words
 */
#ifndef PTOP_UNWIND_PLAIN_H
#define PTOP_UNWIND_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "image/rows.h"

enum { PLAIN = 1, PLAIN_BY_BP = 2, PLAIN_BP_SAVED = 4, PLAIN_BX_SAVED = 8 };

static inline uint64_t plain_bit(uint64_t plain, uint64_t flag)
{
	return (plain & flag) / flag;
}

/* Bytes. */
static inline uint64_t plain_cfa(uint64_t plain)
{
	return (uint64_t)((int64_t)(plain << 40) >> 44) * 8;
}

static inline uint64_t plain_bp(uint64_t plain)
{
	return (uint64_t)((int64_t)(plain << 20) >> 44) * 8;
}

static inline uint64_t plain_bx(uint64_t plain)
{
	return (uint64_t)((int64_t)plain >> 44) * 8;
}

static inline bool plain_offset(int32_t offset, unsigned int shift, uint64_t *plain)
{
	*plain |= ((uint64_t)(int64_t)(offset / 8) & 0xfffff) << shift;
	return offset % 8 == 0 && offset >= -(8 << 19) && offset < 8 << 19;
}

/* 0 where the rule is not that plain. */
static inline uint64_t plain_of(const struct unwind_rule *r)
{
	uint64_t plain = PLAIN;
	bool fits = r->cfa == RULE_CFA_REG && r->ra == RULE_AT_CFA && r->ra_offset == -8 &&
		    r->flags == 0;

	if (r->cfa_reg == DWARF_X86_64_BP)
		plain |= PLAIN_BY_BP;
	else
		fits &= r->cfa_reg == DWARF_X86_64_SP;
	fits &= plain_offset(r->cfa_offset, 4, &plain);
	if (r->bp == RULE_AT_CFA) {
		plain |= PLAIN_BP_SAVED;
		fits &= plain_offset(r->bp_offset, 24, &plain) && r->bp_offset < 0;
	} else {
		fits &= r->bp == RULE_SAME;
	}
	if (r->bx == RULE_AT_CFA) {
		plain |= PLAIN_BX_SAVED;
		fits &= plain_offset(r->bx_offset, 44, &plain) && r->bx_offset < 0;
	} else {
		fits &= r->bx == RULE_SAME;
	}
	return fits ? plain : 0;
}

static inline struct unwind_rule plain_rule(uint64_t plain)
{
	return (struct unwind_rule){
		.cfa = RULE_CFA_REG,
		.cfa_reg = plain & PLAIN_BY_BP ? DWARF_X86_64_BP : DWARF_X86_64_SP,
		.ra = RULE_AT_CFA,
		.bp = plain & PLAIN_BP_SAVED ? RULE_AT_CFA : RULE_SAME,
		.bx = plain & PLAIN_BX_SAVED ? RULE_AT_CFA : RULE_SAME,
		.cfa_offset = (int32_t)plain_cfa(plain),
		.ra_offset = -8,
		.bp_offset = (int32_t)plain_bp(plain),
		.bx_offset = (int32_t)plain_bx(plain),
	};
}

#endif
