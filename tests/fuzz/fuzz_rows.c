/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rows of any bytes, taken in three ways: as rows that another process sent, as an ELF file
 * (from memory and through a descriptor, which is its own debug file too), and as the bytes of
 * .eh_frame and .debug_frame in a small program of either machine.  What is built must pass
 * rows_check(), and what passes must be safe to ask.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAME_MAX = 1 << 16, NR_SECTIONS = 4 };

/* A program of headers, section names and one section of frames. */
struct program {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[NR_SECTIONS];
	char names[64];
	uint8_t frames[FRAME_MAX];
};

static void ask(const struct rows *r)
{
	for (uint32_t i = 0; i < r->header->nr_rows && i < 4096; i++) {
		const struct unwind_rule *rule = rows_find(r, r->header->base + r->starts[i]);

		if (r->header->base <= UINT64_MAX - UINT32_MAX && rule != &r->rules[r->indices[i]])
			abort();
		rows_find(r, r->header->base + r->starts[i] - 1);
	}
	for (uint32_t i = 0; i < r->header->nr_segments; i++) {
		uint64_t vaddr;

		rows_vaddr(r, r->segments[i].offset, &vaddr);
	}
	rows_find(r, 0);
	rows_find(r, UINT64_MAX);
}

/* Takes what building gave. */
static void check(int err, struct rows_bytes *built)
{
	struct rows r;

	if (err != 0)
		return;
	if (rows_check(built->at, built->size, &r) != 0)
		abort();
	ask(&r);
	free(built->at);
}

static void as_rows(const uint8_t *data, size_t size)
{
	uint8_t *aligned = malloc(size != 0 ? size : 1);
	struct rows r;

	if (aligned == NULL)
		return;
	if (size > 0)
		memcpy(aligned, data, size);
	if (rows_check(aligned, size, &r) == 0)
		ask(&r);
	free(aligned);
}

static void as_file(const uint8_t *data, size_t size)
{
	struct rows_bytes built = { 0 };
	struct reason why;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	check(rows_build_memory(data, size, &built, &why), &built);
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size)
		check(rows_build(fd, fd, &built, &why), &built);
	if (fd >= 0)
		close(fd);
}

static void as_frames(const uint8_t *data, size_t size, uint16_t machine, uint32_t name)
{
	struct rows_bytes built = { 0 };
	struct program *p = calloc(1, sizeof(*p));
	struct reason why;

	if (p == NULL)
		return;
	p->header = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct program, segment),
		.e_shoff = offsetof(struct program, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = 1,
	};
	p->segment = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 1 << 20, .p_memsz = 1 << 20
	};
	memcpy(p->names, "\0.names\0.eh_frame\0.debug_frame\0.got", 36);
	p->sections[1] = (Elf64_Shdr){ .sh_name = 1,
				       .sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct program, names),
				       .sh_size = sizeof(p->names) };
	p->sections[2] = (Elf64_Shdr){ .sh_name = name,
				       .sh_type = SHT_PROGBITS,
				       .sh_addr = 0x1000,
				       .sh_offset = offsetof(struct program, frames),
				       .sh_size = size < FRAME_MAX ? size : FRAME_MAX };
	p->sections[3] = (Elf64_Shdr){
		.sh_name = 31, .sh_type = SHT_NOBITS, .sh_addr = 0x2000, .sh_size = 8
	};
	memcpy(p->frames, data, p->sections[2].sh_size);
	check(rows_build_memory(p, sizeof(*p), &built, &why), &built);
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t names[] = { 8, 18 };

	as_rows(data, size);
	as_file(data, size);
	for (int i = 0; i < 2 && size > 0; i++) {
		as_frames(data, size, EM_X86_64, names[i]);
		as_frames(data, size, EM_AARCH64, names[i]);
	}
	return 0;
}
