/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of x86-64 code by following its stack pointer from each function's entry along all ways
 * through it, for C libraries built without call frame information (musl).
 *
 * Where functions begin is learned from symbols, calls, addresses taken, and the padding between
 * them.  A function counts only when all ways through it agree: each place is reached with one
 * height of the stack, and each return with the height of the entry.  So what was taken for code
 * or for an entry by mistake gives no rows rather than wrong ones.
 */
#ifndef PTOP_IMAGE_ROWS_X86_H
#define PTOP_IMAGE_ROWS_X86_H

#include "image/rows_code.h"

#define ROWS_X86_MAX ((size_t)1 << 20) /* bytes of code looked through at once */

/*
 * @entries: nr_entries addresses where functions are known to begin, in any order (those outside
 * are ignored).  0 (without rows where memory or a bound forbids), or what @put returned.
 */
int rows_x86(const uint8_t *bytes, size_t size, uint64_t vaddr, const uint64_t *entries,
	     size_t nr_entries, rows_code_fn *put, void *ctx);

#endif
