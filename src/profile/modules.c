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
#define NR_CLASSES 64u /* of samples, by all that enum sample_flags has */

/* What is known of a stack by its node. */
struct link {
	uint32_t outside; /* the nearest caller's node in another image; 0: none */
	uint32_t end;     /* image of the outermost frame that is not ptop's own; NONE: no frame */
};

/* Samples of one stack. */
struct count {
	uint64_t weight;
	uint32_t ends[NR_STACK_ENDS];
};

/* The same in one group. */
struct tally {
	struct count count;
	uint32_t node, group;
	uint32_t next; /* of the same group; NONE ends */
};

struct work {
	const struct stack_node *nodes;
	size_t nr_nodes;
	const struct naming *naming;
	const struct query *query;
	struct answer answer;

	struct link *links;
	uint32_t nr_images;
	struct count *counts;      /* without groups: by node */
	VEC(struct tally) tallies; /* with groups */
	struct map by_pair;        /* group << 32 | node -> tally */

	VEC(struct row) rows;
	VEC(struct module_row) modules;
	uint32_t *row_of;  /* by image: row + 1, of the group at hand */
	uint32_t *counted; /* by image: the stack that was counted last, by its id */
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

static struct count *tally_get(struct work *w, uint32_t group, uint32_t node)
{
	uint64_t key = (uint64_t)group << 32 | node, *at = map_find(&w->by_pair, key);

