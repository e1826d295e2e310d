/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function's name is its linkage name made readable, as that of a symbol is, so that a function
 * is the same one whether inlined or not.  One that has no linkage name (C, lambdas) is called by
 * its plain name, in C++ and the like behind those of the classes and namespaces that it is in:
 * DWARF links no entry to what it is in, so the unit is searched once for all of these.
 */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "image/inlines_impl.h"

#define TREE_DEPTH_MAX 64u
#define STRINGS_MAX ((size_t)64 << 20)
#define PATH_MAX_BYTES 1024u

static int add_string(struct inlines_draft *d, const char *text, size_t length, uint32_t *ret)
{
	size_t at = d->strings.nr > 0 ? d->strings.nr : 1;

	if (at + length + 1 > STRINGS_MAX)
		return -EFBIG;
	if (vec_reserve(&d->strings, at + length + 1) != 0)
		return -ENOMEM;
	d->strings.at[0] = '\0';
	memcpy(d->strings.at + at, text, length);
	d->strings.at[at + length] = '\0';
	d->strings.nr = at + length + 1;
	*ret = (uint32_t)at;
	return 0;
}

static const char *linkage_name(Dwarf_Die *entry)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(entry, DW_AT_linkage_name, &attribute) != NULL ||
	    dwarf_attr_integrate(entry, DW_AT_MIPS_linkage_name, &attribute) != NULL)
		name = dwarf_formstring(&attribute);
	return name != NULL && name[0] != '\0' ? name : NULL;
}

/* Names a function by what DWARF says of itself.  *@ret_plain: it has no linkage name. */
static int name_by_entry(struct inlines_draft *d, struct inlined_function *f, bool *ret_plain)
{
	const char *name = linkage_name(&f->entry), *readable;

	*ret_plain = name == NULL;
	if (name == NULL)
		name = dwarf_diename(&f->entry);
	if (name == NULL || name[0] == '\0')
		return 0;
	readable = *ret_plain ? NULL : demangle(&d->demangler, name);
	if (readable != NULL)
		return add_string(d, readable, d->demangler.length, &f->name);
	return add_string(d, name, strnlen(name, DEMANGLE_IN_MAX), &f->name);
}

/* A search for what functions are in. */
struct search {
	struct inlines_draft *draft;
	struct map wanted; /* where an entry is in memory -> index of its function */
	const char *path[TREE_DEPTH_MAX];
	unsigned depth;
	int err;
};

static void found(struct search *s, struct inlined_function *f)
{
	const char *name = dwarf_diename(&f->entry);
	char text[PATH_MAX_BYTES];
	size_t length = 0;

	for (unsigned i = 0; i <= s->depth && name != NULL; i++) {
		const char *part = i < s->depth ? s->path[i] : name;
		size_t size = strlen(part);

		if (size == 0)
			continue;
		if (size > sizeof(text) - 2 - length)
			return;
		memcpy(text + length, part, size);
		length += size;
		if (i < s->depth) {
			memcpy(text + length, "::", 2);
			length += 2;
		}
	}
	if (s->depth > 0 && length > 0)
		s->err = add_string(s->draft, text, length, &f->name);
}

/* What an entry adds to the names of those in it; NULL: nothing is searched for in it. */
static const char *part_of(Dwarf_Die *die)
{
	const char *name;

	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
		name = dwarf_diename(die);
		return name != NULL ? name : "(anonymous namespace)";
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
		name = dwarf_diename(die);
		return name != NULL ? name : "";
	case DW_TAG_lexical_block:
		return "";
	default:
		return NULL;
	}
}

static void search_children(struct search *s, Dwarf_Die *parent)
{
	Dwarf_Die die;
	int more = dwarf_child(parent, &die);

	while (more == 0 && s->err == 0) {
		uint64_t *at = map_find(&s->wanted, (uint64_t)(uintptr_t)die.addr);
		const char *part = part_of(&die);

		if (at != NULL)
			found(s, &s->draft->functions.at[*at]);
		if (part != NULL && s->depth < TREE_DEPTH_MAX) {
			s->path[s->depth++] = part;
			search_children(s, &die);
			s->depth--;
		}
		more = dwarf_siblingof(&die, &die);
	}
}

/* The entry that says where a function belongs: its declaration in a class, or itself. */
static int want(struct search *s, size_t function)
{
	struct inlined_function *f = &s->draft->functions.at[function];
	Dwarf_Die entry = f->entry;
	Dwarf_Attribute attribute;

	if (dwarf_attr(&f->entry, DW_AT_specification, &attribute) != NULL &&
	    dwarf_formref_die(&attribute, &entry) == NULL)
		entry = f->entry;
	return map_set(&s->wanted, (uint64_t)(uintptr_t)entry.addr, function);
}

/* Whether functions of a unit's language may be in something. */
static bool has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler:
	case DW_LANG_Go:
		return false;
	default:
		return true;
	}
}

int draft_name(struct inlines_draft *d, Dwarf_Die *unit, size_t from)
{
	struct search s = { .draft = d };
	bool scopes = has_scopes(unit), plain;

	for (size_t i = from; s.err == 0 && i < d->functions.nr; i++) {
		s.err = name_by_entry(d, &d->functions.at[i], &plain);
		if (s.err == 0 && plain && scopes)
			s.err = want(&s, i);
	}
	if (s.err == 0 && s.wanted.nr > 0)
		search_children(&s, unit);
	map_done(&s.wanted);
	return s.err;
}
