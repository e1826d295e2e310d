/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from 64-bit keys to 64-bit values: open addressing, at most 3/4
 * full, one allocation.  All zeroes is an empty map.  Removing leaves no
 * tombstone (entries behind are moved up), so churn never degrades it, and
 * a map that empties gives its memory back.
 */
#ifndef PTOP_BASE_MAP_H
#define PTOP_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key;
	uint64_t value;
};

struct map {
	struct map_entry *at; /* cap entries */
	uint8_t *used;        /* cap flags, in the same allocation */
	size_t nr, cap;       /* cap is 0 or a power of two */
};

void map_done(struct map *m);

/* The value of @key, borrowed until the next change of the map; NULL where there is none. */
uint64_t *map_find(const struct map *m, uint64_t key);

/* Sets the value of @key, new or not.  0 or -ENOMEM. */
int map_set(struct map *m, uint64_t key, uint64_t value);

/* Removes @key; false where it was not there. */
bool map_remove(struct map *m, uint64_t key);

/*
 * Walks all entries in no order: start with *@pos == 0; NULL ends.  The map must not change
 * meanwhile.
 */
const struct map_entry *map_next(const struct map *m, size_t *pos);

/* Mixes a 64-bit key into a well spread hash. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ (x >> 32);
}

#endif
