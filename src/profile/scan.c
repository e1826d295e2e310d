// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pass over the samples, in blocks: first each sample of a block gets its class (its flags, or
 * OUTSIDE) and its node (or the sink, one past the last node), without a branch; then classes and
 * nodes are summed up.  A chunk wholly inside the window, of one event, skips the tests.
 *
 * (group, node) pairs are found by hash; a block's slots are fetched ahead, since with many
 * groups they do not fit the cache.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/chunk.h"
#include "profile/query_internal.h"

#define BLOCK 256u
#define CLASS_FLAGS 63u /* all that enum sample_flags has */
#define OUTSIDE 64u     /* class of samples not in the window or of another event */
#define NR_CLASSES 128u
#define MIN_SLOTS 1024u

struct scan {
	const struct job *job;
	struct query_cache *cache;
	const struct chunk *chunk;
	bool whole; /* every sample of the chunk is of the window and the event */
	uint32_t sink;
	uint8_t out;                     /* classes with any of these bits are not counted */
	uint32_t samples[2][NR_CLASSES]; /* twice, so that runs of one class do not wait */
	uint64_t weights[NR_CLASSES];
	uint8_t class[BLOCK];
	uint32_t node[BLOCK];
	uint64_t hash[BLOCK];
	uint32_t group[BLOCK];
};

static void classify_tested(struct scan *s, uint32_t from, uint32_t nr)
{
	const struct query *q = s->job->query;
	const uint32_t *time = s->chunk->time + from;
	const uint8_t *event = s->chunk->event + from;
	const uint8_t *flags = s->chunk->flags + from;
	uint64_t base = s->chunk->base_ns, from_ns = q->from_ns, to_ns = q->to_ns;
	uint8_t wanted = q->event, *restrict class = s->class;
	bool any = wanted == QUERY_ANY_EVENT;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t t = base + time[i];
		bool in = (t >= from_ns) & (t < to_ns) & (any | (event[i] == wanted));

		class[i] = in ? flags[i] & CLASS_FLAGS : OUTSIDE;
	}
}

static void classify(struct scan *s, uint32_t from, uint32_t nr)
{
	const struct chunk *c = s->chunk;
	const uint32_t *stack = c->stack + from;
	const uint8_t *flags = c->flags + from;
	uint8_t out = s->out, *restrict class = s->class;
	uint32_t sink = s->sink, *restrict nodes = s->node;

	if (s->whole) {
		for (uint32_t i = 0; i < nr; i++)
			class[i] = flags[i] & CLASS_FLAGS;
	} else {
		classify_tested(s, from, nr);
	}
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t node = stack[i] < sink ? stack[i] : STACKS_NONE;

		nodes[i] = class[i] & out ? sink : node;
	}
	for (uint32_t i = 0; i < nr; i++)
		s->samples[i & 1][class[i]]++;
	if (c->weights) {
		for (uint32_t i = 0; i < nr; i++)
			s->weights[class[i]] += c->weights[from + i];
	}
}

/* Adds a block to the weights by node.  There is room for it in .touched. */
static void sum_nodes(struct scan *s, uint32_t from, uint32_t nr)
{
	struct node_weight *nodes = s->cache->nodes;
	const struct chunk *c = s->chunk;

	for (uint32_t i = 0; i < nr; i++) {
		struct node_weight *w = &nodes[s->node[i]];

		if (!w->samples++)
			s->cache->touched.at[s->cache->touched.nr++] = s->node[i];
		w->weight += c->weights ? c->weights[from + i] : c->weight;
	}
}

static inline size_t slot_of(uint64_t hash, size_t nr_slots)
{
	return hash >> 20 & (nr_slots - 1);
}

