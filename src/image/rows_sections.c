/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/rows_sections.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define FILE_MAX (UINT64_C(16) << 30)
#define SECTION_MAX ((size_t)256 << 20)
#define PROGRAM_HEADERS_MAX 4096u
#define HDR_SIZE 12u /* of .eh_frame_hdr, as far as it is read */

static int check_machine(struct rows_sections *s, struct reason *why)
{
	const GElf_Ehdr *h = &s->file.header;

	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return reason_set(why, -ENOEXEC, "an ELF file, but neither program nor library");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64))
		return reason_set(why, -ENOEXEC,
				  "unwinding knows x86-64 and aarch64 programs of 64 bits only");
	s->machine = h->e_machine == EM_X86_64 ? ROWS_X86_64 : ROWS_AARCH64;
	return 0;
}

int rows_sections_init(struct rows_sections *s, int fd, int debug_fd, struct reason *why)
{
	int err;

	memset(s, 0, sizeof(*s));
	err = elf_file_init(&s->file, fd, FILE_MAX, why);
	if (err == 0)
		err = check_machine(s, why);
	if (err != 0 || debug_fd < 0)
		return err;
	/* A debug file of another machine, or none at all, is as good as none. */
	if (elf_file_init(&s->debug, debug_fd, FILE_MAX, NULL) == 0 &&
	    (s->debug.header.e_machine != s->file.header.e_machine ||
	     s->debug.header.e_ident[EI_CLASS] != ELFCLASS64 ||
	     s->debug.header.e_ident[EI_DATA] != ELFDATA2LSB))
		elf_file_done(&s->debug);
	return 0;
}

int rows_sections_init_memory(struct rows_sections *s, const void *elf, size_t size,
			      struct reason *why)
{
	int err;

	memset(s, 0, sizeof(*s));
	err = elf_file_init_memory(&s->file, elf, size, why);
	return err != 0 ? err : check_machine(s, why);
}

void rows_sections_done(struct rows_sections *s)
{
	elf_file_done(&s->debug);
	elf_file_done(&s->file);
}

static void take_bytes(struct cfi_section *c, Elf_Data *data, uint64_t vaddr)
{
	if (data == NULL)
		return;
	c->bytes = data->d_buf;
	c->size = data->d_size;
	c->vaddr = vaddr;
}

/* The segment that .eh_frame_hdr is in, for its pointer to .eh_frame. */
static bool find_program_header(const struct elf_file *f, uint32_t type, uint64_t vaddr,
				GElf_Phdr *ret)
{
	size_t nr = 0;

	if (elf_getphdrnum(f->elf, &nr) != 0 || nr > PROGRAM_HEADERS_MAX)
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (gelf_getphdr(f->elf, (int)i, ret) == NULL)
			return false;
		if (ret->p_type == type && ret->p_offset <= INT64_MAX &&
		    (type != PT_LOAD ||
		     (vaddr >= ret->p_vaddr && vaddr - ret->p_vaddr < ret->p_filesz)))
			return true;
	}
	return false;
}

/*
 * .eh_frame without section headers: PT_GNU_EH_FRAME leads to .eh_frame_hdr, that to .eh_frame,
 * which an empty entry ends.
 */
static void find_by_segment(struct cfi_section *c, const struct elf_file *f)
{
	struct cfi_section hdr = { .machine = c->machine };
	GElf_Phdr segment;
	struct cfi_reader r;
	uint8_t encoding;
	Elf_Data *data;
	uint64_t vaddr, skip, size;

	if (!find_program_header(f, PT_GNU_EH_FRAME, 0, &segment) || segment.p_filesz < HDR_SIZE)
		return;
	take_bytes(&hdr,
		   elf_getdata_rawchunk(f->elf, (int64_t)segment.p_offset, HDR_SIZE, ELF_T_BYTE),
		   segment.p_vaddr);
	if (hdr.size < HDR_SIZE)
		return;
	hdr.got = segment.p_vaddr; /* the base of its relative addresses */
	r = (struct cfi_reader){ hdr.bytes, hdr.bytes + hdr.size, false };
	if (cfi_u8(&r) != 1)
		return;
	encoding = cfi_u8(&r);
	cfi_u16(&r);
	vaddr = cfi_address(&hdr, &r, encoding);
	if (r.bad || !find_program_header(f, PT_LOAD, vaddr, &segment))
		return;
	skip = vaddr - segment.p_vaddr;
	size = segment.p_filesz - skip < SECTION_MAX ? segment.p_filesz - skip : SECTION_MAX;
	if (segment.p_offset > INT64_MAX - skip)
		return;
	data = elf_getdata_rawchunk(f->elf, (int64_t)(segment.p_offset + skip), size, ELF_T_BYTE);
	take_bytes(c, data, vaddr);
	c->ends = true;
}

static void find_eh(struct cfi_section *c, const struct elf_file *f)
{
	GElf_Shdr header, got;
	Elf_Scn *section = elf_file_section(f, ".eh_frame", 0, &header);

	c->eh = true;
	if (elf_file_section(f, ".got", 0, &got) != NULL)
		c->got = got.sh_addr;
	if (section != NULL)
		take_bytes(c, elf_file_data(section, SECTION_MAX), header.sh_addr);
	if (c->bytes == NULL)
		find_by_segment(c, f);
}

static void find_debug(struct cfi_section *c, const struct elf_file *f)
{
	GElf_Shdr header;
	Elf_Scn *section;

	if (f->elf == NULL || c->bytes != NULL)
		return;
	section = elf_file_section(f, ".debug_frame", 0, &header);
	if (section != NULL)
		take_bytes(c, elf_file_data(section, SECTION_MAX), header.sh_addr);
}

void rows_sections_find(struct rows_sections *s, struct cfi_section *eh, struct cfi_section *debug)
{
	eh->machine = debug->machine = s->machine;
	find_eh(eh, &s->file);
	find_debug(debug, &s->file);
	find_debug(debug, &s->debug);
}
