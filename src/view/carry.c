/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/carry.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct carry {
	struct list *list;
	const struct answer *before, *now;
	const struct ui_names *names;
	struct map old, fresh; /* path -> row of each answer */
	uint64_t *moved; /* by old row: the path that takes its place; 0: as it was, or none */
};

static int index_rows(struct map *m, const struct answer *a)
{
	for (size_t i = 0; i < a->nr_rows; i++)
		if (map_set(m, a->rows[i].path, i))
			return -ENOMEM;
	return 0;
}

static bool takes_place(const struct carry *c, const struct row *old, const struct row *fresh)
{
	struct ui_function was, is;

	if (fresh->function == NONE || map_find(&c->old, fresh->path))
		return false;
	c->names->function(c->names->ctx, fresh->function, &is);
	if (!is.named)
		return false;
	c->names->function(c->names->ctx, old->function, &was);
	return !strcmp(was.module, is.module);
}

static bool is_unnamed(const struct carry *c, const struct row *row)
{
	struct ui_function f;

	if (row->function == NONE)
		return false;
	c->names->function(c->names->ctx, row->function, &f);
	return !f.named && !f.pseudo;
}

/* The path of the row that takes the place of a row that is gone, below @parent; 0: none. */
static uint64_t successor(const struct carry *c, const struct row *old, const uint64_t *parent)
{
	uint32_t i = c->now->first;

	if (!is_unnamed(c, old))
		return 0;
	if (parent) {
		const uint64_t *row = map_find(&c->fresh, *parent);

		i = row ? c->now->rows[*row].first_child : NONE;
	}
	for (; i != NONE; i = c->now->rows[i].next)
		if (takes_place(c, old, &c->now->rows[i]))
			return c->now->rows[i].path;
	return 0;
}

static uint64_t moved_to(const struct carry *c, size_t i)
{
	const struct row *old = &c->before->rows[i];
	const struct row *parent = old->parent == NONE ? NULL : &c->before->rows[old->parent];

	if (parent && c->moved[old->parent]) {
		uint64_t path = c->moved[old->parent], renamed;

		renamed = successor(c, old, &path);
		return renamed ? renamed : query_path(path, old->function);
	}
	if (map_find(&c->fresh, old->path))
		return 0;
	return successor(c, old, parent ? &parent->path : NULL);
}

static void carry_row(const struct carry *c, const struct row *old, uint64_t path)
{
	struct list *l = c->list;

	if (map_find(&l->flipped, old->path) && map_set(&l->flipped, path, 1) == 0)
		map_remove(&l->flipped, old->path);
	if (l->pinned && l->path == old->path)
		l->path = path;
}

/* Whether any row that a person cared for is gone. */
static bool is_needed(const struct carry *c)
{
	for (size_t i = 0; i < c->before->nr_rows; i++) {
		uint64_t path = c->before->rows[i].path;

		if ((map_find(&c->list->flipped, path) ||
		     (c->list->pinned && c->list->path == path)) &&
		    !map_find(&c->fresh, path))
			return true;
	}
	return false;
}

void carry_folds(struct list *l, const struct answer *before, const struct answer *now,
		 const struct ui_names *names)
{
	struct carry c = { .list = l, .before = before, .now = now, .names = names };

	if ((!l->flipped.nr && !l->pinned) || !before->nr_rows || !now->nr_rows ||
	    before->orientation != now->orientation || before->grouped != now->grouped ||
	    now->orientation == QUERY_MODULES)
		return;
	if (index_rows(&c.fresh, now) == 0 && is_needed(&c) && index_rows(&c.old, before) == 0)
		c.moved = calloc(before->nr_rows, sizeof(*c.moved));
	for (size_t i = 0; c.moved && i < before->nr_rows; i++) {
		c.moved[i] = moved_to(&c, i);
		if (c.moved[i])
			carry_row(&c, &before->rows[i], c.moved[i]);
	}
	free(c.moved);
	map_done(&c.old);
	map_done(&c.fresh);
}
