/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This machine as it runs: the target, its open events, rings, lanes and readers.
 *
 * Opening goes: the command is forked and held, events are opened, rings mapped, events pointed at
 * the rings and started, readers started, the past read from /proc, the command let go.  Since the
 * side-band runs before /proc is read, nothing is born unseen.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "adapt.h"
#include "base/map.h"
#include "base/text.h"
#include "clock.h"
#include "image/loader.h"
#include "record/decode.h"
#include "recorder.h"
#include "rings.h"
#include "source.h"

/* A record is stamped before it is published: what is newer than this may still be under way. */
#define SLACK_NS (1 * NS_PER_MS)
/* While this much is ready to be worked on, records stay in their lanes (which drop samples, and
 * count). */
#define ORDER_MOST (24u << 20)
/* And beyond this much, ready or not, samples are dropped (and counted). */
#define ORDER_FULL (64u << 20)

/* Stacks of many processes do not grow beyond this: most need less, and all would pay. */
#define STACK_BYTES_OF_MANY 32768u
#define RESCAN_TARGET_NS NS_PER_S

/* After ptop itself was stopped, losses count for nothing as long. */
#define RESUME_NS (2 * NS_PER_S)
#define TIDY_ASKS_NS (NS_PER_S / 2)

struct live_source {
	struct pipeline pipeline;
	struct sampler *sampler;
	struct rings rings;
	struct map kinds;         /* event id -> kind of the pipeline */
	VEC(struct event) events; /* all that were sampled, by the index that samples carry */
	struct map serials;       /* of samplings -> index of the event */
	bool busy;                /* the last poll left work undone */
	struct adapt adapt;
	uint64_t rescanned_ns;
	uint64_t asked_ns;       /* for a refresh */
	uint64_t resumed_ns;     /* 0: ptop was never stopped */
	uint64_t side_band_lost; /* as of the last look */
};

static struct live_source *of(const struct session *s)
{
	return s->of_source;
}

static void note(void *ctx, const char *sentence)
{
	struct session *s = ctx;

	notes_add(&s->notes, sentence, clock_ns(), "%s", sentence);
}

static void on_record(void *ctx, const struct record *r)
{
	struct session *s = ctx;

	switch (r->type) {
	case RECORD_SAMPLE:
		sampler_saw_sample(of(s)->sampler, r->sid.id, (pid_t)r->sid.tid);
		break;
	case RECORD_FORK:
		sampler_saw_fork(of(s)->sampler, (pid_t)r->task.pid, (pid_t)r->task.tid,
				 r->task.time_ns);
		break;
	case RECORD_EXIT:
		sampler_saw_exit(of(s)->sampler, (pid_t)r->task.tid);
		break;
	default:
		break;
	}
}

/* The process of the target's i-th id: itself, or the thread group of a thread. */
static pid_t process_of(const struct target *t, size_t i)
{
	pid_t pid = (pid_t)t->ids.at[i];
	char path[64], *text;
	const char *line;
	uint32_t tgid = 0;
	size_t len;

	if (t->kind != TARGET_TIDS)
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (parse_file(path, 1 << 16, &text, &len))
		return pid;
	line = strstr(text, "\nTgid:");
	if (line && sscanf(line, "\nTgid: %u", &tgid) != 1)
		tgid = 0;
	free(text);
	return tgid ? (pid_t)tgid : pid;
}

static void describe_target(struct session *s, const struct target *t)
{
	struct task_info info;

	if (s->command.pid)
		snprintf(s->target, sizeof(s->target), "%s[%d]", s->command.name, s->command.pid);
	else if (t->kind == TARGET_USER)
		snprintf(s->target, sizeof(s->target), "user %u", t->uid);
	else if (t->kind == TARGET_SYSTEM && t->cpus.nr)
		snprintf(s->target, sizeof(s->target), "%zu CPU%s", t->cpus.nr,
			 t->cpus.nr == 1 ? "" : "s");
	else if (t->kind == TARGET_SYSTEM)
		snprintf(s->target, sizeof(s->target), "all CPUs");
	else if (t->ids.nr > 1)
		snprintf(s->target, sizeof(s->target), "%zu %s", t->ids.nr,
			 t->kind == TARGET_PIDS ? "processes" : "threads");
	else if (space_task_info(s->pipeline->space,
				 space_task(s->pipeline->space, process_of(t, 0),
					    (pid_t)t->ids.at[0]),
				 &info)) {
		text_scrub(s->target_name, sizeof(s->target_name), info.comm, strlen(info.comm),
			   false);
		snprintf(s->target, sizeof(s->target), "%s[%u]", s->target_name, t->ids.at[0]);
	}
}

