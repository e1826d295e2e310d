// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An array of nodes and an open-addressed hash of their ids by (parent, image, offset).
 *
 * A stack is walked from the outermost frame.  What makes it quick: the path of the last stack is
 * kept, and as long as frames equal its nodes no hash is asked (stacks taken one after the other
 * share most of their outer frames); and of the hash only one multiplication depends on
 * the parent, so the rest of it is computed while the parent is still being looked up.  A stack
 * that was seen before is found as a whole: a memory of last nodes, by a hash of all frames, tells
 * where it may be, and going up from there shows whether it is (nodes made together lie together).
 */
#include "profile/stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define MAX_NODES (1u << 27)
#define MIN_SLOTS 1024u
#define SEEN 32768u

struct stacks {
	struct stack_node *nodes;
	size_t nr, cap;
	uint32_t *slots; /* node ids, 0 is free; at most half are used */
	uint32_t nr_slots;
	unsigned int shift;  /* 64 - log2(nr_slots) */
	VEC(uint32_t) last;  /* nodes of the stack added last, outermost first */
	uint32_t seen[SEEN]; /* innermost nodes of whole stacks, by seen_hash() */
};

static inline uint64_t frame_hash(uint64_t offset, uint32_t image)
{
	uint64_t x = (offset ^ (uint64_t)image << 40) * 0x9e3779b97f4a7c15ull;

	return x ^ x >> 29;
}

static inline uint32_t slot_of(const struct stacks *s, uint64_t frame, uint32_t parent)
{
	return ((frame ^ parent) * 0xd6e8feb86659fd93ull) >> s->shift;
}

static unsigned int shift_for(uint32_t nr_slots)
{
	return 64 - (unsigned int)__builtin_ctz(nr_slots);
}

struct stacks *stacks_new(void)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cap = MIN_SLOTS / 2;
	s->nodes = malloc(s->cap * sizeof(*s->nodes));
	s->nr_slots = MIN_SLOTS;
	s->shift = shift_for(MIN_SLOTS);
	s->slots = calloc(MIN_SLOTS, sizeof(*s->slots));
	if (!s->nodes || !s->slots) {
		stacks_free(s);
		return NULL;
	}
	s->nodes[0] = (struct stack_node){ 0 };
	s->nr = 1;
	return s;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	free(s->nodes);
	free(s->slots);
	vec_done(&s->last);
	free(s);
}

static void slots_fill(struct stacks *s)
{
	for (uint32_t id = 1; id < s->nr; id++) {
		const struct stack_node *n = &s->nodes[id];
		uint32_t i = slot_of(s, frame_hash(n->offset, n->image), n->parent);

		while (s->slots[i])
			i = (i + 1) & (s->nr_slots - 1);
		s->slots[i] = id;
	}
}

/* Makes room for one more node. */
static int grow(struct stacks *s)
{
	if (s->nr >= MAX_NODES)
		return -ENOMEM;
	if (s->nr == s->cap) {
		size_t cap = s->cap + s->cap / 2;
		struct stack_node *nodes = realloc(s->nodes, cap * sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		s->nodes = nodes;
		s->cap = cap;
	}
	if (s->nr >= s->nr_slots / 2) {
		uint32_t *slots = calloc((size_t)s->nr_slots * 2, sizeof(*slots));

		if (!slots)
			return -ENOMEM;
		free(s->slots);
		s->slots = slots;
		s->nr_slots *= 2;
		s->shift--;
		slots_fill(s);
	}
	return 0;
}

static uint32_t insert(struct stacks *s, uint32_t slot, uint64_t hash, const struct stack_node *n)
{
	uint32_t id;

	if (s->nr == s->cap || s->nr >= s->nr_slots / 2) {
		if (grow(s))
			return STACKS_FULL;
		slot = slot_of(s, hash, n->parent);
		while (s->slots[slot])
			slot = (slot + 1) & (s->nr_slots - 1);
	}
	id = (uint32_t)s->nr++;
	s->nodes[id] = *n;
	s->slots[slot] = id;
	return id;
}

static inline uint32_t child(struct stacks *s, uint32_t parent, const struct frame *f)
{
	uint64_t hash = frame_hash(f->offset, f->image);
	uint32_t slot = slot_of(s, hash, parent);
	uint32_t id;

	for (; (id = s->slots[slot]); slot = (slot + 1) & (s->nr_slots - 1)) {
		const struct stack_node *n = &s->nodes[id];

		if (n->offset == f->offset && n->parent == parent && n->image == f->image)
			return id;
	}
	return insert(s, slot, hash, &(struct stack_node){ f->offset, f->image, parent });
}

/* How many of the outermost frames are those of the stack added last. */
static size_t common_prefix(const struct stacks *s, const struct frame *frames, size_t nr)
{
	size_t max = nr < s->last.nr ? nr : s->last.nr;
	size_t i;

	for (i = 0; i < max; i++) {
		const struct stack_node *n = &s->nodes[s->last.at[i]];
		const struct frame *f = &frames[nr - 1 - i];

		if (n->offset != f->offset || n->image != f->image)
			break;
	}
	return i;
}

static uint32_t seen_hash(const struct frame *frames, size_t nr)
{
	uint64_t hash = nr;

	for (size_t i = 0; i < nr; i++)
		hash = ((hash << 23 | hash >> 41) ^ frames[i].offset ^
			(uint64_t)frames[i].image << 40) *
		       0x9e3779b97f4a7c15ull;
	return (uint32_t)(hash >> 32) % SEEN;
}

/* Whether the stack that ends in @node is @frames; 0 is no node. */
static bool is_stack(const struct stacks *s, uint32_t node, const struct frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct stack_node *n = &s->nodes[node];

		if (!node || n->offset != frames[i].offset || n->image != frames[i].image)
			return false;
		node = n->parent;
	}
	return node == STACKS_NONE;
}

