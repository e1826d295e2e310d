/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows by following the stack pointer: of code written here byte by byte, and of real libraries,
 * whose call frame information tells what is right.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/rows_x86.h"
#include "image/x86.h"

enum { CODE = 0x1000 };

/* ---- code written here ----------------------------------------------------------------------- */

struct told {
	int32_t cfa[4096]; /* by offset; -1: none; by bp: 1000 + offset */
	int32_t bp_at[4096];
};

struct telling {
	struct told *told;
	size_t at, size;
	int32_t cfa, bp_at;
};

static void tell_up_to(struct telling *t, size_t end)
{
	for (; t->at < end && t->at < t->size; t->at++) {
		t->told->cfa[t->at] = t->cfa;
		t->told->bp_at[t->at] = t->bp_at;
	}
}

static int tell(void *ctx, uint64_t vaddr, const struct unwind_rule *r)
{
	struct telling *t = ctx;

	tell_up_to(t, vaddr - CODE);
	t->cfa = r == NULL ? -1 : r->cfa_offset + (r->cfa_reg == DWARF_X86_64_BP ? 1000 : 0);
	t->bp_at = r != NULL && r->bp == RULE_AT_CFA ? r->bp_offset : 0;
	return 0;
}

static struct told follow(const uint8_t *code, size_t size)
{
	static struct told told;
	struct telling t = { .told = &told, .size = size, .cfa = -1 };
	uint64_t entry = CODE;

	assert_true(size <= 4096);
	assert_int_equal(rows_x86(code, size, CODE, &entry, 1, tell, &t), 0);
	tell_up_to(&t, size);
	return told;
}

#define FOLLOW(...) \
	follow((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

#define PUSH_BP 0x55
#define PUSH_BX 0x53
#define POP_BP 0x5d
#define POP_BX 0x5b
#define SUB_SP(n) 0x48, 0x83, 0xec, n
#define ADD_SP(n) 0x48, 0x83, 0xc4, n
#define NOP 0x90
#define RET 0xc3

static void a_usual_function(void **state)
{
	struct told t = FOLLOW(PUSH_BP, PUSH_BX, SUB_SP(24), NOP, ADD_SP(24), POP_BX, POP_BP, RET);
	static const int32_t cfa[] = { 8, 16, 24, 24, 24, 24, 48, 48, 48, 48, 48, 24, 16, 8 };

	(void)state;
	for (size_t i = 0; i < sizeof(cfa) / sizeof(cfa[0]); i++)
		assert_int_equal(t.cfa[i], cfa[i]);
	assert_int_equal(t.bp_at[0], 0);
	assert_int_equal(t.bp_at[6], -16);
	assert_int_equal(t.bp_at[13], 0);
}

/* push %rbp; mov %rsp,%rbp; and $-32,%rsp; nop; leave; ret */
static void a_frame_pointer(void **state)
{
	struct told t = FOLLOW(PUSH_BP, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, NOP, 0xc9, RET);

	(void)state;
	assert_int_equal(t.cfa[4], 16);
	assert_int_equal(t.cfa[8], 1016); /* sp is not known any more, bp is */
	assert_int_equal(t.cfa[10], 8);
}

/* Both ways of a branch, the second behind a return in the middle. */
static void branches(void **state)
{
	struct told t = FOLLOW(PUSH_BX, 0x74, 0x02 /* je +2 */, POP_BX, RET, NOP, POP_BX, RET);

	(void)state;
	assert_int_equal(t.cfa[4], 8);
	assert_int_equal(t.cfa[5], 16);
	assert_int_equal(t.cfa[7], 8);
}

/* Ways that do not agree, and a return that leaves something behind: nothing is told. */
static void what_does_not_add_up(void **state)
{
	struct told t = FOLLOW(0x74, 0x01 /* je over the push */, PUSH_BX, NOP, POP_BX, RET);

	(void)state;
	for (int i = 0; i < 6; i++)
		assert_int_equal(t.cfa[i], -1);
	t = FOLLOW(PUSH_BX, NOP, RET);
	for (int i = 0; i < 3; i++)
		assert_int_equal(t.cfa[i], -1);
}

/* A stack that is switched, or a return address that is taken away, is not followed. */
static void a_stack_that_is_lost(void **state)
{
	struct told t = FOLLOW(PUSH_BX, 0x48, 0x89, 0xfc /* mov %rdi,%rsp */, NOP, RET);

	(void)state;
	assert_int_equal(t.cfa[0], 8);
	assert_int_equal(t.cfa[1], 16);
	assert_int_equal(t.cfa[4], -1);
	t = FOLLOW(0x59 /* pop %rcx */, NOP, 0xff, 0xe1 /* jmp *%rcx */);
	assert_int_equal(t.cfa[0], 8);
	assert_int_equal(t.cfa[1], -1);
}

/* A function behind a call that does not return, and one that only padding tells of. */
static void functions_behind_others(void **state)
{
	struct told t = FOLLOW(SUB_SP(8), 0xe8, 0x17, 0, 0, 0 /* call 0x20 */, 0xcc, 0xcc, 0xcc,
			       0xcc, 0xcc, 0xcc, 0xcc,
			       /* 0x10 */ PUSH_BX, NOP, POP_BX, RET, 0x66, 0x90, 0xcc, 0xcc, 0xcc,
			       0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
			       /* 0x20 */ SUB_SP(16), 0x0f, 0x0b /* ud2 */);

	(void)state;
	assert_int_equal(t.cfa[4], 16);
	assert_int_equal(t.cfa[0x11], 16);
	assert_int_equal(t.cfa[0x13], 8);
	assert_int_equal(t.cfa[0x20], 8);
	assert_int_equal(t.cfa[0x24], 24);
}

static void hostile_bytes(void **state)
{
	static uint8_t code[4096];
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(code); i++) {
			static const uint8_t often[] = { 0xe8, 0x55, 0x74, 0xeb, 0xc3,
							 0x5d, 0x48, 0x83, 0xff, 0 };

			seed = seed * 1664525 + 1013904223;
			code[i] = seed >> 29 ? (uint8_t)(seed >> 16) : often[(seed >> 8) % 10];
		}
		follow(code, sizeof(code) - (size_t)round);
	}
}

