/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The length and the parts of an x86-64 instruction: enough to follow the stack pointer through
 * code.  Pure; bytes may be hostile.  Facts: Intel SDM volume 2, chapter 2 and appendix A.
 */
#ifndef PTOP_IMAGE_X86_H
#define PTOP_IMAGE_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_map { X86_ONE_BYTE, X86_0F, X86_0F38, X86_0F3A, X86_OTHER };

enum { X86_BX = 3, X86_SP = 4, X86_BP = 5, X86_LENGTH_MAX = 15 };

struct x86 {
	uint8_t length; /* bytes, at most X86_LENGTH_MAX */
	uint8_t map;    /* enum x86_map; X86_OTHER: VEX and EVEX, which leave the stack alone */
	uint8_t opcode;
	bool wide;      /* REX.W */
	bool has_modrm; /* then: */
	uint8_t mod;
	uint8_t reg, rm; /* 0..15; .rm of memory: the base, where .has_base */
	bool has_base;   /* base + .disp, without an index */
	bool by_ip;      /* .disp counts from the next instruction */
	int32_t disp;
	int64_t imm; /* sign-extended; 0 where there is none.  Of jumps: from the next one */
};

/* Decodes the instruction at @bytes; false where there is none or it is cut. */
bool x86_decode(const uint8_t *bytes, size_t size, struct x86 *ret);

/* Whether it does nothing: what fills gaps between functions. */
bool x86_is_padding(const struct x86 *i);

#endif
