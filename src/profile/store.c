// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A chunk's columns lie in one allocation, widest first, that doubles until the chunk is full and
 * is cut to its size when the next one begins.  Times are 32-bit nanoseconds from a base half a
 * second before the chunk's first sample, so that what comes a little late still fits.
 */
#include "profile/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "profile/chunk.h"

#define LATE_SLACK_NS (1u << 29)
#define FIRST_CAP 64u
#define MIN_CHUNK 256u
#define MAX_CHUNK 32768u
#define SAMPLE_BYTES 16u           /* of all columns but the weights */
#define MAX_CAP_BYTES (1ull << 35) /* so that counts of samples fit 32 bits */

struct store {
	VEC(struct chunk) chunks;
	size_t head; /* chunks before it are gone */
	size_t cap_bytes;
	size_t column_bytes;
	uint32_t chunk_samples;
	uint64_t count, dropped;
	uint64_t seq; /* samples ever added */
	uint64_t clears;
};

static size_t chunk_bytes(const struct chunk *c)
{
	return (size_t)c->cap * (SAMPLE_BYTES + (c->weights ? sizeof(*c->weights) : 0));
}

static void *chunk_memory(const struct chunk *c)
{
	return c->weights ? (void *)c->weights : (void *)c->time;
}

/* Points the columns of @c into @memory, for c->cap samples. */
static void chunk_place(struct chunk *c, void *memory, bool weights)
{
	size_t cap = c->cap;

	c->weights = weights ? memory : NULL;
	c->time = weights ? (uint32_t *)(c->weights + cap) : memory;
	c->stack = c->time + cap;
	c->task = c->stack + cap;
	c->cpu = (uint16_t *)(c->task + cap);
	c->event = (uint8_t *)(c->cpu + cap);
	c->flags = c->event + cap;
}

/* Moves the columns to a new allocation for @cap samples; once there are weights they stay. */
static int chunk_resize(struct store *s, struct chunk *c, uint32_t cap, bool weights)
{
	struct chunk new = *c;
	void *memory;

	new.cap = cap;
	memory = malloc((size_t)cap * (SAMPLE_BYTES + (weights ? sizeof(*c->weights) : 0)));
	if (!memory)
		return -ENOMEM;
	chunk_place(&new, memory, weights);
	if (c->nr) {
		memcpy(new.time, c->time, c->nr * sizeof(*c->time));
		memcpy(new.stack, c->stack, c->nr * sizeof(*c->stack));
		memcpy(new.task, c->task, c->nr * sizeof(*c->task));
		memcpy(new.cpu, c->cpu, c->nr * sizeof(*c->cpu));
		memcpy(new.event, c->event, c->nr);
		memcpy(new.flags, c->flags, c->nr);
	}
	if (weights) {
		for (uint32_t i = 0; i < c->nr; i++)
			new.weights[i] = chunk_weight(c, i);
	}
	s->column_bytes += chunk_bytes(&new);
	s->column_bytes -= chunk_bytes(c);
	free(chunk_memory(c));
	*c = new;
	return 0;
}

struct store *store_new(size_t cap_bytes)
{
	struct store *s = calloc(1, sizeof(*s));
	uint32_t samples = MAX_CHUNK;

	if (!s)
		return NULL;
	s->cap_bytes = cap_bytes < MAX_CAP_BYTES ? cap_bytes : MAX_CAP_BYTES;
	while (samples > MIN_CHUNK && (size_t)samples * SAMPLE_BYTES > s->cap_bytes / 32)
		samples /= 2;
	s->chunk_samples = samples;
	return s;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	store_clear(s);
	vec_done(&s->chunks);
	free(s);
}

void store_clear(struct store *s)
{
	for (size_t i = s->head; i < s->chunks.nr; i++)
		free(chunk_memory(&s->chunks.at[i]));
	vec_clear(&s->chunks);
	s->head = 0;
	s->column_bytes = 0;
	s->count = 0;
	s->clears++;
}

static void drop_oldest(struct store *s)
{
	struct chunk *c = &s->chunks.at[s->head++];

	s->count -= c->nr;
	s->dropped += c->nr;
	s->column_bytes -= chunk_bytes(c);
	free(chunk_memory(c));
}

/* Beyond the cap the oldest go; gone heads are moved out when they are half of the array. */
static void keep_cap(struct store *s)
{
	while (store_bytes(s) > s->cap_bytes && s->head + 1 < s->chunks.nr)
		drop_oldest(s);
	if (s->head > s->chunks.nr / 2) {
		s->chunks.nr -= s->head;
		memmove(s->chunks.at, s->chunks.at + s->head, s->chunks.nr * sizeof(*s->chunks.at));
		s->head = 0;
	}
}

/* Closes the newest chunk and begins one for a sample of @time_ns. */
static struct chunk *chunk_begin(struct store *s, uint64_t time_ns, uint64_t weight)
{
	struct chunk c = { .weight = weight, .min_ns = UINT64_MAX, .seq = s->seq };
	uint32_t cap = FIRST_CAP;

