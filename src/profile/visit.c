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

/* Marks the touched nodes and their ancestors; returns how many there are. */
static size_t mark_touched(const struct job *job)
{
	struct query_cache *c = job->cache;
	size_t nr = 1;

	mark(c, STACKS_NONE);
	for (size_t i = 0; i < c->touched.nr; i++) {
		for (uint32_t n = c->touched.at[i]; mark(c, n); n = job->nodes[n].parent)
			nr++;
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

/* Moves a node's weight to the end of the list. */
static void visit_add(const struct job *job, uint32_t node)
{
	struct query_cache *c = job->cache;
	struct node_weight *w = &c->nodes[node];
	struct visit *v = &c->visits.at[c->visits.nr];

	*v = (struct visit){
		.self = w->weight,
		.total = w->weight,
		.self_samples = w->samples,
		.total_samples = w->samples,
		.function = UINT32_MAX,
	};
	*w = (struct node_weight){ .visit = (uint32_t)c->visits.nr++ };
	if (node == STACKS_NONE)
		return;
	v->parent = c->nodes[job->nodes[node].parent].visit;
	v->function = job->naming->function_of[node];
	if (c->recurs[node] == RECURS_UNKNOWN)
		c->recurs[node] = find_recurs(c->visits.at, v) ? RECURS_YES : RECURS_NO;
	v->recurs = c->recurs[node] == RECURS_YES;
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
