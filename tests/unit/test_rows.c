/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where rows come from, how FDEs are put together, and bytes that are hostile. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "image/rows.h"
#include "support/elf_bytes.h"
#include "unit/cfi_bed.h"

#define SP DWARF_X86_64_SP
#define ENTRY DW_CFA_def_cfa, SP, 8, DW_CFA_offset | DWARF_X86_64_RA, 1

static int32_t cfa_at(const struct bed *b, uint64_t offset)
{
	const struct unwind_rule *r = rows_find(&b->rows, BED_CODE + offset);

	return r->cfa == RULE_CFA_NONE ? -1 : r->cfa_offset;
}

/* A CIE whose functions have the CFA at rsp + @offset throughout, and one such function. */
static size_t put_function(struct frames *f, uint8_t offset, uint64_t start, uint64_t size)
{
	static const struct cie_spec plain = { .augmentation = "", .version = 4 };
	const struct cie_spec *spec = f->debug ? &plain : &usual;
	size_t cie = put_cie(f, spec, CODE(ENTRY, DW_CFA_def_cfa_offset, offset));

	put_fde(f, cie, spec, BED_CODE + start, size, NO_CODE);
	return cie;
}

static void fdes_come_in_any_order(void **state)
{
	struct frames f = { 0 };
	struct bed b;
	size_t cie = put_cie(&f, &usual, CODE(ENTRY));

	(void)state;
	for (uint64_t i = 0; i < 64; i++) {
		uint64_t place = i * 37 % 64 * 0x100;

		put_fde(&f, cie, &usual, BED_CODE + place, 0x80,
			CODE(DW_CFA_def_cfa_offset, (uint8_t)(i * 37 % 64)));
	}
	bed_init(&b, EM_X86_64, &f, NULL);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(cfa_at(&b, (uint64_t)i * 0x100), i);
		assert_int_equal(cfa_at(&b, (uint64_t)i * 0x100 + 0x7f), i);
		assert_int_equal(cfa_at(&b, (uint64_t)i * 0x100 + 0x80), -1);
	}
	assert_int_equal(b.rows.header->nr_rows, 128);
	bed_done(&b);
}

static void neighbours_merge_and_overlaps_are_cut(void **state)
{
	struct frames f = { 0 };
	struct bed b;

	(void)state;
	put_function(&f, 8, 0x00, 0x10);
	put_function(&f, 8, 0x10, 0x10);
	put_function(&f, 24, 0x20, 0x20);
	put_function(&f, 32, 0x30, 0x20);
	put_function(&f, 40, 0x38, 0x08);
	/* Code that is not there, or is only in part. */
	put_function(&f, 48, 0x10000, 0x10);
	put_function(&f, 48, (uint64_t)-0x1000, 0x10);
	put_function(&f, 56, 0xfff0, 0x100);
	bed_init(&b, EM_X86_64, &f, NULL);
	assert_int_equal(cfa_at(&b, 0x1f), 8);
	assert_int_equal(cfa_at(&b, 0x20), 24);
	assert_int_equal(cfa_at(&b, 0x3f), 24);
	assert_int_equal(cfa_at(&b, 0x40), 32);
	assert_int_equal(cfa_at(&b, 0x50), -1);
	assert_int_equal(cfa_at(&b, 0xfff0), 56);
	assert_int_equal(cfa_at(&b, 0x10000), -1);
	assert_int_equal(b.rows.header->nr_rows, 6);
	bed_done(&b);
}

static void debug_frame_fills_in(void **state)
{
	struct frames eh = { 0 }, debug = { .debug = true }, wide = { .debug = true, .wide = true };
	struct bed b;

	(void)state;
	put_function(&eh, 8, 0x20, 0x10);
	put_function(&eh, 8, 0x40, 0x10);
	for (int i = 0; i < 2; i++) {
		struct frames *d = i == 0 ? &debug : &wide;

		put_function(d, 16, 0x20, 0x10);
		put_function(d, 24, 0x00, 0x30);
		put_function(d, 32, 0x45, 0x20);
		bed_init(&b, EM_X86_64, NULL, d);
		assert_int_equal(cfa_at(&b, 0x20), 24);
		bed_done(&b);
		bed_init(&b, EM_X86_64, &eh, d);
		assert_int_equal(cfa_at(&b, 0x1f), 24);
		assert_int_equal(cfa_at(&b, 0x20), 8);
		assert_int_equal(cfa_at(&b, 0x30), -1);
		assert_int_equal(cfa_at(&b, 0x4f), 8);
		assert_int_equal(cfa_at(&b, 0x50), 32);
		assert_int_equal(cfa_at(&b, 0x65), -1);
		bed_done(&b);
	}
}

