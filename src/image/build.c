/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "image/demangle.h"
#include "image/elf_file.h"
#include "image/gopclntab.h"
#include "image/plt.h"
#include "image/suffix.h"
#include "image/symtab.h"
#include "image/table.h"
#include "image/unpack.h"

const struct build_options build_defaults = {
	.file_max = UINT64_C(16) << 30,
	.symbols_max = 4u << 20,
	.strings_max = (size_t)256 << 20,
	.unpacked_max = (size_t)64 << 20,
};

/* All that building holds; names of symbols live in the files' string tables until the end. */
struct build {
	const struct build_options *options;
	struct elf_file file, debug, mini;
	uint8_t *mini_bytes;
	struct code_map code;
	struct raw_symbols symbols;
	enum table_source source;
	VEC(uint8_t) out;
};

static void build_done(struct build *b)
{
	vec_done(&b->symbols);
	vec_done(&b->out);
	code_map_done(&b->code);
	elf_file_done(&b->mini);
	free(b->mini_bytes);
	elf_file_done(&b->debug);
	elf_file_done(&b->file);
}

/* Adds the symbols of @f's table of @type; marks @source where it had some. */
static int collect(struct build *b, const struct elf_file *f, uint32_t type,
		   enum table_source source)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(f, NULL, type, &header);
	size_t before = b->symbols.nr;
	int err;

	if (section == NULL)
		return 0;
	err = symtab_collect(&b->symbols, &b->code, f, section, b->options->symbols_max,
			     b->options->strings_max);
	if (err == 0 && b->symbols.nr > before && b->source < source)
		b->source = source;
	return err;
}

/* The small ELF file packed into .gnu_debugdata.  One that is damaged is as good as none. */
static int collect_mini(struct build *b)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(&b->file, ".gnu_debugdata", 0, &header);
	Elf_Data *packed = elf_file_data(section, b->options->unpacked_max);
	size_t size;

	if (packed == NULL ||
	    unpack_xz(packed->d_buf, packed->d_size, b->options->unpacked_max, &b->mini_bytes,
		      &size) != 0 ||
	    elf_file_init_memory(&b->mini, b->mini_bytes, size, NULL) != 0)
		return 0;
	return collect(b, &b->mini, SHT_SYMTAB, TABLE_MINI_DEBUG);
}

/* What a stripped Go program still knows of itself. */
static int collect_go(struct build *b)
{
	size_t before = b->symbols.nr;
	int err = gopclntab_collect(&b->symbols, &b->code, &b->file, b->options->symbols_max,
				    b->options->strings_max);

	if (err == 0 && b->symbols.nr > before)
		b->source = TABLE_GO;
	return err;
}

/* A debug file of another machine would give names to the wrong code. */
static bool debug_fits(const struct build *b)
{
	return b->debug.header.e_machine == b->file.header.e_machine &&
	       b->debug.header.e_ident[EI_CLASS] == b->file.header.e_ident[EI_CLASS];
}

static int collect_all(struct build *b, int debug_fd)
{
	int err = collect(b, &b->file, SHT_SYMTAB, TABLE_SYMTAB);

	if (err == 0 && b->source == TABLE_NO_NAMES && debug_fd >= 0 &&
	    elf_file_init(&b->debug, debug_fd, b->options->file_max, NULL) == 0 && debug_fits(b))
		err = collect(b, &b->debug, SHT_SYMTAB, TABLE_DEBUG_FILE);
	if (err == 0 && b->source == TABLE_NO_NAMES)
		err = collect_mini(b);
	if (err == 0)
		err = collect(b, &b->file, SHT_DYNSYM, TABLE_DYNSYM);
	if (err == 0 && b->source <= TABLE_DYNSYM)
		err = collect_go(b);
	return err;
}

/* Whether local symbols are known too. */
static bool is_complete(const struct build *b)
{
	return b->source > TABLE_DYNSYM && b->source != TABLE_GO;
}

/* PLT names come last: those of IFUNCs need the settled symbols. */
static int add_plt(struct build *b)
{
	struct raw_symbols plt = { 0 };
	int err;

	err = plt_collect(&plt, &b->file, &b->symbols, b->options->symbols_max,
			  b->options->strings_max);
	for (size_t i = 0; err == 0 && i < plt.nr; i++) {
		if (code_map_end(&b->code, plt.at[i].start) != 0)
			err = vec_push(&b->symbols, plt.at[i]);
	}
	if (err == 0 && plt.nr > 0)
		err = symtab_settle(&b->symbols, &b->code, true);
	vec_done(&plt);
	return err;
}

static int append(struct build *b, const void *bytes, size_t size)
{
	if (vec_reserve(&b->out, b->out.nr + size) != 0)
		return -ENOMEM;
	memcpy(b->out.at + b->out.nr, bytes, size);
	b->out.nr += size;
	return 0;
}

/* Copies @name without its version; returns where what a compiler appended to it begins. */
static size_t copy_plain(char plain[DEMANGLE_IN_MAX + 2], const char *name)
{
	size_t length = strnlen(name, DEMANGLE_IN_MAX + 1);

	memcpy(plain, name, length);
	plain[length] = '\0';
	if (length > 0 && length <= DEMANGLE_IN_MAX)
		plain[1 + strcspn(plain + 1, "@")] = '\0';
	return suffix_start(plain, strlen(plain));
}

/*
 * A symbol's name as shown: readable, without a version, with what a compiler appended, "@plt" for
 * a PLT entry and "@ifunc" for code that only chooses a function.
 */
