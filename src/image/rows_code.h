/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows told by code itself, for code that no call frame information covers.
 *
 * x86-64: functions whose stack can be followed (rows_x86.h), and what a signal handler returns to,
 * known by its bytes, since the kernel's frame lies above it (musl, Go and old assemblers give it
 * no rows).  Bytes may be hostile.
 */
#ifndef PTOP_IMAGE_ROWS_CODE_H
#define PTOP_IMAGE_ROWS_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "image/rows.h"

/* From @vaddr on, @rule holds (NULL: none). Called in rising order; an error ends the search. */
typedef int rows_code_fn(void *ctx, uint64_t vaddr, const struct unwind_rule *rule);

/* Code, and addresses where functions are known to begin (others than in it are ignored). */
struct rows_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
	enum rows_machine machine;
	const uint64_t *entries;
	size_t nr_entries;
};

/* Looks through the code.  0 or what @put returned. */
int rows_code(const struct rows_code *code, rows_code_fn *put, void *ctx);

#endif
