/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table by hash, one chain a place, and a ring of words that they lie in: a chain is gone when
 * its place is taken or when the ring comes round.  Positions in the ring are counted from the
 * start and never wrap.
 */
#include "recall.h"

#include <stdlib.h>
#include <string.h>

#define PLACES 8192u       /* a power of two */
#define WORDS (48u * 1024) /* a quarter of it has room for the longest chain kept */
#define LONGEST 512u       /* words */

struct kept_chain {
	uint64_t hash;
	uint64_t at; /* position of its words; they are there while younger than a ring */
	struct recall_ground ground;
	struct recalled what;
	uint32_t nr; /* words; 0: no chain */
};

struct recall {
	struct recall_ground ground; /* of the chain looked for last */
	uint64_t hash;
	uint64_t filled; /* words ever taken */
	struct kept_chain places[PLACES];
	uint64_t words[WORDS + LONGEST]; /* no chain is in two parts */
};

struct recall *recall_new(void)
{
	return calloc(1, sizeof(struct recall));
}

void recall_free(struct recall *r)
{
	free(r);
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t product =
		(__uint128_t)(a ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xd6e8feb86659fd93ull);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t word_of(const struct u64s *chain, uint32_t i)
{
	uint64_t x;

	memcpy(&x, chain->at + (size_t)i * 8, 8);
	return x;
}

static uint64_t hash_of(const struct recall_ground *g, const struct u64s *chain)
{
	uint64_t hash =
		mix((uint64_t)g->mappings << 32 | g->kind, (uint64_t)g->cpumode << 32 | chain->nr);
	uint32_t i = 0;

	for (; i + 1 < chain->nr; i += 2)
		hash = mix(hash ^ word_of(chain, i), word_of(chain, i + 1));
	if (i < chain->nr)
		hash = mix(hash ^ word_of(chain, i), 0);
	return hash;
}

static inline bool same_ground(const struct recall_ground *a, const struct recall_ground *b)
{
	return a->mappings == b->mappings && a->kind == b->kind && a->cpumode == b->cpumode;
}

static inline bool is_there(const struct recall *r, const struct kept_chain *k)
{
	return k->nr && r->filled - k->at <= WORDS;
}

bool recall_find(struct recall *r, const struct recall_ground *ground, const struct u64s *chain,
		 struct recalled *ret)
{
	const struct kept_chain *k;

	r->ground = *ground;
	r->hash = hash_of(ground, chain);
	k = &r->places[r->hash % PLACES];
	if (k->hash != r->hash || k->nr != chain->nr || !same_ground(&k->ground, ground) ||
	    !is_there(r, k) ||
	    memcmp(&r->words[k->at % WORDS], chain->at, (size_t)chain->nr * 8) != 0)
		return false;
	*ret = k->what;
	return true;
}

void recall_keep(struct recall *r, const struct u64s *chain, const struct recalled *what)
{
	if (!chain->nr || chain->nr > LONGEST)
		return;
	r->places[r->hash % PLACES] = (struct kept_chain){
		.hash = r->hash,
		.at = r->filled,
		.ground = r->ground,
		.what = *what,
		.nr = chain->nr,
	};
	memcpy(&r->words[r->filled % WORDS], chain->at, (size_t)chain->nr * 8);
	r->filled += chain->nr;
}

void recall_forget(struct recall *r)
{
	r->filled += WORDS + 1;
}
