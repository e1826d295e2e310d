// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples are counted by (group, stack) first.  Then each stack's count goes to the images on it,
 * along links that lead from a frame to the nearest caller in another image: most stacks are in
 * few.
 */
#include "profile/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/chunk.h"

#define NONE UINT32_MAX
#define END_MASK (NR_STACK_ENDS - 1)

/* What is known of a stack by its node. */
struct link {
	uint32_t outside; /* the nearest caller's node in another image; 0: none */
	uint32_t end;     /* image of the outermost frame that is not ptop's own; NONE: no frame */
};

/* Samples of one stack in one group. */
struct tally {
	uint32_t node, group;
	uint32_t next; /* of the same group; NONE ends */
	uint32_t ends[NR_STACK_ENDS];
	uint64_t weight;
};

struct work {
	const struct stack_node *nodes;
	size_t nr_nodes;
	const struct naming *naming;
	const struct query *query;
	struct answer answer;

	struct link *links;
	uint32_t nr_images;
	VEC(struct tally) tallies;
	uint32_t *tally_of; /* by node, + 1; without groups */
	struct map by_pair; /* with groups: group << 32 | node -> tally */

	VEC(struct row) rows;
	VEC(struct module_row) modules;
	uint32_t *row_of;  /* by image: row + 1, of the group at hand */
	uint32_t *counted; /* by image: tally + 1 that was counted last */
	VEC(uint32_t) order;
};

static int link_nodes(struct work *w)
{
	w->links = malloc(w->nr_nodes * sizeof(*w->links));
	if (!w->links)
		return -ENOMEM;
	w->links[STACKS_NONE] = (struct link){ .end = NONE };
	for (size_t i = 1; i < w->nr_nodes; i++) {
		const struct stack_node *n = &w->nodes[i];
		const struct link *caller = &w->links[n->parent];
		struct link *l = &w->links[i];

		*l = (struct link){ .end = caller->end };
		if (n->image >= w->nr_images)
			w->nr_images = n->image + 1;
		if (n->image == FRAME_PSEUDO)
			continue;
		if (caller->end == NONE)
			l->end = n->image;
		else
			l->outside = w->nodes[n->parent].image == n->image ? caller->outside
									   : n->parent;
	}
	return 0;
}

static struct tally *tally_get(struct work *w, uint32_t group, uint32_t node)
{
	uint64_t key = (uint64_t)group << 32 | node, *at;

	if (w->tally_of) {
		if (w->tally_of[node])
			return &w->tallies.at[w->tally_of[node] - 1];
		w->tally_of[node] = (uint32_t)w->tallies.nr + 1;
	} else {
		at = map_find(&w->by_pair, key);
		if (at)
			return &w->tallies.at[*at];
		if (map_set(&w->by_pair, key, w->tallies.nr))
			return NULL;
	}
	if (vec_push(&w->tallies, ((struct tally){ .node = node, .group = group, .next = NONE })))
		return NULL;
	return &w->tallies.at[w->tallies.nr - 1];
}

static uint32_t group_of(const struct query *q, uint32_t task)
{
	uint32_t group = q->group_of && task < q->nr_tasks ? q->group_of[task] : q->nr_groups;

	return group < q->nr_groups ? group : q->nr_groups;
}

static int count_sample(struct work *w, const struct chunk *c, uint32_t i)
{
	uint32_t node = c->stack[i] < w->nr_nodes ? c->stack[i] : STACKS_NONE;
	unsigned end = c->flags[i] >> SAMPLE_END_SHIFT & END_MASK;
	uint64_t weight = chunk_weight(c, i);
	struct answer *a = &w->answer;
	struct tally *t;

	if (c->flags[i] & w->query->hide) {
		a->hidden_weight += weight;
		if (c->flags[i] & SAMPLE_IDLE)
			a->hidden_idle += weight;
		return 0;
	}
	a->weight += weight;
	a->samples++;
	a->ends[end]++;
	t = tally_get(w, group_of(w->query, c->task[i]), node);
	if (!t)
		return -ENOMEM;
	t->weight += weight;
	t->ends[end]++;
	return 0;
}

static int count_chunk(struct work *w, const struct chunk *c)
{
	const struct query *q = w->query;
	bool any = q->event == QUERY_ANY_EVENT;

	if (c->max_ns < q->from_ns || c->min_ns >= q->to_ns)
		return 0;
	for (uint32_t i = 0; i < c->nr; i++) {
		uint64_t time = c->base_ns + c->time[i];

		if (time >= q->from_ns && time < q->to_ns && (any || c->event[i] == q->event) &&
		    count_sample(w, c, i))
			return -ENOMEM;
	}
	return 0;
}

