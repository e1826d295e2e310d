/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Go's own table of functions, in each of its layouts, written byte by byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "image/build.h"
#include "image/table.h"
#include "support/elf_bytes.h"

enum { TEXT = 0x1000, TABLE_ADDR = 0x5000, NR = 3 };

/* Where the functions begin, from the text on; the last ends at the fourth. */
static const uint32_t starts[NR + 1] = { 0x00, 0x40, 0xa0, 0x100 };
static const char *const names[NR] = { "_rt0_amd64_linux", "runtime.mstart", "main.(*T).Spin" };

struct bytes_out {
	uint8_t at[1024];
	size_t size;
	unsigned width; /* of a pointer */
};

static void put(struct bytes_out *b, size_t at, uint64_t value, unsigned width)
{
	assert_true(at + width <= sizeof(b->at));
	memcpy(b->at + at, &value, width); /* the tests' machines are little endian */
	if (b->size < at + width)
		b->size = at + width;
}

static void put_word(struct bytes_out *b, unsigned index, uint64_t value)
{
	put(b, 8 + (size_t)index * b->width, value, b->width);
}

static size_t put_names(struct bytes_out *b, size_t at, uint32_t *ret)
{
	for (int i = 0; i < NR; i++) {
		ret[i] = (uint32_t)at;
		memcpy(b->at + at, names[i], strlen(names[i]) + 1);
		at += strlen(names[i]) + 1;
	}
	if (b->size < at)
		b->size = at;
	return at;
}

/* Functab at @functab of numbers of @width bytes, records behind it, relative to @base. */
static void put_functab(struct bytes_out *b, size_t functab, size_t base, unsigned width,
			uint64_t text, const uint32_t *name_at)
{
	size_t record = functab + (2 * NR + 1) * width;

	record += -record % 8;
	for (unsigned i = 0; i <= NR; i++) {
		put(b, functab + (size_t)2 * i * width, text + starts[i], width);
		if (i == NR)
			break;
		put(b, functab + ((size_t)2 * i + 1) * width, record - base, width);
		put(b, record, text + starts[i], width);
		put(b, record + width, name_at[i], 4);
		record += 24;
	}
}

/* @version: 12, 116, 118 or 120. */
static void make_table(struct bytes_out *b, unsigned version, unsigned width, uint64_t text)
{
	static const struct {
		unsigned version;
		uint32_t magic;
	} magics[] = {
		{ 12, 0xfffffffb }, { 116, 0xfffffffa }, { 118, 0xfffffff0 }, { 120, 0xfffffff1 }
	};
	uint32_t name_at[NR];
	size_t names_at = 8 + 8 * width, functab;

	*b = (struct bytes_out){ .width = width };
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		if (magics[i].version == version)
			put(b, 0, magics[i].magic, 4);
	}
	put(b, 6, 1, 1);
	put(b, 7, width, 1);
	put_word(b, 0, NR);
	if (version == 12) {
		put_names(b, 512, name_at);
		put_functab(b, 8 + width, 0, width, TEXT, name_at);
		return;
	}
	functab = put_names(b, names_at, name_at);
	functab += -functab % 8;
	for (int i = 0; i < NR; i++)
		name_at[i] -= (uint32_t)names_at;
	put_word(b, version == 116 ? 2 : 3, names_at);
	put_word(b, version == 116 ? 6 : 7, functab);
	if (version > 116)
		put_word(b, 2, text);
	put_functab(b, functab, functab, version == 116 ? width : 4, version == 116 ? TEXT : 0,
		    name_at);
}

struct built {
	struct table_bytes bytes;
	struct table table;
	int err;
};

static void program(struct elf_bytes *e)
{
	elf_bytes_init(e, ET_EXEC, EM_X86_64);
	elf_bytes_segment(e, PT_LOAD, PF_R | PF_X, 0x1000, TEXT, 0x1000);
	assert_int_equal(elf_bytes_code(e, ".text", TEXT, NULL, 0x800), 1);
}

static void finish(struct elf_bytes *e, struct built *ret)
{
	static const struct build_options options = {
		.file_max = 1 << 20,
		.symbols_max = 64,
		.strings_max = 1 << 16,
		.unpacked_max = 1 << 16,
	};
	struct reason why;

	elf_bytes_finish(e);
	memset(ret, 0, sizeof(*ret));
	ret->err = build_table_memory(e->at, e->size, &options, &ret->bytes, &why);
	if (ret->err == 0)
		assert_int_equal(table_check(ret->bytes.at, ret->bytes.size, &ret->table), 0);
	elf_bytes_done(e);
}

static void build_with(const char *section, const struct bytes_out *b, size_t size,
		       struct built *ret)
{
	struct elf_bytes e;

	program(&e);
	elf_bytes_section(&e, section, SHT_PROGBITS, SHF_ALLOC, TABLE_ADDR, b->at, size);
	finish(&e, ret);
}

static const char *name_at(const struct built *b, uint64_t vaddr)
{
	uint32_t symbol = table_find(&b->table, vaddr);

	return symbol == TABLE_NO_SYMBOL ? "" : table_name(&b->table, symbol);
}

