/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header: magic (4 bytes), two zero bytes, the unit of program counters, the size of a pointer;
 * then words of that size.  In all layouts a *functab* of pairs (where the function begins, where
 * what is known of it begins), ended by one more address, leads to records that begin with the
 * function's entry and the offset of its name:
 *
 *   since   words                                             functab            names at
 *   1.2     functions                                         pointers           the table
 *   1.16    functions, files, names, -, -, -, functab         pointers           names
 *   1.18    functions, files, text, names, -, -, -, functab   32 bits from text  names
 *   1.20    the same
 *
 * The address of the text may be left to the loader of a position-independent program: then a
 * relocation has it.  Newer linkers leave it out; then it is .text, but only where a function of
 * the table begins at the program's entry, since with a C linker .text holds C code as well, in
 * front.
 */
#include "image/gopclntab.h"

#include <errno.h>
#include <string.h>

enum layout { LAYOUT_1_2, LAYOUT_1_16, LAYOUT_1_18 };

enum { HEADER_SIZE = 8, TABLE_ALIGN = 8 };

struct pclntab {
	const uint8_t *at;
	size_t size;
	uint64_t addr; /* of the section */
	bool big;      /* big endian */
	unsigned pointer;
	enum layout layout;
	uint64_t nr; /* functions */
	uint64_t text;
	size_t names, functab; /* byte offsets */
	size_t strings_end;    /* names that begin below end in a NUL */
};

/* An unsigned number of @width bytes; 0 beyond the table. */
static uint64_t number(const struct pclntab *t, size_t at, unsigned width)
{
	uint64_t value = 0;

	if (at > t->size || width > t->size - at)
		return 0;
	for (unsigned i = 0; i < width; i++) {
		unsigned shift = 8 * (t->big ? width - 1 - i : i);

		value |= (uint64_t)t->at[at + i] << shift;
	}
	return value;
}

static uint64_t word(const struct pclntab *t, unsigned index)
{
	return number(t, HEADER_SIZE + (size_t)index * t->pointer, t->pointer);
}

static bool read_magic(struct pclntab *t)
{
	switch (number(t, 0, 4)) {
	case 0xfffffffb:
		t->layout = LAYOUT_1_2;
		return true;
	case 0xfffffffa:
		t->layout = LAYOUT_1_16;
		return true;
	case 0xfffffff0:
	case 0xfffffff1: /* of another hash of types: the same here */
		t->layout = LAYOUT_1_18;
		return true;
	default:
		return false;
	}
}

/* Bytes of one number in the functab. */
static unsigned functab_width(const struct pclntab *t)
{
	return t->layout == LAYOUT_1_18 ? 4 : t->pointer;
}

static bool read_header(struct pclntab *t)
{
	static const struct {
		unsigned words, names, functab;
	} layouts[] = {
		[LAYOUT_1_2] = { .words = 1 },
		[LAYOUT_1_16] = { .words = 7, .names = 2, .functab = 6 },
		[LAYOUT_1_18] = { .words = 8, .names = 3, .functab = 7 },
	};
	uint64_t names = 0, functab, room;
	unsigned words;

	if (t->size < HEADER_SIZE || !read_magic(t) || t->at[4] != 0 || t->at[5] != 0)
		return false;
	t->pointer = t->at[7];
	if (t->pointer != 4 && t->pointer != 8)
		return false;
	words = layouts[t->layout].words;
	functab = HEADER_SIZE + (uint64_t)words * t->pointer;
	if (functab > t->size)
		return false;
	t->nr = word(t, 0);
	if (t->layout != LAYOUT_1_2) {
		names = word(t, layouts[t->layout].names);
		functab = word(t, layouts[t->layout].functab);
	}
	if (t->layout == LAYOUT_1_18)
		t->text = word(t, 2);
	if (names >= t->size || functab >= t->size)
		return false;
	room = (t->size - functab) / functab_width(t);
	t->names = (size_t)names;
	t->functab = (size_t)functab;
	return t->nr > 0 && room > 0 && t->nr <= (room - 1) / 2;
}

/* Where function @i begins; that of `nr` is where the last one ends. */
static uint64_t function_start(const struct pclntab *t, uint64_t i)
{
	unsigned width = functab_width(t);
	uint64_t pc = number(t, t->functab + (size_t)i * 2 * width, width);

	return t->layout == LAYOUT_1_18 ? t->text + pc : pc;
}

static const char *function_name(const struct pclntab *t, uint64_t i)
{
	unsigned width = functab_width(t);
	uint64_t record = number(t, t->functab + ((size_t)i * 2 + 1) * width, width);
	size_t base = t->layout == LAYOUT_1_2 ? 0 : t->functab;
	uint64_t name;

	if (record >= t->size - base || t->size - base - record < width + 4)
		return NULL;
	name = number(t, base + (size_t)record + width, 4);
	if (name >= t->strings_end || t->names >= t->strings_end - name)
		return NULL;
	return (const char *)t->at + t->names + name;
}