uint32_t stacks_add(struct stacks *s, const struct frame *frames, size_t nr)
{
	uint32_t *seen = &s->seen[seen_hash(frames, nr)], node;
	size_t i;

	if (*seen && is_stack(s, *seen, frames, nr))
		return *seen;
	i = common_prefix(s, frames, nr);
	node = i ? s->last.at[i - 1] : STACKS_NONE;
	if (vec_reserve(&s->last, nr))
		return STACKS_FULL;
	s->last.nr = i;
	for (; i < nr; i++) {
		node = child(s, node, &frames[nr - 1 - i]);
		if (node == STACKS_FULL)
			return STACKS_FULL;
		s->last.at[i] = node;
		s->last.nr = i + 1;
	}
	*seen = node;
	return node;
}

size_t stacks_count(const struct stacks *s)
{
	return s->nr;
}

const struct stack_node *stacks_nodes(const struct stacks *s)
{
	return s->nodes;
}

size_t stacks_bytes(const struct stacks *s)
{
	return sizeof(*s) + s->cap * sizeof(*s->nodes) + s->nr_slots * sizeof(*s->slots) +
	       s->last.cap * sizeof(*s->last.at);
}

/* Turns @keep, with all ancestors, into new ids in @map; returns how many nodes stay. */
static uint32_t number_kept(const struct stacks *s, const uint8_t *keep, uint32_t *map)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		map[i] = keep[i] != 0;
	map[0] = 1;
	for (size_t i = s->nr - 1; i > 0; i--) {
		if (map[i])
			map[s->nodes[i].parent] = 1;
	}
	for (size_t i = 0; i < s->nr; i++) {
		if (map[i])
			map[i] = nr++;
	}
	return nr;
}

int stacks_prune(struct stacks *s, const uint8_t *keep, uint32_t *ret_new)
{
	uint32_t nr = number_kept(s, keep, ret_new);
	size_t cap = (size_t)nr + nr / 4 + MIN_SLOTS / 2;
	uint32_t nr_slots = MIN_SLOTS;
	struct stack_node *nodes;
	uint32_t *slots;

	while (nr_slots / 2 <= nr)
		nr_slots *= 2;
	nodes = malloc(cap * sizeof(*nodes));
	slots = calloc(nr_slots, sizeof(*slots));
	if (!nodes || !slots) {
		free(nodes);
		free(slots);
		return -ENOMEM;
	}
	nodes[0] = s->nodes[0];
	for (size_t i = 1; i < s->nr; i++) {
		if (ret_new[i]) {
			nodes[ret_new[i]] = s->nodes[i];
			nodes[ret_new[i]].parent = ret_new[s->nodes[i].parent];
		}
	}
	free(s->nodes);
	free(s->slots);
	s->nodes = nodes;
	s->nr = nr;
	s->cap = cap;
	s->slots = slots;
	s->nr_slots = nr_slots;
	s->shift = shift_for(nr_slots);
	slots_fill(s);
	vec_clear(&s->last);
	memset(s->seen, 0, sizeof(s->seen));
	return 0;
}
