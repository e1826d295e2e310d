/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes lie in chunks that never move; a table of entries gives each id its
 * place; an open-addressed table of ids finds equal strings.
 */
#include "base/strpool.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

enum { CHUNK_BYTES = 16384, SLOTS_MIN = 64 };

struct entry {
	const char *text;
	uint32_t len;
	uint32_t hash;
};

struct strpool {
	VEC(struct entry) entries;
	VEC(char *) chunks;
	char *fill; /* free bytes of the newest shared chunk */
	size_t fill_left;
	size_t chunk_bytes;
	uint32_t *slots; /* id, or 0: free ("" is never in the table) */
	size_t nr_slots; /* a power of two */
};

struct strpool *strpool_new(void)
{
	struct strpool *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->slots = calloc(SLOTS_MIN, sizeof(*p->slots));
	p->nr_slots = SLOTS_MIN;
	if (!p->slots || vec_push(&p->entries, ((struct entry){ .text = "" }))) {
		strpool_free(p);
		return NULL;
	}
	return p;
}

void strpool_free(struct strpool *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->chunks.nr; i++)
		free(p->chunks.at[i]);
	vec_done(&p->chunks);
	vec_done(&p->entries);
	free(p->slots);
	free(p);
}

static uint32_t hash_bytes(const char *text, size_t len)
{
	uint64_t h = len, word;

	for (; len >= 8; text += 8, len -= 8) {
		memcpy(&word, text, 8);
		h = hash_u64(h ^ word);
	}
	word = 0;
	memcpy(&word, text, len);
	return (uint32_t)hash_u64(h ^ word);
}

static int slots_grow(struct strpool *p)
{
	size_t nr = p->nr_slots * 2;
	uint32_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t id = 1; id < p->entries.nr; id++) {
		size_t i = p->entries.at[id].hash & (nr - 1);

		while (slots[i])
			i = (i + 1) & (nr - 1);
		slots[i] = id;
	}
	free(p->slots);
	p->slots = slots;
	p->nr_slots = nr;
	return 0;
}

/*
 * Room for @size bytes that never move; NULL without memory.  A long string gets a chunk of its
 * own.
 */
static char *bytes_take(struct strpool *p, size_t size)
{
	size_t room = size > CHUNK_BYTES / 4 ? size : (size_t)CHUNK_BYTES;
	char *at;

	if (size <= p->fill_left) {
		at = p->fill;
		p->fill += size;
		p->fill_left -= size;
		return at;
	}
	at = malloc(room);
	if (!at)
		return NULL;
	if (vec_push(&p->chunks, at)) {
		free(at);
		return NULL;
	}
	p->chunk_bytes += room;
	if (room > size) {
		p->fill = at + size;
		p->fill_left = room - size;
	}
	return at;
}

static size_t slot_of(const struct strpool *p, const char *text, size_t len, uint32_t hash)
{
	size_t i = hash & (p->nr_slots - 1);

	for (; p->slots[i]; i = (i + 1) & (p->nr_slots - 1)) {
		const struct entry *e = &p->entries.at[p->slots[i]];

		if (e->hash == hash && e->len == len && !memcmp(e->text, text, len))
			break;
	}
	return i;
}

uint32_t strpool_add(struct strpool *p, const char *text, size_t len)
{
	uint32_t hash, id = (uint32_t)p->entries.nr;
	size_t slot;
	char *copy;

	if (!len)
		return 0;
	if (len >= UINT32_MAX)
		return UINT32_MAX;
	hash = hash_bytes(text, len);
	slot = slot_of(p, text, len, hash);
	if (p->slots[slot])
		return p->slots[slot];
	if (p->entries.nr >= UINT32_MAX - 1)
		return UINT32_MAX;
	if (p->entries.nr * 4 >= p->nr_slots * 3) {
		if (slots_grow(p))
			return UINT32_MAX;
		slot = slot_of(p, text, len, hash);
	}
	if (vec_reserve(&p->entries, p->entries.nr + 1))
		return UINT32_MAX;
	copy = bytes_take(p, len + 1);
	if (!copy)
		return UINT32_MAX;
	memcpy(copy, text, len);
	copy[len] = '\0';
	p->entries.at[p->entries.nr++] = (struct entry){ copy, (uint32_t)len, hash };
	p->slots[slot] = id;
	return id;
}

const char *strpool_get(const struct strpool *p, uint32_t id)
{
	return id < p->entries.nr ? p->entries.at[id].text : "";
}

size_t strpool_count(const struct strpool *p)
{
	return p->entries.nr;
}

size_t strpool_bytes(const struct strpool *p)
{
	return sizeof(*p) + p->chunk_bytes + p->nr_slots * sizeof(*p->slots) +
	       p->entries.cap * sizeof(*p->entries.at) + p->chunks.cap * sizeof(*p->chunks.at);
}
