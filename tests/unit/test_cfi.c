/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every instruction, encoding and augmentation of call frame information, byte by byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/rows.h"
#include "support/elf_bytes.h"
#include "unit/cfi_bed.h"

#define SP DWARF_X86_64_SP
#define BP DWARF_X86_64_BP
#define BX DWARF_X86_64_BX
#define RA DWARF_X86_64_RA

/* At a function's first instruction: the CFA is rsp + 8, the return address just below it. */
#define ENTRY DW_CFA_def_cfa, SP, 8, DW_CFA_offset | RA, 1

/* Rows of one FDE at [BED_CODE, BED_CODE + 0x100) with these instructions after those of a CIE at
 * entry. */
static void one_fde(struct bed *b, const uint8_t *code, size_t size)
{
	struct frames f = { 0 };
	size_t cie = put_cie(&f, &usual, CODE(ENTRY));

	put_fde(&f, cie, &usual, BED_CODE, 0x100, code, size);
	bed_init(b, EM_X86_64, &f, NULL);
}

static const struct unwind_rule *at(const struct bed *b, uint64_t offset)
{
	return rows_find(&b->rows, BED_CODE + offset);
}

static void is_cfa(const struct unwind_rule *r, enum rule_cfa cfa, int reg, int offset)
{
	assert_int_equal(r->cfa, cfa);
	assert_int_equal(r->cfa_reg, reg);
	assert_int_equal(r->cfa_offset, offset);
}

static void is_place(uint8_t where, int32_t offset, enum rule_reg want, int32_t want_offset)
{
	assert_int_equal(where, want);
	assert_int_equal(offset, want_offset);
}

static void is_none(const struct bed *b, uint64_t offset)
{
	assert_int_equal(at(b, offset)->cfa, RULE_CFA_NONE);
	assert_ptr_equal(at(b, offset), &b->rows.rules[ROWS_NO_RULE]);
}

static void a_usual_function(void **state)
{
	struct bed b;

	(void)state;
	one_fde(&b, CODE(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | BP, 2,
			 DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, BP, DW_CFA_offset | BX, 3,
			 DW_CFA_advance_loc1, 0x40, DW_CFA_restore | BX, DW_CFA_restore | BP,
			 DW_CFA_def_cfa, SP, 8));
	is_cfa(at(&b, 0), RULE_CFA_REG, SP, 8);
	is_place(at(&b, 0)->ra, at(&b, 0)->ra_offset, RULE_AT_CFA, -8);
	is_place(at(&b, 0)->bp, at(&b, 0)->bp_offset, RULE_SAME, 0);
	is_cfa(at(&b, 1), RULE_CFA_REG, SP, 16);
	is_place(at(&b, 3)->bp, at(&b, 3)->bp_offset, RULE_AT_CFA, -16);
	is_cfa(at(&b, 4), RULE_CFA_REG, BP, 16);
	is_place(at(&b, 0x43)->bx, at(&b, 0x43)->bx_offset, RULE_AT_CFA, -24);
	/* As at the beginning: the same rule. */
	assert_ptr_equal(at(&b, 0x44), at(&b, 0));
	assert_ptr_equal(at(&b, 0xff), at(&b, 0));
	is_none(&b, 0x100);
	is_none(&b, 0xf000);
	assert_ptr_equal(rows_find(&b.rows, BED_CODE - 1), &b.rows.rules[0]);
	assert_ptr_equal(rows_find(&b.rows, 0), &b.rows.rules[0]);
	assert_ptr_equal(rows_find(&b.rows, UINT64_MAX), &b.rows.rules[0]);
	assert_int_equal(b.rows.header->nr_rows, 5);
	assert_int_equal(b.rows.header->nr_rules, 4);
	assert_int_equal(b.rows.header->base, BED_CODE);
	bed_done(&b);
}

