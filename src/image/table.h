/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of one ELF file, as one flat run of bytes: header, executable segments, sorted
 * symbols, string pool.  It holds no pointers, so it can be built in another process, sent as a
 * descriptor, mapped read-only or kept on disk.
 *
 * table_check() verifies every bound once; look-ups after that check nothing and cannot leave the
 * bytes.  A struct table borrows the bytes, which must stay in place and unchanged.
 */
#ifndef PTOP_IMAGE_TABLE_H
#define PTOP_IMAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_MAGIC 0x31656c6261747470ull /* "pttable1" in little endian */
#define TABLE_VERSION 2u
#define TABLE_BUILD_ID_MAX 20
#define TABLE_NO_SYMBOL UINT32_MAX

enum table_source {
	TABLE_NO_NAMES,   /* PLT names at most */
	TABLE_DYNSYM,     /* .dynsym only: exported functions */
	TABLE_MINI_DEBUG, /* .dynsym and .gnu_debugdata */
	TABLE_DEBUG_FILE, /* .symtab of the separate debug file */
	TABLE_SYMTAB,     /* .symtab of the file itself */
	TABLE_GO,         /* .gopclntab, and .dynsym */
	NR_TABLE_SOURCES,
};

enum table_kind { TABLE_FUNCTION, TABLE_IFUNC, TABLE_LABEL, TABLE_PLT, NR_TABLE_KINDS };

struct table_header {
	uint64_t magic;
	uint32_t version;
	uint32_t source; /* enum table_source */
	uint64_t size;   /* of all bytes */
	uint32_t nr_segments, nr_symbols;
	uint64_t segments_at, symbols_at, strings_at; /* byte offsets from the header's first */
	uint64_t strings_size;
	uint8_t build_id[TABLE_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint8_t unused[3];
};

/* One PT_LOAD with PF_X.  Bytes [offset, offset + filesz) of the file are at vaddr. */
struct table_segment {
	uint64_t offset, filesz, vaddr, memsz;
};

/* Starts are strictly rising; ranges may nest or overlap. */
struct table_symbol {
	uint64_t start;  /* vaddr */
	uint32_t size;   /* > 0 */
	uint32_t name;   /* offset in the string pool */
	uint32_t outer;  /* an earlier symbol that may reach past this one's end, or TABLE_NO_SYMBOL
			  */
	uint8_t kind;    /* enum table_kind */
	uint8_t binding; /* STB_* */
	uint8_t unused[2];
};

/* Outer links of one symbol are at most so many deep. */
#define TABLE_DEPTH_MAX 16

struct table {
	const struct table_header *header;
	const struct table_segment *segments;
	const struct table_symbol *symbols;
	const char *strings;
};

/*
 * Verifies all of @bytes (8-byte aligned) and sets up @ret.  0; -EBADMSG where anything is out of
 * bounds, out of order or of another version.
 */
int table_check(const void *bytes, size_t size, struct table *ret);

/* Where a byte of the file is in the ELF's own address space; false outside executable segments. */
bool table_vaddr(const struct table *t, uint64_t file_offset, uint64_t *ret_vaddr);

/* The byte of the file at @vaddr; false outside executable segments. */
bool table_offset(const struct table *t, uint64_t vaddr, uint64_t *ret_offset);

/*
 * The innermost symbol whose range holds the address; TABLE_NO_SYMBOL in a gap: the symbol before a
 * gap never answers for it.
 */
uint32_t table_find(const struct table *t, uint64_t vaddr);

/* The same, by file offset: offset -> the segment that holds it -> vaddr -> symbol. */
uint32_t table_symbol(const struct table *t, uint64_t file_offset);

/* The name of a symbol that a look-up gave. */
const char *table_name(const struct table *t, uint32_t symbol);

/* "symtab", "dynsym", "mini debug info", "debug file", "Go table" or "none". */
const char *table_source_name(const struct table *t);

#endif
