/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code between that which call frame information covers, looked through for what it tells of itself
 * (rows_code.h).  Bounded: gaps that are mere padding are left out, and so is all beyond 16 MiB.
 */
#ifndef PTOP_IMAGE_ROWS_GAPS_H
#define PTOP_IMAGE_ROWS_GAPS_H

#include <stdbool.h>

#include "base/vec.h"
#include "image/elf_file.h"
#include "image/rows_code.h"

struct rows_gaps {
	const struct elf_file *file; /* borrowed, as all below */
	const struct code_map *code;
	enum rows_machine machine;
	VEC(uint64_t) entries; /* functions by symbols */
	bool knows_entries;
	uint64_t looked; /* bytes */
};

void rows_gaps_init(struct rows_gaps *g, const struct elf_file *file, const struct code_map *code,
		    enum rows_machine machine);
void rows_gaps_done(struct rows_gaps *g);

/* Rows of code in [@start, @end).  0, -ENOMEM, or what @put returned. */
int rows_gaps_put(struct rows_gaps *g, uint64_t start, uint64_t end, rows_code_fn *put, void *ctx);

#endif
