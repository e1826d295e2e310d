/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where an ELF file's call frame information is: .eh_frame by its section header, else by
 * PT_GNU_EH_FRAME (vdso, files without section headers); .debug_frame of the file, else of its
 * debug file, unpacked where compressed. Bytes stay with the open files until rows_sections_done().
 */
#ifndef PTOP_IMAGE_ROWS_SECTIONS_H
#define PTOP_IMAGE_ROWS_SECTIONS_H

#include <stddef.h>

#include "base/reason.h"
#include "image/cfi.h"
#include "image/elf_file.h"
#include "image/rows.h"

struct rows_sections {
	struct elf_file file, debug; /* debug: not open where there is none */
	enum rows_machine machine;
};

/* Opens; -ENOEXEC for what is no 64-bit program of a machine we know. */
int rows_sections_init(struct rows_sections *s, int fd, int debug_fd, struct reason *why);
int rows_sections_init_memory(struct rows_sections *s, const void *elf, size_t size,
			      struct reason *why);
void rows_sections_done(struct rows_sections *s);

/* Sets up both sections; one that is absent or past 256 MiB has no bytes. */
void rows_sections_find(struct rows_sections *s, struct cfi_section *eh, struct cfi_section *debug);

#endif