/* ---- lengths --------------------------------------------------------------------------------- */

static void lengths(void **state)
{
	static const struct {
		uint8_t bytes[15], length;
	} known[] = {
		{ { 0x90 }, 1 },
		{ { 0x48, 0x8b, 0x44, 0x24, 0x08 }, 5 },
		{ { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, 10 },
		{ { 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8 }, 10 },
		{ { 0xb8, 1, 2, 3, 4 }, 5 },
		{ { 0x66, 0xb8, 1, 2 }, 4 },
		{ { 0xf6, 0xc1, 0x04 }, 3 },
		{ { 0xf6, 0xd9 }, 2 },
		{ { 0xf7, 0x05, 0, 0, 0, 0, 1, 0, 0, 0 }, 10 },
		{ { 0xc5, 0xf8, 0x77 }, 3 },
		{ { 0xc5, 0xfd, 0x6f, 0x06 }, 4 },
		{ { 0xc4, 0xe3, 0x7d, 0x39, 0xc1, 0x01 }, 6 },
		{ { 0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x46, 0x01 }, 7 },
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4 },
		{ { 0x0f, 0x84, 1, 2, 3, 4 }, 6 },
		{ { 0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08 }, 6 },
		{ { 0x48, 0x8d, 0x3d, 1, 2, 3, 4 }, 7 },
		{ { 0x8b, 0x04, 0x85, 1, 2, 3, 4 }, 7 },
		{ { 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0 }, 9 },
		{ { 0xc8, 1, 2, 3 }, 4 },
		{ { 0x3e, 0xff, 0xe0 }, 3 },
	};
	struct x86 i;

	(void)state;
	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		assert_true(x86_decode(known[k].bytes, 15, &i));
		assert_int_equal(i.length, known[k].length);
		for (size_t cut = 0; cut < known[k].length; cut++)
			assert_false(x86_decode(known[k].bytes, cut, &i));
	}
	assert_false(x86_decode((const uint8_t *)"\x06", 1, &i));
}

