/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of code that no call frame information covers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "image/rows_code.h"
#include "support/elf_bytes.h"

enum { CODE = 0x1000, SIZE = 0x2000, ROWS = 64 };

#define RESTORER 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05
#define SHORT_RESTORER 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05

struct found {
	uint64_t at[ROWS];
	struct unwind_rule rules[ROWS];
	size_t nr;
};

static int note(void *ctx, uint64_t vaddr, const struct unwind_rule *rule)
{
	struct found *f = ctx;

	assert_true(f->nr < ROWS);
	assert_true(f->nr == 0 || vaddr >= f->at[f->nr - 1]);
	if (!rule && (f->nr == 0 || f->rules[f->nr - 1].cfa == RULE_CFA_NONE))
		return 0;
	f->at[f->nr] = vaddr;
	f->rules[f->nr++] = rule ? *rule : (struct unwind_rule){ .cfa = RULE_CFA_NONE };
	return 0;
}

static struct found look(const uint8_t *bytes, size_t size, enum rows_machine machine)
{
	struct rows_code c = { .bytes = bytes, .size = size, .vaddr = CODE, .machine = machine };
	struct found f = { 0 };

	assert_int_equal(rows_code(&c, note, &f), 0);
	return f;
}

static void signal_returns(void **state)
{
	static const uint8_t code[] = { 0x90, 0x90, RESTORER, 0xc3, SHORT_RESTORER };
	struct found f = look(code, sizeof(code), ROWS_X86_64);

	(void)state;
	assert_int_equal(f.nr, 4);
	assert_int_equal(f.at[0], CODE + 1); /* the byte before, where it is looked for */
	assert_int_equal(f.rules[0].flags, RULE_SIGNAL);
	assert_int_equal(f.rules[0].ra_offset, 168);
	assert_int_equal(f.at[1], CODE + 11);
	assert_int_equal(f.rules[1].cfa, RULE_CFA_NONE);
	assert_int_equal(f.at[2], CODE + 11);
	assert_int_equal(f.rules[2].flags, RULE_SIGNAL);
	assert_int_equal(f.at[3], CODE + 19);
	assert_int_equal(look(code, sizeof(code), ROWS_AARCH64).nr, 0);
}

/* At the very start there is no byte before; at the end the bytes may be cut. */
static void signal_returns_at_the_edges(void **state)
{
	static const uint8_t code[] = { RESTORER };

	(void)state;
	assert_int_equal(look(code, sizeof(code), ROWS_X86_64).at[0], CODE);
	for (size_t size = 0; size < sizeof(code); size++)
		assert_int_equal(look(code, size, ROWS_X86_64).nr, 0);
}

/* A file without any call frame information has rows all the same. */
static void a_file_of_code_alone(void **state)
{
	static const uint8_t code[] = { 0x90, RESTORER }, nothing[SIZE];
	struct elf_bytes e;
	struct rows_bytes built;
	struct rows rows;
	struct reason why;
	size_t signals = 0;

	(void)state;
	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, CODE, SIZE);
	elf_bytes_code(&e, ".text", CODE, NULL, SIZE);
	elf_bytes_section(&e, ".data", SHT_PROGBITS, SHF_ALLOC, 0x9000, code, sizeof(code));
	elf_bytes_section(&e, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0xa000, nothing, SIZE);
	elf_bytes_finish(&e);
	assert_true(e.size >= SIZE);
	assert_int_equal(rows_build_memory(e.at, e.size, &built, &why), 0);
	assert_int_equal(rows_check(built.at, built.size, &rows), 0);
	for (uint64_t vaddr = CODE; vaddr < CODE + SIZE; vaddr++)
		signals += (rows_find(&rows, vaddr)->flags & RULE_SIGNAL) != 0;
	assert_int_equal(signals, sizeof(code));
	free(built.at);
	elf_bytes_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signal_returns),
		cmocka_unit_test(signal_returns_at_the_edges),
		cmocka_unit_test(a_file_of_code_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