static void locations_move(void **state)
{
	struct frames f = { 0 };
	struct cie_spec absolute = { .augmentation = "zR", .encoding = DW_EH_PE_udata4 };
	struct bed b;
	size_t cie;

	(void)state;
	one_fde(&b, CODE(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 1, DW_CFA_advance_loc1, 2,
			 DW_CFA_def_cfa_offset, 2, DW_CFA_advance_loc2, 3, 0, DW_CFA_def_cfa_offset,
			 3, DW_CFA_advance_loc4, 4, 0, 0, 0, DW_CFA_def_cfa_offset, 4,
			 DW_CFA_MIPS_advance_loc8, 5, 0, 0, 0, 0, 0, 0, 0, DW_CFA_advance_loc | 0,
			 DW_CFA_def_cfa_offset, 5));
	for (int i = 0, place = 0; i <= 5; i++) {
		place += i;
		assert_int_equal(at(&b, place)->cfa_offset, i == 0 ? 8 : i);
		assert_int_equal(at(&b, place + i)->cfa_offset, i == 0 ? 8 : i);
	}
	bed_done(&b);

	cie = put_cie(&f, &absolute, CODE(ENTRY));
	put_fde(&f, cie, &absolute, BED_CODE, 0x100,
		CODE(DW_CFA_set_loc, 0x20, 0x10, 0, 0, DW_CFA_def_cfa_offset, 24));
	/* Backwards is damaged. */
	put_fde(&f, cie, &absolute, BED_CODE + 0x100, 0x100,
		CODE(DW_CFA_set_loc, 0x20, 0x10, 0, 0, DW_CFA_def_cfa_offset, 24));
	bed_init(&b, EM_X86_64, &f, NULL);
	assert_int_equal(at(&b, 0x1f)->cfa_offset, 8);
	assert_int_equal(at(&b, 0x20)->cfa_offset, 24);
	is_none(&b, 0x100);
	is_none(&b, 0x130);
	bed_done(&b);
}

static void code_alignment_scales(void **state)
{
	struct cie_spec spec = { .augmentation = "zR", .encoding = 0x1b, .code_align = 4 };
	struct frames f = { 0 };
	struct bed b;
	size_t cie = put_cie(&f, &spec, CODE(ENTRY));

	(void)state;
	put_fde(&f, cie, &spec, BED_CODE, 0x100,
		CODE(DW_CFA_advance_loc | 3, DW_CFA_def_cfa_offset, 16));
	bed_init(&b, EM_X86_64, &f, NULL);
	assert_int_equal(at(&b, 11)->cfa_offset, 8);
	assert_int_equal(at(&b, 12)->cfa_offset, 16);
	bed_done(&b);
}

static void cfas_are_defined(void **state)
{
	struct bed b;

	(void)state;
	one_fde(&b,
		CODE(DW_CFA_def_cfa, 10, 0, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_sf, BP, 0x7e,
		     DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset_sf, 0x7d, DW_CFA_advance_loc | 1,
		     DW_CFA_def_cfa_register, SP, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset,
		     0x90, 1, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8,
		     DW_CFA_advance_loc | 1, DW_CFA_def_cfa_expression, 1, DW_OP_lit8,
		     DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 8, DW_CFA_advance_loc | 1,
		     DW_CFA_def_cfa, 0x81, 1, 8));
	is_cfa(at(&b, 0), RULE_CFA_REG, 10, 0);
	is_cfa(at(&b, 1), RULE_CFA_REG, BP, 16);
	is_cfa(at(&b, 2), RULE_CFA_REG, BP, 24);
	is_cfa(at(&b, 3), RULE_CFA_REG, SP, 24);
	is_cfa(at(&b, 4), RULE_CFA_REG, SP, 144);
	is_cfa(at(&b, 5), RULE_CFA_REG, SP, 8);
	is_none(&b, 6); /* a number is no place on the stack */
	is_none(&b, 7); /* nor has it an offset */
	is_none(&b, 8); /* a register that nobody has */
	bed_done(&b);
}

