/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linkers leave the ranges of functions they dropped in place, at address 0 or at the far end; what
 * two units claim for the same reason goes to the one that begins first.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "image/inlines_impl.h"

#define UNITS_MAX (1u << 20)
#define RANGES_MAX (4u << 20)
/* Code is below: what is above stands for an address that was dropped. */
#define CODE_END (UINT64_C(1) << 63)

static int range_cmp(const void *va, const void *vb)
{
	const struct unit_range *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

static int add_unit(struct inlines_file *f, Dwarf_Die *unit, bool split)
{
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
		if (start == 0 || start >= end || end >= CODE_END)
			continue;
		if (f->ranges.nr >= RANGES_MAX)
			return -EFBIG;
		if (vec_push(&f->ranges, ((struct unit_range){ start, end, dwarf_dieoffset(unit),
							       split })) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* Sorts the ranges, cuts those that overlap and joins those that touch. */
static void settle(struct inlines_file *f)
{
	struct unit_range *r = f->ranges.at;
	size_t kept = 0;

	if (f->ranges.nr > 0)
		qsort(r, f->ranges.nr, sizeof(*r), range_cmp);
	for (size_t i = 0; i < f->ranges.nr; i++) {
		struct unit_range *last = kept > 0 ? &r[kept - 1] : NULL;

		if (last != NULL && r[i].start < last->end)
			r[i].start = last->end;
		if (r[i].start >= r[i].end)
			continue;
		if (last != NULL && r[i].start == last->end && r[i].unit == last->unit)
			last->end = r[i].end;
		else
			r[kept++] = r[i];
	}
	f->ranges.nr = kept;
}

int units_index(struct inlines_file *f, struct reason *why)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die unit;
	bool any_split = false;
	int err = 0;

	for (unsigned nr = 0; err == 0 && nr < UNITS_MAX; nr++) {
		bool split;

		if (dwarf_get_units(f->info.dwarf, cu, &cu, &version, &type, &unit, NULL) != 0)
			break;
		split = (type == DW_UT_skeleton || dwarf_hasattr(&unit, DW_AT_GNU_dwo_name)) &&
			!dwarf_haschildren(&unit);
		any_split |= split;
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			err = add_unit(f, &unit, split);
	}
	if (err == -EFBIG)
		return reason_set(why, err, "its debug information has too many ranges");
	if (err != 0)
		return reason_set(why, err, "no memory for its debug information");
	settle(f);
	if (f->ranges.nr == 0)
		return reason_set(why, -ENODATA,
				  "its debug information does not tell where its code is");
	for (size_t i = 0; i < f->ranges.nr && any_split; i++)
		any_split = f->ranges.at[i].split;
	return any_split
		       ? reason_set(
				 why, -ENODATA,
				 "its debug information is in .dwo files, which are not read; build without -gsplit-dwarf")
		       : 0;
}

size_t units_find(const struct inlines_file *f, uint64_t vaddr)
{
	size_t from = 0, nr = f->ranges.nr;

	while (nr > 0) {
		size_t half = nr / 2;

		if (f->ranges.at[from + half].end <= vaddr) {
			from += half + 1;
			nr -= half + 1;
		} else {
			nr = half;
		}
	}
	return from;
}
