/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables built from ELF files written byte by byte: which names, which ranges, what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/build.h"
#include "image/demangle.h"
#include "image/table.h"
#include "support/elf_bytes.h"

#define NR(a) (sizeof(a) / sizeof((a)[0]))

struct built {
	struct table_bytes bytes;
	struct table table;
};

static void build_from(struct elf_bytes *e, int debug_fd, struct built *ret)
{
	struct reason why = { 0 };
	int fd;

	elf_bytes_finish(e);
	fd = elf_bytes_fd(e->at, e->size);
	assert_int_equal(build_table(fd, debug_fd, &build_defaults, &ret->bytes, &why), 0);
	assert_int_equal(table_check(ret->bytes.at, ret->bytes.size, &ret->table), 0);
	close(fd);
	elf_bytes_done(e);
}

static const char *name_at(const struct built *b, uint64_t vaddr)
{
	uint32_t i = table_find(&b->table, vaddr);

	return i == TABLE_NO_SYMBOL ? "" : table_name(&b->table, i);
}

static const char *name_in_file(const struct built *b, uint64_t offset)
{
	uint32_t i = table_symbol(&b->table, offset);

	return i == TABLE_NO_SYMBOL ? "" : table_name(&b->table, i);
}

/* A program with one segment of code, .text at 0x1000..0x2000. */
static void program(struct elf_bytes *e)
{
	elf_bytes_init(e, ET_DYN, EM_X86_64);
	elf_bytes_segment(e, PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0x1000);
	assert_int_equal(elf_bytes_code(e, ".text", 0x1000, NULL, 0x1000), 1);
}

/* The same with room for a PLT before .text. */
static void program_with_plt(struct elf_bytes *e)
{
	elf_bytes_init(e, ET_DYN, EM_X86_64);
	elf_bytes_segment(e, PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0x1000);
	assert_int_equal(elf_bytes_code(e, ".text", 0x1800, NULL, 0x800), 1);
}

static struct built build_program(const struct elf_bytes_symbol *symbols, size_t nr, uint32_t type)
{
	struct elf_bytes e;
	struct built b;

	program(&e);
	elf_bytes_symbols(&e, type, symbols, nr);
	build_from(&e, -1, &b);
	return b;
}

static void sizes_are_respected(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "first", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "second", 0x1020, 0x10, STT_FUNC, STB_LOCAL, 1 },
		{ "huge", 0x1f00, UINT64_MAX - 5, STT_FUNC, STB_GLOBAL, 1 },
		{ "data", 0x1100, 0x10, STT_OBJECT, STB_GLOBAL, 1 },
		{ "tls", 0x1120, 0x10, STT_TLS, STB_GLOBAL, 1 },
		{ "file.c", 0x1140, 0, STT_FILE, STB_LOCAL, 1 },
		{ "", 0x1160, 0, STT_SECTION, STB_LOCAL, 1 },
		{ "undefined", 0x1180, 0x10, STT_FUNC, STB_GLOBAL, 0 },
		{ "beyond", 0x5000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
	};
	struct built b = build_program(symbols, NR(symbols), SHT_SYMTAB);

	(void)state;
	assert_int_equal(b.table.header->nr_symbols, 3);
	assert_string_equal(table_source_name(&b.table), "symtab");
	assert_string_equal(name_at(&b, 0x0fff), "");
	assert_string_equal(name_at(&b, 0x1000), "first");
	assert_string_equal(name_at(&b, 0x100f), "first");
	assert_string_equal(name_at(&b, 0x1010), "");
	assert_string_equal(name_at(&b, 0x101f), "");
	assert_string_equal(name_at(&b, 0x1020), "second");
	assert_string_equal(name_at(&b, 0x1030), "");
	assert_string_equal(name_at(&b, 0x1fff), "huge");
	assert_string_equal(name_at(&b, 0x2000), "");
	assert_string_equal(name_at(&b, UINT64_MAX), "");
	free(b.bytes.at);
}

