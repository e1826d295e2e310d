/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each source has a queue of entries sorted by time; a heap of the sources by the time of their
 * first entry gives the earliest.  Pushing in order to a source that holds something appends and
 * touches nothing else.  A record out of order moves back past a few entries; one that would have
 * to move further goes to the strays, a heap of single entries, so that no order of times costs
 * more than a logarithm.  Among equal times the source decides, then a running number.
 *
 * Bytes that have to be copied lie in chunks, filled one after the other by all sources.  Records
 * leave in about the order in which they came, so chunks empty in about that order too; an empty
 * one is used again or freed.
 */
#include "record/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum {
	CHUNK_BYTES = 256 * 1024,
	SPARE_CHUNKS = 2,   /* kept beyond as many as are in use */
	MOVE_BACK_MAX = 16, /* entries a record moves back past before it is a stray */
	ROOM_KEPT = 1024,   /* entries an empty queue or heap may keep room for */
	AHEAD = 3,          /* entries whose records are fetched ahead */
};

struct chunk {
	struct lease lease; /* of the records inside that have not left; first */
	struct order *order;
	struct chunk *next; /* among the spare */
	uint32_t used;      /* bytes */
	uint32_t size;      /* bytes */
	unsigned char bytes[] __attribute__((aligned(8)));
};

struct entry {
	struct ordered rec;
	uint64_t seq;        /* order of pushing, over all sources */
	struct lease *lease; /* that the bytes are under */
};

/* A ring of entries, earliest at head. */
struct queue {
	struct entry *at;
	uint32_t head, nr, cap; /* cap is 0 or a power of two */
};

/* What the heap of sources knows of one. */
struct first {
	uint64_t time_ns;
	uint64_t tie; /* decides among equal times */
	uint32_t source;
};

struct bound {
	uint64_t time_ns;
	bool known;
};

struct order {
	uint32_t nr_sources;
	struct queue *queues; /* one a source */
	struct bound *bounds; /* one a source */
	struct first *heap;   /* sources whose queues are not empty */
	uint32_t nr_heap;
	VEC(struct entry) strays; /* a heap */
	struct queue late;        /* in the order of pushing */
	uint64_t least_bound_ns;  /* at most the least of bounds, exact unless stale */
	bool stale;
	bool by_arrival;       /* the running number alone decides among equal times */
	uint32_t nr_unbounded; /* sources without a bound so far */
	uint64_t popped_ns;    /* the latest time given out in order */
	uint64_t seq;
	uint64_t nr_late;
	size_t pending, pending_bytes;
	struct chunk *filling;
	struct lease *lent; /* of the record given out last, still borrowed */
	struct chunk *spare;
	uint32_t nr_spare, nr_in_use;
};

struct order *order_new(uint32_t nr_sources)
{
	struct order *o = calloc(1, sizeof(*o));
	size_t nr = nr_sources ? nr_sources : 1;

	if (!o)
		return NULL;
	o->nr_sources = o->nr_unbounded = nr_sources;
	o->stale = true;
	o->queues = calloc(nr, sizeof(*o->queues));
	o->bounds = calloc(nr, sizeof(*o->bounds));
	o->heap = calloc(nr, sizeof(*o->heap));
	if (!o->queues || !o->bounds || !o->heap) {
		order_free(o);
		return NULL;
	}
	return o;
}

void order_ties_by_arrival(struct order *o)
{
	o->by_arrival = true;
}

/*
 * Chunks.
 */

/* No record of a chunk is needed any more. */
static void chunk_ended(struct lease *lease)
{
	struct chunk *c = (struct chunk *)lease;
	struct order *o = c->order;

	if (c == o->filling) {
		c->used = 0;
		return;
	}
	o->nr_in_use--;
	if (c->size > CHUNK_BYTES || o->nr_spare >= o->nr_in_use + SPARE_CHUNKS) {
		free(c);
		return;
	}
	c->next = o->spare;
	o->spare = c;
	o->nr_spare++;
}

