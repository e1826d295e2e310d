/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "image/cache.h"
#include "image/debuginfod.h"
#include "image/loader.h"
#include "image/opener.h"
#include "kept.h"
#include "source.h"

int session_open(struct session *s, const struct options *o, struct reason *why)
{
	int err;

	*s = (struct session){
		.options = o,
		.source = o->input ? &source_recording : &source_live,
		.command = { .go_fd = -1, .error_fd = -1 },
	};
	err = loader_start(&s->loader, !o->no_sandbox, why);
	if (err)
		return err;
	/* A recording's files are nobody's but ours. */
	err = o->input ? 0 : opener_start(&s->opener, why);
	if (!err)
		err = kept_open(&s->cache, o, why);
	if (!err && o->debuginfod)
		err = debuginfod_open(&s->debuginfod, o->debuginfod_as_root, why);
	if (!err)
		err = s->source->open(s, why);
	if (err)
		session_close(s);
	else if (loader_weakness(s->loader)[0]) /* the newest: it stands on the screen */
		notes_add(&s->notes, "loader", clock_ns(), "%s", loader_weakness(s->loader));
	return err;
}

void session_close(struct session *s)
{
	command_done(&s->command);
	s->source->close(s);
	cache_free(s->cache);
	s->cache = NULL;
	debuginfod_free(s->debuginfod);
	s->debuginfod = NULL;
	loader_free(s->opener);
	s->opener = NULL;
	loader_free(s->loader);
	s->loader = NULL;
	s->pipeline = NULL;
}

bool session_recorded(const struct session *s)
{
	return s->source == &source_recording;
}

int session_fd(const struct session *s)
{
	return s->source->fd ? s->source->fd(s) : -1;
}

int session_loader_fd(const struct session *s)
{
	return images_fd(s->pipeline->images);
}

uint64_t session_ask(struct session *s)
{
	return s->source->ask(s);
}

bool session_poll(struct session *s, uint64_t until_ns)
{
	return s->source->poll(s, until_ns);
}

uint64_t session_reached(const struct session *s)
{
	return s->source->reached(s);
}

uint64_t session_pace(struct session *s, uint64_t delay_ns)
{
	return s->source->pace ? s->source->pace(s, delay_ns) : delay_ns;
}

bool session_ended(struct session *s)
{
	if (!s->ended_ns)
		s->source->look_after(s);
	return s->ended_ns != 0;
}

bool session_progress(const struct session *s, struct session_progress *ret)
{
	return s->source->progress && s->source->progress(s, ret);
}

int session_verdict(const struct session *s, struct reason *why)
{
	why->text[0] = '\0';
	return s->source->verdict ? s->source->verdict(s, why) : 0;
}

const char *session_when(const struct session *s)
{
	return s->source->when(s);
}

void session_tidy(struct session *s)
{
	if (s->cache && cache_damaged(s->cache)[0])
		notes_add(&s->notes, "cache", clock_ns(), "%s", cache_damaged(s->cache));
	if (s->source->tidy)
		s->source->tidy(s);
}

void session_resumed(struct session *s)
{
	if (s->source->resumed)
		s->source->resumed(s);
}

int session_change(struct session *s, const struct sampling *wanted, struct reason *why)
{
	return s->source->change(s, wanted, why);
}

const struct sampling *session_sampling(const struct session *s)
{
	return s->source->sampling(s);
}

const struct event *session_event(const struct session *s, size_t i, uint64_t *ret_samples)
{
	return s->source->event ? s->source->event(s, i, ret_samples) : NULL;
}

const struct event *session_held(const struct session *s, size_t i)
{
	return s->source->held ? s->source->held(s, i) : NULL;
}

const struct sampler *session_sampler(const struct session *s)
{
	return s->source->sampler ? s->source->sampler(s) : NULL;
}

const char *session_sampled(const struct session *s, uint32_t serial)
{
	return s->source->sampled ? s->source->sampled(s, serial) : NULL;
}

uint32_t session_nr_cpus(const struct session *s)
{
	return s->source->nr_cpus(s);
}

struct session_counts session_counts(const struct session *s)
{
	const struct pipeline_counts *c = &s->pipeline->counts;

	return (struct session_counts){
		.samples = c->samples,
		.lost = c->lost,
		.dropped = c->failed + c->bad + s->source->dropped(s),
		.late = order_late(s->pipeline->order),
		.throttled = c->throttled,
	};
}

uint64_t session_own_cpu_ns(const struct session *s)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec + loader_cpu_ns(s->loader) +
	       (s->opener ? loader_cpu_ns(s->opener) : 0);
}

uint64_t session_own_rss_bytes(void)
{
	unsigned long long size, resident;
	char *text;
	size_t len;
	int n;

	if (parse_file("/proc/self/statm", 4096, &text, &len))
		return 0;
	n = sscanf(text, "%llu %llu", &size, &resident);
	free(text);
	return n == 2 ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
