/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/elf_bytes.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void require(int condition)
{
	if (!condition)
		abort();
}

static size_t append(struct elf_bytes *e, const void *data, size_t size)
{
	size_t start = (e->size + 15) / 16 * 16;

	if (start + size > e->cap) {
		e->cap = (start + size) * 2;
		e->at = realloc(e->at, e->cap);
		require(e->at != NULL);
	}
	memset(e->at + e->size, 0, start - e->size);
	if (size > 0)
		memcpy(e->at + start, data, size);
	e->size = start + size;
	return start;
}

void elf_bytes_init(struct elf_bytes *e, uint16_t type, uint16_t machine)
{
	static const uint8_t room[sizeof(Elf64_Ehdr) + ELF_BYTES_SEGMENTS * sizeof(Elf64_Phdr)];

	memset(e, 0, sizeof(*e));
	e->type = type;
	e->machine = machine;
	e->nr_sections = 1; /* the null section */
	e->names_size = 1;
	append(e, room, sizeof(room));
}

void elf_bytes_done(struct elf_bytes *e)
{
	free(e->at);
	e->at = NULL;
}

void elf_bytes_segment(struct elf_bytes *e, uint32_t type, uint32_t flags, uint64_t offset,
		       uint64_t vaddr, uint64_t filesz)
{
	require(e->nr_segments < ELF_BYTES_SEGMENTS);
	e->segments[e->nr_segments++] = (Elf64_Phdr){
		.p_type = type,
		.p_flags = flags,
		.p_offset = offset,
		.p_vaddr = vaddr,
		.p_paddr = vaddr,
		.p_filesz = filesz,
		.p_memsz = filesz,
		.p_align = type == PT_LOAD ? 0x1000 : 4,
	};
}

size_t elf_bytes_section(struct elf_bytes *e, const char *name, uint32_t type, uint64_t flags,
			 uint64_t addr, const void *data, size_t size)
{
	size_t length = strlen(name) + 1;

	require(e->nr_sections < ELF_BYTES_SECTIONS && e->names_size + length <= sizeof(e->names));
	e->sections[e->nr_sections] = (Elf64_Shdr){
		.sh_name = (uint32_t)e->names_size,
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = addr,
		.sh_offset = data != NULL ? append(e, data, size) : 0,
		.sh_size = size,
		.sh_addralign = 16,
	};
	memcpy(e->names + e->names_size, name, length);
	e->names_size += length;
	return e->nr_sections++;
}

size_t elf_bytes_code(struct elf_bytes *e, const char *name, uint64_t addr, const void *data,
		      size_t size)
{
	return elf_bytes_section(e, name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, addr, data,
				 size);
}

size_t elf_bytes_symbols(struct elf_bytes *e, uint32_t type, const struct elf_bytes_symbol *symbols,
			 size_t nr)
{
	Elf64_Sym *table = calloc(nr + 1, sizeof(*table));
	size_t strings_size = 1, at = 1, strings, index;
	char *text;

	for (size_t i = 0; i < nr; i++)
		strings_size += strlen(symbols[i].name) + 1;
	text = calloc(1, strings_size);
	require(table != NULL && text != NULL);
	for (size_t i = 0; i < nr; i++) {
		table[i + 1] = (Elf64_Sym){
			.st_name = (uint32_t)at,
			.st_value = symbols[i].value,
			.st_size = symbols[i].size,
			.st_info = ELF64_ST_INFO(symbols[i].binding, symbols[i].type),
			.st_shndx = symbols[i].section,
		};
		memcpy(text + at, symbols[i].name, strlen(symbols[i].name));
		at += strlen(symbols[i].name) + 1;
	}
	strings = elf_bytes_section(e, type == SHT_DYNSYM ? ".dynstr" : ".strtab", SHT_STRTAB, 0, 0,
				    text, strings_size);
	index = elf_bytes_section(e, type == SHT_DYNSYM ? ".dynsym" : ".symtab", type, 0, 0, table,
				  (nr + 1) * sizeof(*table));
	e->sections[index].sh_link = (uint32_t)strings;
	e->sections[index].sh_entsize = sizeof(*table);
	e->sections[index].sh_addralign = 8;
	free(text);
	free(table);
	return index;
}