static struct chunk *chunk_take(struct order *o, uint32_t size)
{
	struct chunk *c = o->spare;

	if (c && size <= CHUNK_BYTES) {
		o->spare = c->next;
		o->nr_spare--;
	} else {
		size = size > CHUNK_BYTES ? size : (uint32_t)CHUNK_BYTES;
		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		c->size = size;
	}
	c->lease = (struct lease){ .ended = chunk_ended };
	c->order = o;
	c->used = 0;
	o->nr_in_use++;
	return c;
}

static inline void order_take_back(struct order *o)
{
	if (o->lent) {
		lease_end(o->lent);
		o->lent = NULL;
	}
}

/* A copy of @size bytes and the lease that it is under; NULL without memory. */
static const void *copy_take(struct order *o, const void *bytes, uint32_t size, struct lease **ret)
{
	struct chunk *c = o->filling;
	unsigned char *at;
	uint32_t room;

	if (size > UINT32_MAX - 8)
		return NULL;
	room = size ? (size + 7) & ~7u : 8;
	if (room > CHUNK_BYTES) {
		c = chunk_take(o, room);
	} else if (!c || room > c->size - c->used) {
		c = chunk_take(o, room);
		if (c)
			o->filling = c;
	}
	if (!c)
		return NULL;
	at = c->bytes + c->used;
	c->used += room;
	*ret = &c->lease;
	if (size)
		memcpy(at, bytes, size);
	return at;
}

/*
 * Queues.
 */

static inline struct entry *queue_at(const struct queue *q, uint32_t i)
{
	return &q->at[(q->head + i) & (q->cap - 1)];
}

static int queue_grow(struct queue *q)
{
	uint32_t cap = q->cap ? q->cap * 2 : 32;
	struct entry *at;

	if (q->cap > UINT32_MAX / 4)
		return -ENOMEM;
	at = malloc((size_t)cap * sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->nr; i++)
		at[i] = *queue_at(q, i);
	free(q->at);
	*q = (struct queue){ .at = at, .nr = q->nr, .cap = cap };
	return 0;
}

static inline int queue_room(struct queue *q)
{
	return q->nr < q->cap ? 0 : queue_grow(q);
}

static inline void queue_append(struct queue *q, const struct entry *e)
{
	*queue_at(q, q->nr++) = *e;
}

/* Takes the first entry out. */
static inline void queue_take(struct queue *q, struct entry *ret)
{
	*ret = *queue_at(q, 0);
	q->head++;
	q->nr--;
	if (q->nr > AHEAD) { /* they leave long after they came */
		const char *next = queue_at(q, AHEAD)->rec.bytes;

		__builtin_prefetch(next);
		__builtin_prefetch(next + 64);
	} else if (!q->nr && q->cap > ROOM_KEPT) {
		free(q->at);
		*q = (struct queue){ 0 };
	}
}

/*
 * Puts @e, earlier than the last entry, before all that are later.  *@ret_first: it is the first
 * one now.  False: that would move more than MOVE_BACK_MAX.
 */
static bool queue_insert(struct queue *q, const struct entry *e, bool *ret_first)
{
	uint32_t moved = 1, i;

	while (moved < q->nr && queue_at(q, q->nr - 1 - moved)->rec.time_ns > e->rec.time_ns) {
		if (++moved > MOVE_BACK_MAX)
			return false;
	}
	for (i = q->nr; i > q->nr - moved; i--)
		*queue_at(q, i) = *queue_at(q, i - 1);
	*queue_at(q, i) = *e;
	q->nr++;
	*ret_first = !i;
	return true;
}

/*
 * The heap of sources.
 */

static inline bool first_before(const struct first *a, const struct first *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->tie < b->tie);
}

