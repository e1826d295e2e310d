/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every kind of rule and every way a stack ends, on stacks made by hand. */
#include "unit/unwind_bed.h"

#define P(offset) (PROGRAM + (offset))
#define F(offset) ((uint64_t)(offset))

/* leaf (0x100) <- middle (0x200) <- main (0x300) <- start (0x400) */
static void three_frames(struct bed *b)
{
	program_rule(b, 0x100, 0x200, by_sp(8));
	program_rule(b, 0x200, 0x300, by_sp(32));
	program_rule(b, 0x300, 0x400, by_sp(16));
	program_rule(b, 0x400, 0x500, outermost);
	at(b, P(0x110), 0);
	put(b, 0, P(0x220));
	put(b, 8 + 24, P(0x330));
	put(b, 40 + 8, P(0x440));
}

static void rules_by_sp(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	three_frames(b);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x21f), F(0x32f), F(0x43f));
	assert_int_equal(u.by_rules, 3);
	assert_int_equal(u.by_guess, 0);
}

static void return_address_zero_is_the_end(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	three_frames(b);
	put(b, 48, 0);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	assert_int_equal(u.nr, 3);
}

static void copy_ends(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	three_frames(b);
	b->nr_words = 6; /* the third return address is the seventh word */
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_CUT);
	assert_int_equal(u.nr, 3);
	b->nr_words = 0;
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_CUT);
	assert_int_equal(u.nr, 1);
}

static void return_address_outside_code(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	three_frames(b);
	put(b, 32, 0x1234567);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
	FRAMES(b, &u, F(0x110), F(0x21f));
}

static void limit_of_frames(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	three_frames(b);
	u = unwind_at_most(b, 3);
	assert_int_equal(u.end, UNWIND_DEEP);
	assert_int_equal(u.nr, 3);
	u = unwind_at_most(b, 4);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	program_rule(b, 0x500, 0x600, by_sp(8)); /* a recursion */
	at(b, P(0x510), 0);
	for (uint64_t i = 0; i < BED_WORDS; i++)
		put(b, i * 8, P(0x510));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_DEEP);
	assert_int_equal(u.nr, BED_FRAMES);
}

/* The call is the last instruction of 0x200..0x300: its return address is in the next function. */
static void call_of_noreturn(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	three_frames(b);
	put(b, 0, P(0x300));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x2ff), F(0x32f), F(0x43f));
}

static void rules_by_bp(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	program_rule(b, 0x100, 0x300, by_bp());
	program_rule(b, 0x400, 0x500, outermost);
	at(b, P(0x110), STACK + 64);
	put(b, 64, STACK + 128);
	put(b, 72, P(0x210));
	put(b, 128, 0);
	put(b, 136, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x20f), F(0x40f));
}

/* bp goes through frames that save it elsewhere and frames that do not touch it. */
static void bp_is_followed(void **state)
{
	struct unwind_rule saves = by_sp(32);
	struct bed *b = *state;
	struct unwound u;

	saves.bp = RULE_AT_CFA;
	saves.bp_offset = -24;
	program_rule(b, 0x100, 0x200, saves);
	program_rule(b, 0x200, 0x300, by_sp(16));
	program_rule(b, 0x300, 0x400, by_bp());
	program_rule(b, 0x400, 0x500, outermost);
	at(b, P(0x110), 0xdead);
	put(b, 8, STACK + 80);
	put(b, 24, P(0x210));
	put(b, 40, P(0x310));
	put(b, 80, 0);
	put(b, 88, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x20f), F(0x30f), F(0x40f));
}

/* As in ld.so's resolver: the CFA is by rbx, which a callee saved. */
static void cfa_by_bx(void **state)
{
	struct unwind_rule saves = by_sp(16), by_bx = by_sp(24);
	struct bed *b = *state;
	struct unwound u;

	saves.bx = RULE_AT_CFA;
	saves.bx_offset = -16;
	by_bx.cfa_reg = DWARF_X86_64_BX;
	by_bx.bx = RULE_AT_CFA;
	by_bx.bx_offset = -24;
	program_rule(b, 0x100, 0x200, saves);
	program_rule(b, 0x200, 0x300, by_bx);
	program_rule(b, 0x400, 0x500, outermost);
	at(b, P(0x110), 0);
	put(b, 0, STACK + 96);
	put(b, 8, P(0x210));
	put(b, 112, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x20f), F(0x40f));
}

/*
 * A prologue that realigns: the CFA is in r10, of which only the innermost frame knows; further on
 * it is saved below bp.
 */
