/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef STT_GNU_IFUNC
#define STT_GNU_IFUNC 10
#endif

/* $x, $d, $a, $t, with or without ".suffix": marks of code and data in ARM and RISC-V files; .L: an
 * assembler's own labels. */
static bool is_mapping_symbol(const char *name)
{
	if (name[0] == '.' && name[1] == 'L')
		return true;
	return name[0] == '$' && name[1] != '\0' && (name[2] == '\0' || name[2] == '.') &&
	       strchr("xdat", name[1]) != NULL;
}

/* Whether a symbol may name code; its kind. */
static bool symbol_kind(const GElf_Sym *symbol, const char *name, uint8_t *ret)
{
	if (symbol->st_shndx == SHN_UNDEF || name[0] == '\0' || is_mapping_symbol(name))
		return false;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
		*ret = TABLE_FUNCTION;
		return true;
	case STT_GNU_IFUNC:
		*ret = TABLE_IFUNC;
		return true;
	case STT_NOTYPE:
		*ret = TABLE_LABEL;
		return symbol->st_shndx != SHN_ABS;
	default:
		return false;
	}
}

/* How many bytes of a string table end in a NUL: offsets below are strings. */
static size_t strings_usable(const Elf_Data *strings)
{
	const char *end = memrchr(strings->d_buf, '\0', strings->d_size);

	return end == NULL ? 0 : (size_t)(end - (const char *)strings->d_buf) + 1;
}

/* The bit of an address that says Thumb is no part of it. */
static uint64_t code_address(const struct elf_file *f, uint64_t value)
{
	return f->header.e_machine == EM_ARM ? value & ~UINT64_C(1) : value;
}

int symtab_collect(struct raw_symbols *s, struct code_map *code, const struct elf_file *f,
		   Elf_Scn *section, uint32_t symbols_max, size_t strings_max)
{
	GElf_Shdr header;
	Elf_Data *symbols, *strings;
	size_t usable, nr;
	bool exported_only;

	if (gelf_getshdr(section, &header) == NULL || header.sh_entsize == 0)
		return 0;
	if ((header.sh_flags & SHF_COMPRESSED) == 0 &&
	    header.sh_size / header.sh_entsize > symbols_max)
		return -EFBIG;
	exported_only = header.sh_type == SHT_DYNSYM;
	symbols = elf_file_data(section, (size_t)symbols_max * sizeof(GElf_Sym));
	strings = elf_file_data(elf_getscn(f->elf, header.sh_link), strings_max);
	if (symbols == NULL || strings == NULL)
		return 0;
	nr = symbols->d_size / gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT);
	usable = strings_usable(strings);
	for (size_t i = 1; i < nr && i < INT32_MAX; i++) {
		struct raw_symbol raw = { .exported_only = exported_only };
		GElf_Sym symbol;

		if (gelf_getsym(symbols, (int)i, &symbol) == NULL)
			break;
		if (symbol.st_name >= usable)
			continue;
		raw.name = (const char *)strings->d_buf + symbol.st_name;
		raw.start = code_address(f, symbol.st_value);
		raw.size = symbol.st_size;
		raw.binding = GELF_ST_BIND(symbol.st_info);
		if (symbol_kind(&symbol, raw.name, &raw.kind) &&
		    code_map_end(code, raw.start) != 0 && vec_push(s, raw) != 0)
			return -ENOMEM;
	}
	return 0;
}

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

/* One pass of a radix sort; false where all keys have the same digit, with nothing moved. */
static bool radix_pass(const struct raw_symbol *from, struct raw_symbol *to, size_t nr,
		       unsigned shift)
{
	size_t count[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < nr; i++)
		count[(from[i].start >> shift) % DIGITS]++;
	if (count[(from[0].start >> shift) % DIGITS] == nr)
		return false;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t here = count[d];

		count[d] = sum;
		sum += here;
	}
	for (size_t i = 0; i < nr; i++)
		to[count[(from[i].start >> shift) % DIGITS]++] = from[i];
	return true;
}

