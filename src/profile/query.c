// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/modules.h"
#include "profile/query_internal.h"

struct query_cache *query_cache_new(void)
{
	return calloc(1, sizeof(struct query_cache));
}

void query_cache_free(struct query_cache *c)
{
	if (!c)
		return;
	free(c->nodes);
	free(c->recurs);
	free(c->marks);
	free(c->marked_words);
	vec_done(&c->touched);
	scan_forget(c);
	vec_done(&c->pairs);
	vec_done(&c->group_starts);
	vec_done(&c->visits);
	free(c->functions);
	vec_done(&c->touched_functions);
	vec_done(&c->rows);
	free(c->row_slots);
	free(c->keys);
	free(c->starts);
	free(c);
}

/* Sums the visited nodes up by function and leaves the sums zero. */
static int make_functions(const struct job *job, uint32_t top)
{
	struct query_cache *c = job->cache;

	vec_clear(&c->touched_functions);
	if (vec_reserve(&c->touched_functions, c->visits.nr))
		return -ENOMEM;
	for (size_t i = 1; i < c->visits.nr; i++) {
		const struct visit *v = &c->visits.at[i];
		struct function_weight *w = &c->functions[v->function];

		/* A function's first node is no recursion and has samples. */
		if (!w->total_samples)
			c->touched_functions.at[c->touched_functions.nr++] = v->function;
		w->self += v->self;
		w->self_samples += v->self_samples;
		if (!v->recurs) {
			w->total += v->total;
			w->total_samples += v->total_samples;
		}
	}
	for (size_t i = 0; i < c->touched_functions.nr; i++) {
		struct function_weight *w = &c->functions[c->touched_functions.at[i]];
		uint32_t row = rows_new_child(job, top, c->touched_functions.at[i]);
		struct row *r;

		if (row == NO_ROW)
			return -ENOMEM;
		r = &c->rows.at[row];
		r->self = w->self;
		r->total = w->total;
		r->self_samples = w->self_samples;
		r->total_samples = w->total_samples;
		*w = (struct function_weight){ 0 };
	}
	return 0;
}

/* Nodes of one path of functions become one row, as long as the rows above are open. */
static int make_tree(const struct job *job, uint32_t top)
{
	struct query_cache *c = job->cache;

	for (size_t i = 1; i < c->visits.nr; i++) {
		struct visit *v = &c->visits.at[i];
		uint32_t parent = v->parent ? c->visits.at[v->parent].row : top;
		struct row *r;

		v->row = NO_ROW;
		if (v->parent) {
			if (parent == NO_ROW)
				continue;
			c->rows.at[parent].has_children = true;
			if (!row_is_open(c, parent))
				continue;
		}
		v->row = rows_child(job, parent, v->function);
		if (v->row == NO_ROW)
			return -ENOMEM;
		r = &c->rows.at[v->row];
		r->self += v->self;
		r->total += v->total;
		r->self_samples += v->self_samples;
		r->total_samples += v->total_samples;
	}
	return 0;
}

/* Adds a stack's weight to the rows from its innermost function out, as far as they are open. */
static int add_callers(const struct job *job, uint32_t top, const struct visit *leaf)
{
	struct query_cache *c = job->cache;
	const struct visit *v = leaf;
	uint32_t row = top;

	for (;;) {
		struct row *r;

		row = rows_child(job, row, v->function);
		if (row == NO_ROW)
			return -ENOMEM;
		r = &c->rows.at[row];
		r->total += leaf->self;
		r->total_samples += leaf->self_samples;
		if (!v->parent) {
			r->self += leaf->self;
			r->self_samples += leaf->self_samples;
			return 0;
		}
		r->has_children = true;
		if (!row_is_open(c, row))
			return 0;
		v = &c->visits.at[v->parent];
	}
}

static int make_callers(const struct job *job, uint32_t top)
{
	const struct query_cache *c = job->cache;

	for (size_t i = 1; i < c->visits.nr; i++) {
		if (c->visits.at[i].self_samples && add_callers(job, top, &c->visits.at[i]))
			return -ENOMEM;
	}
	return 0;
}

/* Makes the rows below @top (NO_ROW: the tops) of the touched nodes. */
static int make_rows(const struct job *job, uint32_t top)
{
	static int (*const make[])(const struct job *, uint32_t) = {
		[QUERY_FUNCTIONS] = make_functions,
		[QUERY_TREE] = make_tree,
		[QUERY_CALLERS] = make_callers,
	};

	if (visit_build(job))
		return -ENOMEM;
	return make[job->query->orientation](job, top);
}

