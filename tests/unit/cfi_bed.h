/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information written byte by byte, put into a small program whose code is at
 * [BED_CODE, BED_CODE + BED_CODE_SIZE), and read into rows.
 */
#ifndef PTOP_UNIT_CFI_BED_H
#define PTOP_UNIT_CFI_BED_H

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/rows.h"
#include "support/elf_bytes.h"

enum { BED_CODE = 0x1000, BED_CODE_SIZE = 0x10000, BED_FRAMES = 0x20000, BED_GOT = 0x30000 };

/* Bytes of a section. */
struct frames {
	uint8_t at[8192];
	size_t nr;
	bool debug; /* .debug_frame, else .eh_frame */
	bool wide;  /* 64-bit DWARF */
};

#define CODE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define NO_CODE NULL, 0

static inline void put_bytes(struct frames *f, const void *bytes, size_t size)
{
	assert_true(f->nr + size <= sizeof(f->at));
	if (size > 0)
		memcpy(f->at + f->nr, bytes, size);
	f->nr += size;
}

/* A little-endian number. */
static inline void put_number(struct frames *f, uint64_t x, size_t size)
{
	put_bytes(f, &x, size);
}

static inline void put_leb(struct frames *f, int64_t x, bool is_signed)
{
	bool more;

	do {
		uint8_t byte = x & 0x7f;

		x = is_signed ? x >> 7 : (int64_t)((uint64_t)x >> 7);
		more = is_signed ? x != ((byte & 0x40) != 0 ? -1 : 0) : x != 0;
		put_number(f, byte | (more ? 0x80 : 0), 1);
	} while (more);
}

static inline size_t entry_begin(struct frames *f)
{
	if (f->wide)
		put_number(f, UINT32_MAX, 4);
	put_number(f, 0, f->wide ? 8 : 4);
	return f->nr;
}

static inline void entry_end(struct frames *f, size_t begun)
{
	uint64_t size;

	while ((f->nr - begun) % 4 != 0)
		put_number(f, DW_CFA_nop, 1);
	size = f->nr - begun;
	memcpy(f->at + begun - (f->wide ? 8 : 4), &size, f->wide ? 8 : 4);
}

struct cie_spec {
	const char *augmentation;
	uint8_t encoding;
	uint8_t version;    /* 0: 1 */
	uint8_t ra;         /* 0: that of x86-64 */
	int8_t data_align;  /* 0: -8 */
	uint8_t code_align; /* 0: 1 */
};

static const struct cie_spec usual = { .augmentation = "zR", .encoding = 0x1b };

/* Returns where it is. */
static inline size_t put_cie(struct frames *f, const struct cie_spec *s, const uint8_t *code,
			     size_t size)
{
	size_t at = f->nr, begun = entry_begin(f), length_at;
	uint8_t version = s->version != 0 ? s->version : 1;

	put_number(f, f->debug ? UINT64_MAX : 0, f->wide ? 8 : 4);
	put_number(f, version, 1);
	put_bytes(f, s->augmentation, strlen(s->augmentation) + 1);
	if (version == 4)
		put_number(f, 8, 2); /* addresses of 8 bytes, no segments */
	put_leb(f, s->code_align != 0 ? s->code_align : 1, false);
	put_leb(f, s->data_align != 0 ? s->data_align : -8, true);
	put_number(f, s->ra != 0 ? s->ra : DWARF_X86_64_RA, 1);
	if (s->augmentation[0] == 'z') {
		length_at = f->nr;
		put_number(f, 0, 1);
		for (const char *c = s->augmentation + 1; *c != '\0'; c++) {
			if (*c == 'R')
				put_number(f, s->encoding, 1);
			if (*c == 'L')
				put_number(f, DW_EH_PE_udata4, 1);
			if (*c == 'P') {
				put_number(f, 0x80 | DW_EH_PE_pcrel | DW_EH_PE_sdata4, 1);
				put_number(f, 0x1234, 4);
			}
		}
		f->at[length_at] = (uint8_t)(f->nr - length_at - 1);
	}
	put_bytes(f, code, size);
	entry_end(f, begun);
	return at;
}

static inline void put_address(struct frames *f, uint64_t x, uint8_t encoding, bool relative)
{
	static const uint8_t sizes[16] = {
		[0] = 8, [2] = 2, [3] = 4, [4] = 8, [10] = 2, [11] = 4, [12] = 8
	};
	uint8_t format = encoding & 0xf;

	if (relative && (encoding & 0x70) == DW_EH_PE_pcrel)
		x -= BED_FRAMES + f->nr;
	if (relative && (encoding & 0x70) == DW_EH_PE_datarel)
		x -= BED_GOT;
	if (sizes[format] != 0)
		put_number(f, x, sizes[format]);
	else
		put_leb(f, (int64_t)x, format == DW_EH_PE_sleb128);
}

static inline void put_fde(struct frames *f, size_t cie, const struct cie_spec *s, uint64_t start,
			   uint64_t size, const uint8_t *code, size_t code_size)
{
	size_t begun = entry_begin(f);

	put_number(f, f->debug ? cie : f->nr - cie, f->wide ? 8 : 4);
	put_address(f, start, s->encoding, true);
	put_address(f, size, s->encoding, false);
	if (s->augmentation[0] == 'z')
		put_number(f, 0, 1);
	put_bytes(f, code, code_size);
	entry_end(f, begun);
}

/* A program with both sections where they have bytes. */
static inline void put_elf(struct elf_bytes *e, uint16_t machine, const struct frames *eh,
			   const struct frames *debug)
{
	elf_bytes_init(e, ET_DYN, machine);
	elf_bytes_segment(e, PT_LOAD, PF_R | PF_X, 0x400, BED_CODE, BED_CODE_SIZE);
	elf_bytes_code(e, ".text", BED_CODE, NULL, BED_CODE_SIZE);
	elf_bytes_section(e, ".got", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, BED_GOT, NULL, 64);
	if (eh != NULL)
		elf_bytes_section(e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, BED_FRAMES, eh->at,
				  eh->nr);
	if (debug != NULL)
		elf_bytes_section(e, ".debug_frame", SHT_PROGBITS, 0, 0, debug->at, debug->nr);
	elf_bytes_finish(e);
}

struct bed {
	struct rows_bytes bytes;
	struct rows rows;
};

static inline int bed_try(struct bed *b, uint16_t machine, const struct frames *eh,
			  const struct frames *debug)
{
	struct elf_bytes e;
	int err;

	put_elf(&e, machine, eh, debug);
	memset(b, 0, sizeof(*b));
	err = rows_build_memory(e.at, e.size, &b->bytes, NULL);
	elf_bytes_done(&e);
	if (err == 0)
		assert_int_equal(rows_check(b->bytes.at, b->bytes.size, &b->rows), 0);
	return err;
}

static inline void bed_init(struct bed *b, uint16_t machine, const struct frames *eh,
			    const struct frames *debug)
{
	assert_int_equal(bed_try(b, machine, eh, debug), 0);
}

static inline void bed_done(struct bed *b)
{
	free(b->bytes.at);
}

#endif
