/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording holds the buffers of several CPUs one after the other, each in order of time, again
 * and again.  Whether or not records tell their CPU, a step back in time begins another buffer; it
 * goes on with the source whose last record is the latest of those before it, so that each source
 * of the order stays sorted and merging is cheap.
 *
 * FINISHED_ROUND: the recorder had been at all buffers once more; nothing can come any more from
 * before the latest time of the round before.  That is the bound, and all the memory it needs is
 * two rounds of records.  Recordings without rounds (pipes of old, results of tools) are held until
 * their end; past PENDING_MOST the earlier half of the time held leaves, which is right unless
 * buffers were further apart than that.
 *
 * Records without a time (made up by the recorder from /proc) apply at once.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "recording_impl.h"

enum {
	SOURCES_LEAST = 16,
	SOURCES_MOST = 1024,
	EVENTS_TOLD_APART = 255, /* ids of events in the store are bytes; the last means any */
};

#define PENDING_MOST ((size_t)256 << 20)

static void on_record(void *ctx, const struct record *record)
{
	struct recording *r = ctx;

	rnames_saw(r, record);
	if (r->each)
		r->each(r, record);
}

int feed_init(struct recording *r)
{
	uint32_t nr = 2 * perfdata_facts(r->pd)->nr_cpus;
	struct pipeline_config config = {
		.history_bytes = r->options->history_bytes ? r->options->history_bytes
							   : SIZE_MAX / 2,
		.own_pid = -1,
		.max_stack = 127,
		.full_names = r->options->full_names || r->options->format == FORMAT_SCRIPT,
		.on_record = on_record,
		.ctx = r,
	};

	nr = nr < SOURCES_LEAST ? SOURCES_LEAST : nr > SOURCES_MOST ? SOURCES_MOST : nr;
	config.nr_sources = r->feed.nr_sources = nr + 1; /* the last for records without a time */
	r->feed.last_ns = calloc(nr + 1, sizeof(*r->feed.last_ns));
	if (!r->feed.last_ns || pipeline_init(&r->pipeline, &config))
		return -ENOMEM;
	order_ties_by_arrival(r->pipeline.order);
	for (uint32_t i = 0; i <= nr; i++)
		order_bound(r->pipeline.order, i, 0);
	return 0;
}

void feed_done(struct recording *r)
{
	if (r->pipeline.p)
		pipeline_done(&r->pipeline);
	free(r->feed.last_ns);
	vec_done(&r->kinds);
	vec_done(&r->samples);
	map_done(&r->counts);
}

/* A step back in time: the source that can go on with @time_ns. */
static uint32_t source_for(const struct feed *f, uint64_t time_ns)
{
	uint32_t best = UINT32_MAX, lowest = 0;

	for (uint32_t i = 0; i < f->nr_sources - 1; i++) {
		if (f->last_ns[i] < f->last_ns[lowest])
			lowest = i;
		if (f->last_ns[i] <= time_ns &&
		    (best == UINT32_MAX || f->last_ns[i] > f->last_ns[best]))
			best = i;
	}
	return best != UINT32_MAX ? best : lowest;
}

/* Lets everything up to @time_ns leave. */
static void release(struct recording *r, uint64_t time_ns)
{
	struct feed *f = &r->feed;

	if (time_ns > f->bound_ns) {
		f->bound_ns = time_ns;
		for (uint32_t i = 0; i < f->nr_sources; i++)
			order_bound(r->pipeline.order, i, time_ns);
	}
	pipeline_work(&r->pipeline, UINT64_MAX);
}

/* The kind of records of an event, made at its first record; -1 without memory. */
static int kind_of(struct recording *r, const struct perfdata_record *rec)
{
	size_t event = rec->event < 0 ? 0 : (size_t)rec->event;
	const struct perfdata_event *e = perfdata_event(r->pd, event);
	struct record_kind kind = { .layout = e->layout };

	while (r->kinds.nr <= event)
		if (vec_push(&r->kinds, -1))
			return -1;
	if (r->kinds.at[event] >= 0)
		return r->kinds.at[event];
	kind.event = (uint8_t)(event < EVENTS_TOLD_APART ? event : EVENTS_TOLD_APART - 1);
	kind.weight = e->by_frequency ? 0 : e->sample_period;
	r->kinds.at[event] = pipeline_kind(&r->pipeline, &kind);
	return r->kinds.at[event];
}

static int count_sample(struct recording *r, const struct perfdata_record *rec)
{
	while (r->samples.nr <= (size_t)rec->event)
		if (vec_push(&r->samples, 0))
			return -ENOMEM;
	r->samples.at[rec->event]++;
	if (!(rec->sid.have & PERF_SAMPLE_TIME))
		return 0;
	if (!r->timed || rec->sid.time_ns < r->first_ns)
		r->first_ns = rec->sid.time_ns;
	if (!r->timed || rec->sid.time_ns > r->last_ns)
		r->last_ns = rec->sid.time_ns;
	r->timed = true;
	return 0;
}

static int push(struct recording *r, const struct perfdata_record *rec)
{
	struct feed *f = &r->feed;
	uint64_t time_ns = rec->sid.have & PERF_SAMPLE_TIME ? rec->sid.time_ns : 0;
	int kind = kind_of(r, rec);

	if (kind < 0)
		return -ENOMEM;
	if (!time_ns || time_ns == UINT64_MAX) {
		pipeline_push(&r->pipeline, f->nr_sources - 1, f->bound_ns, rec->bytes, rec->size,
			      kind);
		pipeline_work(&r->pipeline, UINT64_MAX);
		return 0;
	}
	if (time_ns < f->last_ns[f->source])
		f->source = source_for(f, time_ns);
	f->last_ns[f->source] = time_ns;
	if (time_ns > f->most_ns)
		f->most_ns = time_ns;
	pipeline_push(&r->pipeline, f->source, time_ns, rec->bytes, rec->size, kind);
	if (order_pending_bytes(r->pipeline.order) > PENDING_MOST) {
		f->cut++;
		release(r, f->bound_ns + (f->most_ns - f->bound_ns) / 2);
	}
	return 0;
}

static int take(struct recording *r, const struct perfdata_record *rec)
{
	struct feed *f = &r->feed;

	if (rec->type == PERFDATA_FINISHED_ROUND) {
		release(r, f->round_ns);
		f->round_ns = f->most_ns;
		return 0;
	}
	if (rec->type >= PERFDATA_FIRST)
		return 0;
	if (rec->type == RECORD_SAMPLE && rec->event < 0) {
		r->no_event++;
		return 0;
	}
	if (rec->type == RECORD_SAMPLE && count_sample(r, rec))
		return -ENOMEM;
	return push(r, rec);
}

int feed_all(struct recording *r)
{
	struct perfdata_record rec;
	int got, err = 0;

	while (!err && (got = perfdata_next(r->pd, &rec)) > 0)
		err = take(r, &rec);
	if (!err && got == -ENOMEM)
		err = got;
	release(r, UINT64_MAX);
	return err;
}
