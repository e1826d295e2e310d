/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/table.h"

#include <errno.h>

#define SEGMENTS_MAX 64u

/* Whether @nr elements of @size bytes lie aligned inside @total bytes from @at on. */
static bool fits(uint64_t at, uint64_t nr, uint64_t size, uint64_t total)
{
	return at % 8 == 0 && at <= total && nr <= (total - at) / size;
}

static bool header_good(const struct table_header *h, size_t size)
{
	return h->magic == TABLE_MAGIC && h->version == TABLE_VERSION && h->size == size &&
	       h->source < NR_TABLE_SOURCES && h->build_id_size <= TABLE_BUILD_ID_MAX &&
	       h->nr_segments <= SEGMENTS_MAX && h->nr_symbols < TABLE_NO_SYMBOL &&
	       fits(h->segments_at, h->nr_segments, sizeof(struct table_segment), size) &&
	       fits(h->symbols_at, h->nr_symbols, sizeof(struct table_symbol), size) &&
	       fits(h->strings_at, h->strings_size, 1, size) && h->strings_size > 0;
}

static bool segments_good(const struct table *t)
{
	for (uint32_t i = 0; i < t->header->nr_segments; i++) {
		const struct table_segment *s = &t->segments[i];

		if (s->filesz > UINT64_MAX - s->offset || s->filesz > UINT64_MAX - s->vaddr)
			return false;
	}
	return true;
}

static bool symbols_good(const struct table *t)
{
	for (uint32_t i = 0; i < t->header->nr_symbols; i++) {
		const struct table_symbol *s = &t->symbols[i];

		if (i > 0 && s->start <= t->symbols[i - 1].start)
			return false;
		if (s->size == 0 || s->size > UINT64_MAX - s->start)
			return false;
		if (s->name >= t->header->strings_size || s->kind >= NR_TABLE_KINDS)
			return false;
		if (s->outer != TABLE_NO_SYMBOL && s->outer >= i)
			return false;
	}
	return true;
}

int table_check(const void *bytes, size_t size, struct table *ret)
{
	const uint8_t *at = bytes;
	struct table t;

	if ((uintptr_t)at % 8 != 0 || size < sizeof(struct table_header))
		return -EBADMSG;
	t.header = bytes;
	if (!header_good(t.header, size))
		return -EBADMSG;
	t.segments = (const void *)(at + t.header->segments_at);
	t.symbols = (const void *)(at + t.header->symbols_at);
	t.strings = (const char *)(at + t.header->strings_at);
	if (t.strings[t.header->strings_size - 1] != '\0' || !segments_good(&t) ||
	    !symbols_good(&t))
		return -EBADMSG;
	*ret = t;
	return 0;
}

bool table_vaddr(const struct table *t, uint64_t file_offset, uint64_t *ret_vaddr)
{
	for (uint32_t i = 0; i < t->header->nr_segments; i++) {
		const struct table_segment *s = &t->segments[i];

		if (file_offset >= s->offset && file_offset - s->offset < s->filesz) {
			*ret_vaddr = s->vaddr + (file_offset - s->offset);
			return true;
		}
	}
	return false;
}

bool table_offset(const struct table *t, uint64_t vaddr, uint64_t *ret_offset)
{
	for (uint32_t i = 0; i < t->header->nr_segments; i++) {
		const struct table_segment *s = &t->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
			*ret_offset = s->offset + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}

/* How many symbols start at or before @vaddr. */
static uint32_t starts_until(const struct table *t, uint64_t vaddr)
{
	const struct table_symbol *base = t->symbols;
	uint32_t nr = t->header->nr_symbols;

	while (nr > 0) {
		uint32_t half = nr / 2;

		if (base[half].start <= vaddr) {
			base += half + 1;
			nr -= half + 1;
		} else {
			nr = half;
		}
	}
	return (uint32_t)(base - t->symbols);
}

uint32_t table_find(const struct table *t, uint64_t vaddr)
{
	uint32_t i = starts_until(t, vaddr);

	if (i == 0)
		return TABLE_NO_SYMBOL;
	i--;
	for (int depth = 0; depth <= TABLE_DEPTH_MAX && i != TABLE_NO_SYMBOL; depth++) {
		const struct table_symbol *s = &t->symbols[i];

		if (vaddr - s->start < s->size)
			return i;
		i = s->outer;
	}
	return TABLE_NO_SYMBOL;
}

uint32_t table_symbol(const struct table *t, uint64_t file_offset)
{
	uint64_t vaddr;

	return table_vaddr(t, file_offset, &vaddr) ? table_find(t, vaddr) : TABLE_NO_SYMBOL;
}

const char *table_name(const struct table *t, uint32_t symbol)
{
	return t->strings + t->symbols[symbol].name;
}

const char *table_source_name(const struct table *t)
{
	static const char *const names[NR_TABLE_SOURCES] = {
		[TABLE_NO_NAMES] = "none",
		[TABLE_DYNSYM] = "dynsym",
		[TABLE_MINI_DEBUG] = "mini debug info",
		[TABLE_DEBUG_FILE] = "debug file",
		[TABLE_SYMTAB] = "symtab",
		[TABLE_GO] = "Go table",
	};

	return names[t->header->source];
}
