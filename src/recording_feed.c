/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is read of a recording (recording_read.c) goes through the pipeline.  A recording that is
 * played leaves only as far as was asked for.  Names are read meanwhile: where too many samples
 * wait for them, so does the reading.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "clock.h"
#include "recording_impl.h"
#include "recording_shares.h"

#define HISTORY_LEAST ((size_t)256 << 20)

enum {
	EVENTS_TOLD_APART = 255, /* ids of events in the store are bytes; the last means any */
};

static void on_record(void *ctx, const struct record *record)
{
	struct recording *r = ctx;

	if ((record->sid.have & PERF_SAMPLE_TIME) && record->sid.time_ns > r->done_ns &&
	    record->sid.time_ns != UINT64_MAX)
		r->done_ns = record->sid.time_ns;
	rnames_saw(r, record);
	if (r->each)
		r->each(r, record);
}

/* The byte that stands for an event in the store: past what can be told apart, all are one. */
static uint8_t event_id(size_t event)
{
	return (uint8_t)(event < EVENTS_TOLD_APART ? event : EVENTS_TOLD_APART - 1);
}

static int count_event(struct recording *r, size_t event)
{
	while (r->samples.nr <= event)
		if (vec_push(&r->samples, 0))
			return -ENOMEM;
	r->samples.at[event]++;
	return 0;
}

/* A sample with the counts of its group: of each member whose count has grown. */
static void on_counts(void *ctx, const struct record *record, uint8_t event,
		      struct sample_shares *ret)
{
	struct recording *r = ctx;
	struct share shares[SHARES_MOST];
	int of = record->sid.id ? perfdata_event_of(r->pd, record->sid.id) : event;
	size_t nr;

	if (!shares_differ(r->pd, of))
		return;
	nr = shares_of(&r->stored_counts, r->pd, record, of, shares, SHARES_MOST);
	ret->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		ret->at[i].event = event_id((size_t)shares[i].event);
		ret->at[i].weight = shares[i].period;
		(void)count_event(r, (size_t)shares[i].event);
	}
}

/* The kind of records of an event, made at its first record; -1 without memory. */
static int kind_of(struct recording *r, size_t event)
{
	const struct perfdata_event *e;
	struct record_kind kind = { 0 };

	if (event < r->kinds.nr && r->kinds.at[event] >= 0)
		return r->kinds.at[event];
	while (r->kinds.nr <= event)
		if (vec_push(&r->kinds, -1))
			return -1;
	e = perfdata_event(r->pd, event);
	kind.layout = e->layout;
	kind.event = event_id(event);
	kind.weight = e->by_frequency ? 0 : e->sample_period;
	r->kinds.at[event] = pipeline_kind(&r->pipeline, &kind);
	return r->kinds.at[event];
}

/* The next record that was read, told to the pipeline. */
static bool next_record(void *ctx, struct ordered *ret)
{
	struct recording *r = ctx;
	size_t event;
	bool is_sample;
	int kind;

	while (reading_next(r->reading, ret, &event, &is_sample)) {
		kind = kind_of(r, event);
		if (is_sample && !shares_differ(r->pd, (int)event) && count_event(r, event))
			kind = -1;
		if (kind >= 0) {
			ret->tag = (uint32_t)kind;
			return true;
		}
		r->pipeline.counts.failed++;
	}
	return false;
}

/* What the history may take where nobody said: a recording is there to be seen whole. */
static size_t history_of(const struct options *o)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	size_t quarter = pages > 0 && page > 0 ? (size_t)pages / 4 * (size_t)page : 0;

	if (o->history_bytes)
		return o->history_bytes;
	return quarter > HISTORY_LEAST ? quarter : HISTORY_LEAST;
}