/* .debug_frame in another file, as zlib would store it: one block, not packed at all. */
static void a_packed_debug_frame_of_the_debug_file(void **state)
{
	struct frames eh = { 0 }, debug = { .debug = true }, packed = { 0 };
	uint32_t low = 1, high = 0;
	struct elf_bytes program, other;
	struct rows_bytes bytes;
	struct bed b = { 0 };
	int fd, debug_fd;
	size_t section;

	(void)state;
	put_function(&eh, 8, 0x20, 0x10);
	put_function(&debug, 24, 0x00, 0x40);
	put_number(&packed, ELFCOMPRESS_ZLIB, 8);
	put_number(&packed, debug.nr, 8);
	put_number(&packed, 1, 8);
	put_bytes(&packed, "\x78\x01\x01", 3);
	put_number(&packed, debug.nr, 2);
	put_number(&packed, ~debug.nr, 2);
	put_bytes(&packed, debug.at, debug.nr);
	for (size_t i = 0; i < debug.nr; i++) {
		low = (low + debug.at[i]) % 65521;
		high = (high + low) % 65521;
	}
	put_number(&packed, __builtin_bswap32(high << 16 | low), 4);
	put_elf(&program, EM_X86_64, &eh, NULL);
	elf_bytes_init(&other, ET_DYN, EM_X86_64);
	section = elf_bytes_section(&other, ".debug_frame", SHT_PROGBITS, SHF_COMPRESSED, 0,
				    packed.at, packed.nr);
	other.sections[section].sh_addralign = 8;
	elf_bytes_finish(&other);
	fd = elf_bytes_fd(program.at, program.size);
	debug_fd = elf_bytes_fd(other.at, other.size);
	assert_int_equal(rows_build(fd, debug_fd, &bytes, NULL), 0);
	assert_int_equal(rows_check(bytes.at, bytes.size, &b.rows), 0);
	assert_int_equal(cfa_at(&b, 0x00), 24);
	assert_int_equal(cfa_at(&b, 0x20), 8);
	free(bytes.at);
	/* A debug file that is none does no harm; a program is not one for itself either. */
	assert_int_equal(rows_build(fd, STDIN_FILENO, &bytes, NULL), 0);
	free(bytes.at);
	assert_int_equal(rows_build(debug_fd, -1, &bytes, NULL), -ENOEXEC);
	elf_bytes_done(&program);
	elf_bytes_done(&other);
	close(fd);
	close(debug_fd);
}

/* Without section headers the program headers lead there, to an empty entry at the end. */
static void found_by_program_header(void **state)
{
	struct frames f = { 0 };
	uint8_t hdr[12] = { 1, 0x1b, 0xff, 0xff };
	int32_t relative = 16 - 4;
	struct elf_bytes e;
	struct bed b;
	size_t at;

	(void)state;
	memcpy(hdr + 4, &relative, 4);
	put_bytes(&f, hdr, sizeof(hdr));
	put_number(&f, 0, 4);
	put_function(&f, 16, 0x10, 0x10);
	put_number(&f, 0, 4);
	put_function(&f, 24, 0x40, 0x10); /* past the end */
	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0x400, BED_CODE, BED_CODE_SIZE);
	at = elf_bytes_section(&e, ".any", SHT_PROGBITS, SHF_ALLOC, BED_FRAMES, f.at, f.nr);
	elf_bytes_segment(&e, PT_LOAD, PF_R, e.sections[at].sh_offset, BED_FRAMES, f.nr);
	elf_bytes_segment(&e, PT_GNU_EH_FRAME, PF_R, e.sections[at].sh_offset, BED_FRAMES, 12);
	elf_bytes_finish(&e);
	memset(e.at + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
	memset(e.at + offsetof(Elf64_Ehdr, e_shnum), 0, 4);
	assert_int_equal(rows_build_memory(e.at, e.size, &b.bytes, NULL), 0);
	assert_int_equal(rows_check(b.bytes.at, b.bytes.size, &b.rows), 0);
	assert_int_equal(cfa_at(&b, 0x10), 16);
	assert_int_equal(cfa_at(&b, 0x20), -1);
	assert_int_equal(cfa_at(&b, 0x40), -1);
	elf_bytes_done(&e);
	bed_done(&b);
}