static void realigned_stack(void **state)
{
	struct unwind_rule early = by_sp(0), late = by_sp(-8);
	struct bed *b = *state;
	struct unwound u;

	early.cfa_reg = 10;
	late.cfa = RULE_CFA_DEREF;
	late.cfa_reg = DWARF_X86_64_BP;
	late.bp = RULE_AT_REG;
	late.bp_offset = 0;
	program_rule(b, 0x100, 0x180, early);
	program_rule(b, 0x180, 0x200, late);
	program_rule(b, 0x400, 0x500, outermost);
	at(b, P(0x110), 0);
	set_reg(b, 10, STACK + 32);
	put(b, 24, P(0x1a0));
	set_reg(b, DWARF_X86_64_BP, STACK + 64);
	put(b, 64, 0);
	put(b, 56, STACK + 104);
	put(b, 96, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x19f), F(0x40f));
	put(b, 24, P(0x120)); /* r10 is not known there */
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
	FRAMES(b, &u, F(0x110), F(0x11f));
	program_rule(b, 0x500, 0x600, by_sp(8)); /* nor behind a frame of the usual rule */
	at(b, P(0x510), 0);
	set_reg(b, 10, STACK + 32);
	put(b, 0, P(0x120));
	put(b, 24, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
	FRAMES(b, &u, F(0x510), F(0x11f));
}

/* Switched stacks: the old sp lies on the new stack, the CFA is some bytes above it. */
static void cfa_from_memory_and_more(void **state)
{
	struct unwind_rule rule = by_sp(16);
	struct bed *b = *state;
	struct unwound u;

	rule.cfa = RULE_CFA_DEREF;
	rule.cfa_add = 8;
	rule.bp = RULE_AT_BP;
	rule.bp_offset = -16;
	program_rule(b, 0x100, 0x200, rule);
	program_rule(b, 0x200, 0x300, by_bp());
	program_rule(b, 0x400, 0x500, outermost);
	at(b, P(0x110), STACK + 48);
	put(b, 16, STACK + 72);
	put(b, 32, STACK + 160);
	put(b, 72, P(0x210));
	put(b, 160, 0);
	put(b, 168, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x20f), F(0x40f));
}

/* vfork() keeps its return address in rdi. */
static void return_address_in_register(void **state)
{
	struct unwind_rule rule = by_sp(0);
	struct bed *b = *state;
	struct unwound u;

	rule.ra = RULE_IN_REG;
	rule.ra_offset = 5;
	program_rule(b, 0x100, 0x200, rule);
	program_rule(b, 0x400, 0x500, outermost);
	at(b, P(0x110), 0);
	set_reg(b, 5, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x40f));
	b->regs.known &= ~(1ull << 5);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
}

/* Lazy binding: the entry pushes its index before it jumps on. */
static void plt_entries(void **state)
{
	struct unwind_rule plt = {
		.cfa = RULE_CFA_PLT, .cfa_offset = 11, .ra = RULE_AT_CFA, .ra_offset = -8
	};
	struct bed *b = *state;
	struct unwound u;

	program_rule(b, 0x100, 0x200, plt);
	program_rule(b, 0x400, 0x500, outermost);
	put(b, 0, P(0x410));
	at(b, P(0x11a), 0);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x11a), F(0x40f));
	put(b, 0, 3);
	put(b, 8, P(0x420));
	at(b, P(0x11b), 0);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x11b), F(0x41f));
}

/*
 * A handler was interrupted for: the frame below returns to the signal trampoline, whose rule finds
 * everything in the context the kernel saved.  The interrupted address is exact.
 */
static void signal_frames(void **state)
{
	struct unwind_rule trampoline = {
		.cfa = RULE_CFA_DEREF,
		.cfa_reg = DWARF_X86_64_SP,
		.cfa_offset = 160,
		.ra = RULE_AT_REG,
		.ra_offset = 168,
		.bp = RULE_AT_REG,
		.bp_offset = 120,
		.flags = RULE_SIGNAL,
	};
	struct bed *b = *state;
	struct unwound u;

	program_rule(b, 0x100, 0x200, by_sp(8));
	program_rule(b, 0x200, 0x210, trampoline);
	program_rule(b, 0x300, 0x380, by_bp());
	program_rule(b, 0x400, 0x500, outermost);
	at(b, P(0x110), 0xdead);
	put(b, 0, P(0x201)); /* the trampoline's first byte; its row begins one earlier */
	put(b, 8 + 160, STACK + 400);
	put(b, 8 + 168, P(0x300)); /* its first instruction: one less is another function */
	put(b, 8 + 120, STACK + 448);
	put(b, 448, 0);
	put(b, 456, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x201), F(0x300), F(0x40f));
}