static inline uint64_t pair_hash(uint32_t group, uint32_t node)
{
	uint64_t x = ((uint64_t)group << 32 | node) * 0x9e3779b97f4a7c15ull;

	return (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
}

/* Doubles the hash of pairs (or makes it). */
static int grow_pairs(struct query_cache *c)
{
	size_t nr = c->nr_pair_slots ? c->nr_pair_slots * 2 : MIN_SLOTS;
	uint32_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(c->pair_slots);
	c->pair_slots = slots;
	c->nr_pair_slots = nr;
	for (size_t i = 0; i < c->pairs.nr; i++) {
		const struct pair *p = &c->pairs.at[i];
		size_t slot = slot_of(pair_hash(p->group, p->node), nr);

		while (slots[slot])
			slot = (slot + 1) & (nr - 1);
		slots[slot] = (uint32_t)i + 1;
	}
	return 0;
}

/* There is room for one more. */
static inline struct pair *pair_find(struct query_cache *c, uint64_t hash, uint32_t group,
				     uint32_t node)
{
	size_t slot = slot_of(hash, c->nr_pair_slots);
	struct pair *p;

	for (; c->pair_slots[slot]; slot = (slot + 1) & (c->nr_pair_slots - 1)) {
		p = &c->pairs.at[c->pair_slots[slot] - 1];
		if (p->node == node && p->group == group)
			return p;
	}
	p = &c->pairs.at[c->pairs.nr++];
	*p = (struct pair){ .node = node, .group = group };
	c->pair_slots[slot] = (uint32_t)c->pairs.nr;
	return p;
}

/* Adds a block to the weights by (group, node).  What goes to the sink is one pair. */
static int sum_pairs(struct scan *s, uint32_t from, uint32_t nr)
{
	const struct query *q = s->job->query;
	struct query_cache *cache = s->cache;
	const struct chunk *c = s->chunk;

	while (!cache->nr_pair_slots || cache->pairs.nr + nr > cache->nr_pair_slots / 4) {
		if (grow_pairs(cache))
			return -ENOMEM;
	}
	if (vec_reserve(&cache->pairs, cache->pairs.nr + nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t task = c->task[from + i];
		uint32_t group = task < q->nr_tasks ? q->group_of[task] : q->nr_groups;

		group = group < q->nr_groups ? group : q->nr_groups;
		s->group[i] = s->node[i] == s->sink ? 0 : group;
		s->hash[i] = pair_hash(s->group[i], s->node[i]);
		__builtin_prefetch(&cache->pair_slots[slot_of(s->hash[i], cache->nr_pair_slots)]);
	}
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t at = cache->pair_slots[slot_of(s->hash[i], cache->nr_pair_slots)];

		__builtin_prefetch(&cache->pairs.at[at - (at != 0)], 1);
	}
	for (uint32_t i = 0; i < nr; i++) {
		struct pair *p = pair_find(cache, s->hash[i], s->group[i], s->node[i]);

		p->samples++;
		p->weight += c->weights ? c->weights[from + i] : c->weight;
	}
	return 0;
}

static int scan_chunk(struct scan *s)
{
	const struct chunk *c = s->chunk;
	bool grouped = s->job->query->group_of != NULL;

	memset(s->samples, 0, sizeof(s->samples));
	memset(s->weights, 0, sizeof(s->weights));
	for (uint32_t from = 0; from < c->nr; from += BLOCK) {
		uint32_t nr = c->nr - from < BLOCK ? c->nr - from : BLOCK;

		classify(s, from, nr);
		if (grouped) {
			if (sum_pairs(s, from, nr))
				return -ENOMEM;
		} else {
			if (vec_reserve(&s->cache->touched, s->cache->touched.nr + nr))
				return -ENOMEM;
			sum_nodes(s, from, nr);
		}
	}
	return 0;
}

/* Adds what a chunk's classes say to the answer. */
static void sum_classes(const struct scan *s)
{
	struct answer *a = s->job->answer;

	for (uint32_t class = 0; class < OUTSIDE; class ++) {
		uint64_t samples = (uint64_t)s->samples[0][class] + s->samples[1][class];
		uint64_t weight = s->chunk->weights ? s->weights[class]
						    : samples * s->chunk->weight;

		if (!samples)
			continue;
		if (class & s->out) {
			a->hidden_weight += weight;
			if (class & SAMPLE_IDLE)
				a->hidden_idle += weight;
			continue;
		}
		a->weight += weight;
		a->samples += samples;
		a->ends[class >> SAMPLE_END_SHIFT] += samples;
	}
}

/* False where the chunk has nothing for the query. */
static bool chunk_matters(struct scan *s, const struct chunk *c)
{
	const struct query *q = s->job->query;
	bool event = q->event == QUERY_ANY_EVENT || (!c->events_differ && c->event[0] == q->event);

	if (c->max_ns < q->from_ns || c->min_ns >= q->to_ns || (!event && !c->events_differ))
		return false;
	s->chunk = c;
	s->whole = event && c->min_ns >= q->from_ns && c->max_ns < q->to_ns;
	return true;
}

/* The hash begins empty and, where the last query needed far less than there is, smaller. */
static void begin_pairs(struct query_cache *c)
{
	if (c->nr_pair_slots > MIN_SLOTS && c->pairs.nr < c->nr_pair_slots / 16)
		scan_forget(c);
	else if (c->pairs.nr)
		memset(c->pair_slots, 0, c->nr_pair_slots * sizeof(*c->pair_slots));
	vec_clear(&c->pairs);
}

int scan_store(const struct job *job)
{
	struct scan s = { .job = job, .cache = job->cache };
	struct node_weight *sink = &job->cache->nodes[job->nr_nodes];
	struct chunks chunks = store_chunks(job->store);
	int err = 0;

	s.sink = (uint32_t)job->nr_nodes;
	s.out = (job->query->hide & CLASS_FLAGS) | OUTSIDE;
	vec_clear(&job->cache->touched);
	begin_pairs(job->cache);
	sink->samples = 1; /* not to be listed as touched */
	for (size_t i = chunks_from(&chunks, job->query->from_ns); i < chunks.nr && !err; i++) {
		if (!chunk_matters(&s, &chunks.at[i]))
			continue;
		err = scan_chunk(&s);
		sum_classes(&s);
	}
	*sink = (struct node_weight){ 0 };
	return err;
}

void scan_forget(struct query_cache *c)
{
	free(c->pair_slots);
	c->pair_slots = NULL;
	c->nr_pair_slots = 0;
	vec_done(&c->pairs);
}
