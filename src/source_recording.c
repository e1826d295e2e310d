/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording, read from its beginning to its end: as fast as it goes and shown whole, or played
 * (--speed).  Played, each refresh ends a step of the recording's time after the one before, at
 * whatever speed, so that what is shown does not depend on the speed.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "clock.h"
#include "image/loader.h"
#include "loop.h"
#include "recording_impl.h"
#include "source.h"

/* Between refreshes of a recording that is played as fast as it goes. */
#define PACE_LEAST_NS NS_PER_MS

/* In a recording that is played, so many steps without any record are gone through as one. */
#define EMPTY_STEPS_MOST 100

/* Events from here on share an id in the store, whose ids are bytes. */
enum { LAST_EVENT = QUERY_ANY_EVENT - 1 };

struct recorded {
	struct recording recording;
	struct sampling sampling; /* of the event that is shown */
	struct event listed;      /* the event told last */
	bool chosen;              /* a person chose the event */
	enum feed_state state;
	uint64_t step_ns;   /* of the recording's time, between refreshes */
	uint64_t asked_ns;  /* played up to here */
	uint64_t opened_ns; /* clock_ns() */
	char when[32];
	char host[65];
};

static struct recorded *of(const struct session *s)
{
	return s->of_source;
}

static bool is_played(const struct session *s)
{
	return s->options->speed != 0;
}

/*
 * As the recording calls it; events of one name have a number behind it, and those past what the
 * store tells apart are one.
 */
static void name_event(struct perfdata *pd, size_t i, char *out, size_t size)
{
	size_t nr = perfdata_nr_events(pd), same = 1, room;

	if (i >= LAST_EVENT && nr > LAST_EVENT + 1) {
		snprintf(out, size, "events %d to %zu", LAST_EVENT + 1, nr);
		return;
	}
	room = size - sizeof("#65535");
	snprintf(out, room + 1, "%s", perfdata_event_name(pd, i));
	for (size_t k = 0; k < i; k++)
		same += !strncmp(perfdata_event_name(pd, k), out, room);
	if (same > 1)
		snprintf(out + strlen(out), size - strlen(out), "#%zu", same);
}

static void describe_event(struct perfdata *pd, size_t i, struct event *ret)
{
	const struct perfdata_event *e = perfdata_event(pd, i);
	bool clock = e->type == PERF_TYPE_SOFTWARE && (e->config == PERF_COUNT_SW_CPU_CLOCK ||
						       e->config == PERF_COUNT_SW_TASK_CLOCK);

	*ret = (struct event){
		.type = e->type,
		.config = e->config,
		.config1 = e->config1,
		.config2 = e->config2,
		.exclude_kernel = e->flags & PERFDATA_EXCLUDE_KERNEL,
		.exclude_user = e->flags & PERFDATA_EXCLUDE_USER,
		.unit = clock ? EVENT_TIME_NS
			: e->type == PERF_TYPE_HARDWARE && e->config == PERF_COUNT_HW_CPU_CYCLES
				? EVENT_CYCLES
				: EVENT_COUNT,
	};
	name_event(pd, i, ret->name, sizeof(ret->name));
}

/* Shows the i-th event of the recording from now on. */
static void show_event(struct session *s, size_t i)
{
	struct perfdata *pd = of(s)->recording.pd;
	const struct perfdata_event *e = perfdata_event(pd, i);
	struct sampling *to = &of(s)->sampling;

	*to = (struct sampling){
		.by_frequency = e->by_frequency,
		.rate = e->sample_period,
		.call_graph = e->layout.sample_type & PERF_SAMPLE_STACK_USER  ? CALL_GRAPH_DWARF
			      : layout_has_calls(&e->layout)                  ? CALL_GRAPH_LBR
			      : e->layout.sample_type & PERF_SAMPLE_CALLCHAIN ? CALL_GRAPH_FP
									      : CALL_GRAPH_NONE,
	};
	describe_event(pd, i, &to->event);
	to->exclude_kernel = to->event.exclude_kernel;
	to->exclude_user = to->event.exclude_user;
	s->event = (uint8_t)(i < LAST_EVENT ? i : LAST_EVENT);
}

/* Until a person chooses: the event with the most samples. */
static void show_most_sampled(struct session *s)
{
	const struct recording *r = &of(s)->recording;
	size_t most = 0;

	if (of(s)->chosen || !perfdata_nr_events(r->pd))
		return;
	for (size_t i = 1; i < r->samples.nr; i++)
		if (r->samples.at[i] > r->samples.at[most])
			most = i;
	show_event(s, most);
}

