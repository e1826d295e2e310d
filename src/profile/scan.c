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
	bool equal; /* all samples weigh .weight; known with groups only */
	uint64_t weight;
	uint32_t sink;
	uint8_t out;                     /* classes with any of these bits are not counted */
	uint32_t samples[2][NR_CLASSES]; /* twice, so that runs of one class do not wait */
	uint64_t weights[NR_CLASSES];
	uint8_t class[BLOCK];
	uint32_t node[BLOCK];
	uint32_t group[BLOCK];
	uint32_t slot[BLOCK];
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

static inline size_t slot_of(const struct query_cache *c, uint32_t group, uint32_t node)
{
	uint64_t x = ((uint64_t)group << 32 | node) * 0x9e3779b97f4a7c15ull;

	return ((x ^ x >> 32) * 0xd6e8feb86659fd93ull) >> 20 & (c->nr_pair_slots - 1);
}

/* The slot of a pair, or the free one where it belongs. */
static inline size_t probe(const struct query_cache *c, size_t slot, uint32_t group, uint32_t node)
{
	const struct pair_slot *s = &c->pair_slots[slot];

	while (!(s->node == node && s->group == group) && s->samples) {
		slot = (slot + 1) & (c->nr_pair_slots - 1);
		s = &c->pair_slots[slot];
	}
	return slot;
}

/* Doubles the hash of pairs (or makes it), with weights or without. */
static int grow_pairs(struct query_cache *c, bool weights)
{
	struct query_cache new = {
		.nr_pair_slots = c->nr_pair_slots ? c->nr_pair_slots * 2 : MIN_SLOTS,
	};

	new.pair_slots = calloc(new.nr_pair_slots, sizeof(*new.pair_slots));
	if (weights)
		new.pair_weights = calloc(new.nr_pair_slots, sizeof(*new.pair_weights));
	if (!new.pair_slots || (weights && !new.pair_weights)) {
		free(new.pair_slots);
		free(new.pair_weights);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->nr_pair_slots; i++) {
		const struct pair_slot *s = &c->pair_slots[i];
		size_t slot;

		if (!s->samples)
			continue;
		slot = probe(&new, slot_of(&new, s->group, s->node), s->group, s->node);
		new.pair_slots[slot] = *s;
		if (weights)
			new.pair_weights[slot] = c->pair_weights[i];
	}
	free(c->pair_slots);
	free(c->pair_weights);
	c->pair_slots = new.pair_slots;
	c->pair_weights = new.pair_weights;
	c->nr_pair_slots = new.nr_pair_slots;
	return 0;
}

/* Finds each sample's group, and has its slot fetched. */
static void classify_groups(struct scan *s, uint32_t from, uint32_t nr)
{
	const struct query_cache *cache = s->cache;
	const struct query *q = s->job->query;
	const uint32_t *task = s->chunk->task + from, *group_of = q->group_of;
	uint32_t nr_groups = q->nr_groups, sink = s->sink;
	size_t nr_tasks = q->nr_tasks;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t group = task[i] < nr_tasks ? group_of[task[i]] : nr_groups;

		group = group < nr_groups ? group : nr_groups;
		s->group[i] = s->node[i] == sink ? 0 : group;
	}
	for (uint32_t i = 0; i < nr; i++) {
		s->slot[i] = (uint32_t)slot_of(cache, s->group[i], s->node[i]);
		__builtin_prefetch(&cache->pair_slots[s->slot[i]], 1);
	}
}

/* Adds a block to the weights by (group, node).  What goes to the sink is one pair. */
static int sum_pairs(struct scan *s, uint32_t from, uint32_t nr)
{
	struct query_cache *cache = s->cache;
	const struct chunk *c = s->chunk;

	while (cache->nr_pairs + nr > cache->nr_pair_slots / 2) {
		if (grow_pairs(cache, !s->equal))
			return -ENOMEM;
	}
	classify_groups(s, from, nr);
	for (uint32_t i = 0; i < nr; i++) {
		size_t slot = probe(cache, s->slot[i], s->group[i], s->node[i]);
		struct pair_slot *p = &cache->pair_slots[slot];

		if (!p->samples++) {
			p->node = s->node[i];
			p->group = s->group[i];
			cache->nr_pairs++;
		}
		if (!s->equal)
			cache->pair_weights[slot] += chunk_weight(c, from + i);
	}
	return 0;
}