/* Counts what the answer says of innermost frames. */
static void count_leaf(const struct job *job, uint32_t node, uint64_t weight, uint32_t samples)
{
	const struct naming *n = job->naming;

	if (node == STACKS_NONE) {
		job->answer->bare_weight += weight;
		job->answer->bare_samples += samples;
	} else if (n->unnamed && n->unnamed[n->function_of[node]]) {
		job->answer->unnamed_samples += samples;
	}
}

static int make_ungrouped(const struct job *job)
{
	const struct query_cache *c = job->cache;

	for (size_t i = 0; i < c->touched.nr; i++) {
		const struct node_weight *w = &c->nodes[c->touched.at[i]];

		count_leaf(job, c->touched.at[i], w->weight, w->samples);
	}
	return make_rows(job, NO_ROW);
}

/* Gives a group's pairs back to its nodes, as the touched ones, and makes the rows below @top. */
static int make_group_rows(const struct job *job, uint32_t top, const struct pair *pairs, size_t nr)
{
	struct query_cache *c = job->cache;

	vec_clear(&c->touched);
	if (vec_reserve(&c->touched, nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct pair *p = &pairs[i];

		c->nodes[p->node].weight = p->weight;
		c->nodes[p->node].samples = p->samples;
		c->touched.at[c->touched.nr++] = p->node;
	}
	return make_rows(job, top);
}

static int make_group(const struct job *job, uint32_t group, const struct pair *pairs, size_t nr)
{
	struct query_cache *c = job->cache;
	struct row sums = { 0 };
	struct row *r;
	uint32_t row;

	for (size_t i = 0; i < nr; i++) {
		const struct pair *p = &pairs[i];

		count_leaf(job, p->node, p->weight, p->samples);
		sums.total += p->weight;
		sums.total_samples += p->samples;
		if (p->node == STACKS_NONE) {
			sums.self = p->weight;
			sums.self_samples = p->samples;
		}
	}
	row = rows_group(job, group < job->query->nr_groups ? group : QUERY_NO_GROUP);
	if (row == NO_ROW)
		return -ENOMEM;
	r = &c->rows.at[row];
	r->self = sums.self;
	r->total = sums.total;
	r->self_samples = sums.self_samples;
	r->total_samples = sums.total_samples;
	r->has_children = sums.total_samples > sums.self_samples;
	if (!r->has_children || !row_is_open(c, row))
		return 0;
	return make_group_rows(job, row, pairs, nr);
}

static int make_grouped(const struct job *job)
{
	const struct query_cache *c = job->cache;

	for (uint32_t g = 0; g <= job->query->nr_groups; g++) {
		uint32_t from = c->group_starts.at[g], to = c->group_starts.at[g + 1];

		if (from < to && make_group(job, g, c->pairs.at + from, to - from))
			return -ENOMEM;
	}
	return 0;
}

static int reserve_functions(struct query_cache *c, size_t nr)
{
	struct function_weight *functions;

	if (nr <= c->nr_functions)
		return 0;
	nr += nr / 2;
	functions = calloc(nr, sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	free(c->functions);
	c->functions = functions;
	c->nr_functions = nr;
	return 0;
}

/* After a failure nothing may be left where zeroes are expected. */
static void cache_reset(struct query_cache *c)
{
	visit_forget(c);
	scan_forget(c);
	vec_done(&c->rows);
	if (c->nr_functions)
		memset(c->functions, 0, c->nr_functions * sizeof(*c->functions));
}

int query_run(struct query_cache *c, const struct store *s, const struct stacks *t,
	      const struct naming *n, const struct query *q, struct answer *ret)
{
	struct answer answer = {
		.first = NO_ROW,
		.orientation = q->orientation,
		.grouped = q->group_of != NULL,
	};
	struct job job = {
		.cache = c,
		.store = s,
		.nodes = stacks_nodes(t),
		.nr_nodes = stacks_count(t),
		.naming = n,
		.query = q,
		.answer = &answer,
	};
	int err;

	if (q->orientation == QUERY_MODULES)
		return query_modules(s, t, n, q, ret);
	rows_begin(c);
	err = visit_reserve(&job);
	if (!err)
		err = reserve_functions(c, n->nr_functions);
	if (!err)
		err = scan_store(&job);
	if (!err)
		err = answer.grouped ? make_grouped(&job) : make_ungrouped(&job);
	if (!err)
		err = rows_link(&job);
	if (err) {
		cache_reset(c);
		return err;
	}
	*ret = answer;
	return 0;
}

void answer_done(struct answer *a)
{
	if (!a)
		return;
	free(a->rows);
	free(a->modules);
	a->rows = NULL;
	a->modules = NULL;
	a->nr_rows = 0;
	a->first = NO_ROW;
}
