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
 *
 * A recording that is played is read ahead, and leaves only as far as was asked for.  Names are
 * read meanwhile: where too many samples wait for them, so does the reading.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "recording_impl.h"
#include "recording_shares.h"

enum {
	SOURCES_LEAST = 16,
	SOURCES_MOST = 1024,
	EVENTS_TOLD_APART = 255, /* ids of events in the store are bytes; the last means any */
};

#define PENDING_MOST ((size_t)256 << 20)
#define HISTORY_LEAST ((size_t)256 << 20)
#define RECORDS_A_LOOK 64 /* between two looks at the clock */
#define UNTIMED_MOST 1024 /* read before they leave */

static void on_record(void *ctx, const struct record *record)
{
	struct recording *r = ctx;

	if ((record->sid.have & PERF_SAMPLE_TIME) && record->sid.time_ns > r->feed.done_ns &&
	    record->sid.time_ns != UINT64_MAX)
		r->feed.done_ns = record->sid.time_ns;
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
	uint32_t nr = 2 * perfdata_facts(r->pd)->nr_cpus;
	struct pipeline_config config = {
		.history_bytes = history_of(r->options),
		.own_pid = -1,
		.max_stack = 127,
		.full_names = r->options->full_names || r->options->format == FORMAT_SCRIPT,
		.inlined = !r->options->no_inline && r->options->format != FORMAT_SCRIPT,
		.loader = with->loader,
		.cache = with->cache,
		.debuginfod = with->debuginfod,
		.patient = true,
		.on_record = on_record,
		.on_counts = on_counts,
		.ctx = r,
	};

	nr = nr < SOURCES_LEAST ? SOURCES_LEAST : nr > SOURCES_MOST ? SOURCES_MOST : nr;
	config.nr_sources = r->feed.nr_sources = nr + 1; /* the last for records without a time */
	r->feed.fd = perfdata_dont_wait(r->pd);
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
	map_done(&r->stored_counts);
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

	if (time_ns <= f->bound_ns)
		return;
	f->bound_ns = time_ns;
	for (uint32_t i = 0; i < f->nr_sources; i++)
		order_bound(r->pipeline.order, i, time_ns);
}

/* The kind of records of an event, made at its first record; -1 without memory. */
static int kind_of(struct recording *r, const struct perfdata_record *rec)
{
	size_t event = rec->event < 0 ? 0 : (size_t)rec->event;
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

static int count_sample(struct recording *r, const struct perfdata_record *rec)
{
	if (!shares_differ(r->pd, rec->event) && count_event(r, (size_t)rec->event))
		return -ENOMEM;
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
			      kind, rec->lease);
		f->untimed++;
		return 0;
	}
	if (time_ns < f->last_ns[f->source])
		f->source = source_for(f, time_ns);
	f->last_ns[f->source] = time_ns;
	if (time_ns > f->most_ns)
		f->most_ns = time_ns;
	pipeline_push(&r->pipeline, f->source, time_ns, rec->bytes, rec->size, kind, rec->lease);
	if (order_pending_bytes(r->pipeline.order) > PENDING_MOST && f->known_ns < f->most_ns) {
		f->cut++;
		/* Rounded up: where all are of one moment they have to leave, too. */
		f->known_ns += f->most_ns - f->known_ns - (f->most_ns - f->known_ns) / 2;
	}
	return 0;
}

static int take(struct recording *r, const struct perfdata_record *rec)
{
	struct feed *f = &r->feed;

	if (rec->type == PERFDATA_FINISHED_ROUND) {
		f->known_ns = f->round_ns;
		f->round_ns = f->most_ns;
		return 0;
	}
	if (rec->type >= PERFDATA_FIRST)
		return 0;
	if (rec->type == RECORD_SAMPLE && rec->event < 0) {
		r->no_event++;
		return 0;
	}
	if (rec->type == RECORD_SAMPLE && (rec->sid.have & PERF_SAMPLE_TIME) &&
	    rec->sid.time_ns == UINT64_MAX) {
		r->no_time++;
		return 0;
	}
	if (rec->type == RECORD_SAMPLE && count_sample(r, rec))
		return -ENOMEM;
	return push(r, rec);
}

/* Reads on until more may leave, or the time is up.  0 or -ENOMEM. */
static int read_on(struct recording *r, uint64_t until_ns)
{
	struct feed *f = &r->feed;
	uint64_t known_ns = f->known_ns;
	struct perfdata_record rec;
	int got, err;

	f->untimed = 0;
	for (unsigned i = 1; f->known_ns == known_ns && f->untimed < UNTIMED_MOST; i++) {
		got = perfdata_next(r->pd, &rec);
		if (got == -ENOMEM)
			return got;
		f->dry = got == -EAGAIN;
		if (f->dry)
			return 0;
		if (got <= 0) {
			f->ended = true;
			f->known_ns = UINT64_MAX;
			rnames_finish(r);
			return 0;
		}
		err = take(r, &rec);
		if (err)
			return err;
		if (i % RECORDS_A_LOOK == 0 && clock_ns() >= until_ns)
			break;
	}
	return 0;
}

/* All that will ever be asked for has left: what still waits for names is stored as it is. */
static enum feed_state end(struct recording *r)
{
	if (order_pending(r->pipeline.order) || images_wanting(r->pipeline.images))
		return FEED_WAITS;
	pipeline_flush(&r->pipeline);
	return FEED_END;
}

enum feed_state feed_work(struct recording *r, uint64_t before_ns, uint64_t until_ns)
{
	/* Records at @before_ns itself belong to what comes next. */
	uint64_t last_ns = before_ns == UINT64_MAX ? before_ns : before_ns - 1;
	struct feed *f = &r->feed;

	for (;;) {
		/* A record that waits is borrowed from the order: until it is applied that is left
		 * alone. */
		bool crowded = pipeline_crowded(&r->pipeline);

		if (!crowded)
			release(r, f->known_ns < last_ns ? f->known_ns : last_ns);
		f->idle = false;
		if (pipeline_work(&r->pipeline, until_ns))
			return FEED_MORE;
		if (pipeline_crowded(&r->pipeline))
			return FEED_WAITS;
		if (crowded)
			continue;
		f->idle = true;
		pipeline_forget(&r->pipeline);
		if (f->ended)
			return end(r);
		if (f->known_ns >= before_ns)
			return FEED_WAITS;
		if (clock_ns() >= until_ns)
			return FEED_MORE;
		if (read_on(r, until_ns))
			return FEED_FAILED;
		if (f->dry)
			return FEED_WAITS;
	}
}

int feed_all(struct recording *r)
{
	struct pollfd ready[] = {
		{ .fd = images_fd(r->pipeline.images), .events = POLLIN },
		{ .fd = r->feed.fd, .events = POLLIN },
	};
	enum feed_state state;

	do {
		state = feed_work(r, UINT64_MAX, UINT64_MAX);
		if (state == FEED_WAITS)
			poll(ready, r->feed.dry ? 2 : 1, 1000);
	} while (state != FEED_END && state != FEED_FAILED);
	return state == FEED_FAILED ? -ENOMEM : 0;
}

uint64_t feed_reached(const struct recording *r)
{
	const struct feed *f = &r->feed;

	return f->idle ? f->bound_ns + (f->bound_ns != UINT64_MAX) : f->done_ns;
}