/* Whether @text is where the functions are: the first and the last lie in code. */
static bool text_fits(struct pclntab *t, struct code_map *code, uint64_t text)
{
	t->text = text;
	return code_map_end(code, function_start(t, 0)) != 0 &&
	       code_map_end(code, function_start(t, t->nr - 1)) != 0;
}

/* What the dynamic linker would put at @addr; 0 where it puts nothing. */
static uint64_t relocated(const struct elf_file *f, uint64_t addr, size_t bytes_max)
{
	static const char *const sections[] = { ".rela.dyn", ".rela" };
	GElf_Shdr header;
	GElf_Rela r;

	for (size_t s = 0; s < sizeof(sections) / sizeof(sections[0]); s++) {
		Elf_Scn *section = elf_file_section(f, sections[s], 0, &header);
		Elf_Data *data;

		if (section == NULL || header.sh_type != SHT_RELA)
			continue;
		data = elf_file_data(section, bytes_max);
		for (int i = 0; data != NULL && gelf_getrela(data, i, &r) != NULL; i++) {
			if (r.r_offset == addr)
				return (uint64_t)r.r_addend;
		}
	}
	return 0;
}

/* Whether a function of the table begins at @pc; their starts rise. */
static bool starts_at(const struct pclntab *t, uint64_t pc)
{
	uint64_t low = 0, high = t->nr;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (function_start(t, middle) < pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->nr && function_start(t, low) == pc;
}

static bool find_text(struct pclntab *t, struct code_map *code, const struct elf_file *f,
		      size_t bytes_max)
{
	GElf_Shdr header;
	uint64_t text;

	if (t->layout != LAYOUT_1_18)
		return true;
	if (t->text != 0 && text_fits(t, code, t->text))
		return true;
	text = relocated(f, t->addr + HEADER_SIZE + 2 * (uint64_t)t->pointer, bytes_max);
	if (text != 0 && text_fits(t, code, text))
		return true;
	return elf_file_section(f, ".text", 0, &header) != NULL &&
	       text_fits(t, code, header.sh_addr) && starts_at(t, f->header.e_entry);
}

static int collect(struct raw_symbols *s, struct code_map *code, const struct pclntab *t)
{
	uint64_t next = function_start(t, 0);

	for (uint64_t i = 0; i < t->nr; i++) {
		struct raw_symbol raw = {
			.start = next,
			.name = function_name(t, i),
			.kind = TABLE_FUNCTION,
			.binding = STB_GLOBAL,
		};

		next = function_start(t, i + 1);
		if (raw.name == NULL || raw.name[0] == '\0' || next <= raw.start ||
		    code_map_end(code, raw.start) == 0)
			continue;
		raw.size = next - raw.start;
		if (vec_push(s, raw) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* A table at @at of @data, where everything in its header fits; false where there is none. */
static bool table_in(struct pclntab *t, const Elf_Data *data, size_t at, uint64_t addr)
{
	const uint8_t *end;

	t->at = (const uint8_t *)data->d_buf + at;
	t->size = data->d_size - at;
	t->addr = addr + at;
	if (!read_header(t))
		return false;
	end = memrchr(t->at, '\0', t->size);
	t->strings_end = end == NULL ? 0 : (size_t)(end - t->at) + 1;
	return true;
}

/*
 * The table in a section of its own, or, as a C linker lays position-independent programs out,
 * somewhere in the read-only data, where its aligned magic number is looked for.
 */
static bool find_table(struct pclntab *t, const struct elf_file *f, size_t bytes_max)
{
	static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	GElf_Shdr header;
	Elf_Data *data;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		data = elf_file_data(elf_file_section(f, sections[i], 0, &header), bytes_max);
		if (data != NULL)
			return table_in(t, data, 0, header.sh_addr);
	}
	if (elf_file_section(f, ".go.buildinfo", 0, &header) == NULL &&
	    elf_file_section(f, ".note.go.buildid", 0, &header) == NULL)
		return false;
	data = elf_file_data(elf_file_section(f, ".data.rel.ro", 0, &header), bytes_max);
	for (size_t at = 0; data != NULL && data->d_size - at > HEADER_SIZE; at += TABLE_ALIGN) {
		if (table_in(t, data, at, header.sh_addr))
			return true;
	}
	return false;
}

int gopclntab_collect(struct raw_symbols *s, struct code_map *code, const struct elf_file *f,
		      uint32_t symbols_max, size_t bytes_max)
{
	struct pclntab t = { .big = f->header.e_ident[EI_DATA] == ELFDATA2MSB };

	if (!find_table(&t, f, bytes_max))
		return 0;
	if (t.nr > symbols_max)
		return -EFBIG;
	return find_text(&t, code, f, bytes_max) ? collect(s, code, &t) : 0;
}
