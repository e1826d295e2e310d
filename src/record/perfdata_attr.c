/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * struct perf_event_attr by offsets, not by a C structure: it has grown since, and its flags are C
 * bit-fields, which a big-endian compiler lays out from the other end.
 *
 * Which event a record is of stands in the record, at a place that depends on the event.  Where all
 * events place it alike, or have PERF_SAMPLE_IDENTIFIER, it is read once; else each layout is tried
 * and the one whose id belongs to an event of that layout is right.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include "record/decode.h"
#include "record/perfdata_impl.h"

/* Byte offsets in perf_event_attr; those not in a shorter attr count as zero. */
enum {
	ATTR_TYPE = 0,
	ATTR_SIZE = 4,
	ATTR_CONFIG = 8,
	ATTR_SAMPLE_PERIOD = 16,
	ATTR_SAMPLE_TYPE = 24,
	ATTR_READ_FORMAT = 32,
	ATTR_FLAGS = 40,
	ATTR_CONFIG1 = 56,
	ATTR_CONFIG2 = 64,
	ATTR_BRANCH_SAMPLE_TYPE = 72,
	ATTR_REGS_USER = 80,
	ATTR_CLOCKID = 92,
	ATTR_REGS_INTR = 96,
};

enum {
	FLAG_FREQ = 1u << 10,
	FLAG_SAMPLE_ID_ALL = 1u << 18,
	FLAG_USE_CLOCKID = 1u << 25,
	PRECISE_SHIFT = 15, /* two bits */
};

static uint64_t word_at(const struct perfdata *pd, const uint8_t *bytes, size_t size, size_t at)
{
	struct cursor c;
	uint64_t x = 0;

	if (at + 8 <= size) {
		c = cursor_of(bytes + at, 8, pd->swap);
		(void)cursor_u64(&c, &x);
	}
	return x;
}

static uint32_t half_at(const struct perfdata *pd, const uint8_t *bytes, size_t size, size_t at)
{
	struct cursor c;
	uint32_t x = 0;

	if (at + 4 <= size) {
		c = cursor_of(bytes + at, 4, pd->swap);
		(void)cursor_u32(&c, &x);
	}
	return x;
}

static uint8_t bits_reversed(uint8_t x)
{
	uint8_t y = 0;

	for (int i = 0; i < 8; i++)
		y = (uint8_t)(y << 1 | ((x >> i) & 1));
	return y;
}

/* The flags with the first declared in bit 0, whatever machine wrote them. */
static uint64_t flags_of(const struct perfdata *pd, const uint8_t *bytes, uint32_t *ret_precise)
{
	uint64_t flags = 0;
	uint32_t precise;

	for (unsigned i = 0; i < 8; i++) {
		uint8_t byte = bytes[ATTR_FLAGS + i];

		flags |= (uint64_t)(pd->big_endian ? bits_reversed(byte) : byte) << (8 * i);
	}
	precise = (uint32_t)(flags >> PRECISE_SHIFT) & 3;
	if (pd->big_endian) /* a field of two bits has its upper one first there */
		precise = (precise & 1) << 1 | precise >> 1;
	*ret_precise = precise;
	return flags;
}

bool attr_parse(const struct perfdata *pd, const uint8_t *bytes, size_t size,
		struct perfdata_event *ret)
{
	struct perfdata_event e = { 0 };

	if (size < ATTR_BYTES_LEAST)
		return false;
	e.type = half_at(pd, bytes, size, ATTR_TYPE);
	e.attr_size = half_at(pd, bytes, size, ATTR_SIZE);
	if (!e.attr_size)
		e.attr_size = ATTR_BYTES_LEAST;
	if (e.attr_size < ATTR_BYTES_LEAST)
		return false;
	if (size > e.attr_size)
		size = e.attr_size;
	e.config = word_at(pd, bytes, size, ATTR_CONFIG);
	e.config1 = word_at(pd, bytes, size, ATTR_CONFIG1);
	e.config2 = word_at(pd, bytes, size, ATTR_CONFIG2);
	e.sample_period = word_at(pd, bytes, size, ATTR_SAMPLE_PERIOD);
	e.flags = flags_of(pd, bytes, &e.precise);
	e.by_frequency = e.flags & FLAG_FREQ;
	e.use_clockid = e.flags & FLAG_USE_CLOCKID;
	e.clockid = (int32_t)half_at(pd, bytes, size, ATTR_CLOCKID);
	e.layout = (struct layout){
		.sample_type = word_at(pd, bytes, size, ATTR_SAMPLE_TYPE),
		.read_format = word_at(pd, bytes, size, ATTR_READ_FORMAT),
		.branch_sample_type = word_at(pd, bytes, size, ATTR_BRANCH_SAMPLE_TYPE),
		.regs_user = word_at(pd, bytes, size, ATTR_REGS_USER),
		.regs_intr = word_at(pd, bytes, size, ATTR_REGS_INTR),
		.sample_id_all = e.flags & FLAG_SAMPLE_ID_ALL,
		.swap = pd->swap,
	};
	*ret = e;
	return true;
}

