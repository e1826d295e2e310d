/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making tables of inlined functions, in three parts: inlines_units.c knows which unit holds an
 * address, inlines_walk.c collects the inlined functions of a unit, inlines_build.c lays them out.
 */
#ifndef PTOP_IMAGE_INLINES_IMPL_H
#define PTOP_IMAGE_INLINES_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "image/demangle.h"
#include "image/inlines.h"
#include "image/inlines_build.h"

/* Addresses of one unit: rising, apart from each other. */
struct unit_range {
	uint64_t start, end;
	uint64_t unit; /* offset of the unit's entry in .debug_info */
	bool split;    /* its functions are described in another file (.dwo) */
};

struct inlines_file {
	struct debug_info info;
	VEC(struct unit_range) ranges;
};

/* Fills f->ranges.  0, -ENODATA, -EFBIG, -ENOMEM. */
int units_index(struct inlines_file *f, struct reason *why);

/* The first range that ends after @vaddr; f->ranges.nr for none. */
size_t units_find(const struct inlines_file *f, uint64_t vaddr);

/* Where one inlined function's code is. */
struct inlined_range {
	uint64_t start, end;
	uint32_t scope;
};

/* A function that was inlined somewhere: its entry in DWARF. */
struct inlined_function {
	Dwarf_Die entry;
	uint32_t name; /* string, once draft_unit() is through; 0: it has none */
};

/* What has been collected for a table.  Until draft_unit() is through, .name of its scopes is an
 * index into .functions. */
struct inlines_draft {
	VEC(struct inlined_range) ranges;
	VEC(struct inlines_scope) scopes;
	VEC(uint8_t) depths; /* of scopes */
	VEC(struct inlined_function) functions;
	struct map by_entry; /* where an entry is in memory -> index of its function */
	VEC(char) strings;
	struct demangler demangler;
};

/* Adds what is inlined in the unit whose entry is @unit.  0, -ENOMEM, -EFBIG. */
int draft_unit(struct inlines_draft *d, Dwarf_Die *unit);

/* inlines_names.c: names the functions from the one numbered @from on. */
int draft_name(struct inlines_draft *d, Dwarf_Die *unit, size_t from);

#endif
