/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file that may be hostile, opened with libelf for reading by pread(2): never mapped, so
 * that a file truncated meanwhile gives errors and no SIGBUS.  Only what is asked for is read:
 * headers at opening, then single sections, each bounded by the caller.
 */
#ifndef PTOP_IMAGE_ELF_FILE_H
#define PTOP_IMAGE_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "base/vec.h"
#include "image/table.h"

struct elf_file {
	Elf *elf;
	GElf_Ehdr header;
	size_t names_section; /* of section names; 0 where there is none */
};

/* Borrows @fd (or the bytes) until elf_file_done().  -ENOEXEC for what is no ELF file, -EFBIG past
 * @max. */
int elf_file_init(struct elf_file *f, int fd, uint64_t max, struct reason *why);
int elf_file_init_memory(struct elf_file *f, const void *bytes, size_t size, struct reason *why);
void elf_file_done(struct elf_file *f);

/* A section's name; "" where it is out of bounds. */
const char *elf_file_section_name(const struct elf_file *f, const GElf_Shdr *section);

/* The first section of that name, or of that type where @name is NULL.  NULL where there is none.
 */
Elf_Scn *elf_file_section(const struct elf_file *f, const char *name, uint32_t type,
			  GElf_Shdr *ret);

/* Section bytes, unpacked (zlib) and translated to the host's order; NULL where absent, unreadable
 * or past @max. */
Elf_Data *elf_file_data(Elf_Scn *section, size_t max);

/* The GNU build-id into @ret (TABLE_BUILD_ID_MAX bytes); returns its size, 0 where there is none.
 */
size_t elf_file_build_id(const struct elf_file *f, uint8_t *ret);

/* Ranges of addresses that hold code, in rising order. */
struct code_range {
	uint64_t start, end;
};

/*
 * Where the code of a file is: its executable segments, and those parts of them that sections mark
 * as code (all of them where there are no section headers).
 */
struct code_map {
	struct table_segment segments[64];
	uint32_t nr_segments;
	VEC(struct code_range) ranges;
	size_t last; /* the range found last: neighbours are asked for in turn */
};

/* 0, -ENOMEM, -ENOEXEC. */
int code_map_init(struct code_map *c, const struct elf_file *f, struct reason *why);
void code_map_done(struct code_map *c);

/* The end of the code around @vaddr; 0 where there is no code. */
uint64_t code_map_end(struct code_map *c, uint64_t vaddr);

#endif