	if (s->chunks.nr > s->head) {
		struct chunk *last = &s->chunks.at[s->chunks.nr - 1];

		if (last->cap > last->nr) /* without memory its slack stays: no harm */
			chunk_resize(s, last, last->nr, last->weights != NULL);
		c.reach_ns = last->reach_ns;
		while (cap < last->nr)
			cap *= 2;
	}
	c.base_ns = time_ns > LATE_SLACK_NS ? time_ns - LATE_SLACK_NS : 0;
	if (vec_reserve(&s->chunks, s->chunks.nr + 1))
		return NULL;
	if (chunk_resize(s, &c, cap, false))
		return NULL;
	s->chunks.at[s->chunks.nr++] = c;
	keep_cap(s);
	return &s->chunks.at[s->chunks.nr - 1];
}

/* The chunk that takes a sample, with room for it; NULL without memory. */
static struct chunk *chunk_for(struct store *s, uint64_t time_ns, uint64_t weight)
{
	struct chunk *c = NULL;

	if (s->chunks.nr > s->head)
		c = &s->chunks.at[s->chunks.nr - 1];
	if (!c || c->nr == s->chunk_samples || time_ns < c->base_ns ||
	    time_ns - c->base_ns > UINT32_MAX)
		return chunk_begin(s, time_ns, weight);
	if (c->nr == c->cap || (!c->weights && c->weight != weight)) {
		bool weights = c->weights || c->weight != weight;

		if (chunk_resize(s, c, c->nr == c->cap ? c->cap * 2 : c->cap, weights))
			return NULL;
		keep_cap(s);
		c = &s->chunks.at[s->chunks.nr - 1];
	}
	return c;
}

int store_add(struct store *s, const struct stored *sample)
{
	struct chunk *c = NULL;
	uint32_t i;

	if (s->chunks.nr > s->head)
		c = &s->chunks.at[s->chunks.nr - 1];
	if (!c || c->nr == c->cap || sample->time_ns < c->base_ns ||
	    sample->time_ns - c->base_ns > UINT32_MAX ||
	    (!c->weights && c->weight != sample->weight)) {
		c = chunk_for(s, sample->time_ns, sample->weight);
		if (!c)
			return -ENOMEM;
	}
	i = c->nr++;
	if (c->weights)
		c->weights[i] = sample->weight;
	c->time[i] = (uint32_t)(sample->time_ns - c->base_ns);
	c->stack[i] = sample->stack == STACKS_FULL ? STACKS_NONE : sample->stack;
	c->task[i] = sample->task;
	c->cpu[i] = sample->cpu;
	c->event[i] = sample->event;
	c->flags[i] = sample->flags;
	c->flags_any |= sample->flags;
	c->events_differ |= sample->event != c->event[0];
	if (sample->time_ns < c->min_ns)
		c->min_ns = sample->time_ns;
	if (sample->time_ns > c->max_ns)
		c->max_ns = sample->time_ns;
	if (sample->time_ns > c->reach_ns)
		c->reach_ns = sample->time_ns;
	s->count++;
	s->seq++;
	return 0;
}

uint64_t store_count(const struct store *s)
{
	return s->count;
}

uint64_t store_dropped(const struct store *s)
{
	return s->dropped;
}

uint64_t store_oldest_ns(const struct store *s)
{
	uint64_t oldest = UINT64_MAX;

	for (size_t i = s->head; i < s->chunks.nr; i++) {
		if (s->chunks.at[i].min_ns < oldest)
			oldest = s->chunks.at[i].min_ns;
	}
	return oldest == UINT64_MAX ? 0 : oldest;
}

uint64_t store_newest_ns(const struct store *s)
{
	uint64_t newest = 0;

	for (size_t i = s->head; i < s->chunks.nr; i++) {
		if (s->chunks.at[i].max_ns > newest)
			newest = s->chunks.at[i].max_ns;
	}
	return newest;
}

size_t store_bytes(const struct store *s)
{
	return sizeof(*s) + s->column_bytes + s->chunks.cap * sizeof(*s->chunks.at);
}

void store_mark(const struct store *s, uint8_t *used, size_t nr_used, uint8_t *used_tasks,
		size_t nr_tasks)
{
	for (size_t i = s->head; i < s->chunks.nr; i++) {
		const struct chunk *c = &s->chunks.at[i];

		for (uint32_t j = 0; used && j < c->nr; j++) {
			if (c->stack[j] < nr_used)
				used[c->stack[j]] = 1;
		}
		for (uint32_t j = 0; used_tasks && j < c->nr; j++) {
			if (c->task[j] < nr_tasks)
				used_tasks[c->task[j]] = 1;
		}
	}
}

void store_rename(struct store *s, const uint32_t *stack_map, const uint32_t *task_map)
{
	for (size_t i = s->head; i < s->chunks.nr; i++) {
		struct chunk *c = &s->chunks.at[i];

		for (uint32_t j = 0; stack_map && j < c->nr; j++)
			c->stack[j] = stack_map[c->stack[j]];
		for (uint32_t j = 0; task_map && j < c->nr; j++)
			c->task[j] = task_map[c->task[j]];
	}
}

struct chunks store_chunks(const struct store *s)
{
	return (struct chunks){ s->chunks.at ? s->chunks.at + s->head : NULL,
				s->chunks.nr - s->head, s->clears };
}

size_t chunks_from(const struct chunks *c, uint64_t from_ns)
{
	size_t i = c->nr;

	while (i > 0 && c->at[i - 1].reach_ns >= from_ns)
		i--;
	return i;
}