__attribute__((format(printf, 4, 5))) static size_t append(char *out, size_t size, size_t at,
							   const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(out + at, size - at, format, args);
	va_end(args);
	return len < 0 ? at : at + (size_t)len < size ? at + (size_t)len : size - 1;
}

/* "Linux 6.18.0 x86_64, 8 CPUs (AMD EPYC), perf 6.1": what the recording tells of it. */
static void describe_machine(const struct perfdata_facts *f, char *out, size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	if (f->osrelease || f->arch)
		at = append(out, size, at, "Linux%s%.64s%s%.32s", f->osrelease ? " " : "",
			    f->osrelease ? f->osrelease : "", f->arch ? " " : "",
			    f->arch ? f->arch : "");
	if (f->nr_cpus)
		at = append(out, size, at, "%s%" PRIu32 " CPU%s", at ? ", " : "", f->nr_cpus,
			    f->nr_cpus == 1 ? "" : "s");
	if (f->nr_cpus && f->cpudesc)
		at = append(out, size, at, " (%.64s)", f->cpudesc);
	if (f->version && f->version[0])
		append(out, size, at, "%sby %s%.32s", at ? ", " : "",
		       isdigit((unsigned char)f->version[0]) ? "perf " : "", f->version);
}

static void describe(struct session *s)
{
	const struct recording *r = &of(s)->recording;
	const struct perfdata_facts *facts = perfdata_facts(r->pd);
	const char *name = strrchr(s->options->input, '/');
	char text[64];

	name = name ? name + 1 : s->options->input;
	text_scrub(text, sizeof(text), name, strlen(name), false);
	if (facts->hostname)
		text_scrub(s->host, sizeof(s->host), facts->hostname, strlen(facts->hostname),
			   false);
	s->command_line = facts->cmdline;
	describe_machine(facts, s->machine, sizeof(s->machine));
	snprintf(s->target, sizeof(s->target), "%s%s%.24s",
		 strcmp(text, "-") ? text : "standard input", s->host[0] ? " of " : "", s->host);
}

/* The first and the last moment; by the wall clock as the recording tells, else from when the file
 * was last written. */
static void see_times(struct session *s)
{
	const struct recording *r = &of(s)->recording;
	const struct read_state *read = reading_state(r->reading);
	const struct perfdata_facts *facts = perfdata_facts(r->pd);
	struct stat st;
	uint64_t wall_ns;

	if (!is_played(s) || !s->start_ns)
		s->start_ns = read->first_ns;
	if (facts->clock_wall_ns) {
		s->start_unix_ns = facts->clock_wall_ns + (read->first_ns - facts->clock_ns);
		return;
	}
	if (!s->ended_ns || !strcmp(s->options->input, "-") || stat(s->options->input, &st) != 0)
		return;
	wall_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	if (wall_ns > read->last_ns - read->first_ns)
		s->start_unix_ns = wall_ns - (read->last_ns - read->first_ns);
}

/* Reads so much that the beginning of what is played is known. */
static int find_beginning(struct session *s, struct reason *why)
{
	struct recorded *p = of(s);
	struct pollfd ready = { .fd = p->recording.fd, .events = POLLIN };
	const struct read_state *read = reading_state(p->recording.reading);
	enum feed_state state;

	while ((state = feed_work(&p->recording, 1, UINT64_MAX)) == FEED_WAITS && read->dry)
		poll(&ready, 1, -1);
	if (state == FEED_FAILED)
		return reason_set(why, -ENOMEM, "out of memory");
	if (!read->timed)
		return reason_set(why, -ENODATA,
				  "%s tells no times, so it cannot be played: leave --speed out",
				  s->options->input);
	s->start_ns = p->asked_ns = read->first_ns;
	return 0;
}

static int open_waiting(struct session *s, struct reason *why)
{
	const struct recording_helpers with = { .loader = s->loader,
						.cache = s->cache,
						.debuginfod = s->debuginfod };
	struct recorded *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return reason_set(why, -ENOMEM, "out of memory");
	err = recording_open(&p->recording, s->options, &with, &s->notes, why);
	if (err) {
		free(p);
		return err;
	}
	s->of_source = p;
	s->pipeline = &p->recording.pipeline;
	p->opened_ns = clock_ns();
	p->state = FEED_MORE;
	p->step_ns = NS_PER_S;
	snprintf(p->sampling.event.name, sizeof(p->sampling.event.name), "%s", "…");
	show_most_sampled(s);
	describe(s);
	return is_played(s) ? find_beginning(s, why) : 0;
}