/* What was there before the first record: mappings and names of the target's processes. */
static void read_past(struct session *s, const struct target *t)
{
	uint64_t now = clock_ns();

	if (t->kind == TARGET_SYSTEM || t->kind == TARGET_USER)
		space_scan_all(s->pipeline->space, now);
	else
		for (size_t i = 0; i < t->ids.nr; i++)
			space_scan(s->pipeline->space, process_of(t, i), now);
	if (!s->options->sampling.exclude_kernel &&
	    !sampler_current(of(s)->sampler)->exclude_kernel &&
	    symbols_load_kernel(s->pipeline->symbols))
		notes_add(&s->notes, "kernel", now, "%s", symbols_kernel_why(s->pipeline->symbols));
}

static int open_pipeline(struct session *s, struct reason *why)
{
	size_t nr_cpus = sampler_nr_cpus(of(s)->sampler);
	size_t history = s->options->history_bytes;
	long max_stack = 127;
	struct pipeline_config config = {
		.nr_sources = (uint32_t)(nr_cpus * NR_RING_USES),
		.loader = s->loader,
		.opener = s->opener,
		.debuginfod = s->debuginfod,
		.cache = s->cache,
		.own_pid = getpid(),
		.full_names = s->options->full_names,
		.inlined = !s->options->no_inline,
		.trim = of(s)->rings.trim,
		.live = true,
		.on_record = on_record,
		.ctx = s,
	};

	if (!history) {
		history = nr_cpus * 2500000;
		history = history < 5000000 ? 5000000 : history > 64000000 ? 64000000 : history;
	}
	(void)parse_file_long("/proc/sys/kernel/perf_event_max_stack", &max_stack);
	config.history_bytes = history;
	config.max_stack = (uint32_t)max_stack;
	if (pipeline_init(s->pipeline, &config))
		return reason_set(why, -ENOMEM, "out of memory: try a smaller --history");
	return 0;
}

/* The index of an event, made when it is new; -ENOSPC, -ENOMEM. */
static int event_index(struct session *s, const struct event *e)
{
	struct live_source *p = of(s);
	size_t i = 0;

	while (i < p->events.nr && strcmp(p->events.at[i].name, e->name) != 0)
		i++;
	if (i >= QUERY_ANY_EVENT)
		return -ENOSPC;
	if (i == p->events.nr && vec_push(&p->events, *e))
		return -ENOMEM;
	return (int)i;
}

/* Samples of the current sampling are of event @index from now on. */
static int use_event(struct session *s, int index)
{
	struct live_source *p = of(s);

	s->event = (uint8_t)index;
	return map_set(&p->serials, sampler_serial(p->sampler), (uint64_t)index);
}

static int open_sampler(struct session *s, struct target *t, struct reason *why)
{
	struct sampling sampling = s->options->sampling;
	int err, index;

	if (s->options->event_given)
		err = sampler_open(&of(s)->sampler, t, &sampling, note, s, why);
	else
		err = sampler_open_default(&of(s)->sampler, t, &sampling, note, s, why);
	if (err)
		return err;
	index = event_index(s, &sampling.event);
	if (index < 0 || use_event(s, index))
		return reason_set(why, -ENOMEM, "out of memory");
	return 0;
}