/* The handler had a stack of its own: the copy does not hold the one that was interrupted. */
static void signal_on_another_stack(void **state)
{
	struct unwind_rule trampoline = { .cfa = RULE_CFA_DEREF,
					  .cfa_reg = DWARF_X86_64_SP,
					  .cfa_offset = 160,
					  .ra = RULE_AT_REG,
					  .ra_offset = 168,
					  .flags = RULE_SIGNAL };
	struct bed *b = *state;
	struct unwound u;

	program_rule(b, 0x200, 0x210, trampoline);
	program_rule(b, 0x300, 0x400, by_sp(16));
	at(b, P(0x208), 0);
	put(b, 160, STACK + 0x100000);
	put(b, 168, P(0x310));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_CUT);
	FRAMES(b, &u, F(0x208), F(0x310));
	put(b, 160, STACK - 0x100000);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
	FRAMES(b, &u, F(0x208), F(0x310));
}

/* After "pop %rbp" the row still tells the place below sp. */
static void epilogues(void **state)
{
	struct unwind_rule at_ret = by_sp(8);
	struct bed *b = *state;
	struct unwound u;

	at_ret.bp = RULE_AT_CFA;
	at_ret.bp_offset = -16;
	program_rule(b, 0x100, 0x200, at_ret);
	program_rule(b, 0x200, 0x300, by_bp());
	program_rule(b, 0x400, 0x500, outermost);
	at(b, P(0x110), STACK + 64);
	put(b, 0, P(0x210));
	put(b, 64, 0);
	put(b, 72, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x20f), F(0x40f));
}

static void undefined_register(void **state)
{
	struct unwind_rule rule = by_sp(8);
	struct bed *b = *state;
	struct unwound u;

	rule.bp = RULE_UNDEFINED;
	program_rule(b, 0x100, 0x200, rule);
	program_rule(b, 0x200, 0x300, by_bp());
	at(b, P(0x110), STACK + 64);
	put(b, 0, P(0x210));
	put(b, 72, P(0x210));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
	FRAMES(b, &u, F(0x110), F(0x20f));
}

static void cfa_must_rise(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	program_rule(b, 0x100, 0x200, by_sp(8));
	program_rule(b, 0x200, 0x300, by_bp());
	program_rule(b, 0x300, 0x400, by_sp(0));
	at(b, P(0x110), STACK - 8);
	put(b, 0, P(0x210));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN); /* CFA = sp again */
	at(b, P(0x110), STACK + 12);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN); /* not aligned */
	put(b, 0, P(0x310));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
	assert_int_equal(u.nr, 2);
}

static void rows_are_awaited(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	three_frames(b);
	b->images.waiting = b->program;
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_WAIT);
	assert_int_equal(u.waiting, b->program);
	FRAMES(b, &u, F(0x110));
	b->images.waiting = b->shared;
	put(b, 32, LIBRARY + 0x40);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_WAIT);
	assert_int_equal(u.waiting, b->shared);
	assert_int_equal(u.nr, 3);
	assert_int_equal(b->places[2].image, b->shared);
	assert_int_equal(b->places[2].offset, 0x203f);
	put(b, 32, P(0x330));
	b->images.waiting = 0;
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
}

/* A second walk asks nobody, until the rules or the mappings change. */
static void memory(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	three_frames(b);
	unwind(b);
	b->images.asked = 0;
	unwind(b);
	assert_int_equal(b->images.asked, 0);
	for (size_t i = 0; i < b->images.nr; i++)
		b->images.at[i].rule = outermost;
	b->images.nr = 0;
	program_rule(b, 0x100, 0x300, outermost);
	unwinder_forget(b->unwinder, b->program);
	u = unwind(b);
	assert_int_equal(b->images.asked, 1);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110));
	do_mmap(b->space, BED_PID, PROGRAM, CODE_SIZE, 0, 9, "/bin/another", 9);
	u = unwind(b);
	assert_int_not_equal(b->places[0].image, b->program);
}

