// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/chunk.h"
#include "profile/query.h"

void query_timeline(const struct store *s, const struct query *q, uint64_t *ret_buckets, size_t nr)
{
	struct chunks chunks = store_chunks(s);
	uint64_t span = q->to_ns - q->from_ns;

	memset(ret_buckets, 0, nr * sizeof(*ret_buckets));
	if (q->to_ns <= q->from_ns || !nr)
		return;
	for (size_t i = chunks_from(&chunks, q->from_ns); i < chunks.nr; i++) {
		const struct chunk *c = &chunks.at[i];

		if (c->max_ns < q->from_ns || c->min_ns >= q->to_ns)
			continue;
		for (uint32_t j = 0; j < c->nr; j++) {
			uint64_t t = c->base_ns + c->time[j];

			if (t < q->from_ns || t >= q->to_ns || c->flags[j] & q->hide ||
			    (q->event != QUERY_ANY_EVENT && c->event[j] != q->event))
				continue;
			t -= q->from_ns;
			ret_buckets[(size_t)((unsigned __int128)t * nr / span)] +=
				chunk_weight(c, j);
		}
	}
}

int timeline_init(struct timeline *t, size_t nr_buckets)
{
	uint64_t *ring = calloc(nr_buckets, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	*t = (struct timeline){ .ring = ring, .nr = nr_buckets };
	return 0;
}

void timeline_done(struct timeline *t)
{
	if (!t)
		return;
	free(t->ring);
	*t = (struct timeline){ 0 };
}

/* Number of the oldest bucket. */
static uint64_t first_of(const struct timeline *t)
{
	return t->last >= t->nr ? t->last - t->nr + 1 : 0;
}

/* Makes @last the newest bucket; those that come in are empty. */
static void advance(struct timeline *t, uint64_t last)
{
	if (last <= t->last)
		return;
	if (last - t->last >= t->nr) {
		memset(t->ring, 0, t->nr * sizeof(*t->ring));
	} else {
		for (uint64_t k = t->last + 1; k <= last; k++)
			t->ring[k % t->nr] = 0;
	}
	t->last = last;
}

/* Counts the samples of @c from index @from on. */
static void count(struct timeline *t, const struct chunk *c, uint32_t from)
{
	uint64_t first = first_of(t);
	uint64_t start = 1, end = 0;     /* of the bucket of the sample before, */
	uint64_t *at = NULL, beyond = 0; /* and where its sum is */

	for (uint32_t i = from; i < c->nr; i++) {
		uint64_t time = c->base_ns + c->time[i];

		if (c->flags[i] & t->hide ||
		    (t->event != QUERY_ANY_EVENT && c->event[i] != t->event))
			continue;
		if (time < start || time >= end) {
			uint64_t bucket = time / t->width_ns;
			bool shown = bucket >= first && bucket <= t->last;

			start = bucket * t->width_ns;
			end = start + t->width_ns;
			at = shown ? &t->ring[bucket % t->nr] : &beyond;
		}
		*at += chunk_weight(c, i);
	}
}

static bool same(const struct timeline *t, const struct chunks *c, uint8_t event, uint8_t hide,
		 uint64_t width_ns)
{
	return t->width_ns == width_ns && t->event == event && t->hide == hide &&
	       t->clears == c->clears;
}

void timeline_update(struct timeline *t, const struct store *s, uint8_t event, uint8_t hide,
		     uint64_t width_ns, uint64_t now_ns)
{
	struct chunks chunks = store_chunks(s);
	uint64_t newest = 0, seq;
	size_t i = chunks.nr;

	if (!same(t, &chunks, event, hide, width_ns)) {
		memset(t->ring, 0, t->nr * sizeof(*t->ring));
		t->width_ns = width_ns;
		t->event = event;
		t->hide = hide;
		t->clears = chunks.clears;
		t->last = 0;
		t->seen = 0;
	}
	while (i > 0 && chunks.at[i - 1].seq + chunks.at[i - 1].nr > t->seen) {
		i--;
		if (chunks.at[i].max_ns > newest)
			newest = chunks.at[i].max_ns;
	}
	advance(t, (newest > now_ns ? newest : now_ns) / width_ns);
	for (; i < chunks.nr; i++) {
		const struct chunk *c = &chunks.at[i];

		seq = c->seq + c->nr;
		if (c->max_ns / width_ns >= first_of(t))
			count(t, c, t->seen > c->seq ? (uint32_t)(t->seen - c->seq) : 0);
		t->seen = seq;
	}
}

uint64_t timeline_bucket(const struct timeline *t, size_t i)
{
	uint64_t back = t->nr - 1 - i;

	return back > t->last ? 0 : t->ring[(t->last - back) % t->nr];
}

uint64_t timeline_bucket_ns(const struct timeline *t, size_t i)
{
	uint64_t back = t->nr - 1 - i;

	return back > t->last ? 0 : (t->last - back) * t->width_ns;
}