static void registers_are_saved(void **state)
{
	struct bed b;

	(void)state;
	one_fde(&b, CODE(DW_CFA_offset_extended, BP, 2, DW_CFA_offset_extended_sf, BX, 0x7f,
			 DW_CFA_advance_loc | 1, DW_CFA_undefined, BP, DW_CFA_same_value, BX,
			 DW_CFA_advance_loc | 1, DW_CFA_GNU_negative_offset_extended, BP, 2,
			 DW_CFA_register, BX, 12, DW_CFA_GNU_args_size, 0x90, 1,
			 DW_CFA_advance_loc | 1, DW_CFA_val_offset, BP, 2, DW_CFA_val_offset_sf, BX,
			 1, DW_CFA_advance_loc | 1, DW_CFA_restore_extended, BP, DW_CFA_register,
			 RA, 5, DW_CFA_register, BX, 40, DW_CFA_nop, DW_CFA_advance_loc | 1,
			 DW_CFA_same_value, RA, DW_CFA_advance_loc | 1, DW_CFA_restore | RA,
			 DW_CFA_val_offset, SP, 0, DW_CFA_advance_loc | 1, DW_CFA_val_offset, SP, 1,
			 DW_CFA_advance_loc | 1, DW_CFA_restore | SP, DW_CFA_offset | 12, 0xff,
			 0xff, 0xff, 0xff, 0xff, 0x7f, DW_CFA_undefined, RA));
	is_place(at(&b, 0)->bp, at(&b, 0)->bp_offset, RULE_AT_CFA, -16);
	is_place(at(&b, 0)->bx, at(&b, 0)->bx_offset, RULE_AT_CFA, 8);
	is_place(at(&b, 1)->bp, at(&b, 1)->bp_offset, RULE_UNDEFINED, 0);
	is_place(at(&b, 1)->bx, at(&b, 1)->bx_offset, RULE_SAME, 0);
	is_place(at(&b, 2)->bp, at(&b, 2)->bp_offset, RULE_AT_CFA, 16);
	is_place(at(&b, 2)->bx, at(&b, 2)->bx_offset, RULE_IN_REG, 12);
	is_place(at(&b, 3)->bp, at(&b, 3)->bp_offset, RULE_UNDEFINED, 0);
	is_place(at(&b, 3)->bx, at(&b, 3)->bx_offset, RULE_UNDEFINED, 0);
	is_place(at(&b, 4)->bp, at(&b, 4)->bp_offset, RULE_SAME, 0);
	is_place(at(&b, 4)->bx, at(&b, 4)->bx_offset, RULE_UNDEFINED, 0);
	is_place(at(&b, 4)->ra, at(&b, 4)->ra_offset, RULE_IN_REG, 5);
	is_none(&b, 5); /* rip cannot be its own caller's */
	is_place(at(&b, 6)->ra, at(&b, 6)->ra_offset, RULE_AT_CFA, -8);
	is_none(&b, 7); /* another stack */
	assert_int_equal(at(&b, 8)->flags, RULE_END);
	assert_int_equal(at(&b, 0xff)->flags, RULE_END);
	assert_int_equal(at(&b, 0x100)->flags, 0);
	bed_done(&b);
}

