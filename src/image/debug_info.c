/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The small file: one page with ELF header, section headers and names, then each section from a
 * page of its own on, as far behind that page's start as it is behind a page's start in its file,
 * for that is how it can be mapped.
 */
#include "image/debug_info.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zstd.h>

#include "image/elf_file.h"

#define FILE_MAX (UINT64_C(64) << 30)
#define SECTIONS_BYTES_MAX (UINT64_C(1) << 30)
#define PAGE ((uint64_t)65536) /* the largest there is */
#define ZSTD_TYPE 2u           /* ELFCOMPRESS_ZSTD, which older headers do not know */
#define GNU_HEADER_SIZE 12u    /* "ZLIB" and the size unpacked, 8 bytes, big-endian */

static const char *const wanted[] = {
	".debug_info",   ".debug_abbrev",   ".debug_str",         ".debug_line_str",
	".debug_ranges", ".debug_rnglists", ".debug_str_offsets", ".debug_addr",
};

enum { NR_WANTED = sizeof(wanted) / sizeof(wanted[0]) };

enum packing { PLAIN, PACKED_ZLIB, PACKED_ZSTD, PACKED_GNU };

/* One section of the file and where it comes to be in the small one. */
struct part {
	Elf_Scn *section; /* NULL: absent */
	GElf_Shdr header;
	enum packing packing;
	uint64_t size; /* unpacked */
	uint64_t at;   /* in the region */
};

struct small_file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[NR_WANTED + 2];
	char names[256];
};

_Static_assert(sizeof(struct small_file) <= PAGE, "the headers are one page");

/* The section by either of its names; how it is packed, and into what size. */
static int find_part(const struct elf_file *f, const char *name, struct part *p)
{
	char gnu_name[32] = ".z";
	const uint8_t *head;
	Elf_Data *data;
	GElf_Chdr packed;

	memset(p, 0, sizeof(*p));
	p->section = elf_file_section(f, name, 0, &p->header);
	if (p->section == NULL) {
		memcpy(gnu_name + 2, name + 1, strlen(name));
		p->section = elf_file_section(f, gnu_name, 0, &p->header);
		p->packing = PACKED_GNU;
	}
	if (p->section == NULL || p->header.sh_type == SHT_NOBITS || p->header.sh_size == 0) {
		p->section = NULL;
		return 0;
	}
	p->size = p->header.sh_size;
	if (p->size > SECTIONS_BYTES_MAX)
		return -EFBIG;
	if (p->packing == PACKED_GNU) {
		data = elf_rawdata(p->section, NULL);
		if (data == NULL || data->d_size < GNU_HEADER_SIZE ||
		    memcmp(data->d_buf, "ZLIB", 4) != 0)
			return -EBADMSG;
		head = data->d_buf;
		p->size = 0;
		for (int i = 4; i < 12; i++)
			p->size = p->size << 8 | head[i];
	} else if ((p->header.sh_flags & SHF_COMPRESSED) != 0) {
		if (gelf_getchdr(p->section, &packed) == NULL)
			return -EBADMSG;
		p->packing = packed.ch_type == ZSTD_TYPE ? PACKED_ZSTD : PACKED_ZLIB;
		p->size = packed.ch_size;
	}
	return p->size > SECTIONS_BYTES_MAX ? -EFBIG : 0;
}

static int find_parts(const struct elf_file *f, struct part parts[NR_WANTED], uint64_t *ret_size)
{
	uint64_t at = PAGE, bytes = 0;

	for (int i = 0; i < NR_WANTED; i++) {
		struct part *p = &parts[i];
		int err = find_part(f, wanted[i], p);

		if (err != 0)
			return err;
		if (p->section == NULL)
			continue;
		bytes += p->size;
		if (bytes > SECTIONS_BYTES_MAX)
			return -EFBIG;
		p->at = at;
		if (p->packing == PLAIN)
			p->at += p->header.sh_offset % PAGE;
		at = (p->at + p->size + PAGE - 1) / PAGE * PAGE;
	}
	*ret_size = at;
	return parts[0].section != NULL ? 0 : -ENODATA;
}

static int map_plain(const struct part *p, uint8_t *region, int fd)
{
	uint64_t skip = p->header.sh_offset % PAGE;
	struct stat st;
	void *at;

	/* Pages beyond the end are there and end the process. */
	if (fstat(fd, &st) != 0 || p->header.sh_offset > (uint64_t)st.st_size ||
	    p->size > (uint64_t)st.st_size - p->header.sh_offset)
		return -EBADMSG;
	at = mmap(region + p->at - skip, p->size + skip, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_FIXED, fd, (off_t)(p->header.sh_offset - skip));
	return at == MAP_FAILED ? -errno : 0;
}

static int unpack_zstd(const struct part *p, uint8_t *to)
{
	Elf_Data *data = elf_rawdata(p->section, NULL);
	size_t got;

	if (data == NULL || data->d_size < sizeof(Elf64_Chdr))
		return -EBADMSG;
	got = ZSTD_decompress(to, p->size, (const uint8_t *)data->d_buf + sizeof(Elf64_Chdr),
			      data->d_size - sizeof(Elf64_Chdr));
	return !ZSTD_isError(got) && got == p->size ? 0 : -EBADMSG;
}

static int unpack_zlib(const struct part *p, uint8_t *to)
{
	int err = p->packing == PACKED_GNU ? elf_compress_gnu(p->section, 0, 0)
					   : elf_compress(p->section, 0, 0);
	Elf_Data *data = err < 0 ? NULL : elf_rawdata(p->section, NULL);

	if (data == NULL || data->d_buf == NULL || data->d_size != p->size)
		return -EBADMSG;
	memcpy(to, data->d_buf, p->size);
	return 0;
}