static int open_live(struct session *s, struct reason *why)
{
	const struct options *o = s->options;
	struct target target = o->target;
	uint32_t child;
	struct timespec wall;
	int err;

	s->of_source = calloc(1, sizeof(struct live_source));
	if (!s->of_source)
		return reason_set(why, -ENOMEM, "out of memory");
	s->pipeline = &of(s)->pipeline;
	target.tell_data = o->output && o->sampling.call_graph == CALL_GRAPH_DWARF;
	if (o->command) {
		err = command_fork(&s->command, o->command, o->command_output, why);
		if (err)
			return err;
		child = (uint32_t)s->command.pid;
		target.kind = TARGET_PIDS;
		target.ids = (struct u32_list){ .at = &child, .nr = 1, .cap = 1 };
		target.on_exec = true;
	}
	err = open_sampler(s, &target, why);
	if (!err && rings_init(&of(s)->rings, of(s)->sampler))
		err = reason_set(why, -ENOMEM, "out of memory");
	if (!err)
		err = open_pipeline(s, why);
	if (!err)
		err = rings_map(&of(s)->rings, of(s)->sampler, &s->notes, clock_ns(), why);
	if (!err)
		err = sampler_start(of(s)->sampler, why);
	if (!err)
		err = rings_start(&of(s)->rings, of(s)->sampler, why);
	if (err)
		return err;
	s->start_ns = clock_ns();
	clock_gettime(CLOCK_REALTIME, &wall);
	s->start_unix_ns = (uint64_t)wall.tv_sec * NS_PER_S + (uint64_t)wall.tv_nsec;
	of(s)->adapt.last.time_ns = of(s)->rescanned_ns = s->start_ns;
	of(s)->adapt.last.own_cpu_ns = session_own_cpu_ns(s);
	if (target.kind == TARGET_SYSTEM || target.kind == TARGET_USER)
		of(s)->adapt.stack_most = STACK_BYTES_OF_MANY;
	gethostname(s->host, sizeof(s->host) - 1);
	read_past(s, &target);
	describe_target(s, &target);
	return s->command.pid ? command_go(&s->command, o->command, why) : 0;
}

static void close_live(struct session *s)
{
	struct live_source *p = of(s);

	if (!p)
		return;
	rings_close(&p->rings);
	sampler_free(p->sampler);
	pipeline_done(&p->pipeline);
	map_done(&p->kinds);
	map_done(&p->serials);
	vec_done(&p->events);
	free(p);
	s->of_source = NULL;
}

static int fd_of(const struct session *s)
{
	return readers_eventfd(of(s)->rings.readers);
}

static uint64_t ask(struct session *s)
{
	uint64_t now = clock_ns();

	of(s)->asked_ns = now;
	readers_nudge(of(s)->rings.readers);
	return now;
}

/* The kind of records with that event id, made at first sight; -1 for ids that are not ours. */
static int kind_of(struct session *s, uint64_t id, bool side_band)
{
	uint64_t *known = map_find(&of(s)->kinds, id), *event;
	struct record_kind kind = { .side_band = side_band };
	const struct layout *layout;
	uint32_t serial;
	int index;

	if (known)
		return (int)*known;
	layout = sampler_layout(of(s)->sampler, id, &serial);
	if (!layout)
		return -1;
	kind.layout = *layout;
	kind.weight = sampler_fixed_period(of(s)->sampler, serial);
	kind.no_user = session_sampling(s)->exclude_user || session_sampling(s)->event.exclude_user;
	event = map_find(&of(s)->serials, serial);
	kind.event = event ? (uint8_t)*event : 0;
	index = pipeline_kind(s->pipeline, &kind);
	if (index >= 0)
		(void)map_set(&of(s)->kinds, id, (uint64_t)index);
	return index;
}

