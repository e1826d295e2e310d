/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From DWARF to tables of inlined functions (inlines.h), one compilation unit after the other as
 * places in them are asked for.
 *
 * Opening a file makes an index of which unit holds which addresses, from the units' own ranges:
 * .debug_aranges is often not there.  It costs some microseconds a unit; a unit's table 5-10 ms for
 * each megabyte of its DWARF.  For the loader's worker only (debug_info.h).
 */
#ifndef PTOP_IMAGE_INLINES_BUILD_H
#define PTOP_IMAGE_INLINES_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "image/debug_info.h"

struct inlines_file;

/*
 * Takes @info (closed in any case when that fails).  0; -ENODATA: no unit tells where its code is;
 * -EFBIG; -ENOMEM.
 */
int inlines_open(struct debug_info *info, struct inlines_file **ret, struct reason *why);
void inlines_close(struct inlines_file *f);

/* Bytes of the file, mapped and unpacked. */
size_t inlines_mapped(const struct inlines_file *f);

struct inlines_bytes {
	void *at; /* malloc'd; passes inlines_check() */
	size_t size;
};

/*
 * A table that answers for the first of @vaddrs, and for as many of the others as it takes about
 * @budget_ns to read: whole units, and the room between units.  0; -ENOMEM; -EFBIG.
 */
int inlines_build(struct inlines_file *f, const uint64_t *vaddrs, unsigned nr, uint64_t budget_ns,
		  struct inlines_bytes *ret, struct reason *why);

#endif