static int count_samples(struct work *w, const struct store *s)
{
	struct chunks chunks = store_chunks(s);

	if (!w->query->group_of) {
		w->tally_of = calloc(w->nr_nodes, sizeof(*w->tally_of));
		if (!w->tally_of)
			return -ENOMEM;
	}
	for (size_t i = chunks_from(&chunks, w->query->from_ns); i < chunks.nr; i++) {
		if (count_chunk(w, &chunks.at[i]))
			return -ENOMEM;
	}
	return 0;
}

static uint64_t samples_of(const struct tally *t)
{
	uint64_t nr = 0;

	for (int i = 0; i < NR_STACK_ENDS; i++)
		nr += t->ends[i];
	return nr;
}

static int push_row(struct work *w, uint32_t function, uint32_t group, uint32_t parent)
{
	uint64_t above = parent == NONE ? query_path_top(QUERY_NO_GROUP) : w->rows.at[parent].path;
	struct row row = {
		.function = function,
		.group = group,
		.parent = parent,
		.first_child = NONE,
		.next = NONE,
		.depth = parent != NONE,
		.path = function == NONE ? query_path_top(group) : query_path(above, function),
	};

	if (vec_push(&w->rows, row))
		return -ENOMEM;
	return vec_push(&w->modules, (struct module_row){ 0 });
}

/* The row of an image in the group at hand; NONE without memory. */
static uint32_t image_row(struct work *w, uint32_t image, uint32_t group, uint32_t parent)
{
	if (!w->row_of[image]) {
		if (push_row(w, image, group, parent))
			return NONE;
		w->row_of[image] = (uint32_t)w->rows.nr;
	}
	return w->row_of[image] - 1;
}

/* A stack's samples belong to its innermost image, to the one it ends in, and to each once. */
static int share_out(struct work *w, uint32_t tally, uint32_t group, uint32_t parent)
{
	const struct tally *t = &w->tallies.at[tally];
	uint64_t samples = samples_of(t);

	for (uint32_t node = t->node; node; node = w->links[node].outside) {
		uint32_t image = w->nodes[node].image, row = image_row(w, image, group, parent);

		if (row == NONE)
			return -ENOMEM;
		if (node == t->node) {
			w->rows.at[row].self += t->weight;
			w->rows.at[row].self_samples += samples;
			for (int i = 0; i < NR_STACK_ENDS; i++)
				w->modules.at[row].self_ends[i] += t->ends[i];
			if (w->naming->unnamed && w->naming->unnamed[w->naming->function_of[node]])
				w->modules.at[row].unnamed += samples;
		}
		if (w->counted[image] == tally + 1)
			continue;
		w->counted[image] = tally + 1;
		w->rows.at[row].total += t->weight;
		w->rows.at[row].total_samples += samples;
		if (image == w->links[t->node].end) {
			for (int i = 0; i < NR_STACK_ENDS; i++)
				w->modules.at[row].ends[i] += t->ends[i];
		}
	}
	return 0;
}

static bool is_bare(const struct work *w, const struct tally *t)
{
	return w->links[t->node].end == NONE;
}

static void count_whole(struct work *w, const struct tally *t)
{
	const struct naming *n = w->naming;

	if (is_bare(w, t)) {
		w->answer.bare_weight += t->weight;
		w->answer.bare_samples += samples_of(t);
	} else if (n->unnamed && n->unnamed[n->function_of[t->node]]) {
		w->answer.unnamed_samples += samples_of(t);
	}
}

/* Makes the rows of the tallies from @first on, below @parent. */
static int make_rows(struct work *w, uint32_t first, uint32_t group, uint32_t parent)
{
	size_t begin = w->rows.nr;

	for (uint32_t i = first; i != NONE; i = w->tallies.at[i].next) {
		if (!is_bare(w, &w->tallies.at[i]) && share_out(w, i, group, parent))
			return -ENOMEM;
	}
	for (size_t i = begin; i < w->rows.nr; i++)
		w->row_of[w->rows.at[i].function] = 0;
	return 0;
}

