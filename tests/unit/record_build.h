/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the bytes of one record field by field, in this machine's byte order or the other.
 *
 *	struct build b = build_begin(RECORD_COMM, misc, swap);
 *	build_u32(&b, pid); ... build_name(&b, "sh", 8);
 *	build_end(&b);			writes the header's size
 */
#ifndef PTOP_TESTS_RECORD_BUILD_H
#define PTOP_TESTS_RECORD_BUILD_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct build {
	uint8_t at[8192];
	size_t size;
	bool swap;
};

static inline void build_bytes(struct build *b, const void *bytes, size_t size)
{
	assert(b->size + size <= sizeof(b->at));
	if (size)
		memcpy(b->at + b->size, bytes, size);
	b->size += size;
}

static inline void build_u8(struct build *b, uint8_t x)
{
	build_bytes(b, &x, 1);
}

static inline void build_u16(struct build *b, uint16_t x)
{
	x = b->swap ? __builtin_bswap16(x) : x;
	build_bytes(b, &x, 2);
}

static inline void build_u32(struct build *b, uint32_t x)
{
	x = b->swap ? __builtin_bswap32(x) : x;
	build_bytes(b, &x, 4);
}

static inline void build_u64(struct build *b, uint64_t x)
{
	x = b->swap ? __builtin_bswap64(x) : x;
	build_bytes(b, &x, 8);
}

/* A name in a field of @room bytes, the rest NULs. */
static inline void build_name(struct build *b, const char *name, size_t room)
{
	assert(strlen(name) <= room && b->size + room <= sizeof(b->at));
	memset(b->at + b->size, 0, room);
	memcpy(b->at + b->size, name, strlen(name));
	b->size += room;
}

static inline struct build build_begin(uint32_t type, uint16_t misc, bool swap)
{
	struct build b = { .swap = swap };

	build_u32(&b, type);
	build_u16(&b, misc);
	build_u16(&b, 0);
	return b;
}

static inline void build_end(struct build *b)
{
	uint16_t size = (uint16_t)b->size;

	size = b->swap ? __builtin_bswap16(size) : size;
	memcpy(b->at + 6, &size, 2);
}

#endif