static void unsized_reach_to_the_next(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "asm_one", 0x1000, 0, STT_NOTYPE, STB_GLOBAL, 1 },
		{ "asm_two", 0x1040, 0, STT_FUNC, STB_LOCAL, 1 },
		{ "sized", 0x1080, 0x80, STT_FUNC, STB_GLOBAL, 1 },
		{ "label_inside", 0x10a0, 0, STT_NOTYPE, STB_LOCAL, 1 },
		{ "$x", 0x1010, 0, STT_NOTYPE, STB_LOCAL, 1 },
		{ "$d.12", 0x1020, 0, STT_NOTYPE, STB_LOCAL, 1 },
		{ "last", 0x1200, 0, STT_FUNC, STB_GLOBAL, 1 },
	};
	struct built b = build_program(symbols, NR(symbols), SHT_SYMTAB);

	(void)state;
	assert_string_equal(name_at(&b, 0x103f), "asm_one");
	assert_string_equal(name_at(&b, 0x107f), "asm_two");
	assert_string_equal(name_at(&b, 0x10b0), "sized");
	assert_string_equal(name_at(&b, 0x10ff), "sized");
	assert_string_equal(name_at(&b, 0x1100), "");
	assert_string_equal(name_at(&b, 0x1fff), "last");
	assert_string_equal(name_at(&b, 0x2000), "");
	free(b.bytes.at);
	/* Among exported symbols only, what follows is not known: no name is stretched over it. */
	b = build_program(symbols, NR(symbols), SHT_DYNSYM);
	assert_string_equal(table_source_name(&b.table), "dynsym");
	assert_string_equal(name_at(&b, 0x1200), "last");
	assert_string_equal(name_at(&b, 0x1201), "");
	free(b.bytes.at);
}

static void aliases_choose_the_known_name(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "__libc_malloc", 0x1000, 8, STT_FUNC, STB_GLOBAL, 1 },
		{ "malloc", 0x1000, 8, STT_FUNC, STB_GLOBAL, 1 },
		{ "__GI_write", 0x1010, 8, STT_FUNC, STB_LOCAL, 1 },
		{ "__write", 0x1010, 8, STT_FUNC, STB_GLOBAL, 1 },
		{ "write", 0x1010, 8, STT_FUNC, STB_WEAK, 1 },
		{ "weak", 0x1020, 8, STT_FUNC, STB_WEAK, 1 },
		{ "global", 0x1020, 8, STT_FUNC, STB_GLOBAL, 1 },
		{ "label", 0x1030, 8, STT_NOTYPE, STB_GLOBAL, 1 },
		{ "local_function", 0x1030, 8, STT_FUNC, STB_LOCAL, 1 },
		{ "longer_name", 0x1040, 8, STT_FUNC, STB_GLOBAL, 1 },
		{ "longer", 0x1040, 8, STT_FUNC, STB_GLOBAL, 1 },
		{ "versioned@@V_2", 0x1050, 8, STT_FUNC, STB_GLOBAL, 1 },
		{ "resolver", 0x1060, 8, STT_GNU_IFUNC, STB_GLOBAL, 1 },
		{ "unsized", 0x1070, 0, STT_FUNC, STB_GLOBAL, 1 },
		{ "_sized", 0x1070, 8, STT_FUNC, STB_LOCAL, 1 },
		{ ".L42", 0x1078, 8, STT_FUNC, STB_LOCAL, 1 },
		{ "_ZN3foo3barEv.part.0.cold", 0x1080, 8, STT_FUNC, STB_LOCAL, 1 },
		{ "_ZN3foo3pad17h0123456789abcdefE.llvm.12", 0x1090, 8, STT_FUNC, STB_LOCAL, 1 },
	};
	struct built b = build_program(symbols, NR(symbols), SHT_SYMTAB);

	(void)state;
	assert_int_equal(b.table.header->nr_symbols, 10);
	assert_string_equal(name_at(&b, 0x1000), "malloc");
	assert_string_equal(name_at(&b, 0x1010), "write");
	assert_string_equal(name_at(&b, 0x1020), "global");
	assert_string_equal(name_at(&b, 0x1030), "local_function");
	assert_string_equal(name_at(&b, 0x1047), "longer");
	assert_string_equal(name_at(&b, 0x1050), "versioned");
	assert_string_equal(name_at(&b, 0x1060), "resolver@ifunc");
	assert_string_equal(name_at(&b, 0x1070), "_sized");
	assert_string_equal(name_at(&b, 0x1078), "");
	assert_string_equal(name_at(&b, 0x1080), "foo::bar.part.0.cold");
	assert_string_equal(name_at(&b, 0x1090), "foo::pad.llvm.12");
	free(b.bytes.at);
}

