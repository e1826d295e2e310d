/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a unit's tree of entries to its inlined functions and where their code is.  Only what can
 * hold code is gone into: functions with addresses, blocks in them, and namespaces and classes,
 * where some compilers put functions.
 */
#include <dwarf.h>
#include <errno.h>

#include "image/inlines_impl.h"

#define TREE_DEPTH_MAX 512u
#define SCOPES_MAX (4u << 20)
#define RANGES_MAX (8u << 20)

/* Where the walk is. */
struct inside {
	uint32_t scope;  /* the inlined function around it, or INLINES_NONE */
	bool in_code;    /* in a function with addresses */
	unsigned levels; /* down from the unit */
};

static int walk_children(struct inlines_draft *d, Dwarf_Die *parent, struct inside in);

/* The function that an inlined one is a copy of; UINT32_MAX where it does not tell or there is no
 * memory. */
static uint32_t function_of(struct inlines_draft *d, Dwarf_Die *die)
{
	struct inlined_function f = { 0 };
	Dwarf_Attribute attribute;
	uint64_t key, *known;

	if (dwarf_attr(die, DW_AT_abstract_origin, &attribute) == NULL ||
	    dwarf_formref_die(&attribute, &f.entry) == NULL)
		return UINT32_MAX;
	key = (uint64_t)(uintptr_t)f.entry.addr;
	known = map_find(&d->by_entry, key);
	if (known != NULL)
		return (uint32_t)*known;
	if (vec_push(&d->functions, f) != 0 || map_set(&d->by_entry, key, d->functions.nr - 1) != 0)
		return UINT32_MAX;
	return (uint32_t)d->functions.nr - 1;
}

static int add_ranges(struct inlines_draft *d, Dwarf_Die *die, uint32_t scope)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start == 0 || start >= end)
			continue;
		if (d->ranges.nr >= RANGES_MAX)
			return -EFBIG;
		if (vec_push(&d->ranges, ((struct inlined_range){ start, end, scope })) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* An inlined function becomes a scope, unless it cannot be named or is too deep: then what is in it
 * counts as put into what is around it. */
static int add_scope(struct inlines_draft *d, Dwarf_Die *die, struct inside *in)
{
	unsigned depth = in->scope != INLINES_NONE ? d->depths.at[in->scope] + 1u : 1;
	uint32_t function = function_of(d, die), scope = (uint32_t)d->scopes.nr;

	if (function == UINT32_MAX || depth > INLINES_DEPTH_MAX)
		return 0;
	if (scope >= SCOPES_MAX)
		return -EFBIG;
	if (vec_push(&d->depths, (uint8_t)depth) != 0 ||
	    vec_push(&d->scopes, ((struct inlines_scope){ function, in->scope })) != 0)
		return -ENOMEM;
	in->scope = scope;
	return add_ranges(d, die, scope);
}

static bool has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/* Goes into one entry, where there may be inlined functions. */
static int walk(struct inlines_draft *d, Dwarf_Die *die, struct inside in)
{
	int err;

	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		if (!has_code(die))
			return 0;
		in.in_code = true;
		in.scope = INLINES_NONE;
		return walk_children(d, die, in);
	case DW_TAG_inlined_subroutine:
		if (!in.in_code)
			return 0;
		err = add_scope(d, die, &in);
		return err != 0 ? err : walk_children(d, die, in);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return in.in_code ? walk_children(d, die, in) : 0;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		return in.in_code ? 0 : walk_children(d, die, in);
	default:
		return 0;
	}
}

static int walk_children(struct inlines_draft *d, Dwarf_Die *parent, struct inside in)
{
	Dwarf_Die die;
	int more = dwarf_child(parent, &die), err = 0;

	if (++in.levels > TREE_DEPTH_MAX)
		return 0;
	while (more == 0 && err == 0) {
		err = walk(d, &die, in);
		more = dwarf_siblingof(&die, &die);
	}
	return err;
}

int draft_unit(struct inlines_draft *d, Dwarf_Die *unit)
{
	size_t functions = d->functions.nr, scopes = d->scopes.nr;
	struct inside in = { .scope = INLINES_NONE };
	int err = walk_children(d, unit, in);

	if (err == 0)
		err = draft_name(d, unit, functions);
	for (size_t i = scopes; err == 0 && i < d->scopes.nr; i++)
		d->scopes.at[i].name = d->functions.at[d->scopes.at[i].name].name;
	return err;
}