int symtab_sort(struct raw_symbols *s)
{
	struct raw_symbol *other;

	if (s->nr < 2)
		return 0;
	other = calloc(s->nr, sizeof(*other));
	if (other == NULL)
		return -ENOMEM;
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (radix_pass(s->at, other, s->nr, shift)) {
			struct raw_symbol *swap = s->at;

			s->at = other;
			other = swap;
			s->cap = s->nr;
		}
	}
	free(other);
	return 0;
}

/* Underscores that mark a name as internal; those of mangled names ("_ZN", "_R") do not. */
static size_t leading_underscores(const char *name)
{
	if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
		return 0;
	return strspn(name, "_");
}

static int binding_rank(uint8_t binding)
{
	return binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

/*
 * Which of two names of one address a person knows it by: a function rather than a label, one that
 * tells its size, exported rather than local, malloc rather than __libc_malloc, global rather than
 * weak, the shorter, and at last any fixed order.
 */
static bool better_alias(const struct raw_symbol *a, const struct raw_symbol *b)
{
	bool a_local = a->binding == STB_LOCAL, b_local = b->binding == STB_LOCAL;
	size_t a_length, b_length;

	if ((a->kind == TABLE_LABEL) != (b->kind == TABLE_LABEL))
		return b->kind == TABLE_LABEL;
	if ((a->size == 0) != (b->size == 0))
		return b->size == 0;
	if (a_local != b_local)
		return b_local;
	if (leading_underscores(a->name) != leading_underscores(b->name))
		return leading_underscores(a->name) < leading_underscores(b->name);
	if (a->binding != b->binding)
		return binding_rank(a->binding) < binding_rank(b->binding);
	a_length = strcspn(a->name, "@");
	b_length = strcspn(b->name, "@");
	if (a_length != b_length)
		return a_length < b_length;
	return memcmp(a->name, b->name, a_length) < 0;
}

/* Keeps one symbol a start. */
static void drop_aliases(struct raw_symbols *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->nr;) {
		struct raw_symbol best = s->at[i];
		uint64_t size = best.size;
		size_t j = i + 1;

		for (; j < s->nr && s->at[j].start == best.start; j++) {
			if (size < s->at[j].size)
				size = s->at[j].size;
			if (better_alias(&s->at[j], &best))
				best = s->at[j];
		}
		if (best.size == 0)
			best.size = size;
		s->at[kept++] = best;
		i = j;
	}
	s->nr = kept;
}

/*
 * Clips what runs past its code, and drops labels and functions without a size that a sized one
 * covers: they are places within it.
 */
static void clip_and_cover(struct raw_symbols *s, struct code_map *code)
{
	uint64_t covered = 0;
	size_t kept = 0;

	for (size_t i = 0; i < s->nr; i++) {
		struct raw_symbol symbol = s->at[i];
		uint64_t room = code_map_end(code, symbol.start) - symbol.start;

		if (symbol.size > room)
			symbol.size = room;
		if (symbol.size > UINT32_MAX)
			symbol.size = UINT32_MAX;
		if (symbol.size == 0 && symbol.start < covered)
			continue;
		if (symbol.start + symbol.size > covered)
			covered = symbol.start + symbol.size;
		s->at[kept++] = symbol;
	}
	s->nr = kept;
}

/*
 * Sizes for those without: up to the next symbol or the end of the code.  Where only exported
 * symbols are known, code without a name may follow at once: such a symbol stands for its own
 * address only.
 */
static void extend_unsized(struct raw_symbols *s, struct code_map *code, bool complete)
{
	for (size_t i = 0; i < s->nr; i++) {
		struct raw_symbol *symbol = &s->at[i];
		uint64_t end;

		if (symbol->size != 0)
			continue;
		end = code_map_end(code, symbol->start);
		if (i + 1 < s->nr && s->at[i + 1].start < end)
			end = s->at[i + 1].start;
		if (symbol->exported_only && !complete)
			end = symbol->start + 1;
		symbol->size = end - symbol->start;
		if (symbol->size > UINT32_MAX)
			symbol->size = UINT32_MAX;
	}
}

int symtab_settle(struct raw_symbols *s, struct code_map *code, bool complete)
{
	int err = symtab_sort(s);

	if (err != 0)
		return err;
	drop_aliases(s);
	clip_and_cover(s, code);
	extend_unsized(s, code, complete);
	return 0;
}
