/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTIONS_MAX 65536u
#define PROGRAM_HEADERS_MAX 4096u
#define NOTES_MAX 65536u
#define SECTION_NAMES_MAX ((size_t)16 << 20)

/*
 * Beyond 65,279 sections or 65,534 segments the counts are elsewhere, and libelf makes room for as
 * many as they tell at once: in a sparse file, billions.  No program has them.  The fields are all
 * zeroes or all ones in either byte order.
 */
static bool counts_are_plain(const uint8_t *header, size_t size)
{
	static const uint8_t zero[8], ones[2] = { 0xff, 0xff };
	bool wide;

	if (size < sizeof(Elf64_Ehdr))
		return true; /* too short to have sections; libelf will refuse it */
	wide = header[EI_CLASS] == ELFCLASS64;
	if (memcmp(header + (wide ? offsetof(Elf64_Ehdr, e_phnum) : offsetof(Elf32_Ehdr, e_phnum)),
		   ones, 2) == 0)
		return false;
	if (memcmp(header + (wide ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum)),
		   zero, 2) != 0)
		return true;
	return wide ? memcmp(header + offsetof(Elf64_Ehdr, e_shoff), zero, 8) == 0
		    : memcmp(header + offsetof(Elf32_Ehdr, e_shoff), zero, 4) == 0;
}

static int elf_file_begin(struct elf_file *f, struct reason *why)
{
	GElf_Shdr names;

	if (f->elf == NULL || elf_kind(f->elf) != ELF_K_ELF ||
	    gelf_getehdr(f->elf, &f->header) == NULL) {
		elf_file_done(f);
		return reason_set(why, -ENOEXEC, "not an ELF file");
	}
	if (elf_getshdrstrndx(f->elf, &f->names_section) != 0 ||
	    gelf_getshdr(elf_getscn(f->elf, f->names_section), &names) == NULL ||
	    names.sh_size > SECTION_NAMES_MAX)
		f->names_section = 0;
	return 0;
}

int elf_file_init(struct elf_file *f, int fd, uint64_t max, struct reason *why)
{
	uint8_t header[sizeof(Elf64_Ehdr)];
	ssize_t nr;
	struct stat st;

	memset(f, 0, sizeof(*f));
	if (fstat(fd, &st) != 0)
		return reason_set(why, -errno, "cannot be examined: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return reason_set(why, -ENOEXEC, "not a regular file");
	if ((uint64_t)st.st_size > max)
		return reason_set(why, -EFBIG, "too large for a file of code");
	nr = pread(fd, header, sizeof(header), 0);
	if (nr < 0)
		return reason_set(why, -errno, "cannot be read: %s", strerror(errno));
	if (!counts_are_plain(header, (size_t)nr))
		return reason_set(why, -EFBIG, "too many sections for a file of code");
	elf_version(EV_CURRENT);
	f->elf = elf_begin(fd, ELF_C_READ, NULL);
	return elf_file_begin(f, why);
}

int elf_file_init_memory(struct elf_file *f, const void *bytes, size_t size, struct reason *why)
{
	memset(f, 0, sizeof(*f));
	if (!counts_are_plain(bytes, size))
		return reason_set(why, -EFBIG, "too many sections for a file of code");
	elf_version(EV_CURRENT);
	f->elf = elf_memory((char *)bytes, size);
	return elf_file_begin(f, why);
}

void elf_file_done(struct elf_file *f)
{
	if (f == NULL || f->elf == NULL)
		return;
	elf_end(f->elf);
	f->elf = NULL;
}

const char *elf_file_section_name(const struct elf_file *f, const GElf_Shdr *section)
{
	const char *name = NULL;

	if (f->names_section != 0)
		name = elf_strptr(f->elf, f->names_section, section->sh_name);
	return name != NULL ? name : "";
}

/* The section after @section, at most SECTIONS_MAX of them in a file. */
static Elf_Scn *next_section(const struct elf_file *f, Elf_Scn *section, GElf_Shdr *ret)
{
	section = elf_nextscn(f->elf, section);
	if (section == NULL || elf_ndxscn(section) >= SECTIONS_MAX ||
	    gelf_getshdr(section, ret) == NULL)
		return NULL;
	return section;
}

Elf_Scn *elf_file_section(const struct elf_file *f, const char *name, uint32_t type, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = next_section(f, section, &header)) != NULL) {
		if (name != NULL ? strcmp(elf_file_section_name(f, &header), name) == 0
				 : header.sh_type == type) {
			*ret = header;
			return section;
		}
	}
	return NULL;
}

/* Unpacks a section, if its header tells that it is packed to a size that is borne; then libelf has
 * it as if it had never been. */
static bool unpack(Elf_Scn *section, size_t max, GElf_Shdr *header)
{
	GElf_Chdr packed;

	return header->sh_size <= max && gelf_getchdr(section, &packed) != NULL &&
	       packed.ch_size <= max && elf_compress(section, 0, 0) >= 0 &&
	       gelf_getshdr(section, header) != NULL;
}

Elf_Data *elf_file_data(Elf_Scn *section, size_t max)
{
	GElf_Shdr header;
	Elf_Data *data;

	if (section == NULL || gelf_getshdr(section, &header) == NULL ||
	    header.sh_type == SHT_NOBITS)
		return NULL;
	if ((header.sh_flags & SHF_COMPRESSED) != 0 && !unpack(section, max, &header))
		return NULL;
	if (header.sh_size == 0 || header.sh_size > max)
		return NULL;
	data = elf_getdata(section, NULL);
	return data != NULL && data->d_buf != NULL && data->d_size > 0 ? data : NULL;
}