/* Moves what the lane holds into the order.  @now_ns was read before. */
static void take_in(struct session *s, size_t i, uint64_t now_ns)
{
	struct ring_slot *slot = &of(s)->rings.at[i];
	const struct layout *common = sampler_common_layout(of(s)->sampler);
	bool side_band = ring_use_of(i) == RING_SIDE_BAND;
	struct sample_id id;
	struct lane_record rec;
	uint64_t bound, last_id = 0;
	uint32_t type;
	int kind, last_kind = -1;

	while (lane_peek(slot->lane, &rec)) {
		kind = -1;
		if (record_peek(common, rec.bytes, rec.size, &type, &id) == 0) {
			if (last_kind < 0 || id.id != last_id) /* mostly of one event */
				last_kind = kind_of(s, last_id = id.id, side_band);
			kind = last_kind;
		}
		if (kind < 0)
			s->pipeline->counts.bad++;
		else if (type == RECORD_SAMPLE &&
			 order_pending_bytes(s->pipeline->order) > ORDER_FULL)
			s->pipeline->counts.failed++;
		else
			pipeline_push(s->pipeline, (uint32_t)i, id.time_ns, rec.bytes, rec.size,
				      kind, NULL);
		if (kind >= 0 && type == RECORD_MMAP2)
			pipeline_glimpse(s->pipeline, rec.bytes, rec.size, kind);
	}
	lane_release(slot->lane);
	readers_consumed(of(s)->rings.readers, i);
	bound = readers_bound(of(s)->rings.readers, i, now_ns);
	slot->reached = bound > SLACK_NS ? bound - SLACK_NS : 0;
	order_bound(s->pipeline->order, (uint32_t)i, slot->reached);
}

static bool poll_live(struct session *s, uint64_t until_ns)
{
	uint64_t now;

	if (!of(s)->busy || order_pending_bytes(s->pipeline->order) < ORDER_MOST) {
		readers_clear(of(s)->rings.readers);
		now = clock_ns();
		for (size_t i = 0; i < of(s)->rings.nr; i++)
			take_in(s, i, now);
	}
	of(s)->busy = pipeline_work(s->pipeline, until_ns);
	return of(s)->busy;
}

static uint64_t reached(const struct session *s)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < of(s)->rings.nr; i++)
		if (of(s)->rings.at[i].reached < least)
			least = of(s)->rings.at[i].reached;
	return least;
}

static uint64_t dropped(const struct session *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < of(s)->rings.nr; i++)
		sum += readers_stats(of(s)->rings.readers, i).dropped;
	return sum;
}

/*
 * Changes sampling, and files what comes from now on under its event.  Also a failed change may
 * have opened anew what was there, under another serial.
 */
static int apply(struct session *s, struct sampling *sampling, struct reason *why)
{
	int index = event_index(s, &sampling->event), err;

	if (index < 0)
		return reason_set(why, index,
				  index == -ENOSPC ? "no more than %d events in one session"
						   : "out of memory",
				  QUERY_ANY_EVENT);
	err = sampler_change(of(s)->sampler, sampling, why);
	if (use_event(s, err ? s->event : index) && !err)
		err = reason_set(why, -ENOMEM, "out of memory");
	return err;
}

static void tell_step(struct session *s, enum adapt_step step, const struct sampling *now,
		      uint64_t part, uint64_t whole, uint64_t now_ns)
{
	unsigned long long of = part, all = whole;

	if (step == ADAPT_SLOWER)
		notes_add(
			&s->notes, "back-off", now_ns,
			"%llu of %llu samples were lost: this machine cannot carry the rate, now %s %llu",
			of, all, now->by_frequency ? "-F" : "-c", (unsigned long long)now->rate);
	else if (step == ADAPT_LESS_STACK)
		notes_add(
			&s->notes, "stacks", now_ns,
			"copying stacks costs too much here: now %u KB of each (--call-graph dwarf,BYTES sets it)",
			now->stack_bytes / 1000);
	else
		notes_add(&s->notes, "stacks", now_ns,
			  "%llu of %llu stacks were cut: now %u KB of each are copied", of, all,
			  now->stack_bytes / 1000);
}

static void look_after_rate(struct session *s, uint64_t now_ns)
{
	struct session_counts c = session_counts(s);
	struct adapt_look look = {
		.time_ns = now_ns,
		.samples = c.samples,
		.lost = c.lost + c.dropped,
		.cut = s->pipeline->counts.ends[STACK_CUT],
		.own_cpu_ns = session_own_cpu_ns(s),
	};
	uint64_t part, whole;
	struct sampling next;
	enum adapt_step step;

	if (of(s)->resumed_ns && now_ns - of(s)->resumed_ns < RESUME_NS) {
		of(s)->adapt.last = look;
		return;
	}
	step = adapt(&of(s)->adapt, &look, session_sampling(s), !s->options->stack_bytes_given,
		     &next, &part, &whole);

	if (step != ADAPT_KEEP && apply(s, &next, NULL) == 0)
		tell_step(s, step, session_sampling(s), part, whole, now_ns);
}

