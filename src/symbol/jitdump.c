/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jitdump.h"

#include <string.h>

enum {
	CODE_MAX = 256 << 10,
	RECORDS_MAX = 4 << 20,
	NAMES_MAX = 64 << 20,
	NAME_BYTES_MAX = 512,
	HEADER_SIZE = 40,
	HEADER_MAX = 4096,
	PREFIX_SIZE = 16,
	LOAD_SIZE = 56, /* up to the name */
	MOVE_SIZE = 64,
	CODE_BYTES_MAX = 1 << 30,
};

#define MAGIC 0x4a695444u /* "JiTD" */
#define FLAG_ARCH_TIMESTAMP 1u

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE };

void jitdump_done(struct jitdump *d)
{
	jitmap_done(&d->code);
	strpool_free(d->names);
	*d = (struct jitdump){ 0 };
}

size_t jitdump_bytes(const struct jitdump *d)
{
	return jitmap_bytes(&d->code) + (d->names ? strpool_bytes(d->names) : 0);
}

const struct jitdump_code *jitdump_find(const struct jitdump *d, uint64_t addr)
{
	return jitmap_find(&d->code, addr);
}

/* Puts @with, or nothing, in place of all that overlap [start, end): what was there is gone. */
static void replace(struct jitdump *d, uint64_t start, uint64_t end,
		    const struct jitdump_code *with)
{
	if (jitmap_replace(&d->code, start, end, with))
		d->ended = true;
}

static uint64_t u64_at(const uint8_t *bytes, size_t at)
{
	uint64_t x;

	memcpy(&x, bytes + at, sizeof(x));
	return x;
}

static uint32_t u32_at(const uint8_t *bytes, size_t at)
{
	uint32_t x;

	memcpy(&x, bytes + at, sizeof(x));
	return x;
}

/* Code of @size bytes is at @start from now on. */
static void put_code(struct jitdump *d, uint64_t start, uint64_t size, uint32_t name)
{
	struct jitdump_code code = { start, start + size, name };

	if (!size || size > CODE_BYTES_MAX || start > UINT64_MAX - size)
		return;
	if (d->code.nr >= CODE_MAX)
		d->ended = true;
	else
		replace(d, code.start, code.end, &code);
}

/* @size: of the record's bytes at hand. */
static void load(struct jitdump *d, const uint8_t *bytes, size_t size)
{
	const char *name = (const char *)bytes + LOAD_SIZE;
	size_t len = size - LOAD_SIZE < NAME_BYTES_MAX ? size - LOAD_SIZE : NAME_BYTES_MAX;
	uint32_t id;

	len = strnlen(name, len);
	if (!len)
		return;
	d->name_bytes += len;
	if (!d->names)
		d->names = strpool_new();
	id = d->names && d->name_bytes <= NAMES_MAX ? strpool_add(d->names, name, len) : UINT32_MAX;
	if (id == UINT32_MAX)
		d->ended = true;
	else
		put_code(d, u64_at(bytes, 32), u64_at(bytes, 40), id);
}

static void move(struct jitdump *d, const uint8_t *bytes)
{
	uint64_t from = u64_at(bytes, 32), to = u64_at(bytes, 40), size = u64_at(bytes, 48);
	const struct jitdump_code *old = jitdump_find(d, from);
	uint32_t name;

	if (!size || size > CODE_BYTES_MAX || to > UINT64_MAX - size)
		return;
	if (old && old->start == from) {
		name = old->name;
		replace(d, old->start, old->end, NULL);
		put_code(d, to, size, name);
	} else {
		replace(d, to, to + size, NULL); /* something else is there now */
	}
}

/* The header; how far to go on, 0 where it is none. */
static uint64_t begin(struct jitdump *d, const uint8_t *bytes, uint64_t file_left)
{
	uint32_t size = u32_at(bytes, 8);

	d->begun = true;
	d->ended = u32_at(bytes, 0) != MAGIC || u32_at(bytes, 4) != 1 || size < HEADER_SIZE ||
		   size > HEADER_MAX || size > file_left;
	d->timeless = u64_at(bytes, 32) & FLAG_ARCH_TIMESTAMP;
	return d->ended ? 0 : size;
}

/* One record whose head is at hand; false where it is damaged. */
static bool apply(struct jitdump *d, const uint8_t *bytes, size_t size)
{
	switch (u32_at(bytes, 0)) {
	case CODE_LOAD:
		if (size <= LOAD_SIZE)
			return false;
		load(d, bytes, size);
		return true;
	case CODE_MOVE:
		if (size < MOVE_SIZE)
			return false;
		move(d, bytes);
		return true;
	case CODE_CLOSE:
		d->ended = true;
		return true;
	default: /* lines, unwind tables, and what is not known yet */
		return true;
	}
}

/* Bytes of a record that must be at hand. */
static size_t head_of(uint32_t id, uint64_t total)
{
	uint64_t head = id == CODE_LOAD ? LOAD_SIZE + NAME_BYTES_MAX : MOVE_SIZE;

	return (size_t)(total < head ? total : head);
}

uint64_t jitdump_apply(struct jitdump *d, const uint8_t *bytes, size_t size, uint64_t file_left,
		       uint64_t until_ns, uint64_t *ret_later)
{
	uint64_t at = 0;

	*ret_later = 0;
	if (!d->begun && !d->ended) {
		if (size < HEADER_SIZE || file_left < HEADER_SIZE)
			return 0;
		at = begin(d, bytes, file_left);
	}
	while (!d->ended && at <= size && size - at >= PREFIX_SIZE) {
		const uint8_t *record = bytes + at;
		uint64_t total = u32_at(record, 4), time = u64_at(record, 8);
		size_t head = head_of(u32_at(record, 0), total);

		if (total < PREFIX_SIZE || d->records >= RECORDS_MAX) {
			d->ended = true;
			break;
		}
		if (total > file_left - at || head > size - at)
			break; /* not written whole yet, or not read */
		if (time > until_ns && !d->timeless) {
			*ret_later = time;
			break;
		}
		d->ended |= !apply(d, record, head);
		d->records++;
		at += total;
	}
	return at;
}
