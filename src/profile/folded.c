// SPDX-License-Identifier: GPL-2.0-or-later
/* Folded stacks are the rows with self of the whole call tree, each with the functions on its way
 * up. */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "profile/query.h"

#define BARE UINT32_MAX /* a line that is no row: samples without frames, ungrouped */

struct line {
	uint64_t weight;
	uint32_t row;
};

struct folding {
	VEC(struct line) lines;
	VEC(uint32_t) functions;
};

static int line_cmp(const void *va, const void *vb)
{
	const struct line *a = va, *b = vb;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static int gather(struct folding *f, const struct answer *a)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < a->nr_rows; i++) {
		const struct row *r = &a->rows[i];

		if (r->depth > depth)
			depth = r->depth;
		if (r->self_samples && vec_push(&f->lines, ((struct line){ r->self, (uint32_t)i })))
			return -ENOMEM;
	}
	if (!a->grouped && a->bare_samples &&
	    vec_push(&f->lines, ((struct line){ a->bare_weight, BARE })))
		return -ENOMEM;
	return vec_reserve(&f->functions, (size_t)depth + 1);
}

static void emit(struct folding *f, const struct answer *a, const struct line *line,
		 query_folded_fn *fn, void *ctx)
{
	const struct row *r;
	size_t nr;

	if (line->row == BARE) {
		fn(ctx, QUERY_NO_GROUP, f->functions.at, 0, line->weight);
		return;
	}
	r = &a->rows[line->row];
	nr = a->grouped ? r->depth : r->depth + 1u;
	for (size_t i = nr; i > 0; i--) {
		f->functions.at[i - 1] = r->function;
		if (i > 1)
			r = &a->rows[r->parent];
	}
	fn(ctx, r->group, f->functions.at, nr, line->weight);
}

int query_folded(struct query_cache *c, const struct store *s, const struct stacks *t,
		 const struct naming *n, const struct query *q, query_folded_fn *fn, void *ctx)
{
	struct query tree = *q;
	struct folding f = { 0 };
	struct answer a;
	int err;

	tree.orientation = QUERY_TREE;
	tree.expanded = NULL;
	err = query_run(c, s, t, n, &tree, &a);
	if (err)
		return err;
	err = gather(&f, &a);
	if (!err) {
		if (f.lines.nr)
			qsort(f.lines.at, f.lines.nr, sizeof(*f.lines.at), line_cmp);
		for (size_t i = 0; i < f.lines.nr; i++)
			emit(&f, &a, &f.lines.at[i], fn, ctx);
	}
	vec_done(&f.lines);
	vec_done(&f.functions);
	answer_done(&a);
	return err;
}