/* Puts the bytes of a section into a zlib stream of one stored block, behind a header that tells of
 * @size bytes. */
static void compress_section(struct elf_bytes *e, size_t index, uint64_t size)
{
	Elf64_Shdr *section = &e->sections[index];
	Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = size, .ch_addralign = 8 };
	const uint8_t *bytes = e->at + section->sh_offset;
	uint16_t length = (uint16_t)section->sh_size, inverse = (uint16_t)~length;
	uint8_t packed[2048] = { 0 };
	size_t at = sizeof(header);
	uint32_t a = 1, b = 0;

	assert_true(section->sh_size + 64 < sizeof(packed));
	memcpy(packed, &header, sizeof(header));
	memcpy(packed + at, "\x78\x01\x01", 3);
	memcpy(packed + at + 3, &length, 2);
	memcpy(packed + at + 5, &inverse, 2);
	memcpy(packed + at + 7, bytes, length);
	for (size_t i = 0; i < length; i++) { /* Adler-32 */
		a = (a + bytes[i]) % 65521;
		b = (b + a) % 65521;
	}
	at += 7 + (size_t)length;
	packed[at] = (uint8_t)(b >> 8);
	packed[at + 1] = (uint8_t)b;
	packed[at + 2] = (uint8_t)(a >> 8);
	packed[at + 3] = (uint8_t)a;
	index = elf_bytes_section(e, ".packed", SHT_PROGBITS, 0, 0, packed, at + 4);
	section->sh_offset = e->sections[index].sh_offset;
	section->sh_size = at + 4;
	section->sh_flags |= SHF_COMPRESSED;
}

static void packed_symbols(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "first", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "second", 0x1010, 0x10, STT_FUNC, STB_LOCAL, 1 },
	};
	static const uint64_t sizes[] = { 0, 1ull << 40 }; /* the true one, and one too large */

	(void)state;
	for (size_t i = 0; i < NR(sizes); i++) {
		struct elf_bytes e;
		struct built b;
		size_t index;
		uint64_t size;

		program(&e);
		index = elf_bytes_symbols(&e, SHT_SYMTAB, symbols, NR(symbols));
		size = sizes[i] ? sizes[i] : e.sections[index].sh_size;
		compress_section(&e, e.sections[index].sh_link,
				 e.sections[e.sections[index].sh_link].sh_size);
		compress_section(&e, index, size);
		build_from(&e, -1, &b);
		assert_string_equal(name_at(&b, 0x1018), sizes[i] ? "" : "second");
		free(b.bytes.at);
	}
}

static void nested_symbols_answer_for_their_part(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "outer", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, 1 },
		{ "middle", 0x1020, 0x40, STT_FUNC, STB_GLOBAL, 1 },
		{ "inner", 0x1030, 0x08, STT_FUNC, STB_GLOBAL, 1 },
		{ "crossing", 0x10f0, 0x20, STT_FUNC, STB_GLOBAL, 1 },
	};
	struct built b = build_program(symbols, NR(symbols), SHT_SYMTAB);

	(void)state;
	assert_string_equal(name_at(&b, 0x101f), "outer");
	assert_string_equal(name_at(&b, 0x102f), "middle");
	assert_string_equal(name_at(&b, 0x1037), "inner");
	assert_string_equal(name_at(&b, 0x1038), "middle");
	assert_string_equal(name_at(&b, 0x1060), "outer");
	assert_string_equal(name_at(&b, 0x10f0), "crossing");
	assert_string_equal(name_at(&b, 0x110f), "crossing");
	assert_string_equal(name_at(&b, 0x1110), "");
	free(b.bytes.at);
}

