/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code without rows: hand-written, JIT, libraries of other habits; what is guessed and what is not.
 */
#include "unit/unwind_bed.h"

#define P(offset) (PROGRAM + (offset))
#define F(offset) ((uint64_t)(offset))

/* 0x800.. has no rule; 0x200 by sp, 0x300 by bp, 0x400 outermost. */
static void some_rules(struct bed *b)
{
	program_rule(b, 0x200, 0x300, by_sp(32));
	program_rule(b, 0x300, 0x400, by_bp());
	program_rule(b, 0x400, 0x500, outermost);
}

static void called_by_code_with_rules(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	some_rules(b);
	at(b, P(0x810), 0x1234);
	put(b, 0, P(0x210));
	put(b, 8 + 24, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x810), F(0x20f), F(0x40f));
	assert_int_equal(u.by_guess, 1);
	assert_int_equal(u.by_rules, 1);
}

/* What lies at sp is code, but nothing could have called from there. */
static void called_by_chance(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	some_rules(b);
	at(b, P(0x810), 0x1234);
	put(b, 0, P(0x210));
	put(b, 8 + 24, 0x1234);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
	FRAMES(b, &u, F(0x810));
}

static void chain_of_frame_pointers(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	some_rules(b);
	at(b, P(0x810), STACK + 64);
	put(b, 0, 77);
	put(b, 64, STACK + 128);
	put(b, 72, P(0x910));
	put(b, 128, 0x99); /* its caller uses bp for data */
	put(b, 136, P(0x210));
	put(b, 144 + 24, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x810), F(0x90f), F(0x20f), F(0x40f));
	assert_int_equal(u.by_guess, 2);
	b->images.empty = b->program; /* and where no function has rows at all */
	unwinder_forget(b->unwinder, b->program);
	put(b, 128, STACK + 160);
	put(b, 160, 0);
	put(b, 168, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	assert_int_equal(u.nr, 4);
}

/* A caller's frame pointer leads above the copy, as in deep stacks of Go; far above, it is none. */
static void chain_above_the_copy(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	some_rules(b);
	at(b, P(0x810), STACK + 64);
	put(b, 64, STACK + BED_WORDS * 8 + 4096);
	put(b, 72, P(0x910));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_CUT);
	FRAMES(b, &u, F(0x810), F(0x90f));
	put(b, 64, STACK + (64ull << 20));
	assert_int_equal(unwind(b).end, UNWIND_BROKEN);
}

static void frame_pointer_as_data(void **state)
{
	struct bed *b = *state;
	const uint64_t bad[] = { 3, STACK - 64, STACK + 66, STACK + BED_WORDS * 8, UINT64_MAX - 7 };

	some_rules(b);
	put(b, 64, STACK + 128);
	put(b, 72, P(0x410));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct unwound u;

		at(b, P(0x810), bad[i]);
		u = unwind(b);
		assert_int_equal(u.end, UNWIND_BROKEN);
		assert_int_equal(u.nr, 1);
	}
	at(b, P(0x810), STACK + 64);
	put(b, 72, 0x55); /* no code */
	assert_int_equal(unwind(b).end, UNWIND_BROKEN);
}

/* ld.so's _start: no rows, bp is 0; and the same seen from within. */
static void entry_of_a_program(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	program_rule(b, 0x200, 0x300, by_sp(32));
	at(b, P(0x210), 0);
	put(b, 24, P(0x810));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x210), F(0x80f));

	at(b, P(0x810), 0);
	put(b, 0, 2); /* argc, argv, NULL */
	put(b, 8, STACK + 512);
	put(b, 16, STACK + 530);
	put(b, 24, 0);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x810));
	put(b, 24, 5); /* any function whose caller's bp happens to be 0 */
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
}

/* JIT code: the word at sp is code too, but the frame pointer decides. */
static void jit_frames(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	some_rules(b);
	at(b, JIT + 0x10, STACK + 64);
	put(b, 0, P(0x210));
	put(b, 32, P(0x410));
	put(b, 64, STACK + 128);
	put(b, 72, JIT + 0x110);
	put(b, 128, 0);
	put(b, 136, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	assert_int_equal(u.nr, 3);
	assert_int_equal(b->places[1].offset, JIT + 0x10f);
	assert_int_equal(b->places[2].image, b->program);
	b->nr_words = 8; /* the frame pointer points behind the copy */
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_CUT);
	assert_int_equal(u.nr, 1);
}

