/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files made to harm the builder, cut files, and the demangler's bounds; and the truth of real
 * libraries. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/build.h"
#include "image/demangle.h"
#include "image/elf_file.h"
#include "image/table.h"
#include "image/unpack.h"
#include "support/elf_bytes.h"

static const struct elf_bytes_symbol two[] = {
	{ "one", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
	{ "_ZN1a1bEi", 0x1010, 0x10, STT_FUNC, STB_GLOBAL, 1 },
};

static void small_program(struct elf_bytes *e, uint16_t type)
{
	elf_bytes_init(e, type, EM_X86_64);
	elf_bytes_segment(e, PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0x1000);
	elf_bytes_code(e, ".text", 0x1000, NULL, 0x1000);
	elf_bytes_symbols(e, SHT_SYMTAB, two, 2);
}

static int build_bytes(const void *at, size_t size, struct table_bytes *ret, struct reason *why)
{
	int fd = elf_bytes_fd(at, size);
	int err = build_table(fd, -1, &build_defaults, ret, why);

	close(fd);
	return err;
}

static void what_is_no_program_is_refused(void **state)
{
	static const uint16_t types[] = { ET_REL, ET_CORE, ET_NONE };
	struct table_bytes b;
	struct reason why = { 0 };
	struct elf_bytes e;
	int pipes[2];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		small_program(&e, types[i]);
		elf_bytes_finish(&e);
		assert_int_equal(build_bytes(e.at, e.size, &b, &why), -ENOEXEC);
		assert_true(why.text[0] != '\0');
		elf_bytes_done(&e);
	}
	assert_int_equal(build_bytes("#!/bin/sh\n", 10, &b, &why), -ENOEXEC);
	assert_int_equal(build_bytes("", 0, &b, &why), -ENOEXEC);
	assert_int_equal(build_bytes("!<arch>\n", 8, &b, &why), -ENOEXEC);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(build_table(pipes[0], -1, &build_defaults, &b, &why), -ENOEXEC);
	close(pipes[0]);
	close(pipes[1]);
}

static void cut_at_every_length(void **state)
{
	struct elf_bytes e;
	size_t built = 0;

	(void)state;
	small_program(&e, ET_DYN);
	elf_bytes_finish(&e);
	for (size_t size = 0; size <= e.size; size++) {
		struct table_bytes b;
		struct table t;

		if (build_bytes(e.at, size, &b, NULL) == 0) {
			assert_int_equal(table_check(b.at, b.size, &t), 0);
			free(b.at);
			built++;
		}
	}
	assert_true(built > 0);
	elf_bytes_done(&e);
}

/* Every 32-bit word of the file in turn becomes huge. */
static void huge_words_anywhere(void **state)
{
	static const uint32_t evil[] = { 0xffffffff, 0x7fffffff, 0x10000000 };
	struct elf_bytes e;

	(void)state;
	small_program(&e, ET_DYN);
	elf_bytes_finish(&e);
	for (size_t at = 0; at + 4 <= e.size; at += 4) {
		for (size_t i = 0; i < 3; i++) {
			struct table_bytes b;
			uint32_t was;

			memcpy(&was, e.at + at, 4);
			memcpy(e.at + at, &evil[i], 4);
			if (build_table_memory(e.at, e.size, &build_defaults, &b, NULL) == 0)
				free(b.at);
			memcpy(e.at + at, &was, 4);
		}
	}
	elf_bytes_done(&e);
}

static void counts_are_bounded(void **state)
{
	struct build_options few = build_defaults;
	struct table_bytes b;
	struct reason why = { 0 };
	struct elf_bytes e;
	int fd;

	(void)state;
	small_program(&e, ET_DYN);
	elf_bytes_finish(&e);
	fd = elf_bytes_fd(e.at, e.size);
	few.symbols_max = 2;
	assert_int_equal(build_table(fd, -1, &few, &b, &why), -EFBIG);
	few = build_defaults;
	few.file_max = e.size - 1;
	assert_int_equal(build_table(fd, -1, &few, &b, &why), -EFBIG);
	few = build_defaults;
	few.strings_max = 4;
	assert_int_equal(build_table(fd, -1, &few, &b, &why), 0);
	assert_int_equal(((struct table_header *)b.at)->nr_symbols, 0);
	free(b.at);
	close(fd);
	elf_bytes_done(&e);
}

