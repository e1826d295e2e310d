/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols on their way from ELF symbol tables to a table: collected raw from one or more of them,
 * then settled into one name an address with a size that is true.  Internal to building.
 */
#ifndef PTOP_IMAGE_SYMTAB_H
#define PTOP_IMAGE_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "image/elf_file.h"
#include "image/table.h"

struct raw_symbol {
	uint64_t start, size; /* size 0: not told */
	const char *name;     /* borrowed from the file's string table */
	uint8_t kind;         /* enum table_kind */
	uint8_t binding;      /* STB_* */
	bool exported_only;   /* from .dynsym: neighbours may be missing */
};

struct raw_symbols {
	struct raw_symbol *at;
	size_t nr, cap;
};

/*
 * Appends the function symbols of one symbol table that lie in @code.  Damaged entries are left
 * out. Names are borrowed from @f.  0, -ENOMEM, -EFBIG (more than @symbols_max entries).
 */
int symtab_collect(struct raw_symbols *s, struct code_map *code, const struct elf_file *f,
		   Elf_Scn *section, uint32_t symbols_max, size_t strings_max);

/* Sorts by start in O(n), keeping the order of equals.  0 or -ENOMEM. */
int symtab_sort(struct raw_symbols *s);

/*
 * One symbol a start, sorted: the best name of its aliases, sizes clipped to the code that holds
 * them.  A symbol without a size reaches to the next one, or is dropped where a sized one covers
 * it.
 * @complete: local symbols are known too, so that nothing nameless lies between two neighbours.
 */
int symtab_settle(struct raw_symbols *s, struct code_map *code, bool complete);

#endif