static void states_are_remembered(void **state)
{
	struct frames f = { 0 };
	uint8_t deep[40];
	struct bed b;
	size_t cie;

	(void)state;
	one_fde(&b, CODE(DW_CFA_remember_state, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16,
			 DW_CFA_offset | BP, 2, DW_CFA_remember_state, DW_CFA_advance_loc | 1,
			 DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc | 1, DW_CFA_restore_state,
			 DW_CFA_advance_loc | 1, DW_CFA_restore_state));
	assert_int_equal(at(&b, 2)->cfa_offset, 24);
	assert_ptr_equal(at(&b, 3), at(&b, 1));
	assert_ptr_equal(at(&b, 4), at(&b, 0));
	bed_done(&b);

	memset(deep, DW_CFA_remember_state, sizeof(deep));
	cie = put_cie(&f, &usual, CODE(ENTRY));
	put_fde(&f, cie, &usual, BED_CODE, 0x10, deep, 16);
	put_fde(&f, cie, &usual, BED_CODE + 0x10, 0x10, deep, 17);
	put_fde(&f, cie, &usual, BED_CODE + 0x20, 0x10, CODE(DW_CFA_restore_state));
	put_fde(&f, cie, &usual, BED_CODE + 0x30, 0x10, NO_CODE);
	bed_init(&b, EM_X86_64, &f, NULL);
	is_cfa(at(&b, 0xf), RULE_CFA_REG, SP, 8);
	is_none(&b, 0x10);
	is_none(&b, 0x20);
	is_cfa(at(&b, 0x30), RULE_CFA_REG, SP, 8);
	bed_done(&b);
}

#define PLT(literal)                                                                            \
	DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and, \
		(DW_OP_lit0 + (literal)), DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus
#define CFA_IS(size, ...) DW_CFA_advance_loc | 1, DW_CFA_def_cfa_expression, size, __VA_ARGS__

static void expressions_are_known_by_shape(void **state)
{
	struct bed b;

	(void)state;
	one_fde(&b, CODE(PLT(11), DW_CFA_advance_loc | 1, PLT(10),
			 CFA_IS(3, DW_OP_breg6, 0x78, DW_OP_deref),
			 CFA_IS(5, DW_OP_breg7, 0x28, DW_OP_deref, DW_OP_plus_uconst, 8),
			 CFA_IS(5, DW_OP_bregx, 7, 0x10, DW_OP_lit8, DW_OP_plus),
			 CFA_IS(5, DW_OP_lit16, DW_OP_breg7, 0x10, DW_OP_plus, DW_OP_nop),
			 CFA_IS(6, DW_OP_breg7, 0x10, DW_OP_const2s, 0xf8, 0xff, DW_OP_minus),
			 CFA_IS(5, DW_OP_breg7, 0x10, DW_OP_const1u, 0xff, DW_OP_plus),
			 CFA_IS(5, DW_OP_breg7, 0x10, DW_OP_breg6, 0, DW_OP_plus),
			 CFA_IS(4, DW_OP_breg7, 0, DW_OP_deref, DW_OP_deref),
			 CFA_IS(1, DW_OP_deref), CFA_IS(1, DW_OP_plus), CFA_IS(1, 0xff),
			 CFA_IS(2, DW_OP_const4u, 1), CFA_IS(0, DW_CFA_nop),
			 CFA_IS(6, DW_OP_breg7, 0, DW_OP_const4u, 0xff, 0xff, 0xff)));
	is_cfa(at(&b, 0), RULE_CFA_PLT, SP, 11);
	is_place(at(&b, 0)->ra, at(&b, 0)->ra_offset, RULE_AT_CFA, -8);
	is_cfa(at(&b, 1), RULE_CFA_PLT, SP, 10);
	is_cfa(at(&b, 2), RULE_CFA_DEREF, BP, -8);
	assert_int_equal(at(&b, 2)->cfa_add, 0);
	is_cfa(at(&b, 3), RULE_CFA_DEREF, SP, 40);
	assert_int_equal(at(&b, 3)->cfa_add, 8);
	is_cfa(at(&b, 4), RULE_CFA_REG, SP, 24);
	is_cfa(at(&b, 5), RULE_CFA_REG, SP, 32);
	is_cfa(at(&b, 6), RULE_CFA_REG, SP, 24);
	is_cfa(at(&b, 7), RULE_CFA_REG, SP, 16 + 255);
	for (uint64_t i = 8; i < 0x20; i++)
		is_none(&b, i);
	bed_done(&b);
}