static void assert_named(struct built *b)
{
	assert_int_equal(b->err, 0);
	assert_string_equal(table_source_name(&b->table), "Go table");
	assert_int_equal(b->table.header->nr_symbols, NR);
	for (int i = 0; i < NR; i++) {
		assert_string_equal(name_at(b, TEXT + starts[i]), names[i]);
		assert_string_equal(name_at(b, TEXT + starts[i + 1] - 1), names[i]);
	}
	assert_string_equal(name_at(b, TEXT + starts[NR]), "");
	free(b->bytes.at);
}

static void assert_nameless(struct built *b)
{
	assert_int_equal(b->err, 0);
	assert_int_equal(b->table.header->nr_symbols, 0);
	assert_string_equal(table_source_name(&b->table), "none");
	free(b->bytes.at);
}

static void all_layouts(void **state)
{
	static const unsigned versions[] = { 12, 116, 118, 120 };
	struct bytes_out b;
	struct built built;

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		for (unsigned width = 4; width <= 8; width += 4) {
			make_table(&b, versions[i], width, TEXT);
			build_with(".gopclntab", &b, b.size, &built);
			assert_named(&built);
			build_with(".data.rel.ro.gopclntab", &b, b.size, &built);
			assert_named(&built);
		}
	}
}

/* A symbol table tells more; then Go's table is not read. */
static void symbols_go_before(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "main.main", TEXT, 0x10, STT_FUNC, STB_GLOBAL, 1 },
	};
	struct elf_bytes e;
	struct bytes_out b;
	struct built built;

	(void)state;
	make_table(&b, 120, 8, TEXT);
	program(&e);
	elf_bytes_section(&e, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, TABLE_ADDR, b.at, b.size);
	elf_bytes_symbols(&e, SHT_SYMTAB, symbols, 1);
	finish(&e, &built);
	assert_string_equal(table_source_name(&built.table), "symtab");
	assert_int_equal(built.table.header->nr_symbols, 1);
	free(built.bytes.at);
}

/* In position-independent programs a relocation tells where the text is, and a C linker merges the
 * table into other read-only data. */
static void text_by_relocation(void **state)
{
	uint8_t data[1024 + 64] = { 0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8 };
	Elf64_Rela r[2] = { { 0x7000, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x1234 },
			    { TABLE_ADDR + 64 + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT } };
	struct elf_bytes e;
	struct bytes_out b;
	struct built built;
	size_t index;

	(void)state;
	make_table(&b, 120, 8, 0);
	memset(data + 8, 0xff, 24); /* a magic number by chance */
	memcpy(data + 64, b.at, b.size);
	program(&e);
	elf_bytes_section(&e, ".data.rel.ro", SHT_PROGBITS, SHF_ALLOC, TABLE_ADDR, data,
			  64 + b.size);
	elf_bytes_section(&e, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, 0x9000, "x", 1);
	index = elf_bytes_section(&e, ".rela.dyn", SHT_RELA, 0, 0, r, sizeof(r));
	e.sections[index].sh_entsize = sizeof(r[0]);
	finish(&e, &built);
	assert_named(&built);
}

/* The linker of Go 1.26 leaves the text's address out: it is .text if the program's entry says so.
 */
static void text_by_entry(void **state)
{
	struct elf_bytes e;
	struct bytes_out b;
	struct built built;
	uint64_t entry;

	(void)state;
	make_table(&b, 120, 8, 0);
	for (entry = TEXT; entry <= TEXT + 0x20; entry += 0x20) {
		program(&e);
		elf_bytes_section(&e, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, TABLE_ADDR, b.at,
				  b.size);
		e.entry = entry;
		finish(&e, &built);
		if (entry == TEXT)
			assert_named(&built);
		else
			assert_nameless(&built);
	}
}

/* Cut anywhere, and with any byte of its front damaged, it gives fewer names or none. */
static void damage(void **state)
{
	static const unsigned versions[] = { 12, 116, 118, 120 };
	struct bytes_out b, bad;
	struct built built;

	(void)state;
	for (size_t v = 0; v < sizeof(versions) / sizeof(versions[0]); v++) {
		make_table(&b, versions[v], 8, TEXT);
		for (size_t size = 1; size < b.size; size += 3) {
			build_with(".gopclntab", &b, size, &built);
			assert_int_equal(built.err, 0);
			assert_true(built.table.header->nr_symbols <= NR);
			free(built.bytes.at);
		}
		for (size_t at = 0; at < b.size; at++) {
			bad = b;
			bad.at[at] ^= 0xff;
			build_with(".gopclntab", &bad, bad.size, &built);
			if (built.err == 0)
				free(built.bytes.at);
		}
	}
	make_table(&b, 12, 8, TEXT);
	put_word(&b, 0, UINT64_MAX / 2);
	build_with(".gopclntab", &b, b.size, &built);
	assert_nameless(&built);
	make_table(&b, 120, 8, TEXT + 0x780); /* beyond the code */
	build_with(".gopclntab", &b, b.size, &built);
	assert_nameless(&built);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_layouts),
		cmocka_unit_test(symbols_go_before),
		cmocka_unit_test(text_by_relocation),
		cmocka_unit_test(text_by_entry),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