static int make_group(struct work *w, uint32_t first, uint32_t group)
{
	const struct map *open = w->query->expanded;
	uint32_t at = (uint32_t)w->rows.nr;
	struct row *r;

	if (push_row(w, NONE, group < w->query->nr_groups ? group : QUERY_NO_GROUP, NONE))
		return -ENOMEM;
	r = &w->rows.at[at];
	for (uint32_t i = first; i != NONE; i = w->tallies.at[i].next) {
		const struct tally *t = &w->tallies.at[i];

		r->total += t->weight;
		r->total_samples += samples_of(t);
		r->self += is_bare(w, t) ? t->weight : 0;
		r->self_samples += is_bare(w, t) ? samples_of(t) : 0;
	}
	r->has_children = r->total_samples > r->self_samples;
	if (!r->has_children || (open && !map_find(open, r->path)))
		return 0;
	return make_rows(w, first, r->group, at);
}

/* Chains the tallies by group and makes the rows of each. */
static int make_groups(struct work *w)
{
	size_t nr = w->query->group_of ? (size_t)w->query->nr_groups + 1 : 1;
	uint32_t *first = malloc(nr * sizeof(*first));
	int err = 0;

	if (!first)
		return -ENOMEM;
	memset(first, 0xff, nr * sizeof(*first));
	for (size_t i = w->tallies.nr; i-- > 0;) {
		struct tally *t = &w->tallies.at[i];
		uint32_t *head = &first[w->query->group_of ? t->group : 0];

		count_whole(w, t);
		t->next = *head;
		*head = (uint32_t)i;
	}
	if (!w->query->group_of)
		err = make_rows(w, first[0], QUERY_NO_GROUP, NONE);
	for (size_t g = 0; w->query->group_of && g < nr && !err; g++) {
		if (first[g] != NONE)
			err = make_group(w, first[g], (uint32_t)g);
	}
	free(first);
	return err;
}

static int falling(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int compare_rows(const void *va, const void *vb, void *rows)
{
	const struct row *a = (struct row *)rows + *(const uint32_t *)va;
	const struct row *b = (struct row *)rows + *(const uint32_t *)vb;
	bool group = a->function == NONE;
	int order = group ? falling(a->total, b->total) : falling(a->self, b->self);

	if (a->parent != b->parent)
		return (a->parent > b->parent) - (a->parent < b->parent);
	if (!order)
		order = group ? falling(a->self, b->self) : falling(a->total, b->total);
	if (order)
		return order;
	return a->function != b->function
		       ? (a->function > b->function) - (a->function < b->function)
		       : (a->group > b->group) - (a->group < b->group);
}

/* Families are runs of the sorted rows. */
static int link_rows(struct work *w)
{
	size_t nr = w->rows.nr;

	w->answer.first = NONE;
	if (!nr)
		return 0;
	if (vec_reserve(&w->order, nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		w->order.at[i] = i;
	qsort_r(w->order.at, nr, sizeof(*w->order.at), compare_rows, w->rows.at);
	for (size_t i = 0; i < nr; i++) {
		struct row *row = &w->rows.at[w->order.at[i]];
		struct row *before = i ? &w->rows.at[w->order.at[i - 1]] : NULL;

		if (before && before->parent == row->parent)
			before->next = w->order.at[i];
		else if (row->parent == NONE)
			w->answer.first = w->order.at[i];
		else
			w->rows.at[row->parent].first_child = w->order.at[i];
	}
	return 0;
}

static void work_done(struct work *w)
{
	free(w->links);
	free(w->tally_of);
	free(w->row_of);
	free(w->counted);
	map_done(&w->by_pair);
	vec_done(&w->tallies);
	vec_done(&w->rows);
	vec_done(&w->modules);
	vec_done(&w->order);
}

int query_modules(const struct store *s, const struct stacks *t, const struct naming *n,
		  const struct query *q, struct answer *ret)
{
	struct work w = {
		.nodes = stacks_nodes(t),
		.nr_nodes = stacks_count(t),
		.naming = n,
		.query = q,
		.answer = { .orientation = QUERY_MODULES, .grouped = q->group_of != NULL },
	};
	int err = link_nodes(&w);

	if (!err)
		err = count_samples(&w, s);
	if (!err) {
		w.row_of = calloc((size_t)w.nr_images + 1, sizeof(*w.row_of));
		w.counted = calloc((size_t)w.nr_images + 1, sizeof(*w.counted));
		err = w.row_of && w.counted ? make_groups(&w) : -ENOMEM;
	}
	if (!err)
		err = link_rows(&w);
	if (!err) {
		*ret = w.answer;
		ret->rows = w.rows.at;
		ret->nr_rows = w.rows.nr;
		ret->modules = w.modules.at;
		w.rows.at = NULL;
		w.modules.at = NULL;
	}
	work_done(&w);
	return err;
}