void elf_bytes_build_id(struct elf_bytes *e, const uint8_t *id, size_t size)
{
	uint8_t note[64] = { 4, 0, 0, 0,   (uint8_t)size, 0,  0, 0, NT_GNU_BUILD_ID,
			     0, 0, 0, 'G', 'N',           'U' };
	size_t index;

	require(size <= sizeof(note) - 16);
	memcpy(note + 16, id, size);
	index = elf_bytes_section(e, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note,
				  16 + (size + 3) / 4 * 4);
	e->sections[index].sh_addralign = 4;
}

void elf_bytes_dwarf(struct elf_bytes *e)
{
	static const uint8_t abbrev[] = {
		/* clang-format off */
		1, DW_TAG_compile_unit, DW_CHILDREN_yes, DW_AT_low_pc, DW_FORM_addr,
		DW_AT_high_pc, DW_FORM_data4, DW_AT_language, DW_FORM_data1, 0, 0,
		2, DW_TAG_subprogram, DW_CHILDREN_no, DW_AT_name, DW_FORM_string,
		DW_AT_inline, DW_FORM_data1, 0, 0,
		3, DW_TAG_subprogram, DW_CHILDREN_yes, DW_AT_name, DW_FORM_string,
		DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0, 0,
		4, DW_TAG_inlined_subroutine, DW_CHILDREN_yes, DW_AT_abstract_origin, DW_FORM_ref4,
		DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0, 0,
		5, DW_TAG_inlined_subroutine, DW_CHILDREN_no, DW_AT_abstract_origin, DW_FORM_ref4,
		DW_AT_ranges, DW_FORM_sec_offset, 0, 0,
		0,
		/* clang-format on */
	};
	static const uint8_t info[] = {
		/* clang-format off */
		92, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8,				/* 0 */
		1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, DW_LANG_C_plus_plus, /* 11 */
		2, 'i', 'n', 0, DW_INL_inlined,				/* 25 */
		2, 'd', 'e', 'e', 'p', 0, DW_INL_inlined,			/* 30 */
		3, 'o', 'u', 't', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,	/* 37 */
		4, 25, 0, 0, 0, 0x10, 1, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0,	/* 54 */
		5, 30, 0, 0, 0, 0, 0, 0, 0,					/* 71 */
		0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		/* clang-format on */
	};
	static const uint64_t ranges[] = { 0x20, 0x30, 0x38, 0x40, 0, 0 };

	elf_bytes_section(e, ".debug_info", SHT_PROGBITS, 0, 0, info, sizeof(info));
	elf_bytes_section(e, ".debug_abbrev", SHT_PROGBITS, 0, 0, abbrev, sizeof(abbrev));
	elf_bytes_section(e, ".debug_ranges", SHT_PROGBITS, 0, 0, ranges, sizeof(ranges));
}

void elf_bytes_finish(struct elf_bytes *e)
{
	size_t names = elf_bytes_section(e, ".shstrtab", SHT_STRTAB, 0, 0, "", 0);
	size_t sections;
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = e->type,
		.e_machine = e->machine,
		.e_version = EV_CURRENT,
		.e_entry = e->entry,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)e->nr_segments,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)e->nr_sections,
		.e_shstrndx = (uint16_t)names,
	};

	e->sections[names].sh_offset = append(e, e->names, e->names_size);
	e->sections[names].sh_size = e->names_size;
	sections = append(e, e->sections, e->nr_sections * sizeof(e->sections[0]));
	header.e_shoff = sections;
	memcpy(e->at, &header, sizeof(header));
	memcpy(e->at + sizeof(header), e->segments, e->nr_segments * sizeof(e->segments[0]));
}

int elf_bytes_fd(const void *at, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, at, size) == (ssize_t)size);
	return fd;
}