/* main() of a program with an aligned array, as gcc writes it. */
static void stacks_are_realigned(void **state)
{
	struct bed b;

	(void)state;
	one_fde(&b, CODE(DW_CFA_advance_loc | 5, DW_CFA_def_cfa, 10, 0, DW_CFA_advance_loc | 9,
			 DW_CFA_expression, BP, 2, DW_OP_breg6, 0, DW_CFA_advance_loc | 2,
			 DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
			 DW_CFA_expression, BX, 2, DW_OP_breg6, 0x70));
	is_cfa(at(&b, 5), RULE_CFA_REG, 10, 0);
	is_place(at(&b, 14)->bp, at(&b, 14)->bp_offset, RULE_AT_BP, 0);
	is_cfa(at(&b, 16), RULE_CFA_DEREF, BP, -8);
	is_place(at(&b, 16)->bp, at(&b, 16)->bp_offset, RULE_AT_REG, 0);
	is_place(at(&b, 16)->bx, at(&b, 16)->bx_offset, RULE_AT_REG, -16);
	is_place(at(&b, 16)->ra, at(&b, 16)->ra_offset, RULE_AT_CFA, -8);
	bed_done(&b);
	/* Expressions start with the CFA; other registers than those of the rule are not told. */
	one_fde(&b, CODE(DW_CFA_expression, BP, 2, DW_OP_plus_uconst, 8, DW_CFA_expression, BX, 2,
			 DW_OP_lit24, DW_OP_minus, DW_CFA_advance_loc | 1, DW_CFA_expression, BP, 2,
			 DW_OP_breg12, 0, DW_CFA_val_expression, BX, 2, DW_OP_breg12, 0,
			 DW_CFA_advance_loc | 1, DW_CFA_expression, RA, 2, DW_OP_breg12, 0));
	is_place(at(&b, 0)->bp, at(&b, 0)->bp_offset, RULE_AT_CFA, 8);
	is_place(at(&b, 0)->bx, at(&b, 0)->bx_offset, RULE_AT_CFA, -24);
	is_place(at(&b, 1)->bp, at(&b, 1)->bp_offset, RULE_UNDEFINED, 0);
	is_place(at(&b, 1)->bx, at(&b, 1)->bx_offset, RULE_IN_REG, 12);
	is_none(&b, 2);
	bed_done(&b);
}

static void signal_frames(void **state)
{
	struct cie_spec spec = { .augmentation = "zRS", .encoding = 0x1b };
	struct frames f = { 0 };
	struct bed b;
	size_t cie = put_cie(&f, &spec, NO_CODE);

	(void)state;
	put_fde(&f, cie, &spec, BED_CODE, 0x10,
		CODE(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 1, DW_OP_deref,
		     DW_CFA_expression, RA, 3, DW_OP_breg7, 0xa8, 1, DW_CFA_expression, BP, 3,
		     DW_OP_breg7, 0xf8, 0, DW_CFA_expression, BX, 3, DW_OP_breg7, 0x80, 1,
		     DW_CFA_expression, SP, 3, DW_OP_breg7, 0xa0, 1));
	bed_init(&b, EM_X86_64, &f, NULL);
	is_cfa(at(&b, 0), RULE_CFA_DEREF, SP, 160);
	is_place(at(&b, 0)->ra, at(&b, 0)->ra_offset, RULE_AT_REG, 168);
	is_place(at(&b, 0)->bp, at(&b, 0)->bp_offset, RULE_AT_REG, 120);
	is_place(at(&b, 0)->bx, at(&b, 0)->bx_offset, RULE_AT_REG, 128);
	assert_int_equal(at(&b, 0)->flags, RULE_SIGNAL);
	bed_done(&b);
}

