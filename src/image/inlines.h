/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions a compiler put into others, for some compilation units of an ELF file, as one
 * flat run of bytes: an address leads to the innermost function inlined there, which names the one
 * that it was put into, and so on out to the function of the symbol table, which is not in here.
 *
 * Built by inlines_build() (inlines_build.h) from DWARF; checked once by inlines_check(), after
 * which look-ups check nothing.  A struct inlines borrows the bytes.
 */
#ifndef PTOP_IMAGE_INLINES_H
#define PTOP_IMAGE_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INLINES_MAGIC 0x316c6e6970747470ull /* "pttpinl1" in little endian */
#define INLINES_VERSION 1u
#define INLINES_NONE UINT32_MAX
#define INLINES_DEPTH_MAX 64u /* functions within each other, at most */

struct inlines_header {
	uint64_t magic;
	uint32_t version;
	uint32_t nr_spans;
	uint64_t size; /* of all bytes */
	uint64_t base; /* vaddr that steps count from */
	uint32_t nr_steps, nr_scopes;
	uint64_t spans_at, steps_at, scopes_at,
		strings_at; /* byte offsets from the header's first */
	uint64_t strings_size;
};

/* Addresses that the table answers for.  Rising, apart from each other. */
struct inlines_span {
	uint64_t start, end; /* vaddr; within [base, base + 4 GiB) */
};

/* From here to the next step the innermost inlined function is .scope; INLINES_NONE: none is. */
struct inlines_step {
	uint32_t start; /* vaddr - base, strictly rising */
	uint32_t scope;
};

/* One function at one place where it was inlined. */
struct inlines_scope {
	uint32_t name;   /* offset in the string pool; readable, never "" */
	uint32_t parent; /* an earlier scope that this was put into, or INLINES_NONE */
};

struct inlines {
	const struct inlines_header *header;
	const struct inlines_span *spans;
	const struct inlines_step *steps;
	const struct inlines_scope *scopes;
	const char *strings;
};

/* Verifies @bytes (8-aligned) and sets up @ret; 0 or -EBADMSG. */
int inlines_check(const void *bytes, size_t size, struct inlines *ret);

/* Whether the table answers for @vaddr. */
bool inlines_cover(const struct inlines *in, uint64_t vaddr);

/* The innermost function inlined at @vaddr, by its number in the table, or INLINES_NONE. */
uint32_t inlines_find(const struct inlines *in, uint64_t vaddr);

/*
 * The functions inlined at @vaddr, the outermost first, into @ret: names, borrowed from the bytes.
 * Returns how many; 0 also where the table does not answer.  Of more than INLINES_DEPTH_MAX the
 * innermost ones are given.
 */
uint32_t inlines_at(const struct inlines *in, uint64_t vaddr, const char *ret[INLINES_DEPTH_MAX]);

#endif