/* ---- real code ------------------------------------------------------------------------------- */

struct comparison {
	const struct rows *rows;
	struct unwind_rule rule;
	bool has_rule;
	uint64_t at, covered, same, other;
};

static void compare_up_to(struct comparison *c, uint64_t end)
{
	for (; c->at < end; c->at++) {
		const struct unwind_rule *right = rows_find(c->rows, c->at);

		if (right->cfa != RULE_CFA_REG || (right->flags & RULE_END))
			continue;
		c->covered++;
		if (!c->has_rule)
			continue;
		if (c->rule.cfa_reg == right->cfa_reg ? c->rule.cfa_offset == right->cfa_offset
						      : right->cfa_reg == DWARF_X86_64_BP ||
								c->rule.cfa_reg == DWARF_X86_64_BP)
			c->same++;
		else
			c->other++;
	}
}

static int compare(void *ctx, uint64_t vaddr, const struct unwind_rule *rule)
{
	struct comparison *c = ctx;

	compare_up_to(c, vaddr);
	c->has_rule = rule != NULL;
	if (rule != NULL)
		c->rule = *rule;
	return 0;
}

/* .text of a file of this machine, and where it lies. */
static uint8_t *text_of(const uint8_t *file, size_t *ret_size, uint64_t *ret_vaddr)
{
	const Elf64_Ehdr *h = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + h->e_shoff);
	const char *names = (const char *)file + sections[h->e_shstrndx].sh_offset;

	for (int i = 0; i < h->e_shnum; i++) {
		if (strcmp(names + sections[i].sh_name, ".text") != 0)
			continue;
		*ret_size = sections[i].sh_size < ROWS_X86_MAX ? sections[i].sh_size : ROWS_X86_MAX;
		*ret_vaddr = sections[i].sh_addr;
		return (uint8_t *)file + sections[i].sh_offset;
	}
	return NULL;
}

static void agrees(const char *path)
{
	struct comparison c = { 0 };
	struct rows_bytes built;
	struct rows rows;
	struct reason why;
	struct stat st;
	int fd = open(path, O_RDONLY);
	uint8_t *file, *text;
	size_t size = 0;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	file = malloc((size_t)st.st_size);
	assert_non_null(file);
	assert_int_equal(pread(fd, file, (size_t)st.st_size, 0), st.st_size);
	assert_int_equal(rows_build(fd, -1, &built, &why), 0);
	assert_int_equal(rows_check(built.at, built.size, &rows), 0);
	text = text_of(file, &size, &c.at);
	assert_non_null(text);
	c.rows = &rows;
	assert_int_equal(rows_x86(text, size, c.at, NULL, 0, compare, &c), 0);
	print_message("%s: %.1f %% of %llu bytes followed, %.3f %% of those differ\n", path,
		      100.0 * (double)(c.same + c.other) / (double)c.covered,
		      (unsigned long long)c.covered,
		      100.0 * (double)c.other / (double)(c.same + c.other));
	assert_true(c.other * 500 < c.same);
	assert_true((c.same + c.other) * 2 > c.covered);
	free(built.at);
	free(file);
	close(fd);
}

/* Programs of other machines, and those that sanitizers have had a hand in, are none to compare. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define COMPARES 1
#else
#define COMPARES 0
#endif

static void the_c_library(void **state)
{
	Dl_info info;

	(void)state;
	if (!COMPARES)
		skip();
	assert_int_not_equal(dladdr((void *)gnu_get_libc_version, &info), 0);
	agrees(info.dli_fname);
}

static void this_program(void **state)
{
	(void)state;
	if (!COMPARES)
		skip();
	agrees("/proc/self/exe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_usual_function),
		cmocka_unit_test(a_frame_pointer),
		cmocka_unit_test(branches),
		cmocka_unit_test(what_does_not_add_up),
		cmocka_unit_test(a_stack_that_is_lost),
		cmocka_unit_test(functions_behind_others),
		cmocka_unit_test(hostile_bytes),
		cmocka_unit_test(lengths),
		cmocka_unit_test(the_c_library),
		cmocka_unit_test(this_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
