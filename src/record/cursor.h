/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounds-checked reader over bytes from outside.  Every read says whether it fitted; one
 * that did not moves nothing and writes nothing.  Reads are unaligned and, with swap, of the other
 * byte order.  Borrows the bytes.  All inline: this is the innermost loop of decoding.
 */
#ifndef PTOP_RECORD_CURSOR_H
#define PTOP_RECORD_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record/record.h"

struct cursor {
	const uint8_t *at, *end;
	bool swap;
};

static inline struct cursor cursor_of(const void *bytes, size_t size, bool swap)
{
	return (struct cursor){ bytes, (const uint8_t *)bytes + size, swap };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline bool cursor_skip(struct cursor *c, uint64_t size)
{
	if (size > cursor_left(c))
		return false;
	c->at += size;
	return true;
}

static inline bool cursor_u8(struct cursor *c, uint8_t *ret)
{
	if (cursor_left(c) < 1)
		return false;
	*ret = *c->at++;
	return true;
}

static inline bool cursor_u16(struct cursor *c, uint16_t *ret)
{
	uint16_t x;

	if (cursor_left(c) < sizeof(x))
		return false;
	memcpy(&x, c->at, sizeof(x));
	*ret = c->swap ? __builtin_bswap16(x) : x;
	c->at += sizeof(x);
	return true;
}

static inline bool cursor_u32(struct cursor *c, uint32_t *ret)
{
	uint32_t x;

	if (cursor_left(c) < sizeof(x))
		return false;
	memcpy(&x, c->at, sizeof(x));
	*ret = c->swap ? __builtin_bswap32(x) : x;
	c->at += sizeof(x);
	return true;
}

static inline bool cursor_u64(struct cursor *c, uint64_t *ret)
{
	uint64_t x;

	if (cursor_left(c) < sizeof(x))
		return false;
	memcpy(&x, c->at, sizeof(x));
	*ret = c->swap ? __builtin_bswap64(x) : x;
	c->at += sizeof(x);
	return true;
}

/* The next @size bytes, left in place. */
static inline bool cursor_bytes(struct cursor *c, uint64_t size, struct bytes *ret)
{
	const uint8_t *at = c->at;

	if (size > UINT32_MAX || !cursor_skip(c, size))
		return false;
	*ret = (struct bytes){ at, (uint32_t)size };
	return true;
}

/* The next @nr 64-bit numbers, left in place. */
static inline bool cursor_u64s(struct cursor *c, uint64_t nr, struct u64s *ret)
{
	const uint8_t *at = c->at;

	if (nr > UINT32_MAX || nr > cursor_left(c) / 8)
		return false;
	c->at += nr * 8;
	*ret = (struct u64s){ at, (uint32_t)nr, c->swap };
	return true;
}

/* The text up to a NUL, or all that is left without one; moves to the end. */
static inline struct bytes cursor_name(struct cursor *c)
{
	struct bytes name = { c->at, (uint32_t)strnlen((const char *)c->at, cursor_left(c)) };

	c->at = c->end;
	return name;
}

#endif
