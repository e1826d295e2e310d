// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/kallsyms: names of modules and BPF programs are chosen by others. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kallsyms table = { 0 };

	if (kallsyms_parse((const char *)data, size, &table) == 0) {
		for (size_t i = 0; i < table.at.nr; i++) {
			uint32_t found = kallsyms_find(&table, table.at.at[i].addr);

			if (i && table.at.at[i].addr < table.at.at[i - 1].addr)
				abort();
			if (found == UINT32_MAX)
				continue;
			if (strlen(kallsyms_name(&table, found)) >= table.names.nr ||
			    strlen(kallsyms_module(&table, found)) >= table.names.nr)
				abort();
		}
		kallsyms_find(&table, 0);
		kallsyms_find(&table, UINT64_MAX);
	}
	kallsyms_done(&table);
	return 0;
}