/* A sparse file of 12 GiB that claims to be full of section names, sections or program headers. */
static void sparse_giants_cost_nothing(void **state)
{
	struct table_bytes b;
	struct elf_bytes e;
	Elf64_Ehdr header;
	Elf64_Shdr names;
	uint64_t names_at;
	int fd;

	(void)state;
	small_program(&e, ET_DYN);
	elf_bytes_finish(&e);
	fd = elf_bytes_fd(e.at, e.size);
	assert_int_equal(ftruncate(fd, (off_t)12 << 30), 0);
	memcpy(&header, e.at, sizeof(header));
	names_at = header.e_shoff + header.e_shstrndx * sizeof(names);
	memcpy(&names, e.at + names_at, sizeof(names));
	names.sh_size = (UINT64_C(12) << 30) - names.sh_offset;
	assert_int_equal(pwrite(fd, &names, sizeof(names), (off_t)names_at), sizeof(names));
	assert_int_equal(build_table(fd, -1, &build_defaults, &b, NULL), 0);
	assert_int_equal(((struct table_header *)b.at)->nr_symbols, 2);
	free(b.at);
	header.e_shnum = 0;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(build_table(fd, -1, &build_defaults, &b, NULL), -EFBIG);
	header.e_shnum = 3;
	header.e_phnum = PN_XNUM;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(build_table(fd, -1, &build_defaults, &b, NULL), -EFBIG);
	close(fd);
	elf_bytes_done(&e);
}

static void packed_data_is_bounded(void **state)
{
	static const uint8_t noise[64] = { 0xfd, '7', 'z', 'X', 'Z', 0, 1, 2, 3 };
	uint8_t packed[4096], *bytes, *zeroes;
	size_t size, packed_size = 0;

	(void)state;
	assert_int_equal(unpack_xz(noise, sizeof(noise), 1 << 20, &bytes, &size), -EBADMSG);
	assert_int_equal(unpack_xz(noise, 0, 1 << 20, &bytes, &size), -EBADMSG);
	assert_int_equal(unpack_xz(noise, 6, 0, &bytes, &size), -EFBIG);
	zeroes = calloc(1, 1 << 20);
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, zeroes, 1 << 20, packed,
						 &packed_size, sizeof(packed)),
			 LZMA_OK);
	assert_int_equal(unpack_xz(packed, packed_size, (1 << 20) - 1, &bytes, &size), -EFBIG);
	assert_int_equal(unpack_xz(packed, packed_size, 1 << 20, &bytes, &size), 0);
	assert_int_equal(size, 1 << 20);
	assert_memory_equal(bytes, zeroes, size);
	free(bytes);
	assert_int_equal(unpack_xz(packed, packed_size - 1, 2 << 20, &bytes, &size), -EBADMSG);
	free(zeroes);
}

static void names_are_made_readable(void **state)
{
	static const char *const names[][2] = {
		{ "_ZN4llvm9StringRef4findEc", "llvm::StringRef::find" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		{ "_Z3fooIiEvT_", "foo<int>" },
	};
	struct demangler d = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *readable = demangle(&d, names[i][0]);

		assert_non_null(readable);
		assert_string_equal(readable, names[i][1]);
		assert_int_equal(d.length, strlen(readable));
	}
	assert_null(demangle(&d, "main"));
	assert_null(demangle(&d, "_Znot_really_mangled"));
	assert_null(demangle(&d, ""));
}