/* Whether ids stand at the same places in records of both. */
static bool same_places(const struct layout *a, const struct layout *b)
{
	const uint64_t fields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;

	return (a->sample_type & fields) == (b->sample_type & fields) &&
	       a->sample_id_all == b->sample_id_all;
}

/* Keeps one event of each way to place ids. */
static int add_place(struct perfdata *pd)
{
	const struct layout *last = &pd->events.at[pd->events.nr - 1].layout;

	for (size_t i = 0; i < pd->places.nr; i++)
		if (same_places(&pd->events.at[pd->places.at[i]].layout, last))
			return 0;
	return vec_push(&pd->places, pd->events.nr - 1);
}

int event_add(struct perfdata *pd, const struct perfdata_event *e)
{
	bool identified = e->layout.sample_type & PERF_SAMPLE_IDENTIFIER;

	if (pd->events.nr >= PERFDATA_EVENTS_MAX)
		return -E2BIG;
	if (vec_push(&pd->events, *e) || add_place(pd))
		return -ENOMEM;
	pd->same_layout = pd->events.nr == 1 ||
			  (pd->same_layout && same_places(&pd->events.at[0].layout, &e->layout));
	pd->identified = identified && (pd->events.nr == 1 || pd->identified);
	pd->last_event = -1;
	return (int)pd->events.nr - 1;
}

int event_add_id(struct perfdata *pd, uint64_t id, size_t event)
{
	struct perfdata_event *e = &pd->events.at[event];

	if (!id || map_find(&pd->ids, id))
		return 0;
	if (!e->first_id)
		e->first_id = id;
	pd->last_event = -1;
	return map_set(&pd->ids, id, event);
}

int event_set_name(struct perfdata *pd, size_t event, const uint8_t *text, size_t size)
{
	struct perfdata_event *e = &pd->events.at[event];
	size_t len = strnlen((const char *)text, size);
	char *name;

	if (!len)
		return 0;
	name = strndup((const char *)text, len);
	if (!name)
		return -ENOMEM;
	free(e->name);
	e->name = name;
	return 0;
}

int perfdata_event_of(const struct perfdata *pd, uint64_t id)
{
	const uint64_t *event = map_find(&pd->ids, id);

	return event ? (int)*event : -1;
}

/* perf gives what has no id to the first event: files of one event often have none at all. */
static int event_of_id(struct perfdata *pd, uint64_t id)
{
	int event;

	if (!id || pd->events.nr == 1)
		return 0;
	if (pd->last_event >= 0 && pd->last_id == id)
		return pd->last_event;
	event = perfdata_event_of(pd, id);
	if (event >= 0) {
		pd->last_event = event;
		pd->last_id = id;
	}
	return event;
}

/* The place of the id differs from event to event: the reading that finds its own event. */
static int event_by_trial(struct perfdata *pd, const struct perfdata_record *r)
{
	struct sample_id sid;
	uint32_t type;

	for (size_t i = 0; i < pd->places.nr; i++) {
		const struct layout *l = &pd->events.at[pd->places.at[i]].layout;
		int event;

		if (record_peek(l, r->bytes, r->size, &type, &sid) || !sid.id)
			continue;
		event = perfdata_event_of(pd, sid.id);
		if (event >= 0 && same_places(l, &pd->events.at[event].layout))
			return event;
	}
	return -1;
}

bool event_find(struct perfdata *pd, struct perfdata_record *r)
{
	const struct perfdata_event *first = pd->events.at;
	uint32_t type;
	int event;

	if (!pd->events.nr)
		return false;
	r->layout = &first->layout;
	r->event = 0;
	if (!pd->same_layout && !pd->identified) {
		event = event_by_trial(pd, r);
		if (event >= 0) {
			r->event = event;
			r->layout = &first[event].layout;
			return !record_peek(r->layout, r->bytes, r->size, &type, &r->sid);
		}
		return !record_peek(r->layout, r->bytes, r->size, &type, &r->sid);
	}
	if (record_peek(r->layout, r->bytes, r->size, &type, &r->sid))
		return false;
	event = event_of_id(pd, r->sid.id);
	if (event < 0) {
		r->event = r->type == RECORD_SAMPLE ? -1 : 0;
		return true;
	}
	r->event = event;
	r->layout = &first[event].layout;
	return pd->same_layout || !record_peek(r->layout, r->bytes, r->size, &type, &r->sid);
}
