/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Order: each row has an anchor, the share by which it was last placed.  The anchor follows the
 * row's share only when the two differ by more than the noise; siblings are sorted by anchors.  So
 * two rows swap once one has really changed, and the order is total (comparing rows pairwise with a
 * tolerance would not be).
 */
#include "view/list.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define NONE UINT32_MAX

void list_done(struct list *l)
{
	map_done(&l->flipped);
	map_done(&l->anchors);
	vec_done(&l->order);
	vec_done(&l->shown);
	*l = (struct list){ 0 };
}

struct placed {
	float anchor, second; /* by the sorted figure, then by the other one */
	uint64_t path;
	uint32_t row;
};

static int compare_placed(const void *pa, const void *pb)
{
	const struct placed *a = pa, *b = pb;

	if (a->anchor != b->anchor)
		return a->anchor > b->anchor ? -1 : 1;
	if (a->second != b->second)
		return a->second > b->second ? -1 : 1;
	return a->path < b->path ? -1 : a->path > b->path;
}

/* The share of @weight, or @old where that is within the noise of @samples. */
static float settle(uint64_t whole, uint64_t whole_samples, uint64_t weight, uint64_t samples,
		    const float *old)
{
	float share = whole ? (float)((double)weight / (double)whole) : 0.0f;
	float noise;

	if (!old)
		return share;
	noise = whole_samples ? (float)(2.0 * sqrt((double)samples + 1.0) / (double)whole_samples)
			      : 0.0f;
	return fabsf(share - *old) > noise ? share : *old;
}

uint64_t list_count_of(enum list_count count, const struct answer *a, uint32_t row)
{
	const struct module_row *m = a->modules ? &a->modules[row] : NULL;

	if (!m || count == COUNT_NONE)
		return 0;
	if (count == COUNT_UNNAMED)
		return m->unnamed;
	return m->ends[STACK_BROKEN] + m->ends[STACK_CUT] + m->ends[STACK_DEEP];
}

/* By a count of samples, then by self. */
static struct placed place_by_count(const struct list *l, const struct answer *a, uint32_t index)
{
	const struct row *row = &a->rows[index];
	const uint64_t *bits = map_find(&l->anchors, row->path);
	struct placed p = { .path = row->path, .row = index };
	uint64_t count = list_count_of(l->by, a, index);
	float old[2] = { 0 };

	if (bits)
		memcpy(old, bits, sizeof(old));
	p.anchor = settle(a->samples, a->samples, count, count, bits ? &old[0] : NULL);
	p.second =
		settle(a->weight, a->samples, row->self, row->self_samples, bits ? &old[1] : NULL);
	return p;
}

static struct placed place(const struct list *l, const struct answer *a, uint32_t index)
{
	const struct row *row = &a->rows[index];
	const uint64_t *bits = map_find(&l->anchors, row->path);
	struct placed p = { .path = row->path, .row = index };
	float old[2] = { 0 }, self, total;

	if (bits)
		memcpy(old, bits, sizeof(old));
	self = settle(a->weight, a->samples, row->self, row->self_samples,
		      bits ? &old[!l->by_self] : NULL);
	total = settle(a->weight, a->samples, row->total, row->total_samples,
		       bits ? &old[l->by_self] : NULL);
	p.anchor = l->by_self ? self : total;
	p.second = l->by_self ? total : self;
	return p;
}

static int remember(struct map *anchors, const struct placed *p)
{
	const float both[2] = { p->anchor, p->second };
	uint64_t bits;

	memcpy(&bits, both, sizeof(bits));
	return map_set(anchors, p->path, bits);
}

struct walk {
	VEC(struct placed) siblings; /* a stack: the siblings of each level, the next one last */
	struct map anchors;
};

/* Pushes the siblings from @first on, sorted so that the first to show is popped first. */
static int push_siblings(struct list *l, const struct answer *a, struct walk *w, uint32_t first)
{
	size_t from = w->siblings.nr;

	for (uint32_t i = first; i != NONE; i = a->rows[i].next) {
		struct placed p = l->by ? place_by_count(l, a, i) : place(l, a, i);

		if (vec_push(&w->siblings, p) || remember(&w->anchors, &p))
			return -ENOMEM;
	}
	if (w->siblings.nr > from)
		qsort(w->siblings.at + from, w->siblings.nr - from, sizeof(struct placed),
		      compare_placed);
	for (size_t i = from, j = w->siblings.nr; i + 1 < j; i++) {
		struct placed p = w->siblings.at[i];

		w->siblings.at[i] = w->siblings.at[--j];
		w->siblings.at[j] = p;
	}
	return 0;
}