static void offsets_of_the_file_are_found(void **state)
{
	struct frames f = { 0 };
	uint64_t vaddr = 0;
	struct bed b;

	(void)state;
	put_function(&f, 16, 0x10, 0x10);
	bed_init(&b, EM_X86_64, &f, NULL);
	assert_true(rows_vaddr(&b.rows, 0x400, &vaddr));
	assert_int_equal(vaddr, BED_CODE);
	assert_true(rows_vaddr(&b.rows, 0x400 + BED_CODE_SIZE - 1, &vaddr));
	assert_false(rows_vaddr(&b.rows, 0x400 + BED_CODE_SIZE, &vaddr));
	assert_false(rows_vaddr(&b.rows, 0x3ff, &vaddr));
	bed_done(&b);
}

static void what_cannot_be_read_says_why(void **state)
{
	struct frames f = { 0 }, empty = { 0 };
	struct reason why = { 0 };
	struct rows_bytes bytes;
	struct elf_bytes e;
	struct bed b;

	(void)state;
	put_function(&f, 16, 0x10, 0x10);
	put_number(&empty, 0, 4);
	assert_int_equal(bed_try(&b, EM_386, &f, NULL), -ENOEXEC);
	assert_int_equal(bed_try(&b, EM_X86_64, &empty, NULL), -ENODATA);
	assert_int_equal(bed_try(&b, EM_X86_64, NULL, NULL), -ENODATA);
	assert_int_equal(rows_build_memory("nothing", 7, &bytes, &why), -ENOEXEC);
	assert_string_not_equal(why.text, "");
	/* Two segments too far apart for 32 bits. */
	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x1000);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0x200000000, 0x1000);
	elf_bytes_section(&e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, BED_FRAMES, f.at, f.nr);
	elf_bytes_finish(&e);
	assert_int_equal(rows_build_memory(e.at, e.size, &bytes, &why), -EFBIG);
	e.at[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(rows_build_memory(e.at, e.size, &bytes, &why), -ENOEXEC);
	elf_bytes_done(&e);
}

/* More rules than indices: the rest have none. */
static void rules_are_bounded(void **state)
{
	const size_t nr = ROWS_RULES_MAX + 1000;
	struct frames head = { 0 };
	uint8_t *bytes = calloc(nr + 100, 24);
	struct rows_bytes built;
	struct rows rows;
	struct elf_bytes e;
	size_t size;

	(void)state;
	put_cie(&head, &usual, CODE(ENTRY));
	memcpy(bytes, head.at, head.nr);
	size = head.nr;
	for (uint32_t i = 0; i < nr; i++) {
		struct frames one = { .nr = 0 };
		uint32_t start = BED_CODE + i - (uint32_t)(BED_FRAMES + size + 8);

		put_number(&one, 20, 4);
		put_number(&one, size + 4, 4);
		put_number(&one, start, 4);
		put_number(&one, 1, 4);
		put_bytes(&one, (const uint8_t[]){ 0, DW_CFA_def_cfa_offset }, 2);
		put_bytes(&one,
			  (const uint8_t[]){ 0x80 | (i & 0x7f), 0x80 | (i >> 7 & 0x7f),
					     i >> 14 & 0x7f },
			  3);
		memcpy(bytes + size, one.at, 24);
		size += 24;
	}
	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, BED_CODE, 0x100000);
	elf_bytes_section(&e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, BED_FRAMES, bytes, size);
	elf_bytes_finish(&e);
	assert_int_equal(rows_build_memory(e.at, e.size, &built, NULL), 0);
	assert_int_equal(rows_check(built.at, built.size, &rows), 0);
	assert_int_equal(rows.header->nr_rules, ROWS_RULES_MAX);
	assert_int_equal(rows_find(&rows, BED_CODE + 60000)->cfa_offset, 60000);
	assert_int_equal(rows_find(&rows, BED_CODE + nr - 1)->cfa, RULE_CFA_NONE);
	free(built.at);
	elf_bytes_done(&e);
	free(bytes);
}

static void ask_all(const struct rows *r)
{
	for (uint64_t vaddr = BED_CODE - 2; vaddr < BED_CODE + 0x80; vaddr++)
		assert_true(rows_find(r, vaddr)->cfa <= RULE_CFA_PLT);
	rows_find(r, 0);
	rows_find(r, UINT64_MAX);
}