static void addresses_in_every_encoding(void **state)
{
	static const uint8_t good[] = { 0x00, 0x01, 0x02, 0x03, 0x04, 0x09, 0x0a, 0x0b,
					0x0c, 0x10, 0x19, 0x1b, 0x1c, 0x30, 0x3b, 0x3c };
	static const uint8_t bad[] = { 0x05, 0x08, 0x0f, 0x20, 0x4b, 0x50, 0x80, 0x9b, 0xff };
	struct bed b;

	(void)state;
	for (size_t i = 0; i < sizeof(good) + sizeof(bad); i++) {
		bool refused = i >= sizeof(good);
		struct cie_spec spec = { .augmentation = "zR" };
		struct frames f = { 0 };
		size_t cie;

		spec.encoding = refused ? bad[i - sizeof(good)] : good[i];
		cie = put_cie(&f, &spec, CODE(ENTRY));
		put_fde(&f, cie, &spec, BED_CODE + 0x123, 0x45, NO_CODE);
		assert_int_equal(bed_try(&b, EM_X86_64, &f, NULL), refused ? -ENODATA : 0);
		if (refused)
			continue;
		is_none(&b, 0x122);
		is_cfa(at(&b, 0x123), RULE_CFA_REG, SP, 8);
		is_cfa(at(&b, 0x123 + 0x44), RULE_CFA_REG, SP, 8);
		is_none(&b, 0x123 + 0x45);
		bed_done(&b);
	}
}

static void augmentations(void **state)
{
	static const struct {
		struct cie_spec spec;
		bool good;
	} cases[] = {
		{ { .augmentation = "" }, true },
		{ { .augmentation = "z" }, true },
		{ { .augmentation = "zPLR", .encoding = 0x1b }, true },
		{ { .augmentation = "zR", .encoding = 0x1b, .version = 3 }, true },
		{ { .augmentation = "zR", .encoding = 0x1b, .version = 2 }, false },
		{ { .augmentation = "zR", .encoding = 0x1b, .version = 5 }, false },
		{ { .augmentation = "zRB", .encoding = 0x1b }, false },
		{ { .augmentation = "zRx", .encoding = 0x1b }, false },
		{ { .augmentation = "eh" }, false },
		{ { .augmentation = "zR", .encoding = 0x1b, .ra = 8 }, false },
	};
	struct bed b;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frames f = { 0 };
		size_t cie = put_cie(&f, &cases[i].spec, CODE(ENTRY));

		put_fde(&f, cie, &cases[i].spec, BED_CODE, 0x45, NO_CODE);
		assert_int_equal(bed_try(&b, EM_X86_64, &f, NULL), cases[i].good ? 0 : -ENODATA);
		if (cases[i].good)
			is_cfa(at(&b, 0), RULE_CFA_REG, SP, 8);
		bed_done(&b);
	}
}

/* What is damaged costs its own FDE its rows, and no other. */
static void damage_is_contained(void **state)
{
#define DAMAGED(...) { __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
	static const struct {
		uint8_t code[16];
		size_t size;
	} damaged[] = {
		{ DAMAGED(DW_CFA_advance_loc | 1, 0x17, 0, 0, 0) },
		{ DAMAGED(DW_CFA_advance_loc | 1, 0x3f, 0, 0, 0) },
		{ DAMAGED(DW_CFA_advance_loc | 1, DW_CFA_AARCH64_negate_ra_state, 0, 0) },
		{ DAMAGED(DW_CFA_advance_loc | 1, DW_CFA_advance_loc4, 1) },
		{ DAMAGED(DW_CFA_advance_loc | 1, 0, DW_CFA_offset | BP) },
		{ DAMAGED(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_expression, 100, 0) },
		{ DAMAGED(DW_CFA_offset | BP, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			  0xff, 0xff, 0xff) },
		{ DAMAGED(DW_CFA_def_cfa_offset, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0) },
		{ DAMAGED(DW_CFA_MIPS_advance_loc8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			  0, 0, 0) },
	};
	struct bed b;

	(void)state;
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		struct frames f = { 0 };
		size_t cie = put_cie(&f, &usual, CODE(ENTRY));

		put_fde(&f, cie, &usual, BED_CODE + 0x10, 0x10, NO_CODE);
		put_fde(&f, cie, &usual, BED_CODE + 0x20, 0x10, damaged[i].code, damaged[i].size);
		put_fde(&f, cie, &usual, BED_CODE + 0x30, 0x10,
			CODE(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16));
		bed_init(&b, EM_X86_64, &f, NULL);
		is_cfa(at(&b, 0x1f), RULE_CFA_REG, SP, 8);
		for (uint64_t place = 0x20; place < 0x30; place++)
			is_none(&b, place);
		is_cfa(at(&b, 0x30), RULE_CFA_REG, SP, 8);
		is_cfa(at(&b, 0x31), RULE_CFA_REG, SP, 16);
		bed_done(&b);
	}
}

