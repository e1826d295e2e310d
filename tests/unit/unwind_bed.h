/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process made by hand for the unwinder: mappings in a real space, rules from a small table that
 * stands in for images_rule(), and a stack written word by word.
 */
#ifndef PTOP_TESTS_UNWIND_BED_H
#define PTOP_TESTS_UNWIND_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "image/rows.h"
#include "space/space.h"
#include "unit/space_records.h"
#include "unwind/unwind.h"

enum { BED_PID = 10, BED_RULES = 64, BED_WORDS = 256, BED_FRAMES = 64 };

/* Where things are: code of two files and of a JIT compiler, and the stack. */
#define PROGRAM 0x400000ull
#define LIBRARY 0x7f0000000000ull
#define JIT 0x10000000ull
#define STACK 0x7ffc00000000ull
#define CODE_SIZE 0x10000ull

struct images { /* what images_rule() answers, by place */
	struct {
		uint32_t image;
		uint64_t start, end;
		struct unwind_rule rule;
	} at[BED_RULES];
	size_t nr;
	uint32_t waiting; /* an image still being read; 0: none */
	uint32_t empty;   /* an image without rows */
	size_t asked;
};

struct bed {
	struct images images;
	struct space *space;
	struct unwinder *unwinder;
	uint32_t program, shared;
	struct unwind_regs regs;
	uint64_t words[BED_WORDS];
	uint32_t nr_words; /* of the copy */
	struct place places[BED_FRAMES];
};

int images_rule(struct images *im, uint32_t image, uint64_t offset, const struct unwind_rule **ret)
{
	static const struct unwind_rule none;

	im->asked++;
	if (image == im->waiting)
		return -EAGAIN;
	if (image == im->empty)
		return -ENODATA;
	*ret = &none;
	for (size_t i = 0; i < im->nr; i++) {
		if (im->at[i].image == image && offset >= im->at[i].start && offset < im->at[i].end)
			*ret = &im->at[i].rule;
	}
	return 0;
}

static inline int bed_setup(void **state)
{
	static struct bed bed;

	bed = (struct bed){ .space = space_new(), .unwinder = unwinder_new(&bed.images) };
	if (!bed.space || !bed.unwinder)
		return -1;
	bed.nr_words = BED_WORDS;
	do_comm(bed.space, BED_PID, BED_PID, "target", true, 1);
	do_mmap(bed.space, BED_PID, PROGRAM, CODE_SIZE, 0, 7, "/bin/target", 2);
	do_mmap(bed.space, BED_PID, LIBRARY, CODE_SIZE, 0x2000, 8, "/lib/libc.so.6", 3);
	do_mmap(bed.space, BED_PID, JIT, CODE_SIZE, 0, 0, "//anon", 4);
	bed.program = space_resolve(bed.space, BED_PID, PROGRAM).image;
	bed.shared = space_resolve(bed.space, BED_PID, LIBRARY).image;
	*state = &bed;
	return 0;
}

static inline int bed_teardown(void **state)
{
	struct bed *b = *state;

	unwinder_free(b->unwinder);
	space_free(b->space);
	return 0;
}

/* That rule for [start, end) of the program. */
static inline void program_rule(struct bed *b, uint64_t start, uint64_t end,
				struct unwind_rule rule)
{
	assert_true(b->images.nr < BED_RULES);
	b->images.at[b->images.nr].image = b->program;
	b->images.at[b->images.nr].start = start;
	b->images.at[b->images.nr].end = end;
	b->images.at[b->images.nr++].rule = rule;
}

/* The usual: CFA = sp + offset, the return address below it. */
static inline struct unwind_rule by_sp(int32_t offset)
{
	return (struct unwind_rule){ .cfa = RULE_CFA_REG,
				     .cfa_reg = DWARF_X86_64_SP,
				     .cfa_offset = offset,
				     .ra = RULE_AT_CFA,
				     .ra_offset = -8 };
}

static inline struct unwind_rule by_bp(void)
{
	return (struct unwind_rule){ .cfa = RULE_CFA_REG,
				     .cfa_reg = DWARF_X86_64_BP,
				     .cfa_offset = 16,
				     .ra = RULE_AT_CFA,
				     .ra_offset = -8,
				     .bp = RULE_AT_CFA,
				     .bp_offset = -16 };
}

static const struct unwind_rule outermost = { .flags = RULE_END };

static inline void set_reg(struct bed *b, uint32_t number, uint64_t value)
{
	b->regs.value[number] = value;
	b->regs.known |= 1ull << number;
}

/* The sample: pc, sp (at the stack's first word) and bp. */
static inline void at(struct bed *b, uint64_t pc, uint64_t bp)
{
	b->regs = (struct unwind_regs){ .machine = UNWIND_X86_64 };
	set_reg(b, DWARF_X86_64_RA, pc);
	set_reg(b, DWARF_X86_64_SP, STACK);
	set_reg(b, DWARF_X86_64_BP, bp);
}

/* Writes the word at @offset bytes above the innermost sp. */
static inline void put(struct bed *b, uint64_t offset, uint64_t word)
{
	assert_true(offset / 8 < BED_WORDS);
	b->words[offset / 8] = word;
}

/* What is remembered afterwards must not change the answer: asked again, it is the same. */
static inline struct unwound unwind_at_most(struct bed *b, uint32_t max)
{
	struct bytes stack = { (const uint8_t *)b->words, b->nr_words * 8 };
	struct place first[BED_FRAMES] = { 0 };
	struct unwound u, again;
	size_t asked;

	u = unwind_user(b->unwinder, b->space, BED_PID, &b->regs, &stack, first, max);
	asked = b->images.asked;
	memset(b->places, 0, sizeof(b->places));
	again = unwind_user(b->unwinder, b->space, BED_PID, &b->regs, &stack, b->places, max);
	b->images.asked = asked;
	assert_memory_equal(&again, &u, sizeof(u));
	for (uint32_t i = 0; i < u.nr; i++) {
		assert_int_equal(b->places[i].image, first[i].image);
		assert_int_equal(b->places[i].offset, first[i].offset);
	}
	return u;
}

static inline struct unwound unwind(struct bed *b)
{
	return unwind_at_most(b, BED_FRAMES);
}

/* The frames are of the program, at these offsets; the list ends in 0. */
static inline void assert_frames(const struct bed *b, const struct unwound *u, ...)
{
	uint32_t nr = 0;
	va_list args;

	va_start(args, u);
	for (uint64_t offset; (offset = va_arg(args, uint64_t)) != 0; nr++) {
		assert_true(nr < u->nr);
		assert_int_equal(b->places[nr].image, b->program);
		assert_int_equal(b->places[nr].offset, offset);
	}
	va_end(args);
	assert_int_equal(u->nr, nr);
}

#define FRAMES(b, u, ...) assert_frames(b, u, ##__VA_ARGS__, (uint64_t)0)
#define BED_TEST(f) cmocka_unit_test_setup_teardown(f, bed_setup, bed_teardown)

#endif