static int fill_part(const struct part *p, uint8_t *region, int fd)
{
	switch (p->packing) {
	case PLAIN:
		return map_plain(p, region, fd);
	case PACKED_ZSTD:
		return unpack_zstd(p, region + p->at);
	default:
		return unpack_zlib(p, region + p->at);
	}
}

static void write_headers(struct small_file *s, const struct elf_file *f,
			  const struct part parts[NR_WANTED])
{
	size_t at = 1;
	int nr = 1;

	for (int i = 0; i < NR_WANTED; i++) {
		if (parts[i].section == NULL)
			continue;
		s->sections[nr++] = (Elf64_Shdr){
			.sh_name = (Elf64_Word)at,
			.sh_type = SHT_PROGBITS,
			.sh_offset = parts[i].at,
			.sh_size = parts[i].size,
			.sh_addralign = 1,
		};
		memcpy(s->names + at, wanted[i], strlen(wanted[i]));
		at += strlen(wanted[i]) + 1;
	}
	s->sections[nr++] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct small_file, names),
		.sh_size = sizeof(s->names),
		.sh_addralign = 1,
	};
	s->header = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = f->header.e_machine,
		.e_version = EV_CURRENT,
		.e_shoff = offsetof(struct small_file, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)nr,
		.e_shstrndx = (Elf64_Half)(nr - 1),
	};
}

static int fill(struct debug_info *d, const struct elf_file *f, int fd)
{
	struct part parts[NR_WANTED];
	int err = find_parts(f, parts, &d->size);
	void *region;

	if (err != 0)
		return err;
	region = mmap(NULL, d->size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED)
		return -ENOMEM;
	d->region = region;
	for (int i = 0; i < NR_WANTED && err == 0; i++) {
		if (parts[i].section != NULL)
			err = fill_part(&parts[i], region, fd);
	}
	write_headers(region, f, parts);
	return err;
}

static int explain(int err, struct reason *why)
{
	switch (err) {
	case -ENODATA:
		return reason_set(why, err, "it has no debug information");
	case -EFBIG:
		return reason_set(why, err, "its debug information is too large");
	case -EBADMSG:
		return reason_set(why, err, "its debug information is damaged");
	default:
		return reason_set(why, err, "its debug information cannot be read: %s",
				  strerror(-err));
	}
}

int debug_info_open(struct debug_info *d, int fd, struct reason *why)
{
	struct elf_file f;
	int err;

	memset(d, 0, sizeof(*d));
	err = elf_file_init(&f, fd, FILE_MAX, why);
	if (err != 0)
		return err;
	if (f.header.e_ident[EI_CLASS] != ELFCLASS64 || f.header.e_ident[EI_DATA] != ELFDATA2LSB) {
		elf_file_done(&f);
		return reason_set(why, -ENOEXEC, "not a little-endian file of 64 bits");
	}
	err = fill(d, &f, fd);
	elf_file_done(&f);
	if (err == 0) {
		d->elf = elf_memory(d->region, d->size);
		d->dwarf = d->elf != NULL ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
		err = d->dwarf == NULL ? -EBADMSG : 0;
	}
	if (err != 0)
		debug_info_close(d);
	return err != 0 ? explain(err, why) : 0;
}

int debug_info_open_alt(struct debug_info *d, int fd, struct reason *why)
{
	struct debug_info *alt = malloc(sizeof(*alt));
	int err;

	if (alt == NULL)
		return -ENOMEM;
	err = debug_info_open(alt, fd, why);
	if (err != 0) {
		free(alt);
		return err;
	}
	d->alt = alt;
	dwarf_setalt(d->dwarf, alt->dwarf);
	return 0;
}

void debug_info_close(struct debug_info *d)
{
	if (d->dwarf != NULL)
		dwarf_end(d->dwarf);
	if (d->elf != NULL)
		elf_end(d->elf);
	if (d->region != NULL)
		munmap(d->region, d->size);
	if (d->alt != NULL)
		debug_info_close(d->alt);
	free(d->alt);
	memset(d, 0, sizeof(*d));
}

bool debug_info_is_in(int fd)
{
	struct elf_file f;
	struct part p;
	bool is;

	if (elf_file_init(&f, fd, FILE_MAX, NULL) != 0)
		return false;
	is = find_part(&f, wanted[0], &p) == 0 && p.section != NULL;
	elf_file_done(&f);
	return is;
}

void debug_info_alt(int fd, struct debug_alt *ret)
{
	struct elf_file f;
	GElf_Shdr header;
	Elf_Data *data;
	size_t length = 0, left = 0;

	memset(ret, 0, sizeof(*ret));
	if (elf_file_init(&f, fd, FILE_MAX, NULL) != 0)
		return;
	data = elf_file_data(elf_file_section(&f, ".gnu_debugaltlink", 0, &header), 4096);
	if (data != NULL) {
		length = strnlen(data->d_buf, data->d_size);
		left = data->d_size - length;
	}
	if (length > 0 && length < sizeof(ret->path) && left > 1 &&
	    left - 1 <= sizeof(ret->build_id)) {
		memcpy(ret->path, data->d_buf, length);
		ret->build_id_size = (uint8_t)(left - 1);
		memcpy(ret->build_id, (const char *)data->d_buf + length + 1, left - 1);
	}
	elf_file_done(&f);
}