static int append_name(struct build *b, const struct raw_symbol *raw, struct demangler *d)
{
	static const char *const marks[NR_TABLE_KINDS] = {
		[TABLE_PLT] = "@plt",
		[TABLE_IFUNC] = "@ifunc",
	};
	const char *mark = marks[raw->kind] != NULL ? marks[raw->kind] : "", *readable;
	char plain[DEMANGLE_IN_MAX + 2], first;
	size_t length = copy_plain(plain, raw->name);
	int err;

	first = plain[length];
	plain[length] = '\0';
	readable = demangle(d, plain);
	if (readable != NULL)
		err = append(b, readable, d->length);
	else
		err = append(b, plain, length < DEMANGLE_IN_MAX ? length : DEMANGLE_IN_MAX);
	plain[length] = first;
	if (err == 0)
		err = append(b, plain + length, strlen(plain + length));
	return err != 0 ? err : append(b, mark, strlen(mark) + 1);
}

static struct table_symbol *out_symbols(struct build *b, const struct table_header *h)
{
	return (void *)(b->out.at + h->symbols_at);
}

/*
 * Links each symbol to the nearest earlier one that reaches further than what lies between: those
 * whose end is past the start of this one are kept on a stack, as deep as look-ups are willing to
 * go.
 */
static void link_outer(struct table_symbol *symbols, uint32_t nr)
{
	uint32_t open[TABLE_DEPTH_MAX];
	unsigned depth = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct table_symbol *s = &symbols[i];

		while (depth > 0 &&
		       symbols[open[depth - 1]].start + symbols[open[depth - 1]].size <= s->start)
			depth--;
		s->outer = depth > 0 ? open[depth - 1] : TABLE_NO_SYMBOL;
		if (depth < TABLE_DEPTH_MAX)
			open[depth++] = i;
	}
}

static int write_names(struct build *b, struct table_header *h)
{
	struct demangler *d = calloc(1, sizeof(*d));
	int err = d == NULL ? -ENOMEM : append(b, "", 1);

	for (uint32_t i = 0; err == 0 && i < h->nr_symbols; i++) {
		const struct raw_symbol *raw = &b->symbols.at[i];
		size_t name = b->out.nr - h->strings_at;

		if (name > b->options->strings_max || name > UINT32_MAX) {
			err = -EFBIG;
			break;
		}
		out_symbols(b, h)[i] = (struct table_symbol){
			.start = raw->start,
			.size = (uint32_t)raw->size,
			.name = (uint32_t)name,
			.kind = raw->kind,
			.binding = raw->binding,
		};
		err = append_name(b, raw, d);
	}
	free(d);
	return err;
}

/* Lays the table out: header, segments, symbols, strings. */
static int write_table(struct build *b)
{
	struct table_header h = {
		.magic = TABLE_MAGIC,
		.version = TABLE_VERSION,
		.source = b->source,
		.nr_segments = b->code.nr_segments,
		.nr_symbols = (uint32_t)b->symbols.nr,
		.segments_at = sizeof(h),
	};
	int err;

	h.symbols_at = h.segments_at + h.nr_segments * sizeof(struct table_segment);
	h.strings_at = h.symbols_at + (uint64_t)h.nr_symbols * sizeof(struct table_symbol);
	h.build_id_size = (uint8_t)elf_file_build_id(&b->file, h.build_id);
	if (vec_reserve(&b->out, h.strings_at + 32 * b->symbols.nr) != 0)
		return -ENOMEM;
	b->out.nr = h.strings_at;
	memcpy(b->out.at + h.segments_at, b->code.segments,
	       h.nr_segments * sizeof(struct table_segment));
	err = write_names(b, &h);
	if (err != 0)
		return err;
	link_outer(out_symbols(b, &h), h.nr_symbols);
	h.strings_size = b->out.nr - h.strings_at;
	h.size = b->out.nr;
	memcpy(b->out.at, &h, sizeof(h));
	return 0;
}

static int build(struct build *b, int debug_fd, struct table_bytes *ret, struct reason *why)
{
	struct table checked;
	uint8_t *fit;
	int err;

	if (b->file.header.e_type != ET_EXEC && b->file.header.e_type != ET_DYN)
		return reason_set(why, -ENOEXEC, "an ELF file, but neither program nor library");
	err = code_map_init(&b->code, &b->file, why);
	if (err != 0)
		return err;
	err = collect_all(b, debug_fd);
	if (err == 0)
		err = symtab_settle(&b->symbols, &b->code, is_complete(b));
	if (err == 0)
		err = add_plt(b);
	if (err == 0)
		err = write_table(b);
	if (err == 0 && table_check(b->out.at, b->out.nr, &checked) != 0)
		err = -EBADMSG;
	if (err != 0)
		return reason_set(why, err, "its symbols cannot be read: %s",
				  err == -EFBIG ? "too many or too long" : strerror(-err));
	fit = realloc(b->out.at, b->out.nr);
	ret->at = fit != NULL ? fit : b->out.at;
	ret->size = b->out.nr;
	b->out.at = NULL;
	return 0;
}

int build_table(int fd, int debug_fd, const struct build_options *options, struct table_bytes *ret,
		struct reason *why)
{
	struct build b = { .options = options };
	int err = elf_file_init(&b.file, fd, options->file_max, why);

	if (err == 0)
		err = build(&b, debug_fd, ret, why);
	build_done(&b);
	return err;
}

int build_table_memory(const void *elf, size_t size, const struct build_options *options,
		       struct table_bytes *ret, struct reason *why)
{
	struct build b = { .options = options };
	int err = elf_file_init_memory(&b.file, elf, size, why);

	if (err == 0)
		err = build(&b, -1, ret, why);
	build_done(&b);
	return err;
}
