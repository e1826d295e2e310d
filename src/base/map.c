/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linear probing.  An entry's home is the low bits of its hash; entries that
 * share a run lie behind one another.  Removing closes the gap by moving up
 * each follower whose home is not beyond the gap (Knuth 6.4, algorithm R).
 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAP_MIN = 8 };

void map_done(struct map *m)
{
	if (!m)
		return;
	free(m->at);
	*m = (struct map){ 0 };
}

/* Where @key is, or the free place where it would go.  Needs a free place to end: see map_set(). */
static size_t map_slot(const struct map *m, uint64_t key)
{
	size_t i = hash_u64(key) & (m->cap - 1);

	while (m->used[i] && m->at[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

uint64_t *map_find(const struct map *m, uint64_t key)
{
	size_t i;

	if (!m->nr)
		return NULL;
	i = map_slot(m, key);
	return m->used[i] ? &m->at[i].value : NULL;
}

static int map_resize(struct map *m, size_t cap)
{
	struct map grown = { .nr = m->nr, .cap = cap };

	if (cap > PTRDIFF_MAX / (sizeof(*grown.at) + 1))
		return -ENOMEM;
	grown.at = malloc(cap * (sizeof(*grown.at) + 1));
	if (!grown.at)
		return -ENOMEM;
	grown.used = (uint8_t *)(grown.at + cap);
	memset(grown.used, 0, cap);
	for (size_t i = 0; i < m->cap; i++) {
		if (m->used[i]) {
			size_t to = map_slot(&grown, m->at[i].key);

			grown.at[to] = m->at[i];
			grown.used[to] = 1;
		}
	}
	free(m->at);
	*m = grown;
	return 0;
}

int map_set(struct map *m, uint64_t key, uint64_t value)
{
	uint64_t *old = map_find(m, key);
	size_t i;

	if (old) {
		*old = value;
		return 0;
	}
	if ((m->nr + 1) * 4 > m->cap * 3) {
		int err = map_resize(m, m->cap ? m->cap * 2 : MAP_MIN);

		if (err)
			return err;
	}
	i = map_slot(m, key);
	m->at[i] = (struct map_entry){ key, value };
	m->used[i] = 1;
	m->nr++;
	return 0;
}

bool map_remove(struct map *m, uint64_t key)
{
	size_t mask = m->cap - 1, gap, i;

	if (!m->nr)
		return false;
	gap = map_slot(m, key);
	if (!m->used[gap])
		return false;
	for (i = (gap + 1) & mask; m->used[i]; i = (i + 1) & mask) {
		size_t home = hash_u64(m->at[i].key) & mask;

		/* May move up unless its home lies in (gap, i], cyclically. */
		if (((i - home) & mask) >= ((i - gap) & mask)) {
			m->at[gap] = m->at[i];
			gap = i;
		}
	}
	m->used[gap] = 0;
	if (!--m->nr)
		map_done(m);
	else if (m->cap > MAP_MIN && m->nr * 8 < m->cap)
		(void)map_resize(m, m->cap / 2); /* without memory it stays large */
	return true;
}

const struct map_entry *map_next(const struct map *m, size_t *pos)
{
	while (*pos < m->cap) {
		size_t i = (*pos)++;

		if (m->used[i])
			return &m->at[i];
	}
	return NULL;
}