static void no_damaged_rows_pass(void **state)
{
	struct frames f = { 0 };
	struct rows_header *h;
	struct bed b;
	uint64_t *copy;
	struct rows rows;

	(void)state;
	put_function(&f, 16, 0x10, 0x10);
	put_function(&f, 24, 0x40, 0x10);
	bed_init(&b, EM_X86_64, &f, NULL);
	copy = malloc(b.bytes.size + 8);
	for (size_t size = 0; size < b.bytes.size; size++) {
		uint64_t *cut = malloc(size != 0 ? size : 1);

		memcpy(cut, b.bytes.at, size);
		assert_int_equal(rows_check(cut, size, &rows), -EBADMSG);
		free(cut);
	}
	for (size_t i = 0; i < b.bytes.size * 8; i++) {
		memcpy(copy, b.bytes.at, b.bytes.size);
		((uint8_t *)copy)[i / 8] ^= (uint8_t)(1u << i % 8);
		if (rows_check(copy, b.bytes.size, &rows) == 0)
			ask_all(&rows);
	}
	h = (struct rows_header *)copy;
#define REFUSED(change)                                                            \
	do {                                                                       \
		memcpy(copy, b.bytes.at, b.bytes.size);                            \
		change;                                                            \
		assert_int_equal(rows_check(copy, b.bytes.size, &rows), -EBADMSG); \
	} while (0)
	REFUSED(h->magic++);
	REFUSED(h->version++);
	REFUSED(h->machine = 2);
	REFUSED(h->size++);
	REFUSED(h->nr_rules = 0);
	REFUSED(h->nr_rules = 1);
	REFUSED(h->nr_rules = ROWS_RULES_MAX + 1);
	REFUSED(h->nr_rows = UINT32_MAX);
	REFUSED(h->nr_segments = 65);
	REFUSED(h->rules_at = UINT64_MAX - 7);
	REFUSED(h->starts_at += 4);
	REFUSED(h->starts_at = h->indices_at);
	REFUSED(((uint8_t *)copy)[h->rules_at] = RULE_CFA_REG);
	REFUSED(((uint32_t *)copy)[h->starts_at / 4] = 0x7fffffff);
	assert_int_equal(rows_check((uint8_t *)copy + 4, b.bytes.size, &rows), -EBADMSG);
	free(copy);
	bed_done(&b);
}

/* Rows of what may be damaged in any way: they pass the check, or there are none. */
static void try_hostile(uint16_t machine, const struct frames *f)
{
	struct bed b;

	if (bed_try(&b, machine, f->debug ? NULL : f, f->debug ? f : NULL) == 0)
		ask_all(&b.rows);
	bed_done(&b);
}

static void hostile_bytes(void **state)
{
	static const struct cie_spec spec = { .augmentation = "zPLRS", .encoding = 0x1b };
	struct frames kinds[3] = { { .debug = false },
				   { .debug = true },
				   { .debug = true, .wide = true } };

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct frames *f = &kinds[k], damaged;
		size_t cie = put_function(f, 16, 0x10, 0x10);

		if (!f->debug) {
			cie = put_cie(f, &spec, CODE(ENTRY));
			put_fde(f, cie, &spec, BED_CODE, 0x40,
				CODE(DW_CFA_remember_state, DW_CFA_advance_loc1, 1,
				     DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
				     DW_CFA_expression, 6, 2, DW_OP_breg6, 0, DW_CFA_advance_loc2,
				     2, 0, DW_CFA_restore_state, DW_CFA_set_loc, 1, 2, 3, 4,
				     DW_CFA_val_expression, 7, 1, DW_OP_lit0));
		}
		for (size_t size = 0; size <= f->nr; size++) {
			damaged = *f;
			damaged.nr = size;
			try_hostile(EM_X86_64, &damaged);
		}
		for (size_t i = 0; i < f->nr; i++) {
			static const uint8_t flips[] = { 0x01, 0x80, 0xff, 0x7f, 0x10 };

			for (size_t flip = 0; flip < sizeof(flips); flip++) {
				damaged = *f;
				damaged.at[i] ^= flips[flip];
				try_hostile(EM_X86_64, &damaged);
				try_hostile(EM_AARCH64, &damaged);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fdes_come_in_any_order),
		cmocka_unit_test(neighbours_merge_and_overlaps_are_cut),
		cmocka_unit_test(debug_frame_fills_in),
		cmocka_unit_test(a_packed_debug_frame_of_the_debug_file),
		cmocka_unit_test(found_by_program_header),
		cmocka_unit_test(offsets_of_the_file_are_found),
		cmocka_unit_test(what_cannot_be_read_says_why),
		cmocka_unit_test(rules_are_bounded),
		cmocka_unit_test(no_damaged_rows_pass),
		cmocka_unit_test(hostile_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
