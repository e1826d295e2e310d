// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Image tables of any bytes, such as a process that has been taken over might send: what passes
 * table_check() must be safe to ask anything.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct table *t, uint64_t offset)
{
	uint64_t vaddr, back;
	uint32_t symbol = table_symbol(t, offset);

	if (symbol != TABLE_NO_SYMBOL) {
		if (symbol >= t->header->nr_symbols)
			abort();
		if (strlen(table_name(t, symbol)) >= t->header->strings_size)
			abort();
	}
	if (table_vaddr(t, offset, &vaddr)) {
		table_find(t, vaddr);
		table_offset(t, vaddr, &back);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table table;
	uint8_t *aligned = malloc(size ? size : 1);

	if (!aligned)
		return 0;
	if (size)
		memcpy(aligned, data, size);
	if (table_check(aligned, size, &table) == 0) {
		if (!table_source_name(&table))
			abort();
		for (uint32_t i = 0; i < table.header->nr_segments && i < 64; i++) {
			const struct table_segment *s = &table.segments[i];
			ask(&table, s->offset);
			ask(&table, s->offset + s->filesz / 2);
			ask(&table, s->offset + s->filesz);
		}
		for (uint32_t i = 0; i < table.header->nr_symbols && i < 256; i++) {
			table_find(&table, table.symbols[i].start);
			table_find(&table, table.symbols[i].start + table.symbols[i].size);
			if (strlen(table_name(&table, i)) >= table.header->strings_size)
				abort();
		}
		ask(&table, 0);
		ask(&table, UINT64_MAX);
	}
	free(aligned);
	return 0;
}