	if (at)
		return &w->tallies.at[*at].count;
	if (map_set(&w->by_pair, key, w->tallies.nr) ||
	    vec_push(&w->tallies, ((struct tally){ .node = node, .group = group, .next = NONE })))
		return NULL;
	return &w->tallies.at[w->tallies.nr - 1].count;
}

static uint32_t group_of(const struct query *q, uint32_t task)
{
	uint32_t group = task < q->nr_tasks ? q->group_of[task] : q->nr_groups;

	return group < q->nr_groups ? group : q->nr_groups;
}

/* What a chunk's samples are, by their flags. */
struct classes {
	uint64_t samples[NR_CLASSES], weights[NR_CLASSES];
};

static void sum_classes(struct work *w, const struct classes *c)
{
	struct answer *a = &w->answer;

	for (unsigned class = 0; class < NR_CLASSES; class ++) {
		if (class & w->query->hide) {
			a->hidden_weight += c->weights[class];
			if (class & SAMPLE_IDLE)
				a->hidden_idle += c->weights[class];
			continue;
		}
		a->weight += c->weights[class];
		a->samples += c->samples[class];
		a->ends[class >> SAMPLE_END_SHIFT] += c->samples[class];
	}
}

/* All samples of a chunk, into .counts: what most of a long window is. */
static void count_whole(struct work *w, const struct chunk *c, struct classes *classes)
{
	uint32_t samples[2][NR_CLASSES] = { 0 }; /* twice, so that runs of one class do not wait */
	uint8_t hide = w->query->hide & (NR_CLASSES - 1);
	size_t nr_nodes = w->nr_nodes;

	for (uint32_t i = 0; i < c->nr; i++) {
		uint32_t node = c->stack[i] < nr_nodes ? c->stack[i] : STACKS_NONE;
		unsigned class = c->flags[i] & (NR_CLASSES - 1);

		samples[i & 1][class]++;
		if (class & hide)
			continue;
		w->counts[node].weight += chunk_weight(c, i);
		w->counts[node].ends[class >> SAMPLE_END_SHIFT]++;
	}
	for (unsigned class = 0; class < NR_CLASSES; class ++) {
		classes->samples[class] = (uint64_t)samples[0][class] + samples[1][class];
		classes->weights[class] = classes->samples[class] * c->weight;
	}
	if (!c->weights)
		return;
	memset(classes->weights, 0, sizeof(classes->weights));
	for (uint32_t i = 0; i < c->nr; i++)
		classes->weights[c->flags[i] & (NR_CLASSES - 1)] += c->weights[i];
}

static int count_some(struct work *w, const struct chunk *c, struct classes *classes)
{
	const struct query *q = w->query;
	bool any = q->event == QUERY_ANY_EVENT;

	for (uint32_t i = 0; i < c->nr; i++) {
		uint64_t time = c->base_ns + c->time[i], weight = chunk_weight(c, i);
		uint32_t node = c->stack[i] < w->nr_nodes ? c->stack[i] : STACKS_NONE;
		unsigned class = c->flags[i] & (NR_CLASSES - 1);
		struct count *count;

		if (time < q->from_ns || time >= q->to_ns || (!any && c->event[i] != q->event))
			continue;
		classes->samples[class]++;
		classes->weights[class] += weight;
		if (class & q->hide)
			continue;
		count = w->counts ? &w->counts[node] : tally_get(w, group_of(q, c->task[i]), node);
		if (!count)
			return -ENOMEM;
		count->weight += weight;
		count->ends[class >> SAMPLE_END_SHIFT]++;
	}
	return 0;
}

static int count_chunk(struct work *w, const struct chunk *c)
{
	const struct query *q = w->query;
	bool event = q->event == QUERY_ANY_EVENT ||
		     (!c->events_differ && c->nr && c->event[0] == q->event);
	struct classes classes = { 0 };

	if (c->max_ns < q->from_ns || c->min_ns >= q->to_ns)
		return 0;
	if (w->counts && event && c->min_ns >= q->from_ns && c->max_ns < q->to_ns)
		count_whole(w, c, &classes);
	else if (count_some(w, c, &classes))
		return -ENOMEM;
	sum_classes(w, &classes);
	return 0;
}

static int count_samples(struct work *w, const struct store *s)
{
	struct chunks chunks = store_chunks(s);

	if (!w->query->group_of) {
		w->counts = calloc(w->nr_nodes, sizeof(*w->counts));
		if (!w->counts)
			return -ENOMEM;
	}
	for (size_t i = chunks_from(&chunks, w->query->from_ns); i < chunks.nr; i++) {
		if (count_chunk(w, &chunks.at[i]))
			return -ENOMEM;
	}
	return 0;
}

static uint64_t samples_of(const struct count *c)
{
	uint64_t nr = 0;

	for (int i = 0; i < NR_STACK_ENDS; i++)
		nr += c->ends[i];
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

static bool is_unnamed(const struct work *w, uint32_t node)
{
	return w->naming->unnamed && w->naming->unnamed[w->naming->function_of[node]];
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

/*
 * A stack's samples belong to its innermost image, to the one it ends in, and to each once.  @id is
 * the stack's own, above 0.
 */
static int share_out(struct work *w, uint32_t stack, const struct count *c, uint32_t id,
		     const struct row *above)
{
	uint32_t parent = above ? (uint32_t)(above - w->rows.at) : NONE;
	uint32_t group = above ? above->group : QUERY_NO_GROUP;
	uint64_t samples = samples_of(c);

	for (uint32_t node = stack; node; node = w->links[node].outside) {
		uint32_t image = w->nodes[node].image, row = image_row(w, image, group, parent);
		struct module_row *m;
		struct row *r;

		if (row == NONE)
			return -ENOMEM;
		r = &w->rows.at[row];
		m = &w->modules.at[row];
		if (node == stack) {
			r->self += c->weight;
			r->self_samples += samples;
			for (int i = 0; i < NR_STACK_ENDS; i++)
				m->self_ends[i] += c->ends[i];
			if (is_unnamed(w, node))
				m->unnamed += samples;
		}
		if (w->counted[image] == id)
			continue;
		w->counted[image] = id;
		r->total += c->weight;
		r->total_samples += samples;
		for (int i = 0; image == w->links[stack].end && i < NR_STACK_ENDS; i++)
			m->ends[i] += c->ends[i];
	}
	return 0;
}

/* Counts what the answer says of innermost frames; false for a stack without any. */
static bool count_leaf(struct work *w, uint32_t node, const struct count *c)
{
	if (w->links[node].end == NONE) {
		w->answer.bare_weight += c->weight;
		w->answer.bare_samples += samples_of(c);
		return false;
	}
	if (is_unnamed(w, node))
		w->answer.unnamed_samples += samples_of(c);
	return true;
}

static int make_ungrouped(struct work *w)
{
	for (uint32_t node = 0; node < w->nr_nodes; node++) {
		const struct count *c = &w->counts[node];

		if (samples_of(c) && count_leaf(w, node, c) && share_out(w, node, c, node, NULL))
			return -ENOMEM;
	}
	return 0;
}

/* Adds a group's stacks to its row; whether there are rows below it. */
static bool sum_group(struct work *w, uint32_t first, struct row *r)
{
	for (uint32_t i = first; i != NONE; i = w->tallies.at[i].next) {
		const struct tally *t = &w->tallies.at[i];
		bool bare = !count_leaf(w, t->node, &t->count);

		r->total += t->count.weight;
		r->total_samples += samples_of(&t->count);
		r->self += bare ? t->count.weight : 0;
		r->self_samples += bare ? samples_of(&t->count) : 0;
	}
	return r->total_samples > r->self_samples;
}

static int make_group(struct work *w, uint32_t first, uint32_t group)
{
	const struct map *open = w->query->expanded;
	uint32_t at = (uint32_t)w->rows.nr;
	struct row *r;

	if (push_row(w, NONE, group < w->query->nr_groups ? group : QUERY_NO_GROUP, NONE))
		return -ENOMEM;
	r = &w->rows.at[at];
	r->has_children = sum_group(w, first, r);
	if (!r->has_children || (open && !map_find(open, r->path)))
		return 0;
	for (uint32_t i = first; i != NONE; i = w->tallies.at[i].next) {
		const struct tally *t = &w->tallies.at[i];

		if (w->links[t->node].end != NONE &&
		    share_out(w, t->node, &t->count, i + 1, &w->rows.at[at]))
			return -ENOMEM;
	}
	for (size_t i = at + 1u; i < w->rows.nr; i++)
		w->row_of[w->rows.at[i].function] = 0;
	return 0;
}

/* Chains the tallies by group and makes the rows of each. */
static int make_groups(struct work *w)
{
	size_t nr = (size_t)w->query->nr_groups + 1;
	uint32_t *first = malloc(nr * sizeof(*first));
	int err = 0;

	if (!first)
		return -ENOMEM;
	memset(first, 0xff, nr * sizeof(*first));
	for (size_t i = w->tallies.nr; i-- > 0;) {
		struct tally *t = &w->tallies.at[i];

		t->next = first[t->group];
		first[t->group] = (uint32_t)i;
	}
	for (size_t g = 0; g < nr && !err; g++) {
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
	free(w->counts);
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
		if (!w.row_of || !w.counted)
			err = -ENOMEM;
		else
			err = q->group_of ? make_groups(&w) : make_ungrouped(&w);
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