static void segments_map_offsets(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "near", 0x401100, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "far", 0x902210, 0x10, STT_FUNC, STB_GLOBAL, 2 },
	};
	struct elf_bytes e;
	struct built b;

	(void)state;
	elf_bytes_init(&e, ET_EXEC, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R, 0, 0x400000, 0x100);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0x100, 0x401100, 0x100);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0x210, 0x902210, 0x40);
	elf_bytes_code(&e, ".text", 0x401100, NULL, 0x100);
	elf_bytes_code(&e, ".text.hot", 0x902210, NULL, 0x40);
	elf_bytes_symbols(&e, SHT_SYMTAB, symbols, NR(symbols));
	build_from(&e, -1, &b);
	assert_int_equal(b.table.header->nr_segments, 2);
	assert_string_equal(name_in_file(&b, 0x100), "near");
	assert_string_equal(name_in_file(&b, 0x10f), "near");
	assert_string_equal(name_in_file(&b, 0x110), "");
	assert_string_equal(name_in_file(&b, 0x0ff), "");
	assert_string_equal(name_in_file(&b, 0x210), "far");
	assert_string_equal(name_in_file(&b, 0x220), "");
	assert_string_equal(name_in_file(&b, 0x250), "");
	assert_string_equal(name_in_file(&b, 0x401100), "");
	free(b.bytes.at);
}

static void sections_bound_unsized(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "_init", 0x1000, 0, STT_FUNC, STB_GLOBAL, 1 },
		{ "main", 0x1100, 0x10, STT_FUNC, STB_GLOBAL, 2 },
		{ "in_the_hole", 0x1080, 0x10, STT_FUNC, STB_GLOBAL, 1 },
	};
	struct elf_bytes e;
	struct built b;

	(void)state;
	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0x1000);
	elf_bytes_code(&e, ".init", 0x1000, NULL, 0x18);
	elf_bytes_code(&e, ".text", 0x1100, NULL, 0x100);
	elf_bytes_symbols(&e, SHT_SYMTAB, symbols, NR(symbols));
	build_from(&e, -1, &b);
	assert_string_equal(name_at(&b, 0x1017), "_init");
	assert_string_equal(name_at(&b, 0x1018), "");
	assert_string_equal(name_at(&b, 0x1080), "");
	assert_string_equal(name_at(&b, 0x1100), "main");
	free(b.bytes.at);
}

/* A relocation section of slots 0x3000, 0x3008, … for symbols 1, 2, … of @symbols. */
static void add_relocations(struct elf_bytes *e, const char *name, size_t symbols, uint32_t type,
			    uint64_t slot, size_t first, size_t nr)
{
	Elf64_Rela r[4];
	size_t index;

	for (size_t i = 0; i < nr; i++)
		r[i] = (Elf64_Rela){ slot + 8 * i, ELF64_R_INFO(first + i, type), 0 };
	index = elf_bytes_section(e, name, SHT_RELA, 0, 0, r, nr * sizeof(r[0]));
	e->sections[index].sh_link = (uint32_t)symbols;
	e->sections[index].sh_entsize = sizeof(r[0]);
	e->sections[index].sh_addralign = 8;
}

/* jmp *slot(%rip) behind @prefix. */
static void put_jump(uint8_t *code, const char *prefix, size_t length, uint64_t addr, uint64_t slot)
{
	int32_t distance = (int32_t)(slot - (addr + length + 6));

	memcpy(code, prefix, length);
	code[length] = 0xff;
	code[length + 1] = 0x25;
	memcpy(code + length + 2, &distance, 4);
}