static void heap_up(struct first *heap, uint32_t i, struct first x)
{
	while (i && first_before(&x, &heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = x;
}

/* Puts @x in the place of the first one. */
static void heap_replace(struct first *heap, uint32_t nr, struct first x)
{
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < nr) {
		if (child + 1 < nr)
			child += first_before(&heap[child + 1], &heap[child]);
		if (!first_before(&heap[child], &x))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = x;
}

/* The place of @e in the heap, as the first entry of its source. */
static inline struct first first_of(const struct order *o, const struct entry *e)
{
	return (struct first){ e->rec.time_ns, o->by_arrival ? e->seq : e->rec.source,
			       e->rec.source };
}

/* The first entry of @source has become earlier. */
static void heap_advance(struct order *o, struct first x)
{
	uint32_t i = 0;

	while (o->heap[i].source != x.source)
		i++;
	heap_up(o->heap, i, x);
}

/*
 * The heap of strays.
 */

static bool entry_before(const struct order *o, const struct entry *a, const struct entry *b)
{
	if (a->rec.time_ns != b->rec.time_ns)
		return a->rec.time_ns < b->rec.time_ns;
	if (!o->by_arrival && a->rec.source != b->rec.source)
		return a->rec.source < b->rec.source;
	return a->seq < b->seq;
}

static int stray_push(struct order *o, const struct entry *e)
{
	size_t i = o->strays.nr;

	if (vec_push(&o->strays, *e))
		return -ENOMEM;
	while (i && entry_before(o, e, &o->strays.at[(i - 1) / 2])) {
		o->strays.at[i] = o->strays.at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	o->strays.at[i] = *e;
	return 0;
}

static void stray_take(struct order *o, struct entry *ret)
{
	struct entry *at = o->strays.at;
	struct entry x = at[--o->strays.nr];
	size_t i = 0, child, nr = o->strays.nr;

	*ret = at[0];
	while ((child = 2 * i + 1) < nr) {
		if (child + 1 < nr && entry_before(o, &at[child + 1], &at[child]))
			child++;
		if (!entry_before(o, &at[child], &x))
			break;
		at[i] = at[child];
		i = child;
	}
	at[i] = x;
	if (!nr && o->strays.cap > ROOM_KEPT)
		vec_done(&o->strays);
}

static void queue_free(struct queue *q)
{
	for (uint32_t i = 0; i < q->nr; i++)
		lease_end(queue_at(q, i)->lease);
	free(q->at);
}

void order_free(struct order *o)
{
	if (!o)
		return;
	order_take_back(o);
	for (uint32_t i = 0; i < o->nr_sources && o->queues; i++)
		queue_free(&o->queues[i]);
	queue_free(&o->late);
	for (size_t i = 0; i < o->strays.nr; i++)
		lease_end(o->strays.at[i].lease);
	vec_done(&o->strays);
	while (o->spare) {
		struct chunk *next = o->spare->next;

		free(o->spare);
		o->spare = next;
	}
	free(o->filling);
	free(o->queues);
	free(o->bounds);
	free(o->heap);
	free(o);
}

/* Files the entry of @source where it belongs. */
static int order_file(struct order *o, uint32_t source, const struct entry *e)
{
	struct queue *q = e->rec.time_ns < o->popped_ns ? &o->late : &o->queues[source];
	bool first;

	if (queue_room(q))
		return -ENOMEM;
	if (q == &o->late) {
		queue_append(q, e);
		o->nr_late++;
		return 0;
	}
	if (!q->nr) {
		queue_append(q, e);
		heap_up(o->heap, o->nr_heap++, first_of(o, e));
		return 0;
	}
	if (e->rec.time_ns >= queue_at(q, q->nr - 1)->rec.time_ns) {
		queue_append(q, e);
		return 0;
	}
	if (!queue_insert(q, e, &first))
		return stray_push(o, e);
	if (first)
		heap_advance(o, first_of(o, e));
	return 0;
}

int order_push(struct order *o, uint32_t source, uint64_t time_ns, const void *bytes, uint32_t size,
	       uint32_t tag, struct lease *lease)
{
	struct entry e = {
		.rec = { time_ns, bytes, size, source, tag },
		.lease = lease,
	};

	order_take_back(o);
	if (source >= o->nr_sources)
		return -EINVAL;
	if (!lease)
		e.rec.bytes = copy_take(o, bytes, size, &e.lease);
	if (!e.rec.bytes)
		return -ENOMEM;
	e.seq = o->seq++;
	lease_take(e.lease);
	if (order_file(o, source, &e)) {
		lease_end(e.lease);
		return -ENOMEM;
	}
	o->pending++;
	o->pending_bytes += size;
	return 0;
}

void order_bound(struct order *o, uint32_t source, uint64_t time_ns)
{
	struct bound *b;

	order_take_back(o);
	if (source >= o->nr_sources)
		return;
	b = &o->bounds[source];
	if (!b->known) {
		b->known = true;
		o->nr_unbounded--;
	}
	if (time_ns > b->time_ns) {
		b->time_ns = time_ns;
		o->stale = true;
	}
}

/*
 * Whether a record of @time_ns may leave.  Bounds only rise, so the least one of earlier is good
 * enough for a yes, and is looked for again only where it says no.
 */
static bool order_may_leave(struct order *o, uint64_t time_ns)
{
	if (o->nr_unbounded)
		return false;
	if (o->stale && time_ns > o->least_bound_ns) {
		o->least_bound_ns = UINT64_MAX;
		for (uint32_t i = 0; i < o->nr_sources; i++) {
			if (o->bounds[i].time_ns < o->least_bound_ns)
				o->least_bound_ns = o->bounds[i].time_ns;
		}
		o->stale = false;
	}
	return time_ns <= o->least_bound_ns;
}

/* Takes the first entry of the first source. */
static void order_take_first(struct order *o, struct entry *ret)
{
	const uint32_t source = o->heap[0].source;
	struct queue *q = &o->queues[source];

	queue_take(q, ret);
	if (q->nr)
		heap_replace(o->heap, o->nr_heap, first_of(o, queue_at(q, 0)));
	else if (--o->nr_heap)
		heap_replace(o->heap, o->nr_heap, o->heap[o->nr_heap]);
}

/* Takes the earliest entry if it may leave. */
static bool order_take(struct order *o, struct entry *ret)
{
	const struct entry *stray = o->strays.nr ? o->strays.at : NULL;

	if (stray && o->nr_heap &&
	    entry_before(o, queue_at(&o->queues[o->heap[0].source], 0), stray))
		stray = NULL;
	if (!stray && !o->nr_heap)
		return false;
	if (!order_may_leave(o, stray ? stray->rec.time_ns : o->heap[0].time_ns))
		return false;
	if (stray)
		stray_take(o, ret);
	else
		order_take_first(o, ret);
	o->popped_ns = ret->rec.time_ns;
	return true;
}

bool order_pop_leased(struct order *o, struct ordered *ret, struct lease **ret_lease)
{
	struct entry e;

	order_take_back(o);
	if (o->late.nr)
		queue_take(&o->late, &e);
	else if (!order_take(o, &e))
		return false;
	o->pending--;
	o->pending_bytes -= e.rec.size;
	*ret = e.rec;
	*ret_lease = e.lease;
	return true;
}

bool order_pop(struct order *o, struct ordered *ret)
{
	struct lease *lease;

	if (!order_pop_leased(o, ret, &lease))
		return false;
	o->lent = lease;
	return true;
}

bool order_next_ns(const struct order *o, uint64_t *ret_ns)
{
	uint64_t next_ns = UINT64_MAX;

	if (o->nr_heap)
		next_ns = o->heap[0].time_ns;
	if (o->strays.nr && o->strays.at[0].rec.time_ns < next_ns)
		next_ns = o->strays.at[0].rec.time_ns;
	if (o->late.nr)
		next_ns = o->popped_ns;
	if (o->pending)
		*ret_ns = next_ns;
	return o->pending != 0;
}

uint64_t order_late(const struct order *o)
{
	return o->nr_late;
}

size_t order_pending(const struct order *o)
{
	return o->pending;
}

size_t order_pending_bytes(const struct order *o)
{
	return o->pending_bytes;
}