/* Each template argument names the one before twice: a few bytes more of name, twice the text. */
static void doubling_name(char *out, size_t levels)
{
	size_t at = (size_t)sprintf(out, "_Z1fI1PI1aS0_E");
	char substitution[8] = "S1_";

	for (size_t i = 0; i < levels; i++) {
		at += (size_t)sprintf(out + at, "S_I%s%sE", substitution, substitution);
		sprintf(substitution, "S%c_", "23456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
	}
	sprintf(out + at, "EvvT_");
}

static void exploding_names_are_cut(void **state)
{
	static struct demangler d;
	char name[DEMANGLE_IN_MAX + 2];
	const char *readable;

	(void)state;
	doubling_name(name, 30);
	readable = demangle(&d, name);
	assert_non_null(readable);
	assert_int_equal(strlen(readable), DEMANGLE_OUT_MAX);
	assert_int_equal(d.length, DEMANGLE_OUT_MAX);
	memset(name, 'x', sizeof(name));
	memcpy(name, "_Z9999", 6);
	name[DEMANGLE_IN_MAX + 1] = '\0';
	assert_null(demangle(&d, name));
}

static void long_names_are_cut(void **state)
{
	char name[3000];
	struct elf_bytes_symbol symbol = { name, 0x1000, 16, STT_FUNC, STB_GLOBAL, 1 };
	struct table_bytes b;
	struct table t;
	struct elf_bytes e;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0x1000);
	elf_bytes_code(&e, ".text", 0x1000, NULL, 0x1000);
	elf_bytes_symbols(&e, SHT_SYMTAB, &symbol, 1);
	elf_bytes_finish(&e);
	assert_int_equal(build_bytes(e.at, e.size, &b, NULL), 0);
	assert_int_equal(table_check(b.at, b.size, &t), 0);
	assert_int_equal(t.header->nr_symbols, 1);
	assert_int_equal(strlen(table_name(&t, 0)), DEMANGLE_IN_MAX);
	free(b.at);
	elf_bytes_done(&e);
}

/* Every function that a library's .dynsym gives an address and size is found over its whole range.
 */
static void check_library(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct table_bytes b;
	struct table t;
	struct elf_file f;
	GElf_Shdr header;
	Elf_Data *data;
	GElf_Sym s;
	size_t checked = 0;

	assert_true(fd >= 0);
	assert_int_equal(build_table(fd, -1, &build_defaults, &b, NULL), 0);
	assert_int_equal(table_check(b.at, b.size, &t), 0);
	assert_int_equal(elf_file_init(&f, fd, build_defaults.file_max, NULL), 0);
	data = elf_getdata(elf_file_section(&f, NULL, SHT_DYNSYM, &header), NULL);
	for (int i = 1; gelf_getsym(data, i, &s) != NULL; i++) {
		uint64_t offset;
		uint32_t found;

		if (GELF_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF || !s.st_size)
			continue;
		assert_true(table_offset(&t, s.st_value, &offset));
		found = table_symbol(&t, offset);
		assert_true(found != TABLE_NO_SYMBOL);
		assert_true(t.symbols[found].start == s.st_value);
		assert_true(table_symbol(&t, offset + s.st_size - 1) != TABLE_NO_SYMBOL);
		checked++;
	}
	assert_true(checked > 10);
	elf_file_done(&f);
	free(b.at);
	close(fd);
}

static int check_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
	unsigned *nr = ctx;

	(void)size;
	if (info->dlpi_name[0] == '/' && strstr(info->dlpi_name, "/libc.so") != NULL) {
		check_library(info->dlpi_name);
		(*nr)++;
	}
	if (info->dlpi_name[0] == '/' && strstr(info->dlpi_name, "/libelf") != NULL) {
		check_library(info->dlpi_name);
		(*nr)++;
	}
	return 0;
}

static void libraries_match_their_symbols(void **state)
{
	unsigned nr = 0;

	(void)state;
	dl_iterate_phdr(check_loaded, &nr);
	assert_true(nr >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_program_is_refused),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(huge_words_anywhere),
		cmocka_unit_test(counts_are_bounded),
		cmocka_unit_test(sparse_giants_cost_nothing),
		cmocka_unit_test(packed_data_is_bounded),
		cmocka_unit_test(names_are_made_readable),
		cmocka_unit_test(exploding_names_are_cut),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(libraries_match_their_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
