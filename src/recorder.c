/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each record tells by its id which event it is of.  An id not seen before is looked up in the
 * session; its event is new to the file where its attr differs in more than how often and how much
 * is copied, which each sample tells by itself.
 */
#include "recorder.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "clock.h"
#include "record/decode.h"
#include "recorder_facts.h"

/* A round of records ends after so much of their time. */
#define ROUND_NS NS_PER_S

/* An event of the file, by what tells it from others. */
struct known_event {
	struct perf_event_attr attr;
	char name[128];
};

struct recorder {
	struct session *session;
	const char *path;
	struct perfdata_writer *w;
	struct layout layout;
	VEC(struct known_event) events;
	uint64_t first_ns, last_ns; /* of samples */
	uint64_t round_ns;          /* when the round in hand began, by its records */
	uint64_t unknown;           /* records of events that had no room */
	bool fresh;                 /* records came since the last round */
	int err;                    /* that was told */
};

/* The part of an attr that makes it another event. */
static struct perf_event_attr essence(const struct perf_event_attr *attr)
{
	struct perf_event_attr e = *attr;

	e.disabled = 0;
	e.enable_on_exec = 0;
	e.sample_stack_user = 0;
	if (e.sample_type & PERF_SAMPLE_PERIOD) {
		e.freq = 0;
		e.sample_period = 0;
	}
	return e;
}

/* The event's name as perf would have it: with what is left out. */
static void name_event(char out[128], const struct perf_event_attr *attr, const char *name)
{
	bool plain = !strchr(name, ':') && attr->exclude_kernel != attr->exclude_user;

	snprintf(out, 128, "%s%s", name, !plain ? "" : attr->exclude_kernel ? ":u" : ":k");
}

/* The file's event of an attr, made when new; -ENOSPC or -ENOMEM. */
static int event_of(struct recorder *r, const struct perf_event_attr *attr, const char *name)
{
	struct known_event e = { .attr = essence(attr) };
	int event;

	name_event(e.name, attr, name);
	for (size_t i = 0; i < r->events.nr; i++)
		if (!memcmp(&r->events.at[i].attr, &e.attr, sizeof(e.attr)) &&
		    !strcmp(r->events.at[i].name, e.name))
			return (int)i;
	if (vec_reserve(&r->events, r->events.nr + 1))
		return -ENOMEM;
	event = writer_event(r->w, attr, e.name);
	if (event >= 0)
		r->events.at[r->events.nr++] = e;
	return event;
}

/*
 * Makes an id known; false where its records have to be left out.  *@ret_event: -1, or the event
 * whose first id such a record gets because there is no room for its own.
 */
static bool learn(struct recorder *r, uint64_t id, int *ret_event)
{
	const struct sampler *sp = session_sampler(r->session);
	const struct perf_event_attr *attr = NULL;
	const char *name = "dummy"; /* tracking */
	uint32_t serial = 0;
	int event, full;

	if (sampler_layout(sp, id, &serial))
		attr = sampler_attr(sp, serial);
	if (serial)
		name = session_sampled(r->session, serial);
	if (!attr || !name)
		return false;
	event = event_of(r, attr, name);
	if (event < 0)
		return false;
	full = writer_id(r->w, event, id);
	*ret_event = full > 0 ? event : -1;
	return full >= 0;
}

/* Says once why nothing more is written. */
static void tell(struct recorder *r, uint64_t now_ns)
{
	if (!r->err)
		return;
	notes_add(&r->session->notes, "output", now_ns,
		  "writing %s has stopped: %s; what is in it can be read, and watching goes on",
		  r->path, strerror(-r->err));
}

static void end_round(struct recorder *r, uint64_t now_ns)
{
	if (r->err || !r->fresh)
		return;
	r->fresh = false;
	writer_times(r->w, r->first_ns, r->last_ns);
	(void)writer_round(r->w);
	(void)facts_build_ids(r->w, r->session->pipeline);
	r->err = writer_flush(r->w);
	tell(r, now_ns);
}

static void take_record(void *ctx, const void *bytes, uint32_t size, uint64_t time_ns)
{
	struct recorder *r = ctx;
	struct sample_id sid;
	uint32_t type;
	int event = -1;

	if (record_peek(&r->layout, bytes, size, &type, &sid))
		return; /* and the pipeline counts it */
	if (writer_event_of(r->w, sid.id) < 0 && !learn(r, sid.id, &event)) {
		r->unknown++;
		return;
	}
	if (!r->round_ns)
		r->round_ns = time_ns;
	if (time_ns > r->round_ns + ROUND_NS) {
		end_round(r, time_ns);
		r->round_ns = time_ns;
	}
	if (type == RECORD_SAMPLE && !r->first_ns)
		r->first_ns = time_ns;
	if (type == RECORD_SAMPLE && time_ns > r->last_ns)
		r->last_ns = time_ns;
	r->fresh = true;
	(void)writer_record(r->w, event, bytes, size);
}

