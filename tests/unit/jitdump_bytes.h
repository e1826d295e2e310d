/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of a jitdump, appended to a buffer; without the code that they tell of where that is
 * large. */
#ifndef PTOP_UNIT_JITDUMP_BYTES_H
#define PTOP_UNIT_JITDUMP_BYTES_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

struct dump_bytes {
	uint8_t at[4096];
	size_t size;
};

static inline void dump_put(struct dump_bytes *b, const void *bytes, size_t size)
{
	assert(b->size + size <= sizeof(b->at));
	memcpy(b->at + b->size, bytes, size);
	b->size += size;
}

static inline void dump_u32(struct dump_bytes *b, uint32_t x)
{
	dump_put(b, &x, sizeof(x));
}

static inline void dump_u64(struct dump_bytes *b, uint64_t x)
{
	dump_put(b, &x, sizeof(x));
}

static inline void dump_header(struct dump_bytes *b, uint64_t flags)
{
	dump_u32(b, 0x4a695444);
	dump_u32(b, 1);
	dump_u32(b, 40);
	dump_u32(b, 62);
	dump_u64(b, 42); /* a pad, and the process */
	dump_u64(b, 0);
	dump_u64(b, flags);
}

/* A record of @total bytes, all zeroes behind its head. */
static inline void dump_record(struct dump_bytes *b, uint32_t id, uint64_t time_ns, uint32_t total)
{
	size_t end = b->size + total;

	dump_u32(b, id);
	dump_u32(b, total);
	dump_u64(b, time_ns);
	while (b->size < end)
		dump_put(b, "", 1);
}

static inline void dump_load(struct dump_bytes *b, uint64_t time_ns, uint64_t addr, uint64_t size,
			     const char *name)
{
	uint64_t code = size > 1 << 20 ? 0 : size;

	dump_u32(b, 0);
	dump_u32(b, (uint32_t)(56 + strlen(name) + 1 + code));
	dump_u64(b, time_ns);
	dump_u64(b, 42);
	dump_u64(b, addr);
	dump_u64(b, addr);
	dump_u64(b, size);
	dump_u64(b, 7);
	dump_put(b, name, strlen(name) + 1);
	for (uint64_t i = 0; i < code && code <= 1024; i++)
		dump_put(b, "\xcc", 1);
}

static inline void dump_move(struct dump_bytes *b, uint64_t time_ns, uint64_t from, uint64_t to,
			     uint64_t size)
{
	dump_u32(b, 1);
	dump_u32(b, 64);
	dump_u64(b, time_ns);
	dump_u64(b, 42);
	dump_u64(b, to);
	dump_u64(b, from);
	dump_u64(b, to);
	dump_u64(b, size);
	dump_u64(b, 7);
}

#endif
