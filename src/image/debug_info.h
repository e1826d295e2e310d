/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DWARF of an ELF file as libdw reads it: a small ELF file in memory that holds nothing but the
 * sections needed here.  Plain ones are mapped from the file; packed ones (zlib, zstd, and the old
 * .zdebug_* form) are unpacked first, with bounds, so that it does not matter what the installed
 * elfutils can unpack, and libdw finds nothing in the file that would make it look for others.
 *
 * The file's pages are mapped, so one that shrinks meanwhile ends the process by SIGBUS: for the
 * loader's worker only.
 */
#ifndef PTOP_IMAGE_DEBUG_INFO_H
#define PTOP_IMAGE_DEBUG_INFO_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "image/debugfile.h"

struct debug_info {
	Dwarf *dwarf; /* NULL: closed */
	Elf *elf;
	void *region; /* the small file */
	size_t size;
	struct debug_info *alt; /* owned; NULL: none */
};

/*
 * Opens the DWARF of @fd (borrowed during the call).  0; -ENODATA: it has none; -ENOEXEC: not of
 * 64 bits and little-endian; -EFBIG: past 1 GiB; -EBADMSG: it is damaged; -ENOMEM.
 */
int debug_info_open(struct debug_info *d, int fd, struct reason *why);

/* The same of the file that @d's debug_alt tells of, and takes it as such. */
int debug_info_open_alt(struct debug_info *d, int fd, struct reason *why);
void debug_info_close(struct debug_info *d);

/* Whether a file has DWARF, and where it says that common parts of it are. */
bool debug_info_is_in(int fd);
void debug_info_alt(int fd, struct debug_alt *ret);

#endif
