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

/* So few are put in one by one. */
#define FEW 16u

static void append(struct inlines_parts *p, uint64_t start, uint64_t end,
		   struct inlines_table *table)
{
	if (start < end)
		p->at.at[p->at.nr++] = (struct inlines_part){ start, end, table };
}

/* Both in one sweep over the addresses; @out has room for all. */
static void merge(const struct inlines_parts *p, const struct inlines_span *spans, uint32_t nr,
		  struct inlines_table *table, struct inlines_parts *out)
{
	uint64_t from = 0; /* up to here all is in @out */
	size_t i = 0;

	for (uint32_t s = 0; s < nr; s++) {
		from = spans[s].start > from ? spans[s].start : from;
		for (; i < p->at.nr && p->at.at[i].start < spans[s].end; i++) {
			const struct inlines_part *old = &p->at.at[i];

			append(out, from, old->start, table);
			append(out, old->start, old->end, old->table);
			from = old->end > from ? old->end : from;
		}
		append(out, from, spans[s].end, table);
		from = spans[s].end > from ? spans[s].end : from;
	}
	for (; i < p->at.nr; i++)
		append(out, p->at.at[i].start, p->at.at[i].end, p->at.at[i].table);
}

int parts_add_spans(struct inlines_parts *p, const struct inlines_span *spans, uint32_t nr,
		    struct inlines_table *table)
{
	struct inlines_parts out = { 0 };
	int err = 0;

	if (nr <= FEW) {
		for (uint32_t i = 0; i < nr && err == 0; i++)
			err = parts_add(p, spans[i].start, spans[i].end, table);
		return err;
	}
	/* What is there cuts a span at most once each. */
	if (vec_reserve(&out.at, 2 * p->at.nr + nr) != 0)
		return -ENOMEM;
	merge(p, spans, nr, table, &out);
	vec_done(&p->at);
	*p = out;
	return 0;
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