/* The slots' pairs by group, the sink's left out. */
static int gather_pairs(const struct scan *s)
{
	struct query_cache *c = s->cache;
	size_t nr = (size_t)s->job->query->nr_groups + 3;
	uint32_t *starts;

	if (vec_reserve(&c->pairs, c->nr_pairs) || vec_reserve(&c->group_starts, nr))
		return -ENOMEM;
	starts = c->group_starts.at;
	memset(starts, 0, nr * sizeof(*starts));
	for (size_t i = 0; i < c->nr_pair_slots; i++) {
		if (c->pair_slots[i].samples && c->pair_slots[i].node != s->sink)
			starts[c->pair_slots[i].group + 2]++;
	}
	for (size_t g = 2; g < nr; g++)
		starts[g] += starts[g - 1];
	for (size_t i = 0; i < c->nr_pair_slots; i++) {
		const struct pair_slot *p = &c->pair_slots[i];

		if (!p->samples || p->node == s->sink)
			continue;
		c->pairs.at[starts[p->group + 1]++] = (struct pair){
			.node = p->node,
			.samples = p->samples,
			.weight = s->equal ? p->samples * s->weight : c->pair_weights[i],
		};
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
static void begin_pairs(struct query_cache *c, bool equal)
{
	if (c->nr_pairs < c->nr_pair_slots / 16 || equal != !c->pair_weights)
		scan_forget(c);
	if (c->nr_pair_slots)
		memset(c->pair_slots, 0, c->nr_pair_slots * sizeof(*c->pair_slots));
	if (c->pair_weights)
		memset(c->pair_weights, 0, c->nr_pair_slots * sizeof(*c->pair_weights));
	c->nr_pairs = 0;
}

/* Whether all chunks that matter have one weight: then it need not be summed up pair by pair. */
static void find_weight(struct scan *s, const struct chunks *chunks, size_t first)
{
	bool any = false;

	s->equal = true;
	for (size_t i = first; i < chunks->nr && s->equal; i++) {
		const struct chunk *c = &chunks->at[i];

		if (!chunk_matters(s, c))
			continue;
		s->equal = !c->weights && (!any || s->weight == c->weight);
		s->weight = c->weight;
		any = true;
	}
}

int scan_store(const struct job *job)
{
	struct scan s = { .job = job, .cache = job->cache };
	struct node_weight *sink = &job->cache->nodes[job->nr_nodes];
	struct chunks chunks = store_chunks(job->store);
	size_t first = chunks_from(&chunks, job->query->from_ns);
	int err = 0;

	s.sink = (uint32_t)job->nr_nodes;
	s.out = (job->query->hide & CLASS_FLAGS) | OUTSIDE;
	vec_clear(&job->cache->touched);
	if (job->query->group_of) {
		find_weight(&s, &chunks, first);
		begin_pairs(job->cache, s.equal);
	}
	sink->samples = 1; /* not to be listed as touched */
	for (size_t i = first; i < chunks.nr && !err; i++) {
		if (!chunk_matters(&s, &chunks.at[i]))
			continue;
		err = scan_chunk(&s);
		sum_classes(&s);
	}
	*sink = (struct node_weight){ 0 };
	if (!err && job->query->group_of)
		err = gather_pairs(&s);
	return err;
}

void scan_forget(struct query_cache *c)
{
	free(c->pair_slots);
	free(c->pair_weights);
	c->pair_slots = NULL;
	c->pair_weights = NULL;
	c->nr_pair_slots = c->nr_pairs = 0;
}