static void plt_of_x86_64(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "write", 0, 0, STT_FUNC, STB_GLOBAL, 0 },
		{ "read", 0, 0, STT_FUNC, STB_GLOBAL, 0 },
		{ "_ZN3foo3barEv", 0, 0, STT_FUNC, STB_GLOBAL, 0 },
	};
	uint8_t plt[48] = { 0xff, 0x35 }, sec[32] = { 0 }, got[8] = { 0 };
	static const uint8_t lazy[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1, 0, 0, 0, 0xf2, 0xe9 };
	struct elf_bytes e;
	struct built b;
	size_t dynsym;

	(void)state;
	put_jump(plt + 16, "", 0, 0x1010, 0x3000);
	memcpy(plt + 32, lazy, sizeof(lazy));
	put_jump(sec, "\xf3\x0f\x1e\xfa\xf2", 5, 0x1100, 0x3000);
	put_jump(sec + 16, "\xf3\x0f\x1e\xfa", 4, 0x1110, 0x3008);
	put_jump(got, "", 0, 0x1200, 0x3020);
	program_with_plt(&e);
	elf_bytes_code(&e, ".plt", 0x1000, plt, sizeof(plt));
	elf_bytes_code(&e, ".plt.sec", 0x1100, sec, sizeof(sec));
	e.sections[elf_bytes_code(&e, ".plt.got", 0x1200, got, sizeof(got))].sh_entsize = 8;
	dynsym = elf_bytes_symbols(&e, SHT_DYNSYM, symbols, NR(symbols));
	add_relocations(&e, ".rela.plt", dynsym, R_X86_64_JUMP_SLOT, 0x3000, 1, 2);
	add_relocations(&e, ".rela.dyn", dynsym, R_X86_64_GLOB_DAT, 0x3020, 3, 1);
	build_from(&e, -1, &b);
	assert_string_equal(name_at(&b, 0x1000), "");
	assert_string_equal(name_at(&b, 0x1010), "write@plt");
	assert_string_equal(name_at(&b, 0x1020), "read@plt");
	assert_string_equal(name_at(&b, 0x102f), "read@plt");
	assert_string_equal(name_at(&b, 0x1030), "");
	assert_string_equal(name_at(&b, 0x1100), "write@plt");
	assert_string_equal(name_at(&b, 0x111f), "read@plt");
	assert_string_equal(name_at(&b, 0x1200), "foo::bar@plt");
	assert_string_equal(name_at(&b, 0x1208), "");
	assert_string_equal(table_source_name(&b.table), "none");
	free(b.bytes.at);
}

static void plt_of_aarch64(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "write", 0, 0, STT_FUNC, STB_GLOBAL, 0 },
		{ "read", 0, 0, STT_FUNC, STB_GLOBAL, 0 },
	};
	/* bti c; adrp x16, +0x2000; ldr x17, [x16, #0]; add x16; br x17; then the same for slot 8
	 * without bti. */
	static const uint32_t plt[] = {
		0xd503245f, 0xd0000010, 0xf9400211, 0x91000210, 0xd61f0220,
		0xd0000010, 0xf9400611, 0x91002210, 0xd61f0220,
	};
	struct elf_bytes e;
	struct built b;
	size_t dynsym;

	(void)state;
	elf_bytes_init(&e, ET_DYN, EM_AARCH64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0x1000);
	elf_bytes_code(&e, ".plt", 0x1000, plt, sizeof(plt));
	dynsym = elf_bytes_symbols(&e, SHT_DYNSYM, symbols, NR(symbols));
	add_relocations(&e, ".rela.plt", dynsym, R_AARCH64_JUMP_SLOT, 0x3000, 1, 2);
	build_from(&e, -1, &b);
	assert_string_equal(name_at(&b, 0x1000), "write@plt");
	assert_string_equal(name_at(&b, 0x1013), "write@plt");
	assert_string_equal(name_at(&b, 0x1014), "read@plt");
	assert_string_equal(name_at(&b, 0x1024), "");
	free(b.bytes.at);
}

