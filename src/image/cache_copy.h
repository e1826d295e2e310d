/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kept table's file: one page of header (what it is of, how long, a checksum), then the table.
 * Copying is done by the loader's worker, which may wait for a disk.
 */
#ifndef PTOP_IMAGE_CACHE_COPY_H
#define PTOP_IMAGE_CACHE_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "image/cache.h"

#define CACHE_MAGIC UINT64_C(0x3165686361637470) /* "ptcache1" in little endian */
#define CACHE_TABLE_AT 4096u

struct cache_header {
	uint64_t magic;
	uint64_t size; /* of the table */
	uint64_t crc;  /* CRC-64 of the table, as in xz(1) */
	struct cache_key key;
};

_Static_assert(sizeof(struct cache_header) <= CACHE_TABLE_AT, "the header has one page");

/*
 * Reads the table of a cache file (borrowed) into memory, the caller's to free().  0; -EBADMSG
 * where its checksum is another; -errno.
 */
int cache_copy_in(int fd, uint64_t size_max, void **ret, size_t *ret_size, struct reason *why);

/* Writes the table that is all of @from to @to, whose header is written already, and its checksum.
 * 0 or -errno. */
int cache_copy_out(int from, int to, struct reason *why);

#endif