static void registers_of_samples(void **state)
{
	/* bx bp sp ip r8, in perf's order */
	uint64_t values[] = { 1, 2, 3, 4, 5 };
	struct sample_regs regs = { .abi = 2,
				    .mask = 1 << 1 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 16,
				    .regs = { (const uint8_t *)values, 5, false } };
	struct unwind_regs r;

	(void)state;
	assert_true(unwind_regs_of(&regs, UNWIND_X86_64, &r));
	assert_int_equal(r.value[DWARF_X86_64_BX], 1);
	assert_int_equal(r.value[DWARF_X86_64_BP], 2);
	assert_int_equal(r.value[DWARF_X86_64_SP], 3);
	assert_int_equal(r.value[DWARF_X86_64_RA], 4);
	assert_int_equal(r.value[8], 5);
	assert_int_equal(r.known, 1 << 3 | 1 << 6 | 1 << 7 | 1 << 16 | 1 << 8);
	regs.abi = 1; /* 32 bits */
	assert_false(unwind_regs_of(&regs, UNWIND_X86_64, &r));
	regs.abi = 2;
	regs.mask = 1 << 1 | 1 << 6 | 1 << 8 | 1 << 9 | 1 << 16; /* no sp */
	assert_false(unwind_regs_of(&regs, UNWIND_X86_64, &r));
	regs.mask = 1ull << 29 | 1ull << 30 | 1ull << 31 | 1ull << 32;
	regs.regs.nr = 4;
	assert_true(unwind_regs_of(&regs, UNWIND_AARCH64, &r));
	assert_int_equal(r.value[DWARF_AARCH64_FP], 1);
	assert_int_equal(r.value[DWARF_AARCH64_LR], 2);
	assert_int_equal(r.value[DWARF_AARCH64_SP], 3);
	assert_int_equal(r.value[32], 4);
	regs.regs.nr = 3; /* the sample ends before pc */
	assert_false(unwind_regs_of(&regs, UNWIND_AARCH64, &r));
	assert_false(unwind_regs_of(&regs, UNWIND_OTHER, &r));
}

/* Of a recording: by the name it tells, else by its mask of registers. */
static void machine_of_a_recording(void **state)
{
	const uint64_t x86 = 0xff0fff, arm64 = (1ull << 33) - 1, arm = 0xffff, riscv = 0xffffffff;

	(void)state;
	assert_int_equal(unwind_machine_of("x86_64", arm64), UNWIND_X86_64);
	assert_int_equal(unwind_machine_of("aarch64", x86), UNWIND_AARCH64);
	assert_int_equal(unwind_machine_of("arm64", 0), UNWIND_AARCH64);
	assert_int_equal(unwind_machine_of("armv7l", x86), UNWIND_OTHER);
	assert_int_equal(unwind_machine_of("i686", x86), UNWIND_OTHER);
	assert_int_equal(unwind_machine_of(NULL, x86), UNWIND_X86_64);
	assert_int_equal(unwind_machine_of(NULL, arm64), UNWIND_AARCH64);
	assert_int_equal(unwind_machine_of(NULL, arm), UNWIND_OTHER);
	assert_int_equal(unwind_machine_of(NULL, riscv), UNWIND_OTHER);
}

/* A leaf keeps its return address in lr; others sign it and save it beside x29. */
static void aarch64(void **state)
{
	struct unwind_rule leaf = { .cfa = RULE_CFA_REG,
				    .cfa_reg = DWARF_AARCH64_SP,
				    .ra = RULE_SAME };
	struct unwind_rule frame = { .cfa = RULE_CFA_REG,
				     .cfa_reg = DWARF_AARCH64_FP,
				     .cfa_offset = 48,
				     .ra = RULE_AT_CFA,
				     .ra_offset = -40,
				     .bp = RULE_AT_CFA,
				     .bp_offset = -48 };
	struct bed *b = *state;
	struct unwound u;

	program_rule(b, 0x100, 0x200, leaf);
	program_rule(b, 0x200, 0x400, frame);
	program_rule(b, 0x400, 0x500, outermost);
	b->regs = (struct unwind_regs){ .machine = UNWIND_AARCH64 };
	set_reg(b, 32, P(0x110));
	set_reg(b, DWARF_AARCH64_SP, STACK);
	set_reg(b, DWARF_AARCH64_FP, STACK + 16);
	set_reg(b, DWARF_AARCH64_LR, P(0x210) | 0x2aull << 48);
	put(b, 16, STACK + 80);
	put(b, 24, P(0x310) | 0x7full << 48);
	put(b, 80, 0);
	put(b, 88, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x110), F(0x20f), F(0x30f), F(0x40f));
	put(b, 24, P(0x110)); /* a leaf that called: lr is not known there */
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
	assert_int_equal(u.nr, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(rules_by_sp),
		BED_TEST(return_address_zero_is_the_end),
		BED_TEST(copy_ends),
		BED_TEST(return_address_outside_code),
		BED_TEST(limit_of_frames),
		BED_TEST(call_of_noreturn),
		BED_TEST(rules_by_bp),
		BED_TEST(bp_is_followed),
		BED_TEST(cfa_by_bx),
		BED_TEST(realigned_stack),
		BED_TEST(cfa_from_memory_and_more),
		BED_TEST(return_address_in_register),
		BED_TEST(plt_entries),
		BED_TEST(signal_frames),
		BED_TEST(signal_on_another_stack),
		BED_TEST(epilogues),
		BED_TEST(undefined_register),
		BED_TEST(cfa_must_rise),
		BED_TEST(rows_are_awaited),
		BED_TEST(memory),
		BED_TEST(registers_of_samples),
		cmocka_unit_test(machine_of_a_recording),
		BED_TEST(aarch64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
