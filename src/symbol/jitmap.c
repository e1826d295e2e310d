/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jitmap.h"

#include <string.h>

void jitmap_done(struct jitmap *m)
{
	for (size_t i = 0; i < m->blocks.nr; i++)
		free(m->blocks.at[i]);
	vec_done(&m->blocks);
	m->nr = 0;
}

size_t jitmap_bytes(const struct jitmap *m)
{
	return m->blocks.cap * sizeof(m->blocks.at[0]) + m->blocks.nr * sizeof(struct jitmap_block);
}

/* The first block that ends after @addr. */
static size_t block_after(const struct jitmap *m, uint64_t addr)
{
	size_t low = 0, high = m->blocks.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct jitmap_block *b = m->blocks.at[mid];

		if (b->at[b->nr - 1].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first piece of a block that ends after @addr. */
static uint32_t piece_after(const struct jitmap_block *b, uint64_t addr)
{
	uint32_t low = 0, high = b->nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (b->at[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct jitdump_code *jitmap_find(const struct jitmap *m, uint64_t addr)
{
	size_t i = block_after(m, addr);
	const struct jitmap_block *b = i < m->blocks.nr ? m->blocks.at[i] : NULL;
	uint32_t piece = b ? piece_after(b, addr) : 0;

	return b && b->at[piece].start <= addr ? &b->at[piece] : NULL;
}

/* Takes out the pieces [first, last) of a block, and the block where none is left. */
static void take_out(struct jitmap *m, size_t block, uint32_t first, uint32_t last)
{
	struct jitmap_block *b = m->blocks.at[block];

	memmove(b->at + first, b->at + last, (b->nr - last) * sizeof(b->at[0]));
	b->nr -= last - first;
	m->nr -= last - first;
	if (b->nr)
		return;
	free(b);
	m->blocks.nr--;
	memmove(m->blocks.at + block, m->blocks.at + block + 1,
		(m->blocks.nr - block) * sizeof(m->blocks.at[0]));
}

static void clear(struct jitmap *m, uint64_t start, uint64_t end)
{
	size_t i;

	while ((i = block_after(m, start)) < m->blocks.nr) {
		const struct jitmap_block *b = m->blocks.at[i];
		uint32_t first = piece_after(b, start), last = first;

		while (last < b->nr && b->at[last].start < end)
			last++;
		if (first == last)
			return;
		take_out(m, i, first, last);
	}
}

/* An empty block at @at; NULL without memory. */
static struct jitmap_block *add_block(struct jitmap *m, size_t at)
{
	struct jitmap_block *b;

	if (vec_reserve(&m->blocks, m->blocks.nr + 1))
		return NULL;
	b = malloc(sizeof(*b));
	if (!b)
		return NULL;
	b->nr = 0;
	memmove(m->blocks.at + at + 1, m->blocks.at + at,
		(m->blocks.nr - at) * sizeof(m->blocks.at[0]));
	m->blocks.at[at] = b;
	m->blocks.nr++;
	return b;
}

/* Moves the upper half of a full block into a new one behind it. */
static int split(struct jitmap *m, size_t block)
{
	struct jitmap_block *upper = add_block(m, block + 1), *lower = m->blocks.at[block];

	if (!upper)
		return -ENOMEM;
	upper->nr = lower->nr / 2;
	lower->nr -= upper->nr;
	memcpy(upper->at, lower->at + lower->nr, upper->nr * sizeof(upper->at[0]));
	return 0;
}

/* Where nothing overlaps it. */
static int insert(struct jitmap *m, const struct jitdump_code *code)
{
	size_t i = block_after(m, code->start);
	struct jitmap_block *b;
	uint32_t at;

	/* Behind all others: the last block is filled up, for most code comes in rising order. */
	if (i == m->blocks.nr && i > 0 && m->blocks.at[i - 1]->nr < JITMAP_BLOCK)
		i--;
	if (i == m->blocks.nr && !add_block(m, i))
		return -ENOMEM;
	if (m->blocks.at[i]->nr == JITMAP_BLOCK) {
		if (split(m, i))
			return -ENOMEM;
		i = block_after(m, code->start);
	}
	b = m->blocks.at[i];
	at = piece_after(b, code->start);
	memmove(b->at + at + 1, b->at + at, (b->nr - at) * sizeof(b->at[0]));
	b->at[at] = *code;
	b->nr++;
	m->nr++;
	return 0;
}

int jitmap_replace(struct jitmap *m, uint64_t start, uint64_t end, const struct jitdump_code *with)
{
	clear(m, start, end);
	return with ? insert(m, with) : 0;
}
