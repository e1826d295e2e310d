/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "space/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct maps *maps_share(struct maps *m)
{
	if (m)
		m->refs++;
	return m;
}

void maps_drop(struct maps *m)
{
	if (m && !--m->refs)
		free(m);
}

size_t maps_bytes(const struct maps *m)
{
	return m ? sizeof(*m) + m->cap * sizeof(m->at[0]) : 0;
}

/* The first mapping that ends beyond @addr; nr where none does. */
static uint32_t maps_lower(const struct maps *m, uint64_t addr)
{
	uint32_t low = 0, high = m->nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (m->at[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct mapping *maps_find(const struct maps *m, uint64_t addr)
{
	uint32_t i;

	if (!m)
		return NULL;
	i = maps_lower(m, addr);
	return i < m->nr && m->at[i].start <= addr ? &m->at[i] : NULL;
}

bool maps_overlap(const struct maps *m, uint64_t start, uint64_t end, uint32_t but)
{
	for (uint32_t i = m ? maps_lower(m, start) : 0; m && i < m->nr && m->at[i].start < end; i++)
		if (m->at[i].image != but)
			return true;
	return false;
}

/* Makes *@m ours alone, with room for @wanted mappings. */
static int maps_own(struct maps **m, uint32_t wanted)
{
	struct maps *old = *m, *own;
	uint32_t cap = wanted < 8 ? 8 : wanted + wanted / 2;

	if (old && old->refs == 1 && old->cap >= wanted)
		return 0;
	if (old && old->refs == 1) {
		own = realloc(old, sizeof(*own) + cap * sizeof(own->at[0]));
		if (!own)
			return -ENOMEM;
	} else {
		own = malloc(sizeof(*own) + cap * sizeof(own->at[0]));
		if (!own)
			return -ENOMEM;
		own->refs = 1;
		own->nr = old ? old->nr : 0;
		if (own->nr)
			memcpy(own->at, old->at, own->nr * sizeof(own->at[0]));
		maps_drop(old);
	}
	own->cap = cap;
	*m = own;
	return 0;
}

static bool maps_has_image(const struct maps *m, uint32_t image)
{
	for (uint32_t i = 0; m && i < m->nr; i++) {
		if (m->at[i].image == image)
			return true;
	}
	return false;
}

static bool continues(const struct mapping *low, const struct mapping *high)
{
	return low->end == high->start && low->image == high->image &&
	       low->pgoff + (low->end - low->start) == high->pgoff;
}

static struct mapping cut_before(const struct mapping *m, uint64_t end)
{
	struct mapping left = *m;

	left.end = end;
	return left;
}

static struct mapping cut_after(const struct mapping *m, uint64_t start)
{
	struct mapping right = *m;

	right.pgoff += start - m->start;
	right.start = start;
	return right;
}

/*
 * Mappings [from, to) overlap the new one; they become at most: the part of the first before it,
 * itself, and the part of the last behind it.
 */
int maps_add(struct maps **m, const struct mapping *add, bool join, bool *ret_new_image)
{
	struct mapping fresh = *add, put[3];
	uint32_t from = 0, to = 0, nr = *m ? (*m)->nr : 0, nr_put = 0;
	bool new_image = !maps_has_image(*m, add->image);
	int err;

	if (nr >= MAPS_MAX)
		return -E2BIG;
	err = maps_own(m, nr + 2);
	if (err)
		return err;
	from = to = maps_lower(*m, fresh.start);
	while (to < nr && (*m)->at[to].start < fresh.end)
		to++;
	if (from < to && (*m)->at[from].start < fresh.start)
		put[nr_put++] = cut_before(&(*m)->at[from], fresh.start);
	else if (join && from > 0 && continues(&(*m)->at[from - 1], &fresh))
		put[nr_put++] = (*m)->at[--from];
	if (join && nr_put && continues(&put[0], &fresh))
		put[0].end = fresh.end;
	else
		put[nr_put++] = fresh;
	if (from < to && (*m)->at[to - 1].end > fresh.end)
		put[nr_put] = cut_after(&(*m)->at[to - 1], fresh.end);
	else if (join && to < nr && continues(&put[nr_put - 1], &(*m)->at[to]))
		put[nr_put] = (*m)->at[to++];
	else
		put[nr_put] = (struct mapping){ 0 };
	if (join && put[nr_put].end && continues(&put[nr_put - 1], &put[nr_put]))
		put[nr_put - 1].end = put[nr_put].end;
	else if (put[nr_put].end)
		nr_put++;
	memmove(&(*m)->at[from + nr_put], &(*m)->at[to], (nr - to) * sizeof(put[0]));
	memcpy(&(*m)->at[from], put, nr_put * sizeof(put[0]));
	(*m)->nr = nr - (to - from) + nr_put;
	*ret_new_image = new_image;
	return 0;
}