static size_t build_id_in(Elf_Data *data, uint8_t *ret)
{
	size_t at = 0, next, name, desc;
	GElf_Nhdr note;

	while (data != NULL && at < data->d_size &&
	       (next = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		const char *bytes = data->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    memcmp(bytes + name, "GNU", sizeof("GNU")) == 0 && note.n_descsz > 0 &&
		    note.n_descsz <= TABLE_BUILD_ID_MAX) {
			memcpy(ret, bytes + desc, note.n_descsz);
			return note.n_descsz;
		}
		at = next;
	}
	return 0;
}

static size_t build_id_of_segments(const struct elf_file *f, uint8_t *ret)
{
	size_t nr = 0, found = 0;

	if (elf_getphdrnum(f->elf, &nr) != 0 || nr > PROGRAM_HEADERS_MAX)
		return 0;
	for (size_t i = 0; i < nr && found == 0; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(f->elf, (int)i, &segment) == NULL)
			break;
		if (segment.p_type != PT_NOTE || segment.p_filesz > NOTES_MAX ||
		    segment.p_offset > INT64_MAX)
			continue;
		found = build_id_in(
			elf_getdata_rawchunk(f->elf, (int64_t)segment.p_offset, segment.p_filesz,
					     segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
			ret);
	}
	return found;
}

/* Sections first: in a separate debug file the program headers' offsets are those of another file.
 */
size_t elf_file_build_id(const struct elf_file *f, uint8_t *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t found = 0;

	while (found == 0 && (section = next_section(f, section, &header)) != NULL) {
		if (header.sh_type == SHT_NOTE)
			found = build_id_in(elf_file_data(section, NOTES_MAX), ret);
	}
	return found > 0 ? found : build_id_of_segments(f, ret);
}

static int take_segments(struct code_map *c, const struct elf_file *f, struct reason *why)
{
	size_t nr = 0;

	if (elf_getphdrnum(f->elf, &nr) != 0 || nr > PROGRAM_HEADERS_MAX)
		return reason_set(why, -ENOEXEC, "its program headers are damaged");
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(f->elf, (int)i, &p) == NULL)
			return reason_set(why, -ENOEXEC, "its program headers are damaged");
		if (p.p_type != PT_LOAD || (p.p_flags & PF_X) == 0 || p.p_filesz == 0)
			continue;
		if (p.p_filesz > UINT64_MAX - p.p_offset || p.p_filesz > UINT64_MAX - p.p_vaddr)
			return reason_set(why, -ENOEXEC, "its program headers are damaged");
		if (c->nr_segments == sizeof(c->segments) / sizeof(c->segments[0]))
			break;
		c->segments[c->nr_segments++] = (struct table_segment){
			.offset = p.p_offset,
			.filesz = p.p_filesz,
			.vaddr = p.p_vaddr,
			.memsz = p.p_memsz,
		};
	}
	if (c->nr_segments == 0)
		return reason_set(why, -ENOEXEC, "it has no executable segment");
	return 0;
}

/* The part of [start, end) that some executable segment holds. */
static int add_range(struct code_map *c, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < c->nr_segments; i++) {
		const struct table_segment *s = &c->segments[i];
		struct code_range r = {
			.start = start > s->vaddr ? start : s->vaddr,
			.end = end < s->vaddr + s->filesz ? end : s->vaddr + s->filesz,
		};

		if (r.start < r.end && vec_push(&c->ranges, r) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int range_order(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Ranges that overlap (no linker makes them) are cut, so that a search finds the one that holds an
 * address. */
static void settle_ranges(struct code_map *c)
{
	if (c->ranges.nr == 0)
		return;
	qsort(c->ranges.at, c->ranges.nr, sizeof(c->ranges.at[0]), range_order);
	for (size_t i = 0; i + 1 < c->ranges.nr; i++) {
		if (c->ranges.at[i].end > c->ranges.at[i + 1].start)
			c->ranges.at[i].end = c->ranges.at[i + 1].start;
	}
}

int code_map_init(struct code_map *c, const struct elf_file *f, struct reason *why)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int err;

	memset(c, 0, sizeof(*c));
	err = take_segments(c, f, why);
	if (err != 0)
		return err;
	while (err == 0 && (section = next_section(f, section, &header)) != NULL) {
		uint64_t flags = SHF_ALLOC | SHF_EXECINSTR;

		if ((header.sh_flags & flags) == flags && c->ranges.nr < SECTIONS_MAX &&
		    header.sh_size <= UINT64_MAX - header.sh_addr)
			err = add_range(c, header.sh_addr, header.sh_addr + header.sh_size);
	}
	if (err == 0 && c->ranges.nr == 0)
		err = add_range(c, 0, UINT64_MAX);
	if (err != 0) {
		code_map_done(c);
		return reason_set(why, err, "out of memory");
	}
	settle_ranges(c);
	return 0;
}

void code_map_done(struct code_map *c)
{
	vec_done(&c->ranges);
}

uint64_t code_map_end(struct code_map *c, uint64_t vaddr)
{
	const struct code_range *r = c->ranges.at;
	size_t low = 0, high = c->ranges.nr;

	if (c->last < high && vaddr >= r[c->last].start && vaddr < r[c->last].end)
		return r[c->last].end;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || vaddr >= r[low - 1].end)
		return 0;
	c->last = low - 1;
	return r[low - 1].end;
}