static void ifunc_slots_of_static_programs(void **state)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "memcpy", 0x1800, 0x20, STT_GNU_IFUNC, STB_GLOBAL, 1 },
	};
	Elf64_Rela r = { 0x3000, ELF64_R_INFO(0, R_X86_64_IRELATIVE), 0x1800 };
	uint8_t plt[16] = { 0 };
	struct elf_bytes e;
	struct built b;
	size_t index;

	(void)state;
	put_jump(plt, "", 0, 0x1100, 0x3000);
	program_with_plt(&e);
	elf_bytes_code(&e, ".plt", 0x1100, plt, sizeof(plt));
	elf_bytes_symbols(&e, SHT_SYMTAB, symbols, NR(symbols));
	index = elf_bytes_section(&e, ".rela.plt", SHT_RELA, 0, 0, &r, sizeof(r));
	e.sections[index].sh_entsize = sizeof(r);
	build_from(&e, -1, &b);
	assert_string_equal(name_at(&b, 0x1108), "memcpy@plt");
	assert_string_equal(name_at(&b, 0x1808), "memcpy@ifunc");
	free(b.bytes.at);
}

static void debug_file_gives_names(void **state)
{
	static const struct elf_bytes_symbol exported[] = {
		{ "api", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
	};
	static const struct elf_bytes_symbol all[] = {
		{ "api", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "hidden", 0x1010, 0x10, STT_FUNC, STB_LOCAL, 1 },
	};
	struct elf_bytes debug, e;
	struct built b;
	int fd;

	(void)state;
	elf_bytes_init(&debug, ET_DYN, EM_X86_64);
	elf_bytes_section(&debug, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, NULL, 64);
	elf_bytes_symbols(&debug, SHT_SYMTAB, all, NR(all));
	elf_bytes_finish(&debug);
	fd = elf_bytes_fd(debug.at, debug.size);
	program(&e);
	elf_bytes_symbols(&e, SHT_DYNSYM, exported, NR(exported));
	build_from(&e, fd, &b);
	assert_string_equal(table_source_name(&b.table), "debug file");
	assert_int_equal(b.table.header->nr_symbols, 2);
	assert_string_equal(name_in_file(&b, 0x1018), "hidden");
	free(b.bytes.at);
	close(fd);
	elf_bytes_done(&debug);
}

static void mini_debug_info_is_unpacked(void **state)
{
	static const struct elf_bytes_symbol hidden[] = {
		{ "hidden", 0x1010, 0x10, STT_FUNC, STB_LOCAL, 1 },
	};
	static const struct elf_bytes_symbol exported[] = {
		{ "api", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
	};
	uint8_t packed[65536];
	struct elf_bytes mini, e;
	struct built b;
	size_t size = 0;

	(void)state;
	elf_bytes_init(&mini, ET_DYN, EM_X86_64);
	elf_bytes_section(&mini, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, NULL, 64);
	elf_bytes_symbols(&mini, SHT_SYMTAB, hidden, NR(hidden));
	elf_bytes_finish(&mini);
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, mini.at, mini.size,
						 packed, &size, sizeof(packed)),
			 LZMA_OK);
	for (int damaged = 0; damaged < 2; damaged++) {
		packed[size / 2] ^= damaged ? 0xff : 0;
		program(&e);
		elf_bytes_symbols(&e, SHT_DYNSYM, exported, NR(exported));
		elf_bytes_section(&e, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, size);
		build_from(&e, -1, &b);
		assert_string_equal(table_source_name(&b.table),
				    damaged ? "dynsym" : "mini debug info");
		assert_string_equal(name_at(&b, 0x1000), "api");
		assert_string_equal(name_at(&b, 0x1010), damaged ? "" : "hidden");
		free(b.bytes.at);
	}
	elf_bytes_done(&mini);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_respected),
		cmocka_unit_test(unsized_reach_to_the_next),
		cmocka_unit_test(aliases_choose_the_known_name),
		cmocka_unit_test(packed_symbols),
		cmocka_unit_test(nested_symbols_answer_for_their_part),
		cmocka_unit_test(segments_map_offsets),
		cmocka_unit_test(sections_bound_unsized),
		cmocka_unit_test(plt_of_x86_64),
		cmocka_unit_test(plt_of_aarch64),
		cmocka_unit_test(ifunc_slots_of_static_programs),
		cmocka_unit_test(debug_file_gives_names),
		cmocka_unit_test(mini_debug_info_is_unpacked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
