/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of PLT entries, the jump pads to functions of other libraries: they have no symbols of
 * their own.  Each pad's code is decoded (x86-64 and AArch64) as far as to know which slot of the
 * global offset table it jumps through; the relocation of that slot tells the function.  So any
 * layout works: .plt, .plt.sec (IBT), .plt.got, lazy or bound at start, of GNU ld, gold and lld.
 * Internal to building.
 */
#ifndef PTOP_IMAGE_PLT_H
#define PTOP_IMAGE_PLT_H

#include <stddef.h>
#include <stdint.h>

#include "image/elf_file.h"
#include "image/symtab.h"

/*
 * Appends a symbol of kind TABLE_PLT for each entry to @plt; its name is the function's, borrowed
 * from @f or from
 * @named, the settled symbols (for IFUNCs of static programs, whose slots know an address only).
 * 0 or -ENOMEM.  Machines it does not know have none.
 */
int plt_collect(struct raw_symbols *plt, const struct elf_file *f, const struct raw_symbols *named,
		uint32_t symbols_max, size_t strings_max);

#endif
