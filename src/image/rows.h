/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How to unwind one frame of an ELF file's code, as one flat run of bytes beside its symbol table:
 * rows (from this address on, that rule) sorted by address, and the few distinct rules.
 *
 * Built by rows_build(), a pure function of a descriptor, from .eh_frame or .debug_frame through
 * our own interpreter (cfi.h); checked once by rows_check(), after which look-ups check nothing.
 *
 * Three registers are followed beside the instruction pointer: sp, bp and bx of x86-64 (some CFAs
 * are by rbx); on aarch64 sp, fp (x29) and lr.  Others matter in the innermost frame only, whose
 * registers are all known. Return addresses on aarch64 may be signed (their top bits): rules do not
 * tell where. Facts: DWARF 5 section 6.4; System V x86-64 psABI 3.7; LSB "Eh_Frame"; AAPCS64 DWARF.
 */
#ifndef PTOP_IMAGE_ROWS_H
#define PTOP_IMAGE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "image/table.h"

/* The canonical frame address: the stack pointer before the call. */
enum rule_cfa {
	RULE_CFA_NONE,  /* no rule covers the address */
	RULE_CFA_REG,   /* .cfa_reg + .cfa_offset */
	RULE_CFA_DEREF, /* the word at .cfa_reg + .cfa_offset, plus .cfa_add (realigned stacks,
			   signal frames, stacks saved on the new stack) */
	RULE_CFA_PLT,   /* x86-64 PLT: rsp + 8 + (((rip & 15) >= .cfa_offset) << 3) */
};

/* Where the caller's value of a register is.  Of the return address: RULE_SAME, on aarch64 only, is
 * lr. */
enum rule_reg {
	RULE_SAME,   /* unchanged */
	RULE_AT_CFA, /* the word at CFA + offset */
	RULE_AT_REG, /* the word at .cfa_reg + offset (signal frames) */
	RULE_IN_REG, /* in the register numbered offset (DWARF numbers): innermost frame only */
	RULE_AT_BP,  /* the word at bp (x29) + offset, while .cfa_reg is another: prologues that
			realign */
	RULE_UNDEFINED,
};

enum rule_flags {
	RULE_END = 1 << 0, /* the return address is undefined: the outermost frame; nothing else of
			      the rule counts */
	RULE_SIGNAL =
		1 << 1, /* the caller was interrupted, it did not call: its address is exact */
};

/* DWARF register numbers that rules name. */
enum {
	DWARF_X86_64_BX = 3,
	DWARF_X86_64_BP = 6,
	DWARF_X86_64_SP = 7,
	DWARF_X86_64_RA = 16,
	DWARF_AARCH64_FP = 29,
	DWARF_AARCH64_LR = 30,
	DWARF_AARCH64_SP = 31,
};

struct unwind_rule {
	uint8_t cfa;        /* enum rule_cfa */
	uint8_t cfa_reg;    /* DWARF number */
	uint8_t ra, bp, bx; /* enum rule_reg; aarch64: bp is x29, bx is unused */
	uint8_t flags;      /* enum rule_flags */
	int16_t cfa_add;
	int32_t cfa_offset, ra_offset, bp_offset, bx_offset;
};

#define ROWS_NO_RULE 0u /* rule 0 is RULE_CFA_NONE */

#define ROWS_MAGIC 0x31776f7270747470ull /* "pttprow1" in little endian */
#define ROWS_VERSION 1u
#define ROWS_RULES_MAX 65536u
#define ROWS_REGISTERS 33u /* that rules may name: DWARF numbers below it */

enum rows_machine { ROWS_X86_64, ROWS_AARCH64 };

struct rows_header {
	uint64_t magic;
	uint32_t version;
	uint32_t machine;           /* enum rows_machine */
	uint64_t size;              /* of all bytes */
	uint64_t base;              /* vaddr that rows count from */
	uint32_t nr_rows, nr_rules; /* rules <= 65536 */
	uint32_t nr_segments, unused;
	uint64_t segments_at, starts_at, indices_at, rules_at;
};

struct rows {
	const struct rows_header *header;
	const struct table_segment *segments;
	const uint32_t *starts;  /* vaddr - base, strictly rising */
	const uint16_t *indices; /* into rules; as many as starts */
	const struct unwind_rule *rules;
};

/* Verifies @bytes (8-aligned) and sets up @ret; 0 or -EBADMSG. */
int rows_check(const void *bytes, size_t size, struct rows *ret);

/* The rule for code at @vaddr: of the last row at or before it. Rule 0 where nothing covers it. */
const struct unwind_rule *rows_find(const struct rows *r, uint64_t vaddr);

/* Where a byte of the file is in the ELF's own address space; false outside executable segments. */
bool rows_vaddr(const struct rows *r, uint64_t file_offset, uint64_t *ret_vaddr);

struct rows_bytes {
	void *at; /* malloc'd; passes rows_check() */
	size_t size;
};

/*
 * Builds the rows of @fd (a regular ELF file, borrowed; hostile bytes are safe). @debug_fd: its
 * separate debug file for .debug_frame, or -1.  0; -ENODATA: no CFI at all; -ENOEXEC, -EFBIG,
 * -ENOMEM.  Rows of damaged FDEs are left out.
 */
int rows_build(int fd, int debug_fd, struct rows_bytes *ret, struct reason *why);
int rows_build_memory(const void *elf, size_t size, struct rows_bytes *ret, struct reason *why);

#endif
