/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64 (psABI 5.2, binutils' elf_x86_64_*_plt_entry): [endbr64] [bnd] jmp *slot(%rip).  In the
 * lazy half of an IBT PLT there is no such jump but push $index, index being that of the
 * relocation. AArch64 (binutils' elfNN_aarch64_small_plt_entry): [bti c] adrp x16, page; ldr x17,
 * [x16, #low].
 */
#include "image/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define CODE_MAX (64u << 20)

struct pads {
	struct raw_symbols *ret;
	struct map names;                /* slot address -> name pointer */
	VEC(const char *) lazy;          /* by index in .rela.plt */
	const struct raw_symbols *named; /* sorted by start */
};

static uint32_t le32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static const char *name_at(const struct raw_symbols *s, uint64_t start)
{
	size_t low = 0, high = s->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->at[middle].start == start)
			return s->at[middle].name;
		if (s->at[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The name that a relocation gives its slot; NULL for other relocations. */
static const char *relocation_name(const struct pads *p, const struct elf_file *f,
				   const GElf_Rela *r, Elf_Data *symbols, size_t strings)
{
	bool arm = f->header.e_machine == EM_AARCH64;
	uint32_t type = (uint32_t)GELF_R_TYPE(r->r_info);
	GElf_Sym symbol;
	const char *name;

	if (type == (arm ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE))
		return name_at(p->named, (uint64_t)r->r_addend);
	if (type != (arm ? R_AARCH64_JUMP_SLOT : R_X86_64_JUMP_SLOT) &&
	    type != (arm ? R_AARCH64_GLOB_DAT : R_X86_64_GLOB_DAT))
		return NULL;
	if (symbols == NULL || GELF_R_SYM(r->r_info) > INT32_MAX ||
	    gelf_getsym(symbols, (int)GELF_R_SYM(r->r_info), &symbol) == NULL)
		return NULL;
	name = elf_strptr(f->elf, strings, symbol.st_name);
	return name != NULL && name[0] != '\0' ? name : NULL;
}

/* Reads one relocation section.  @lazy: it is the one whose indices lazy entries push. */
static int read_relocations(struct pads *p, const struct elf_file *f, const char *section_name,
			    bool lazy, uint32_t symbols_max, size_t strings_max)
{
	GElf_Shdr header, symbols_header = { 0 }, strings_header;
	Elf_Scn *section = elf_file_section(f, section_name, 0, &header), *linked;
	Elf_Data *data, *symbols = NULL;
	int err = 0;

	if (section == NULL || header.sh_type != SHT_RELA)
		return 0;
	data = elf_file_data(section, (size_t)symbols_max * sizeof(GElf_Rela));
	if (data == NULL)
		return 0;
	linked = header.sh_link != 0 ? elf_getscn(f->elf, header.sh_link) : NULL;
	if (linked != NULL && gelf_getshdr(linked, &symbols_header) != NULL &&
	    gelf_getshdr(elf_getscn(f->elf, symbols_header.sh_link), &strings_header) != NULL &&
	    strings_header.sh_size <= strings_max)
		symbols = elf_file_data(linked, (size_t)symbols_max * sizeof(GElf_Sym));
	for (int i = 0; err == 0; i++) {
		GElf_Rela r;
		const char *name;

		if (gelf_getrela(data, i, &r) == NULL)
			break;
		name = relocation_name(p, f, &r, symbols, symbols_header.sh_link);
		if (name != NULL)
			err = map_set(&p->names, r.r_offset, (uintptr_t)name);
		if (err == 0 && lazy)
			err = vec_push(&p->lazy, name);
	}
	return err;
}

static int add_pad(struct pads *p, uint64_t start, uint64_t size, const char *name)
{
	struct raw_symbol s = {
		.start = start,
		.size = size,
		.name = name,
		.kind = TABLE_PLT,
	};

	return vec_push(p->ret, s);
}

static int add_slot_pad(struct pads *p, uint64_t start, uint64_t size, uint64_t slot)
{
	uint64_t *name = map_find(&p->names, slot);

	return name == NULL ? 0 : add_pad(p, start, size, (const char *)(uintptr_t)*name);
}

/* One entry of @size bytes at @code (@start in the ELF's address space). */
static int decode_x86(struct pads *p, const uint8_t *code, size_t size, uint64_t start)
{
	size_t at = 0;

	if (size >= 4 && le32(code) == 0xfa1e0ff3) /* endbr64 */
		at = 4;
	if (at < size && code[at] == 0xf2) /* bnd */
		at++;
	if (size - at >= 6 && code[at] == 0xff && code[at + 1] == 0x25) {
		int64_t distance = (int32_t)le32(code + at + 2);

		return add_slot_pad(p, start, size, start + at + 6 + (uint64_t)distance);
	}
	if (size - at >= 5 && code[at] == 0x68) {
		uint32_t index = le32(code + at + 1);

		if (index < p->lazy.nr && p->lazy.at[index] != NULL)
			return add_pad(p, start, size, p->lazy.at[index]);
	}
	return 0;
}

static int decode_x86_section(struct pads *p, const Elf_Data *code, const GElf_Shdr *header)
{
	size_t entry = header->sh_entsize == 8 ? 8 : 16;
	int err = 0;

	for (size_t at = 0; err == 0 && at + entry <= code->d_size; at += entry)
		err = decode_x86(p, (const uint8_t *)code->d_buf + at, entry, header->sh_addr + at);
	return err;
}

/* adrp's page: 21 signed bits, the low two of them at bit 29. */
static uint64_t adrp_page(uint32_t word, uint64_t pc)
{
	uint64_t pages = ((word >> 5) & 0x7ffff) << 2 | ((word >> 29) & 3);

	if (pages & (1u << 20))
		pages |= ~UINT64_C(0) << 21;
	return (pc & ~UINT64_C(0xfff)) + (pages << 12);
}

static int decode_arm_section(struct pads *p, const Elf_Data *code, const GElf_Shdr *header)
{
	const uint8_t *bytes = code->d_buf;
	int err = 0;

	for (size_t at = 0; err == 0 && at + 16 <= code->d_size; at += 4) {
		uint32_t page = le32(bytes + at), load = le32(bytes + at + 4);
		bool bti = at >= 4 && le32(bytes + at - 4) == 0xd503245f;
		uint64_t pc = header->sh_addr + at;

		if ((page & 0x9f00001f) == 0x90000010 && (load & 0xffc003ff) == 0xf9400211)
			err = add_slot_pad(p, bti ? pc - 4 : pc, bti ? 20 : 16,
					   adrp_page(page, pc) + ((load >> 10) & 0xfff) * 8);
	}
	return err;
}

static int decode_section(struct pads *p, const struct elf_file *f, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(f, name, 0, &header);
	Elf_Data *code;

	if (section == NULL)
		return 0;
	code = elf_file_data(section, CODE_MAX);
	if (code == NULL)
		return 0;
	return f->header.e_machine == EM_AARCH64 ? decode_arm_section(p, code, &header)
						 : decode_x86_section(p, code, &header);
}

int plt_collect(struct raw_symbols *plt, const struct elf_file *f, const struct raw_symbols *named,
		uint32_t symbols_max, size_t strings_max)
{
	static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	struct pads p = { .ret = plt, .named = named };
	GElf_Shdr header;
	int err = 0;

	if (f->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    f->header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (f->header.e_machine != EM_X86_64 && f->header.e_machine != EM_AARCH64))
		return 0;
	err = read_relocations(&p, f, ".rela.plt", true, symbols_max, strings_max);
	if (err == 0 && elf_file_section(f, ".plt.got", 0, &header) != NULL)
		err = read_relocations(&p, f, ".rela.dyn", false, symbols_max, strings_max);
	for (size_t i = 0; err == 0 && i < sizeof(sections) / sizeof(sections[0]); i++)
		err = decode_section(&p, f, sections[i]);
	map_done(&p.names);
	vec_done(&p.lazy);
	return err;
}
