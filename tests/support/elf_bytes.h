/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes small 64-bit little-endian ELF files for tests: only headers and what a test puts in.
 * Sections without bytes (code whose content no test reads) are headers only, so files stay tiny
 * whatever addresses they tell of. Aborts where memory is out or a bound of these arrays is passed.
 */
#ifndef PTOP_SUPPORT_ELF_BYTES_H
#define PTOP_SUPPORT_ELF_BYTES_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_BYTES_SEGMENTS = 80, ELF_BYTES_SECTIONS = 32 };

struct elf_bytes {
	uint8_t *at; /* after elf_bytes_finish() */
	size_t size, cap;
	uint16_t type, machine;
	uint64_t entry; /* 0: none */
	Elf64_Phdr segments[ELF_BYTES_SEGMENTS];
	size_t nr_segments;
	Elf64_Shdr sections[ELF_BYTES_SECTIONS];
	size_t nr_sections;
	char names[2048]; /* of sections */
	size_t names_size;
};

struct elf_bytes_symbol {
	const char *name;
	uint64_t value, size;
	uint8_t type, binding;
	uint16_t section; /* 0: SHN_UNDEF */
};

void elf_bytes_init(struct elf_bytes *e, uint16_t type, uint16_t machine);
void elf_bytes_done(struct elf_bytes *e);

void elf_bytes_segment(struct elf_bytes *e, uint32_t type, uint32_t flags, uint64_t offset,
		       uint64_t vaddr, uint64_t filesz);

/* Appends a section and returns its index.  @data NULL: a header that says @size only. */
size_t elf_bytes_section(struct elf_bytes *e, const char *name, uint32_t type, uint64_t flags,
			 uint64_t addr, const void *data, size_t size);

/* A code section: PROGBITS, allocated, executable. */
size_t elf_bytes_code(struct elf_bytes *e, const char *name, uint64_t addr, const void *data,
		      size_t size);

/* A symbol table (SHT_SYMTAB or SHT_DYNSYM) with its string table; returns its index. */
size_t elf_bytes_symbols(struct elf_bytes *e, uint32_t type, const struct elf_bytes_symbol *symbols,
			 size_t nr);

/* A note section with a GNU build-id. */
void elf_bytes_build_id(struct elf_bytes *e, const uint8_t *id, size_t size);

/* DWARF of one unit, [0x100, 0x200): out(), into which in() was put in [0x110, 0x150), and into
 * that deep() in [0x120, 0x130) and [0x138, 0x140). */
void elf_bytes_dwarf(struct elf_bytes *e);

/* Writes section names and all headers: now e->at, e->size are the file. */
void elf_bytes_finish(struct elf_bytes *e);

/* A memfd with the first @size bytes of @at. */
int elf_bytes_fd(const void *at, size_t size);

#endif