static int build_order(struct list *l, const struct answer *a)
{
	struct walk w = { 0 };
	int err;

	vec_clear(&l->order);
	err = a->nr_rows ? push_siblings(l, a, &w, a->first) : 0;
	while (!err && w.siblings.nr) {
		uint32_t i = w.siblings.at[--w.siblings.nr].row;

		err = vec_push(&l->order, i);
		if (!err)
			err = push_siblings(l, a, &w, a->rows[i].first_child);
	}
	vec_done(&w.siblings);
	if (err) {
		map_done(&w.anchors);
		vec_clear(&l->order);
		return err;
	}
	map_done(&l->anchors);
	l->anchors = w.anchors;
	return 0;
}

static void keep_cursor(struct list *l, const struct answer *a)
{
	if (!l->pinned) {
		l->cursor = 0;
		return;
	}
	for (size_t i = 0; i < l->shown.nr; i++) {
		if (a->rows[l->shown.at[i]].path == l->path) {
			l->cursor = i;
			return;
		}
	}
	/* Its row is not there: the same line meanwhile; when the row comes back, the cursor does.
	 */
	if (l->cursor >= l->shown.nr)
		l->cursor = l->shown.nr ? l->shown.nr - 1 : 0;
}

int list_refold(struct list *l, const struct answer *a)
{
	uint32_t closed = NONE; /* depth of the closed row whose inside is being skipped */

	vec_clear(&l->shown);
	if (vec_reserve(&l->shown, l->order.nr))
		return -ENOMEM;
	for (size_t i = 0; i < l->order.nr; i++) {
		const struct row *row = &a->rows[l->order.at[i]];

		if (closed != NONE && row->depth > closed)
			continue;
		closed = list_open(l, row) ? NONE : row->depth;
		l->shown.at[l->shown.nr++] = l->order.at[i];
	}
	keep_cursor(l, a);
	return 0;
}

int list_update(struct list *l, const struct answer *a)
{
	int err = build_order(l, a);

	if (err) {
		vec_clear(&l->shown);
		return err;
	}
	return list_refold(l, a);
}

void list_resort(struct list *l)
{
	map_done(&l->anchors);
}

const struct row *list_row(const struct list *l, const struct answer *a)
{
	return l->cursor < l->shown.nr ? &a->rows[l->shown.at[l->cursor]] : NULL;
}

void list_go(struct list *l, const struct answer *a, size_t line)
{
	const struct row *row;

	if (!l->shown.nr)
		return;
	l->cursor = line < l->shown.nr ? line : l->shown.nr - 1;
	row = list_row(l, a);
	l->pinned = true;
	l->path = row->path;
}

void list_move(struct list *l, const struct answer *a, long lines)
{
	if (lines < 0 && (size_t)-lines > l->cursor)
		list_go(l, a, 0);
	else
		list_go(l, a, l->cursor + (size_t)lines);
}

bool list_seek(struct list *l, const struct answer *a, uint64_t path)
{
	for (size_t i = 0; i < l->shown.nr; i++) {
		if (a->rows[l->shown.at[i]].path == path) {
			list_go(l, a, i);
			return true;
		}
	}
	return false;
}

bool list_open(const struct list *l, const struct row *row)
{
	return l->all != (map_find(&l->flipped, row->path) != NULL);
}

int list_set_open(struct list *l, uint64_t path, bool open)
{
	if (open == l->all) {
		map_remove(&l->flipped, path);
		return 0;
	}
	return map_set(&l->flipped, path, 1);
}

void list_set_all(struct list *l, bool open)
{
	l->all = open;
	map_done(&l->flipped);
}

int list_reveal(struct list *l, const struct answer *a, uint32_t index)
{
	for (uint32_t i = a->rows[index].parent; i != NONE; i = a->rows[i].parent) {
		int err = list_set_open(l, a->rows[i].path, true);

		if (err)
			return err;
	}
	return list_refold(l, a);
}

void list_scroll(struct list *l, size_t lines)
{
	if (!lines)
		return;
	if (l->cursor < l->top)
		l->top = l->cursor;
	else if (l->cursor >= l->top + lines)
		l->top = l->cursor - lines + 1;
	if (l->top + lines > l->shown.nr)
		l->top = l->shown.nr > lines ? l->shown.nr - lines : 0;
}