static void look_after_side_band(struct session *s, uint64_t now_ns)
{
	struct live_source *p = of(s);

	if (s->pipeline->counts.lost_side_band == p->side_band_lost)
		return;
	p->side_band_lost = s->pipeline->counts.lost_side_band;
	space_scan_all(s->pipeline->space, now_ns);
	notes_add(&s->notes, "side-band", now_ns,
		  "the kernel lost %llu records of processes and mappings: /proc was read again",
		  (unsigned long long)p->side_band_lost);
}

static void look_after(struct session *s)
{
	if (s->command.pid ? command_poll(&s->command) : !sampler_target_alive(of(s)->sampler))
		s->ended_ns = clock_ns();
}

static void look_after_target(struct session *s, uint64_t now_ns)
{
	if (now_ns - of(s)->rescanned_ns >= RESCAN_TARGET_NS) {
		of(s)->rescanned_ns = now_ns;
		(void)sampler_rescan(of(s)->sampler);
	}
	(void)session_ended(s);
}

static void look_after_rings(struct session *s, uint64_t now_ns)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < of(s)->rings.nr; i++)
		bad += readers_stats(of(s)->rings.readers, i).bad;
	if (bad)
		notes_add(&s->notes, "rings", now_ns,
			  "%llu times a ring held what is no record: what it held then is lost",
			  (unsigned long long)bad);
}

static void tidy(struct session *s)
{
	uint64_t now = clock_ns();

	if (now - of(s)->asked_ns >=
	    TIDY_ASKS_NS) /* refreshes are far apart: judge by all there is */
		readers_nudge(of(s)->rings.readers);
	look_after_rings(s, now);
	look_after_side_band(s, now);
	look_after_target(s, now);
	if (!s->ended_ns)
		look_after_rate(s, now);
	symbols_reload_kernel(s->pipeline->symbols, now);
	pipeline_tidy(s->pipeline, now);
}

static void resumed(struct session *s)
{
	of(s)->resumed_ns = clock_ns();
}

static const char *when(const struct session *s)
{
	return s->ended_ns ? "ended" : "live";
}

static int change(struct session *s, const struct sampling *wanted, struct reason *why)
{
	struct sampling sampling = *wanted;
	bool kernel_is_new = session_sampling(s)->exclude_kernel && !wanted->exclude_kernel;
	int err = apply(s, &sampling, why);

	if (err)
		return err;
	notes_drop(&s->notes, "back-off");
	if (kernel_is_new && symbols_load_kernel(s->pipeline->symbols))
		notes_add(&s->notes, "kernel", clock_ns(), "%s",
			  symbols_kernel_why(s->pipeline->symbols));
	return 0;
}

static const struct sampling *sampling(const struct session *s)
{
	return sampler_current(of(s)->sampler);
}

static uint32_t nr_cpus(const struct session *s)
{
	return (uint32_t)sampler_nr_cpus(of(s)->sampler);
}

static const struct event *held(const struct session *s, size_t i)
{
	return i < of(s)->events.nr ? &of(s)->events.at[i] : NULL;
}

static const struct sampler *sampler(const struct session *s)
{
	return of(s)->sampler;
}

static const char *sampled(const struct session *s, uint32_t serial)
{
	const uint64_t *event = map_find(&of(s)->serials, serial);

	return event ? of(s)->events.at[*event].name : NULL;
}

const struct source source_live = {
	.open = open_live,
	.close = close_live,
	.fd = fd_of,
	.ask = ask,
	.poll = poll_live,
	.reached = reached,
	.look_after = look_after,
	.tidy = tidy,
	.resumed = resumed,
	.when = when,
	.change = change,
	.sampling = sampling,
	.held = held,
	.sampler = sampler,
	.sampled = sampled,
	.nr_cpus = nr_cpus,
	.dropped = dropped,
	.save_begin = recorder_save_begin,
	.save_kernel = recorder_save_kernel,
};
