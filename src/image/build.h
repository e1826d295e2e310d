/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an ELF file to its table.  A pure function of descriptors: it opens nothing, keeps nothing,
 * and reads only the sections it needs.  The file may be hostile: counts and sizes are bounded by
 * the options, a file that shrinks meanwhile is an error and no signal.
 *
 * Names come from .symtab (of the file, else of @debug_fd, else of the xz-compressed
 * .gnu_debugdata), .dynsym, for stripped Go programs from .gopclntab, and for PLT entries from
 * relocations ("memcpy@plt").  They are demangled here, once.
 */
#ifndef PTOP_IMAGE_BUILD_H
#define PTOP_IMAGE_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"

struct build_options {
	uint64_t file_max;    /* bytes of a file */
	uint32_t symbols_max; /* entries of one symbol table */
	size_t strings_max;   /* bytes of one string table, and of the pool made */
	size_t unpacked_max;  /* bytes that .gnu_debugdata may grow to */
};

/* 16 GiB, 4M symbols, 256 MiB of strings, 64 MiB unpacked. */
extern const struct build_options build_defaults;

struct table_bytes {
	void *at; /* malloc'd; passes table_check() */
	size_t size;
};

/*
 * Builds the table of @fd (a regular file, borrowed).  @debug_fd: its separate debug file, or -1.
 * 0; -ENOEXEC: no ELF file, or none that can be mapped as code (ET_REL, ET_CORE); -EFBIG: past a
 * bound; -ENOMEM.  Symbol sections that are damaged only cost their names.
 */
int build_table(int fd, int debug_fd, const struct build_options *options, struct table_bytes *ret,
		struct reason *why);

/* The same from bytes in memory, such as the vdso. */
int build_table_memory(const void *elf, size_t size, const struct build_options *options,
		       struct table_bytes *ret, struct reason *why);

#endif