/* A pipe may give nothing for long. */
static int open_recorded(struct session *s, struct reason *why)
{
	int err;

	loop_unblock_signals();
	err = open_waiting(s, why);
	loop_block_signals();
	return err;
}

static void close_recorded(struct session *s)
{
	if (!s->of_source)
		return;
	recording_close(&of(s)->recording);
	free(s->of_source);
	s->of_source = NULL;
}

static bool is_over(const struct session *s)
{
	return of(s)->state == FEED_END || of(s)->state == FEED_FAILED;
}

/* Everything before this is stored; at the end, all is before this. */
static uint64_t reached(const struct session *s)
{
	const struct recorded *p = of(s);
	const struct read_state *read = reading_state(p->recording.reading);

	if (is_over(s))
		return read->last_ns + 1;
	if (read->ended && p->recording.idle && !order_pending(s->pipeline->order))
		return p->recording.done_ns; /* the rest waits for names, and then it is the end */
	return feed_reached(&p->recording);
}

static int fd_of(const struct session *s)
{
	return of(s)->recording.fd;
}

/*
 * Where the next step ends.  Who is asked has read no further than was needed for the step before,
 * so what is known of the time to come does not depend on the speed either.
 */
static uint64_t next_step(const struct session *s)
{
	const struct recorded *p = of(s);
	uint64_t next_ns, steps = 1;

	if (!order_next_ns(s->pipeline->order, &next_ns) ||
	    next_ns > reading_state(p->recording.reading)->known_ns)
		next_ns = reading_state(p->recording.reading)->known_ns;
	if (next_ns != UINT64_MAX && next_ns > p->asked_ns)
		steps = (next_ns - p->asked_ns) / p->step_ns;
	if (steps <= EMPTY_STEPS_MOST)
		steps = 1;
	return p->asked_ns > UINT64_MAX - p->step_ns ? UINT64_MAX
						     : p->asked_ns + steps * p->step_ns;
}

static uint64_t ask(struct session *s)
{
	struct recorded *p = of(s);

	if (!is_played(s) || is_over(s))
		return reached(s);
	p->asked_ns = next_step(s);
	return p->asked_ns;
}

static void tell_losses(struct session *s)
{
	struct recording *r = &of(s)->recording;
	const struct read_state *read = reading_state(r->reading);
	uint64_t late = order_late(r->pipeline.order);

	if (late)
		notes_add(&s->notes, "late", 0,
			  "%" PRIu64 " records were further out of order than can be mended", late);
	if (read->no_event)
		notes_add(&s->notes, "no event", 0,
			  "%" PRIu64 " samples are of events that the recording does not describe",
			  read->no_event);
	if (read->no_time)
		notes_add(&s->notes, "no time", 0,
			  "%" PRIu64 " samples have a time that cannot be, and are left out",
			  read->no_time);
	if (store_dropped(r->pipeline.store))
		notes_add(&s->notes, "history", 0,
			  "only the last part of the recording is held: --history MB holds more");
}

static bool poll_recorded(struct session *s, uint64_t until_ns)
{
	struct recorded *p = of(s);

	if (is_over(s)) {
		(void)pipeline_work(s->pipeline, until_ns); /* names that were asked for since */
		rnames_tell(&p->recording);
		return false;
	}
	p->state = feed_work(&p->recording, is_played(s) ? p->asked_ns : UINT64_MAX, until_ns);
	show_most_sampled(s);
	if (!s->command_line || !s->host[0] || !s->machine[0])
		describe(s); /* a pipe tells while it is read */
	if (p->state == FEED_FAILED)
		notes_add(&s->notes, "memory", 0,
			  "out of memory: the recording is shown as far as it was read");
	if (is_over(s))
		tell_losses(s);
	see_times(s);
	return p->state == FEED_MORE;
}

static void look_after(struct session *s)
{
	if (!is_over(s))
		return;
	s->ended_ns = reading_state(of(s)->recording.reading)->last_ns + 1;
	see_times(s);
}

