/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/rows_gaps.h"

#include <stdlib.h>

#define GAP_MIN 32u /* shorter ones lie between functions */
#define GAPS_MAX (UINT64_C(16) << 20)
#define SYMBOLS_BYTES_MAX ((size_t)64 << 20)
#define ENTRIES_MAX ((size_t)1 << 18)

void rows_gaps_init(struct rows_gaps *g, const struct elf_file *file, const struct code_map *code,
		    enum rows_machine machine)
{
	*g = (struct rows_gaps){ .file = file, .code = code, .machine = machine };
}

void rows_gaps_done(struct rows_gaps *g)
{
	vec_done(&g->entries);
}

static int take_symbols(struct rows_gaps *g, uint32_t type)
{
	GElf_Shdr header;
	Elf_Data *data =
		elf_file_data(elf_file_section(g->file, NULL, type, &header), SYMBOLS_BYTES_MAX);
	size_t nr = data != NULL ? data->d_size / sizeof(Elf64_Sym) : 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < nr && g->entries.nr < ENTRIES_MAX; i++) {
		GElf_Sym sym;

		if (gelf_getsym(data, (int)i, &sym) == NULL)
			break;
		if (GELF_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_shndx != SHN_UNDEF)
			err = vec_push(&g->entries, sym.st_value);
	}
	return err;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int find_entries(struct rows_gaps *g)
{
	int err = 0;

	if (g->knows_entries)
		return 0;
	g->knows_entries = true;
	err = take_symbols(g, SHT_SYMTAB);
	if (err == 0)
		err = take_symbols(g, SHT_DYNSYM);
	if (err == 0 && g->entries.nr > 1)
		qsort(g->entries.at, g->entries.nr, sizeof(g->entries.at[0]), by_address);
	return err;
}

/* How many entries lie below @vaddr. */
static size_t entries_below(const struct rows_gaps *g, uint64_t vaddr)
{
	size_t low = 0, high = g->entries.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (g->entries.at[mid] < vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint64_t highest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t lowest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Code in [@start, @end) of segment @s. */
static int look_through(struct rows_gaps *g, const struct table_segment *s, uint64_t start,
			uint64_t end, rows_code_fn *put, void *ctx)
{
	uint64_t offset = s->offset + (start - s->vaddr);
	struct rows_code code = { .size = end - start, .vaddr = start, .machine = g->machine };
	Elf_Data *data;
	int err;

	if (offset > INT64_MAX || code.size < GAP_MIN || g->looked + code.size > GAPS_MAX)
		return 0;
	g->looked += code.size;
	err = find_entries(g);
	if (err != 0)
		return err;
	data = elf_getdata_rawchunk(g->file->elf, (int64_t)offset, code.size, ELF_T_BYTE);
	if (data == NULL || data->d_size != code.size)
		return 0;
	code.bytes = data->d_buf;
	if (g->entries.nr > 0) {
		size_t first = entries_below(g, start);

		code.entries = g->entries.at + first;
		code.nr_entries = entries_below(g, end) - first;
	}
	return rows_code(&code, put, ctx);
}

int rows_gaps_put(struct rows_gaps *g, uint64_t start, uint64_t end, rows_code_fn *put, void *ctx)
{
	int err = 0;

	if (g->machine != ROWS_X86_64 || end - start < GAP_MIN)
		return 0;
	for (size_t i = 0; err == 0 && i < g->code->ranges.nr; i++) {
		const struct code_range *r = &g->code->ranges.at[i];

		for (uint32_t k = 0; err == 0 && k < g->code->nr_segments; k++) {
			const struct table_segment *s = &g->code->segments[k];
			uint64_t from = highest(r->start, highest(s->vaddr, start));
			uint64_t to = lowest(r->end, lowest(s->vaddr + s->filesz, end));

			if (from < to)
				err = look_through(g, s, from, to, put, ctx);
		}
	}
	return err;
}