static void tidy(void *ctx, uint64_t now_ns)
{
	struct recorder *r = ctx;

	end_round(r, now_ns);
	if (r->unknown)
		notes_add(&r->session->notes, "output events", now_ns,
			  "%llu records are not in %s: it has room for %d events",
			  (unsigned long long)r->unknown, r->path, WRITER_EVENTS_MAX);
}

/* The events that are open now: first what is sampled, since readers take the first for a whole. */
static int tell_events(struct recorder *r)
{
	const struct sampler *sp = session_sampler(r->session);
	const struct perf_event_attr *attr = sampler_attr(sp, sampler_serial(sp));
	int event = event_of(r, attr, sampler_current(sp)->event.name);

	if (event >= 0)
		event = event_of(r, sampler_attr(sp, 0), "dummy");
	return event < 0 ? event : 0;
}

static bool has_data(const struct recorder *r)
{
	return sampler_attr(session_sampler(r->session), 0)->mmap_data;
}

/* What ptop knows from /proc and not from records, the file has to be told, too. */
static void on_scan(void *ctx, uint32_t process)
{
	struct recorder *r = ctx;

	(void)facts_process(r->w, &r->layout, r->session->pipeline, process, has_data(r));
	r->fresh = true;
}

static int begin(struct recorder *r, int fd)
{
	const struct pipeline *pl = r->session->pipeline;
	int err = facts_begin(&r->w, fd, r->session->options,
			      sampler_nr_events(session_sampler(r->session)));

	if (err)
		close(fd);
	else
		err = tell_events(r);
	if (!err)
		err = facts_kernel(r->w, &r->layout, pl->symbols);
	if (!err)
		err = facts_processes(r->w, &r->layout, pl, has_data(r), r->session->command.pid);
	if (!err)
		err = facts_kernel_ids(r->w);
	return err;
}

int recorder_open(struct recorder **ret, struct session *s, const char *path,
		  struct output_file *file, struct reason *why)
{
	struct recorder *r = calloc(1, sizeof(*r));
	struct pipeline_sink sink = { .record = take_record, .tidy = tidy, .ctx = r };
	int err;

	if (!r) {
		output_abandon(file);
		return reason_set(why, -ENOMEM, "out of memory");
	}
	r->session = s;
	r->path = path;
	r->layout = *sampler_common_layout(session_sampler(s));
	err = begin(r, output_take(file));
	if (!err)
		err = writer_init_done(r->w);
	if (!err)
		err = writer_flush(r->w);
	if (err)
		reason_set(why, err, "cannot write %s: %s", path, strerror(-err));
	else
		err = output_publish(file, path, why);
	if (err) {
		output_abandon(file);
		(void)recorder_close(r, NULL);
		return err;
	}
	pipeline_keep(s->pipeline, &sink);
	space_on_scan(s->pipeline->space, on_scan, r);
	*ret = r;
	return 0;
}

int recorder_close(struct recorder *r, struct reason *why)
{
	uint64_t missing;
	int err;

	if (!r)
		return 0;
	pipeline_keep(r->session->pipeline, NULL);
	space_on_scan(r->session->pipeline->space, NULL, NULL);
	end_round(r, clock_ns());
	missing = r->unknown + (r->w ? writer_dropped(r->w) : 0);
	err = writer_free(r->w);
	if (err)
		reason_set(why, err,
			   "%s is not complete, %llu records are missing: %s; the rest can be read",
			   r->path, (unsigned long long)missing, strerror(-err));
	vec_done(&r->events);
	free(r);
	return err;
}

int recorder_save_begin(const struct session *s, int fd, struct perfdata_writer **ret,
			int *ret_clockid)
{
	*ret_clockid = CLOCK_MONOTONIC;
	return facts_begin(ret, fd, s->options, 0);
}

int recorder_save_kernel(const struct session *s, struct perfdata_writer *w, const struct layout *l)
{
	int err = facts_kernel(w, l, s->pipeline->symbols);

	return err ? err : facts_kernel_ids(w);
}
