/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/kallsyms as a table.  Text symbols only; a symbol ends where the next one of any type
 * begins, and at most 1 MiB on.  "__pfx_foo", the padding before foo, counts as foo.  Of several at
 * one address one is chosen: a name without leading underscores, then a global one.
 */
#ifndef PTOP_SYMBOL_KALLSYMS_H
#define PTOP_SYMBOL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct ksym {
	uint64_t addr;
	uint32_t name;   /* byte in `names`; 0: a gap */
	uint16_t module; /* index in `modules`; 0: the kernel itself */
	uint16_t rank;   /* while sorting; then bytes of padding that lead to the function itself */
};

struct kallsyms {
	VEC(struct ksym) at;
	VEC(char) names;
	VEC(uint32_t) modules; /* bytes in `names`: "[nf_tables]" */
	uint64_t text, stext;  /* of the symbols _text and _stext; 0: not there */
};

void kallsyms_done(struct kallsyms *k);

/*
 * Parses into *@ret.  0; -EACCES where every address is hidden (zero); -ENODATA without any symbol;
 * -ENOMEM. Bad lines are passed over.
 */
int kallsyms_parse(const char *bytes, size_t size, struct kallsyms *ret);

/* Reads and parses a file such as /proc/kallsyms; -errno as from open() too, -EFBIG past 256 MiB.
 */
int kallsyms_read(const char *path, struct kallsyms *ret);
int kallsyms_read_fd(int fd, struct kallsyms *ret);

/* Where a recording had the kernel and its modules. */
struct kallsyms_places {
	const char *anchor; /* "_text" or "_stext" */
	uint64_t at;        /* its address; 0: not told */
	size_t nr_modules;
	const struct kallsyms_module {
		char name[64]; /* "nf_tables" */
		uint64_t start;
	} * modules;
};

/*
 * Moves the symbols to where a recording had them: the kernel's by the difference of the anchor,
 * each module's by where it began, a page's start.  After that a module that the recording does not
 * place has no names, unless nothing moved at all.  0; -ESRCH without the anchor.
 */
int kallsyms_move(struct kallsyms *k, const struct kallsyms_places *p);

/* The symbol that holds @addr: its index in `at`, or UINT32_MAX. */
uint32_t kallsyms_find(const struct kallsyms *k, uint64_t addr);

/* Where the function that holds @addr begins: behind its padding, unless @addr lies in that. */
static inline uint64_t kallsyms_start(const struct kallsyms *k, uint32_t index, uint64_t addr)
{
	const struct ksym *sym = &k->at.at[index];

	return addr - sym->addr >= sym->rank ? sym->addr + sym->rank : sym->addr;
}

static inline const char *kallsyms_name(const struct kallsyms *k, uint32_t index)
{
	return &k->names.at[k->at.at[index].name];
}

/* "[kernel]" or "[nf_tables]". */
static inline const char *kallsyms_module(const struct kallsyms *k, uint32_t index)
{
	return &k->names.at[k->modules.at[k->at.at[index].module]];
}

size_t kallsyms_bytes(const struct kallsyms *k);

#endif
