// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the touched nodes to a compact list of them and their ancestors in the order of ids, which
 * puts callers first.  The order comes from a bitmap of two levels, so it costs neither a sort nor
 * a look at nodes without weight.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/query_internal.h"

enum recurs { RECURS_UNKNOWN, RECURS_NO, RECURS_YES };

#define WORDS(nr) ((nr) / 64 + 1)

static int grow_zeroed(void *at, size_t old, size_t nr, size_t size)
{
	void **p = at;
	char *new = realloc(*p, nr * size);

	if (!new)
		return -ENOMEM;
	memset(new + old *size, 0, (nr - old) * size);
	*p = new;
	return 0;
}

/* Old nodes keep what is known of them, unless their functions changed. */
static void keep_recurs(const struct job *job)
{
	struct query_cache *c = job->cache;

	if (c->generation != job->naming->generation || job->nr_nodes < c->nr_named)
		memset(c->recurs, RECURS_UNKNOWN, c->nr_nodes);
	c->generation = job->naming->generation;
	c->nr_named = job->nr_nodes;
}

int visit_reserve(const struct job *job)
{
	struct query_cache *c = job->cache;
	size_t old = c->nr_nodes, nr = old;
	size_t words = old ? WORDS(old) : 0;

	while (nr < job->nr_nodes + 1)
		nr = nr ? nr + nr / 2 : 1024;
	if (nr > old) {
		if (grow_zeroed(&c->nodes, old, nr, sizeof(*c->nodes)) ||
		    grow_zeroed(&c->recurs, old, nr, sizeof(*c->recurs)) ||
		    grow_zeroed(&c->marks, words, WORDS(nr), sizeof(*c->marks)) ||
		    grow_zeroed(&c->marked_words, words ? WORDS(words) : 0, WORDS(WORDS(nr)),
				sizeof(*c->marked_words)))
			return -ENOMEM;
		c->nr_nodes = nr;
	}
	keep_recurs(job);
	return 0;
}

static bool mark(struct query_cache *c, uint32_t node)
{
	uint64_t *word = &c->marks[node / 64];
	uint64_t bit = 1ull << node % 64;

	if (*word & bit)
		return false;
	*word |= bit;
	c->marked_words[node / 4096] |= 1ull << node / 64 % 64;
	return true;
}

static const uint32_t *chain_at(const struct naming *n, uint32_t node)
{
	return n->chain_of && n->chain_of[node] ? &n->chains[n->chain_of[node]] : NULL;
}

/* Marks the touched nodes and their ancestors; returns how many visits they make. */
static size_t mark_touched(const struct job *job)
{
	struct query_cache *c = job->cache;
	size_t nr = 1;

	mark(c, STACKS_NONE);
	for (size_t i = 0; i < c->touched.nr; i++) {
		for (uint32_t n = c->touched.at[i]; mark(c, n); n = job->nodes[n].parent) {
			const uint32_t *chain = chain_at(job->naming, n);

			nr += 1 + (chain ? chain[0] : 0);
		}
	}
	return nr;
}

static bool find_recurs(const struct visit *visits, const struct visit *v)
{
	for (uint32_t i = v->parent; i; i = visits[i].parent) {
		if (visits[i].function == v->function)
			return true;
	}
	return false;
}

/* Whether a node's visits are recursions, which is kept as long as no name changes.  Of inlined
 * functions that is kept only where none of them is. */
static void mark_recurs(const struct job *job, uint32_t node, uint32_t first)
{
	struct query_cache *c = job->cache;
	bool any = false;

	if (c->recurs[node] == RECURS_NO)
		return;
	if (c->recurs[node] == RECURS_YES && first + 1 == c->visits.nr) {
		c->visits.at[first].recurs = true;
		return;
	}
	for (size_t i = first; i < c->visits.nr; i++) {
		struct visit *v = &c->visits.at[i];

		v->recurs = find_recurs(c->visits.at, v);
		any |= v->recurs;
	}
	c->recurs[node] = any ? RECURS_YES : RECURS_NO;
}

static inline void visit_push(struct query_cache *c, uint32_t parent, uint32_t function)
{
	c->visits.at[c->visits.nr++] = (struct visit){ .parent = parent, .function = function };
}

/* Moves a node's weight to the end of the list: to the last of its functions. */
static void visit_add(const struct job *job, uint32_t node)
{
	struct query_cache *c = job->cache;
	struct node_weight *w = &c->nodes[node];
	uint32_t first = (uint32_t)c->visits.nr;
	struct visit *v;

	if (node == STACKS_NONE) {
		visit_push(c, 0, UINT32_MAX);
	} else {
		const uint32_t *chain = chain_at(job->naming, node);

		visit_push(c, c->nodes[job->nodes[node].parent].visit,
			   job->naming->function_of[node]);
		for (uint32_t i = 1; chain && i <= chain[0]; i++)
			visit_push(c, (uint32_t)c->visits.nr - 1, chain[i]);
		mark_recurs(job, node, first);
	}
	v = &c->visits.at[c->visits.nr - 1];
	v->self = v->total = w->weight;
	v->self_samples = v->total_samples = w->samples;
	*w = (struct node_weight){ .visit = (uint32_t)c->visits.nr - 1 };
}

/* Takes the marked nodes in rising order and leaves no mark. */
static void visit_marked(const struct job *job)
{
	struct query_cache *c = job->cache;

	for (size_t i = 0; i < WORDS(WORDS(job->nr_nodes)); i++) {
		for (uint64_t words = c->marked_words[i]; words; words &= words - 1) {
			size_t word = i * 64 + (size_t)__builtin_ctzll(words);

			for (uint64_t bits = c->marks[word]; bits; bits &= bits - 1)
				visit_add(job,
					  (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits));
			c->marks[word] = 0;
		}
		c->marked_words[i] = 0;
	}
}

int visit_build(const struct job *job)
{
	struct query_cache *c = job->cache;
	size_t nr = mark_touched(job);

	vec_clear(&c->visits);
	if (vec_reserve(&c->visits, nr))
		return -ENOMEM;
	visit_marked(job);
	for (size_t i = nr - 1; i > 0; i--) {
		const struct visit *v = &c->visits.at[i];
		struct visit *parent = &c->visits.at[v->parent];

		parent->total += v->total;
		parent->total_samples += v->total_samples;
	}
	vec_clear(&c->touched);
	return 0;
}

void visit_forget(struct query_cache *c)
{
	if (!c->nr_nodes)
		return;
	memset(c->nodes, 0, c->nr_nodes * sizeof(*c->nodes));
	memset(c->marks, 0, WORDS(c->nr_nodes) * sizeof(*c->marks));
	memset(c->marked_words, 0, WORDS(WORDS(c->nr_nodes)) * sizeof(*c->marked_words));
	vec_clear(&c->touched);
}
