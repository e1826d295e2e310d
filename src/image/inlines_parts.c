/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/inlines_parts.h"

#include <errno.h>
#include <string.h>

/* The first part that ends after @vaddr. */
static size_t part_after(const struct inlines_parts *p, uint64_t vaddr)
{
	size_t from = 0, nr = p->at.nr;

	while (nr > 0) {
		size_t half = nr / 2;

		if (p->at.at[from + half].end <= vaddr) {
			from += half + 1;
			nr -= half + 1;
		} else {
			nr = half;
		}
	}
	return from;
}

struct inlines_part *parts_find(const struct inlines_parts *p, uint64_t vaddr)
{
	size_t i = part_after(p, vaddr);

	return i < p->at.nr && p->at.at[i].start <= vaddr ? &p->at.at[i] : NULL;
}

static int insert_part(struct inlines_parts *p, size_t at, struct inlines_part part)
{
	if (vec_reserve(&p->at, p->at.nr + 1) != 0)
		return -ENOMEM;
	memmove(&p->at.at[at + 1], &p->at.at[at], (p->at.nr - at) * sizeof(p->at.at[0]));
	p->at.at[at] = part;
	p->at.nr++;
	return 0;
}

int parts_add(struct inlines_parts *p, uint64_t start, uint64_t end, struct inlines_table *table)
{
	size_t at = part_after(p, start);
	int err = 0;

	while (err == 0 && start < end) {
		uint64_t next = at < p->at.nr ? p->at.at[at].start : UINT64_MAX;
		uint64_t until = next < end ? next : end;

		if (start < until)
			err = insert_part(p, at++, (struct inlines_part){ start, until, table });
		start = at < p->at.nr ? p->at.at[at].end : end;
		at++;
	}
	return err;
}

void parts_drop(struct inlines_parts *p, const struct inlines_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->at.nr; i++) {
		if (p->at.at[i].table != table)
			p->at.at[kept++] = p->at.at[i];
	}
	p->at.nr = kept;
}