/* A CIE describes one place. */
static void cies_do_not_move(void **state)
{
	static const uint8_t codes[][4] = {
		{ DW_CFA_advance_loc | 1, DW_CFA_nop, DW_CFA_nop, DW_CFA_nop },
		{ DW_CFA_nop, DW_CFA_nop, DW_CFA_nop, DW_CFA_advance_loc | 1 },
		{ DW_CFA_restore_state, DW_CFA_nop, DW_CFA_nop, DW_CFA_nop },
	};
	struct bed b;

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct frames f = { 0 };
		size_t cie = put_cie(&f, &usual, codes[i], sizeof(codes[i]));

		put_fde(&f, cie, &usual, BED_CODE, 0x10, CODE(ENTRY));
		assert_int_equal(bed_try(&b, EM_X86_64, &f, NULL), -ENODATA);
	}
}

static void aarch64(void **state)
{
	struct cie_spec spec = {
		.augmentation = "zRB", .encoding = 0x1b, .ra = DWARF_AARCH64_LR, .code_align = 4
	};
	struct frames f = { 0 };
	struct bed b;
	size_t cie = put_cie(&f, &spec, CODE(DW_CFA_def_cfa, DWARF_AARCH64_SP, 0));

	(void)state;
	put_fde(&f, cie, &spec, BED_CODE, 0x40,
		CODE(DW_CFA_advance_loc | 1, DW_CFA_AARCH64_negate_ra_state, DW_CFA_advance_loc | 1,
		     DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 29, 4, DW_CFA_offset | 30, 3,
		     DW_CFA_advance_loc | 1, DW_CFA_def_cfa_register, 29, DW_CFA_advance_loc | 1,
		     0x2c, DW_CFA_undefined, 30));
	bed_init(&b, EM_AARCH64, &f, NULL);
	assert_int_equal(b.rows.header->machine, ROWS_AARCH64);
	is_cfa(at(&b, 0), RULE_CFA_REG, DWARF_AARCH64_SP, 0);
	is_place(at(&b, 0)->ra, at(&b, 0)->ra_offset, RULE_SAME, 0);
	assert_ptr_equal(at(&b, 4), at(&b, 0));
	is_cfa(at(&b, 8), RULE_CFA_REG, DWARF_AARCH64_SP, 32);
	is_place(at(&b, 8)->bp, at(&b, 8)->bp_offset, RULE_AT_CFA, -32);
	is_place(at(&b, 8)->ra, at(&b, 8)->ra_offset, RULE_AT_CFA, -24);
	is_cfa(at(&b, 12), RULE_CFA_REG, DWARF_AARCH64_FP, 32);
	assert_int_equal(at(&b, 16)->flags, RULE_END);
	bed_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_usual_function),
		cmocka_unit_test(locations_move),
		cmocka_unit_test(code_alignment_scales),
		cmocka_unit_test(cfas_are_defined),
		cmocka_unit_test(registers_are_saved),
		cmocka_unit_test(states_are_remembered),
		cmocka_unit_test(expressions_are_known_by_shape),
		cmocka_unit_test(stacks_are_realigned),
		cmocka_unit_test(signal_frames),
		cmocka_unit_test(addresses_in_every_encoding),
		cmocka_unit_test(augmentations),
		cmocka_unit_test(damage_is_contained),
		cmocka_unit_test(cies_do_not_move),
		cmocka_unit_test(aarch64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
