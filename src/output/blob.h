/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a binary format, put together in this machine's byte order.  All zeroes is empty.  A
 * failure to allocate sticks: ask blob_failed() once, at the end.
 */
#ifndef PTOP_OUTPUT_BLOB_H
#define PTOP_OUTPUT_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

struct blob {
	uint8_t *at;
	size_t nr, cap;
	bool failed;
};

static inline bool blob_failed(const struct blob *b)
{
	return b->failed;
}

/* Empties it and forgets a failure; keeps the room. */
static inline void blob_clear(struct blob *b)
{
	b->nr = 0;
	b->failed = false;
}

static inline void blob_done(struct blob *b)
{
	vec_done(b);
}

static inline void blob_put(struct blob *b, const void *bytes, size_t size)
{
	if (b->failed || vec_reserve(b, b->nr + size)) {
		b->failed = true;
		return;
	}
	if (size)
		memcpy(b->at + b->nr, bytes, size);
	b->nr += size;
}

static inline void blob_zero(struct blob *b, size_t size)
{
	if (b->failed || vec_reserve(b, b->nr + size)) {
		b->failed = true;
		return;
	}
	if (size)
		memset(b->at + b->nr, 0, size);
	b->nr += size;
}

static inline void blob_u16(struct blob *b, uint16_t x)
{
	blob_put(b, &x, sizeof(x));
}

static inline void blob_u32(struct blob *b, uint32_t x)
{
	blob_put(b, &x, sizeof(x));
}

static inline void blob_u64(struct blob *b, uint64_t x)
{
	blob_put(b, &x, sizeof(x));
}

/* The first @most bytes of @text, then zeroes: at least one, up to a multiple of @align. */
static inline void blob_text(struct blob *b, const char *text, size_t most, size_t align)
{
	size_t len = strnlen(text, most), whole = (len + align) / align * align;

	blob_put(b, text, len);
	blob_zero(b, whole - len);
}

#endif
