// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF files, which any user can put under a process: what is built from them must pass
 * table_check(). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "image/build.h"
#include "image/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct build_options options = {
		.file_max = 1 << 20,
		.symbols_max = 1 << 12,
		.strings_max = 1 << 18,
		.unpacked_max = 1 << 18,
	};
	struct table_bytes built;
	struct table table;
	struct reason why;

	if (build_table_memory(data, size, &options, &built, &why))
		return 0;
	if (table_check(built.at, built.size, &table))
		abort();
	for (uint32_t i = 0; i < table.header->nr_symbols; i++)
		if (table_find(&table, table.symbols[i].start) == TABLE_NO_SYMBOL)
			abort();
	free(built.at);
	return 0;
}
