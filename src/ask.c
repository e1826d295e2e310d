/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ask.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

/* Buckets that the chosen window is cut into; a window without end is cut into steps of this much
 * or twice it. */
#define BUCKETS 100u

/* Whether what is watched is, or was, this machine. */
static bool is_here(const struct session *s)
{
	char host[sizeof(s->host)] = "";

	if (!session_recorded(s))
		return true;
	gethostname(host, sizeof(host) - 1);
	return s->host[0] && !strcmp(s->host, host);
}

int asker_init(struct asker *a, struct session *s)
{
	*a = (struct asker){ .session = s,
			     .cache = query_cache_new(),
			     .modules =
				     modules_new(s->pipeline, is_here(s), !session_recorded(s)) };
	if (!a->cache || !a->modules || timeline_init(&a->timeline, UI_TIMELINE)) {
		asker_done(a);
		return -ENOMEM;
	}
	return 0;
}

void asker_done(struct asker *a)
{
	query_cache_free(a->cache);
	modules_free(a->modules);
	timeline_done(&a->timeline);
	a->cache = NULL;
	a->modules = NULL;
}

uint8_t asker_hide(const struct options *o)
{
	uint8_t hide = (o->show_idle ? 0 : SAMPLE_IDLE) | (o->show_own ? 0 : SAMPLE_OWN);

	if (o->input && o->sampling.exclude_kernel)
		hide |= SAMPLE_KERNEL;
	if (o->input && o->sampling.exclude_user)
		hide |= SAMPLE_USER;
	return hide;
}

double asker_cpus(const struct asker *a, uint64_t weight, uint64_t samples, double seconds)
{
	const struct sampling *s = session_sampling(a->session);

	if (seconds <= 0)
		return NAN;
	if (s->event.unit == EVENT_TIME_NS)
		return (double)weight / 1e9 / seconds;
	if (s->event.unit == EVENT_CYCLES && s->by_frequency)
		return (double)samples / (double)s->rate / seconds;
	return NAN;
}

/* How wide a bucket is: a fixed part of a chosen window; of one without end, doubled as it grows.
 */
static uint64_t bucket_width(const struct ui_question *q, uint64_t start_ns)
{
	uint64_t width = NS_PER_S / 10;

	if (q->window_ns)
		return q->window_ns / BUCKETS + 1;
	while (q->to_ns > start_ns && width * BUCKETS < q->to_ns - start_ns)
		width *= 2;
	return width;
}

static void measure_timeline(struct asker *a, const struct ui_question *q,
			     const struct query *query, struct ui_measure *m)
{
	uint64_t width = bucket_width(q, a->session->start_ns);
	struct query strip = *query;

	m->nr_timeline = BUCKETS;
	m->timeline = a->buckets;
	if (session_sampling(a->session)->event.unit == EVENT_TIME_NS)
		m->timeline_full = width * m->nr_cpus;
	if (q->frozen) {
		strip.from_ns = q->to_ns > width * BUCKETS ? q->to_ns - width * BUCKETS : 0;
		query_timeline(a->session->pipeline->store, &strip, a->buckets, BUCKETS);
		return;
	}
	timeline_update(&a->timeline, a->session->pipeline->store, query->event, query->hide, width,
			q->to_ns);
	/* The newest bucket is still filling: leave it out. */
	for (size_t i = 0; i < BUCKETS; i++)
		a->buckets[i] = timeline_bucket(&a->timeline, UI_TIMELINE - 1 - BUCKETS + i);
}

uint64_t asker_from(const struct asker *a, uint64_t from_ns)
{
	const struct session *s = a->session;
	uint64_t oldest = store_oldest_ns(s->pipeline->store);

	if (from_ns < s->start_ns)
		from_ns = s->start_ns;
	return store_dropped(s->pipeline->store) && oldest > from_ns ? oldest : from_ns;
}

static void measure(struct asker *a, const struct ui_question *q, const struct query *query,
		    const struct answer *answer, struct ui_measure *m)
{
	const struct session *s = a->session;
	uint64_t from = asker_from(a, q->from_ns);

	*m = (struct ui_measure){
		/* All at one moment, or without times: there is no share of any time. */
		.seconds = q->to_ns > from + 1 ? (double)(q->to_ns - from) / 1e9 : 0,
		.nr_cpus = session_nr_cpus(s),
		.idle_cpus = NAN,
	};
	m->cpus = asker_cpus(a, answer->weight, answer->samples, m->seconds);
	if (session_sampling(s)->event.unit == EVENT_TIME_NS && m->seconds > 0)
		m->idle_cpus = (double)answer->hidden_idle / 1e9 / m->seconds;
	measure_timeline(a, q, query, m);
}

/* No stacks were asked for: nothing is said of how they end. */
static void forget_ends(struct answer *a)
{
	memset(a->ends, 0, sizeof(a->ends));
	for (size_t i = 0; a->modules && i < a->nr_rows; i++) {
		memset(a->modules[i].ends, 0, sizeof(a->modules[i].ends));
		memset(a->modules[i].self_ends, 0, sizeof(a->modules[i].self_ends));
	}
}

int ask(struct asker *a, const struct ui_question *q, struct answer *ret, struct ui_measure *m)
{
	struct pipeline *pl = a->session->pipeline;
	const struct naming *naming;
	struct query query = {
		.from_ns = q->from_ns,
		.to_ns = q->to_ns,
		.event = a->session->event,
		.hide = q->hide,
		.orientation = q->orientation,
		.expanded = q->all ? NULL : q->expanded,
	};
	int err;

	symbols_refresh(pl->symbols, clock_ns());
	naming = names_update(pl->names);
	if (!naming || names_group_tasks(pl->names, q->grouping, &query))
		return -ENOMEM;
	err = query_run(a->cache, pl->store, pl->stacks, naming, &query, ret);
	if (!err && session_sampling(a->session)->call_graph == CALL_GRAPH_NONE)
		forget_ends(ret);
	if (!err && m)
		measure(a, q, &query, ret, m);
	return err;
}
