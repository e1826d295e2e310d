/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as code that no call frame information covers: rows must come in rising order, within
 * the code, and with a return address right below a frame that rises; each instruction fits.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "image/rows_code.h"
#include "image/x86.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CODE = 0x1000 };

struct told {
	uint64_t last, end;
};

static int take(void *ctx, uint64_t vaddr, const struct unwind_rule *rule)
{
	struct told *t = ctx;

	if (vaddr < t->last || vaddr > t->end)
		abort();
	t->last = vaddr;
	if (rule != NULL && rule->flags == 0 &&
	    (rule->cfa != RULE_CFA_REG || rule->cfa_offset < 8 || rule->ra_offset != -8))
		abort();
	return 0;
}

static void decode_all(const uint8_t *data, size_t size)
{
	struct x86 i;

	for (size_t at = 0; at < size; at++) {
		if (!x86_decode(data + at, size - at, &i))
			continue;
		if (i.length == 0 || i.length > X86_LENGTH_MAX || i.length > size - at)
			abort();
		x86_is_padding(&i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t entries[2] = { CODE, CODE + size / 2 };
	struct rows_code code = {
		.bytes = data,
		.size = size,
		.vaddr = CODE,
		.machine = ROWS_X86_64,
		.entries = entries,
		.nr_entries = 2,
	};
	struct told t = { CODE, CODE + size };

	decode_all(data, size);
	rows_code(&code, take, &t);
	return 0;
}