static uint64_t pace(struct session *s, uint64_t delay_ns)
{
	uint64_t by_clock;

	if (!is_played(s) || is_over(s))
		return delay_ns;
	of(s)->step_ns = delay_ns;
	by_clock = (uint64_t)((double)delay_ns / s->options->speed); /* 0: as fast as it goes */
	return by_clock > PACE_LEAST_NS ? by_clock : PACE_LEAST_NS;
}

static bool progress(const struct session *s, struct session_progress *ret)
{
	const struct recorded *p = of(s);
	double passed_s = (double)(clock_ns() - p->opened_ns) / 1e9;

	if (is_played(s) || is_over(s))
		return false;
	*ret = (struct session_progress){
		.bytes = perfdata_position(p->recording.pd),
		.size = perfdata_size(p->recording.pd),
		.samples = s->pipeline->counts.samples,
		.left_s = NAN,
	};
	if (ret->bytes && ret->size >= ret->bytes)
		ret->left_s = passed_s * (double)(ret->size - ret->bytes) / (double)ret->bytes;
	return true;
}

static const char *when(const struct session *s)
{
	struct recorded *p = of(s);

	if (s->ended_ns)
		return "recording";
	if (!is_played(s))
		return "reading";
	if (isinf(s->options->speed))
		return "playing";
	snprintf(p->when, sizeof(p->when), "playing %gx", s->options->speed);
	return p->when;
}

static int change(struct session *s, const struct sampling *wanted, struct reason *why)
{
	const struct sampling *now = &of(s)->sampling;
	const struct recording *r = &of(s)->recording;

	if (strcmp(wanted->event.name, now->event.name) == 0) {
		if (wanted->rate == now->rate && wanted->by_frequency == now->by_frequency &&
		    wanted->call_graph == now->call_graph)
			return 0; /* kernel and user: the view leaves them out by itself */
		return reason_set(
			why, -EROFS,
			"a recording was sampled already: its rate and stacks stay what they were");
	}
	for (size_t i = 0; i < perfdata_nr_events(r->pd) && i <= LAST_EVENT; i++) {
		char name[sizeof(wanted->event.name)];

		name_event(r->pd, i, name, sizeof(name));
		if (strcmp(name, wanted->event.name) != 0)
			continue;
		of(s)->chosen = true;
		show_event(s, i);
		return 0;
	}
	return reason_set(why, -ENOENT, "%s is not in the recording", wanted->event.name);
}

static const struct sampling *sampling(const struct session *s)
{
	return &of(s)->sampling;
}

static const struct event *event(const struct session *s, size_t i, uint64_t *ret_samples)
{
	const struct recording *r = &of(s)->recording;

	if (i >= perfdata_nr_events(r->pd) || i > LAST_EVENT)
		return NULL;
	*ret_samples = i < r->samples.nr ? r->samples.at[i] : 0;
	for (size_t k = LAST_EVENT + 1; i == LAST_EVENT && k < r->samples.nr; k++)
		*ret_samples += r->samples.at[k];
	describe_event(r->pd, i, &of(s)->listed);
	return &of(s)->listed;
}

static const struct event *held(const struct session *s, size_t i)
{
	uint64_t samples;

	return event(s, i, &samples);
}

static int save_begin(const struct session *s, int fd, struct perfdata_writer **ret,
		      int *ret_clockid)
{
	return recording_save_begin(&of(s)->recording, fd, ret, ret_clockid);
}

static int save_kernel(const struct session *s, struct perfdata_writer *w, const struct layout *l)
{
	return recording_save_kernel(&of(s)->recording, w, l);
}

static uint32_t nr_cpus(const struct session *s)
{
	return perfdata_facts(of(s)->recording.pd)->nr_cpus_online;
}

static uint64_t dropped(const struct session *s)
{
	const struct read_state *read = reading_state(of(s)->recording.reading);

	return read->no_event + read->no_time;
}

static int verdict(const struct session *s, struct reason *why)
{
	return recording_verdict(&of(s)->recording, why);
}

const struct source source_recording = {
	.open = open_recorded,
	.close = close_recorded,
	.fd = fd_of,
	.ask = ask,
	.poll = poll_recorded,
	.reached = reached,
	.pace = pace,
	.look_after = look_after,
	.progress = progress,
	.when = when,
	.change = change,
	.sampling = sampling,
	.event = event,
	.held = held,
	.nr_cpus = nr_cpus,
	.dropped = dropped,
	.verdict = verdict,
	.save_begin = save_begin,
	.save_kernel = save_kernel,
};