static void jit_before_it_kept_the_frame_pointer(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	some_rules(b);
	at(b, JIT + 0x10, 0x77);
	put(b, 0, P(0x210));
	put(b, 32, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	assert_int_equal(u.nr, 3);
	assert_int_equal(b->places[1].offset, 0x20f);
}

/* A call through a bad pointer: nothing is mapped at pc, the caller is known all the same. */
static void pc_outside_code(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	some_rules(b);
	at(b, 0x77, 0x1234);
	put(b, 0, P(0x210));
	put(b, 32, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	assert_int_equal(u.nr, 3);
	assert_int_equal(b->places[0].image, IMAGE_UNKNOWN);
	assert_int_equal(b->places[0].offset, 0x77);
	assert_int_equal(b->places[1].offset, 0x20f);
	put(b, 0, 0x88);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
	assert_int_equal(u.nr, 1);
}

/* A guess is judged by rows that are still being read. */
static void judgement_waits(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	some_rules(b);
	b->images.waiting = b->shared;
	at(b, P(0x810), 0x1234);
	put(b, 0, LIBRARY + 0x10);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_WAIT);
	assert_int_equal(u.waiting, b->shared);
	assert_int_equal(u.nr, 1);
}

static void aarch64_called(void **state)
{
	struct unwind_rule frame = by_sp(32);
	struct bed *b = *state;
	struct unwound u;

	frame.cfa_reg = DWARF_AARCH64_SP;
	frame.ra_offset = -24;
	program_rule(b, 0x200, 0x300, frame);
	program_rule(b, 0x400, 0x500, outermost);
	b->regs = (struct unwind_regs){ .machine = UNWIND_AARCH64 };
	set_reg(b, 32, P(0x810));
	set_reg(b, DWARF_AARCH64_SP, STACK);
	set_reg(b, DWARF_AARCH64_FP, 1);
	set_reg(b, DWARF_AARCH64_LR, P(0x210));
	put(b, 8, P(0x410));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	FRAMES(b, &u, F(0x810), F(0x20f), F(0x40f));
}

/* A function whose return address is at sp + 24. */
static void called_from_main(struct bed *b)
{
	program_rule(b, 0x200, 0x300, by_sp(32));
	at(b, P(0x210), 0);
}

/* What ends a coroutine: its address was put there, none called it. */
static void return_address_put_there(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	called_from_main(b);
	program_rule(b, 0x800, 0x820, by_sp(8));
	put(b, 24, P(0x800));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	assert_int_equal(b->places[u.nr - 1].offset, 0x800);
	assert_int_equal(u.read_bytes, 32);
}

/* The last call of a function whose neighbour begins there. */
static void return_address_of_the_neighbour(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	called_from_main(b);
	program_rule(b, 0x800, 0x820, by_sp(8));
	program_rule(b, 0x7f0, 0x800, outermost);
	put(b, 24, P(0x800));
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	assert_int_equal(b->places[u.nr - 1].offset, 0x7ff);
}

/* A program's first function without an end in its rules: argc where a return address would be. */
static void first_function(void **state)
{
	struct bed *b = *state;
	struct unwound u;

	program_rule(b, 0x200, 0x300, by_sp(32));
	at(b, P(0x210), 0);
	put(b, 24, 2); /* argc, argv, NULL */
	put(b, 32, STACK + 512);
	put(b, 40, STACK + 530);
	put(b, 48, 0);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_COMPLETE);
	assert_int_equal(u.read_bytes, 56); /* with the NULL that was looked at */
	FRAMES(b, &u, F(0x210));
	put(b, 48, 5);
	u = unwind(b);
	assert_int_equal(u.end, UNWIND_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(called_by_code_with_rules),
		BED_TEST(called_by_chance),
		BED_TEST(chain_of_frame_pointers),
		BED_TEST(chain_above_the_copy),
		BED_TEST(frame_pointer_as_data),
		BED_TEST(entry_of_a_program),
		BED_TEST(return_address_put_there),
		BED_TEST(return_address_of_the_neighbour),
		BED_TEST(first_function),
		BED_TEST(jit_frames),
		BED_TEST(jit_before_it_kept_the_frame_pointer),
		BED_TEST(pc_outside_code),
		BED_TEST(judgement_waits),
		BED_TEST(aarch64_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