int feed_init(struct recording *r, const struct recording_helpers *with)
{
	struct pipeline_config config = {
		.nr_sources = reading_sources(r->pd),
		.history_bytes = history_of(r->options),
		.own_pid = -1,
		.max_stack = 127,
		.full_names = r->options->full_names || r->options->format == FORMAT_SCRIPT,
		.inlined = !r->options->no_inline && r->options->format != FORMAT_SCRIPT,
		.loader = with->loader,
		.cache = with->cache,
		.debuginfod = with->debuginfod,
		.patient = true,
		.next = next_record,
		.on_record = on_record,
		.on_counts = on_counts,
		.ctx = r,
	};

	r->fd = perfdata_dont_wait(r->pd);
	if (pipeline_init(&r->pipeline, &config))
		return -ENOMEM;
	r->reading = reading_new(r->pd, r->pipeline.order);
	return r->reading ? 0 : -ENOMEM;
}

void feed_done(struct recording *r)
{
	reading_free(r->reading);
	if (r->pipeline.p)
		pipeline_done(&r->pipeline);
	vec_done(&r->kinds);
	vec_done(&r->samples);
	map_done(&r->counts);
	map_done(&r->stored_counts);
}

/* All that will ever be asked for has left: what still waits for names is stored as it is. */
static enum feed_state end(struct recording *r)
{
	if (order_pending(r->pipeline.order) || images_wanting(r->pipeline.images))
		return FEED_WAITS;
	pipeline_flush(&r->pipeline);
	return FEED_END;
}

/* While nothing reads. */
static void see_reading(struct recording *r)
{
	const struct read_state *read = reading_state(r->reading);

	r->pipeline.counts.failed += read->dropped - r->dropped;
	r->dropped = read->dropped;
	if (read->ended && !r->finished) {
		r->finished = true;
		rnames_finish(r);
	}
}

/* Applies what is read, as long as there is some, and the time.  False: the time is up. */
static bool apply(struct recording *r, uint64_t limit_ns, uint64_t until_ns)
{
	bool late;

	r->idle = false;
	reading_begin(r->reading, limit_ns);
	do {
		late = pipeline_work(&r->pipeline, until_ns);
		if (late || pipeline_crowded(&r->pipeline))
			break;
		pipeline_forget(&r->pipeline);
		r->idle = !reading_turn_over(r->reading);
	} while (!r->idle);
	reading_wait(r->reading);
	see_reading(r);
	return !late;
}

enum feed_state feed_work(struct recording *r, uint64_t before_ns, uint64_t until_ns)
{
	/* Records at @before_ns itself belong to what comes next. */
	const uint64_t limit_ns = before_ns == UINT64_MAX ? before_ns : before_ns - 1;
	const struct read_state *read = reading_state(r->reading);

	for (;;) {
		if (!apply(r, limit_ns, until_ns))
			return FEED_MORE;
		if (pipeline_crowded(&r->pipeline))
			return FEED_WAITS;
		if (read->failed)
			return FEED_FAILED;
		if (read->ended)
			return end(r);
		if (read->known_ns >= before_ns)
			return FEED_WAITS;
		if (clock_ns() >= until_ns)
			return FEED_MORE;
		reading_more(r->reading, until_ns);
		if (read->dry)
			return FEED_WAITS;
	}
}

int feed_all(struct recording *r)
{
	struct pollfd ready[] = {
		{ .fd = images_fd(r->pipeline.images), .events = POLLIN },
		{ .fd = r->fd, .events = POLLIN },
	};
	enum feed_state state;

	do {
		state = feed_work(r, UINT64_MAX, UINT64_MAX);
		if (state == FEED_WAITS)
			poll(ready, reading_state(r->reading)->dry ? 2 : 1, 1000);
	} while (state != FEED_END && state != FEED_FAILED);
	return state == FEED_FAILED ? -ENOMEM : 0;
}

uint64_t feed_reached(const struct recording *r)
{
	const uint64_t bound_ns = reading_state(r->reading)->bound_ns;

	return r->idle ? bound_ns + (bound_ns != UINT64_MAX) : r->done_ns;
}
