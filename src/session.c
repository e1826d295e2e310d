/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening goes: the command is forked and held, events are opened, rings mapped, events pointed at
 * the rings and started, readers started, the past read from /proc, the command let go.  Since the
 * side-band runs before /proc is read, nothing is born unseen.
 */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/text.h"
#include "clock.h"
#include "event/diagnose.h"
#include "record/decode.h"
#include "ring/lane.h"
#include "ring/reader.h"
#include "ring/ring.h"

/* Rings and lanes of all CPUs together stay within these; one CPU gets no more than the second
 * figure. */
#define RING_SAMPLES_ALL (16u << 20)
#define RING_SAMPLES_MOST (512u << 10)
#define RING_SIDE_BAND_ALL (8u << 20)
#define RING_SIDE_BAND_MOST (128u << 10)
#define LANE_SAMPLES_LEAST (64u << 10)
#define LANES_ALL (16u << 20)

/* A record is stamped before it is published: what is newer than this may still be under way. */
#define SLACK_NS (1 * NS_PER_MS)
/* While this much is ready to be worked on, records stay in their lanes (which drop samples, and
 * count). */
#define ORDER_MOST (24u << 20)
/* And beyond this much, ready or not, samples are dropped (and counted). */
#define ORDER_FULL (64u << 20)

#define BACK_OFF_NS (250 * NS_PER_MS)
#define BACK_OFF_SHARE 50 /* one sample in 50 lost */
#define RESCAN_TARGET_NS NS_PER_S

struct ring_slot {
	struct ring ring;
	struct lane *lane;
	uint64_t reached; /* all up to here is in the order */
};

struct session_private {
	struct readers *readers;
	struct ring_slot *slots; /* CPU by CPU: side-band, samples */
	size_t nr_slots;
	struct map kinds;         /* event id -> kind of the pipeline */
	VEC(struct event) events; /* all that were sampled, by the index that samples carry */
	uint8_t event;            /* the current one's index */
	struct map serials;       /* of samplings -> index of the event */
	bool busy;                /* the last poll left work undone */
	uint64_t looked_ns;       /* when losses were last looked at */
	uint64_t looked_lost, looked_samples;
	uint64_t rescanned_ns;
	uint64_t side_band_lost; /* as of the last look */
};

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
		sampler_saw_sample(s->sampler, r->sid.id, (pid_t)r->sid.tid);
		break;
	case RECORD_FORK:
		sampler_saw_fork(s->sampler, (pid_t)r->task.pid, (pid_t)r->task.tid,
				 r->task.time_ns);
		break;
	case RECORD_EXIT:
		sampler_saw_exit(s->sampler, (pid_t)r->task.tid);
		break;
	default:
		break;
	}
}

static uint32_t share(uint32_t all, uint32_t most, uint32_t least, size_t nr_cpus)
{
	uint64_t each = all / nr_cpus;
	uint64_t size = least;

	while (size * 2 <= each && size * 2 <= most)
		size *= 2;
	return (uint32_t)size;
}

/* The most that a sample ring of one CPU gets: 64 records with their stacks, or half a megabyte. */
static uint32_t ring_samples_most(const struct session *s)
{
	const struct sampling *sampling = sampler_current(s->sampler);
	uint32_t most = RING_SAMPLES_MOST;

	if (sampling->call_graph == CALL_GRAPH_DWARF)
		while (most < 64 * (sampling->stack_bytes + 512))
			most *= 2;
	return most;
}

/* Maps all rings, the sample rings at @sample_bytes.  0, -EPERM when the mlock quota does not allow
 * it, -errno. */
static int map_rings(struct session *s, uint32_t sample_bytes, uint32_t side_band_bytes,
		     struct reason *why)
{
	struct session_private *p = s->p;
	int err;

	for (size_t i = 0; i < p->nr_slots; i++) {
		enum ring_use use = i % NR_RING_USES;

		err = ring_open(&p->slots[i].ring, sampler_owner(s->sampler, i / NR_RING_USES, use),
				use == RING_SAMPLES ? sample_bytes : side_band_bytes, why);
		if (!err)
			continue;
		while (i--)
			ring_close(&p->slots[i].ring);
		return err;
	}
	return 0;
}

/* The largest rings that the quota allows, halving; told when they are small. */
static int open_rings(struct session *s, struct reason *why)
{
	size_t nr_cpus = sampler_nr_cpus(s->sampler);
	uint32_t samples = share(RING_SAMPLES_ALL, ring_samples_most(s), 64u << 10, nr_cpus);
	uint32_t side = share(RING_SIDE_BAND_ALL, RING_SIDE_BAND_MOST, 16u << 10, nr_cpus);
	uint32_t wanted = samples, page = (uint32_t)sysconf(_SC_PAGESIZE);
	int err;

	for (;;) {
		err = sampler_set_watermark(s->sampler, samples / 2);
		if (err)
			return reason_set(why, err, "cannot open the rings' events: %s",
					  strerror(-err));
		err = map_rings(s, samples, side, why);
		if (err != -EPERM || samples <= 2 * page)
			break;
		samples /= 2;
		if (side > 2 * page)
			side /= 2;
	}
	if (err)
		return diagnose_mmap(-err, (uint64_t)(samples + side) * nr_cpus / 1024, why);
	if (samples < wanted)
		notes_add(&s->notes, "rings", clock_ns(),
			  "small rings of %u KB: the quota of locked memory is used up "
			  "(sudo sysctl kernel.perf_event_mlock_kb=4096)",
			  samples / 1024);
	return 0;
}

static int open_lanes(struct session *s, struct reason *why)
{
	struct session_private *p = s->p;
	size_t nr_cpus = sampler_nr_cpus(s->sampler);
	uint32_t samples = share(LANES_ALL, 2 * ring_samples_most(s), LANE_SAMPLES_LEAST, nr_cpus);
	struct reader_ring *rings;
	int err;

	rings = calloc(p->nr_slots, sizeof(*rings));
	if (!rings)
		return reason_set(why, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->nr_slots; i++) {
		bool side = i % NR_RING_USES == RING_SIDE_BAND;

		p->slots[i].lane = lane_new(side ? samples / 4 : samples);
		if (!p->slots[i].lane) {
			free(rings);
			return reason_set(why, -ENOMEM, "out of memory");
		}
		rings[i] = (struct reader_ring){
			.fd = sampler_owner(s->sampler, i / NR_RING_USES, i % NR_RING_USES),
			.ring = &p->slots[i].ring,
			.lane = p->slots[i].lane,
			.cpu = sampler_cpu(s->sampler, i / NR_RING_USES),
			.side_band = side,
		};
	}
	err = readers_start(&p->readers, rings, p->nr_slots, why);
	free(rings);
	return err;
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
	else if (space_task_info(s->pipeline.space,
				 space_task(s->pipeline.space, (pid_t)t->ids.at[0],
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
		space_scan_all(s->pipeline.space, now);
	else
		for (size_t i = 0; i < t->ids.nr; i++)
			space_scan(s->pipeline.space, (pid_t)t->ids.at[i], now);
	if (!s->options->sampling.exclude_kernel && !sampler_current(s->sampler)->exclude_kernel &&
	    symbols_load_kernel(s->pipeline.symbols))
		notes_add(&s->notes, "kernel", now, "%s", symbols_kernel_why(s->pipeline.symbols));
}

static int open_pipeline(struct session *s, struct reason *why)
{
	size_t nr_cpus = sampler_nr_cpus(s->sampler);
	size_t history = s->options->history_bytes;
	long max_stack = 127;
	struct pipeline_config config = {
		.nr_sources = (uint32_t)(nr_cpus * NR_RING_USES),
		.own_pid = getpid(),
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
	if (pipeline_init(&s->pipeline, &config))
		return reason_set(why, -ENOMEM, "out of memory: try a smaller --history");
	return 0;
}

/* Samples of the current sampling are of event @e from now on. */
static int use_event(struct session *s, const struct event *e)
{
	struct session_private *p = s->p;
	size_t i = 0;

	while (i < p->events.nr && strcmp(p->events.at[i].name, e->name) != 0)
		i++;
	if (i >= QUERY_ANY_EVENT)
		return -ENOSPC;
	if (i == p->events.nr && vec_push(&p->events, *e))
		return -ENOMEM;
	p->event = (uint8_t)i;
	return map_set(&p->serials, sampler_serial(s->sampler), i);
}

static int open_sampler(struct session *s, struct target *t, struct reason *why)
{
	struct sampling sampling = s->options->sampling;
	int err;

	if (s->options->event_given)
		err = sampler_open(&s->sampler, t, &sampling, note, s, why);
	else
		err = sampler_open_default(&s->sampler, t, &sampling, note, s, why);
	if (err)
		return err;
	s->p->nr_slots = sampler_nr_cpus(s->sampler) * NR_RING_USES;
	s->p->slots = calloc(s->p->nr_slots, sizeof(*s->p->slots));
	if (!s->p->slots || use_event(s, &sampling.event))
		return reason_set(why, -ENOMEM, "out of memory");
	return 0;
}

int session_open(struct session *s, const struct options *o, struct reason *why)
{
	struct target target = o->target;
	uint32_t child;
	struct timespec wall;
	int err;

	*s = (struct session){ .options = o, .command = { .go_fd = -1, .error_fd = -1 } };
	s->p = calloc(1, sizeof(*s->p));
	if (!s->p)
		return reason_set(why, -ENOMEM, "out of memory");
	if (o->command) {
		err = command_fork(&s->command, o->command, o->command_output, why);
		if (err)
			goto failed;
		child = (uint32_t)s->command.pid;
		target.kind = TARGET_PIDS;
		target.ids = (struct u32_list){ .at = &child, .nr = 1, .cap = 1 };
		target.on_exec = true;
	}
	err = open_sampler(s, &target, why);
	if (!err)
		err = open_pipeline(s, why);
	if (!err)
		err = open_rings(s, why);
	if (!err)
		err = sampler_start(s->sampler, why);
	if (!err)
		err = open_lanes(s, why);
	if (err)
		goto failed;
	s->start_ns = clock_ns();
	clock_gettime(CLOCK_REALTIME, &wall);
	s->start_unix_ns = (uint64_t)wall.tv_sec * NS_PER_S + (uint64_t)wall.tv_nsec;
	s->p->looked_ns = s->p->rescanned_ns = s->start_ns;
	read_past(s, &target);
	describe_target(s, &target);
	if (s->command.pid) {
		err = command_go(&s->command, o->command, why);
		if (err)
			goto failed;
	}
	return 0;
failed:
	session_close(s);
	return err;
}

void session_close(struct session *s)
{
	struct session_private *p = s->p;

	command_done(&s->command);
	if (!p)
		return;
	readers_stop(p->readers);
	for (size_t i = 0; i < p->nr_slots && p->slots; i++) {
		ring_close(&p->slots[i].ring);
		lane_free(p->slots[i].lane);
	}
	sampler_free(s->sampler);
	s->sampler = NULL;
	pipeline_done(&s->pipeline);
	free(p->slots);
	map_done(&p->kinds);
	map_done(&p->serials);
	vec_done(&p->events);
	free(p);
	s->p = NULL;
}

int session_fd(const struct session *s)
{
	return readers_eventfd(s->p->readers);
}

void session_nudge(struct session *s)
{
	readers_nudge(s->p->readers);
}

/* The kind of records with that event id, made at first sight; -1 for ids that are not ours. */
static int kind_of(struct session *s, uint64_t id, bool side_band)
{
	uint64_t *known = map_find(&s->p->kinds, id), *event;
	struct record_kind kind = { .side_band = side_band };
	const struct layout *layout;
	uint32_t serial;
	int index;

	if (known)
		return (int)*known;
	layout = sampler_layout(s->sampler, id, &serial);
	if (!layout)
		return -1;
	kind.layout = *layout;
	kind.weight = sampler_fixed_period(s->sampler, serial);
	event = map_find(&s->p->serials, serial);
	kind.event = event ? (uint8_t)*event : 0;
	index = pipeline_kind(&s->pipeline, &kind);
	if (index >= 0)
		(void)map_set(&s->p->kinds, id, (uint64_t)index);
	return index;
}

/* Moves what the lane holds into the order.  @now_ns was read before. */
static void take_in(struct session *s, size_t i, uint64_t now_ns)
{
	struct ring_slot *slot = &s->p->slots[i];
	const struct layout *common = sampler_common_layout(s->sampler);
	bool side_band = i % NR_RING_USES == RING_SIDE_BAND;
	struct sample_id id;
	struct lane_record rec;
	uint64_t bound;
	uint32_t type;
	int kind;

	while (lane_peek(slot->lane, &rec)) {
		kind = -1;
		if (record_peek(common, rec.bytes, rec.size, &type, &id) == 0)
			kind = kind_of(s, id.id, side_band);
		if (kind < 0)
			s->pipeline.counts.bad++;
		else if (!side_band && order_pending_bytes(s->pipeline.order) > ORDER_FULL)
			s->pipeline.counts.failed++;
		else
			pipeline_push(&s->pipeline, (uint32_t)i, id.time_ns, rec.bytes, rec.size,
				      kind);
	}
	lane_release(slot->lane);
	readers_consumed(s->p->readers, i);
	bound = readers_bound(s->p->readers, i, now_ns);
	slot->reached = bound > SLACK_NS ? bound - SLACK_NS : 0;
	order_bound(s->pipeline.order, (uint32_t)i, slot->reached);
}

bool session_poll(struct session *s, uint64_t until_ns)
{
	uint64_t now;

	if (!s->p->busy || order_pending_bytes(s->pipeline.order) < ORDER_MOST) {
		readers_clear(s->p->readers);
		now = clock_ns();
		for (size_t i = 0; i < s->p->nr_slots; i++)
			take_in(s, i, now);
	}
	s->p->busy = pipeline_work(&s->pipeline, until_ns);
	return s->p->busy;
}

uint64_t session_reached(const struct session *s)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < s->p->nr_slots; i++)
		if (s->p->slots[i].reached < least)
			least = s->p->slots[i].reached;
	return least;
}

struct session_counts session_counts(const struct session *s)
{
	struct session_counts c = {
		.samples = s->pipeline.counts.samples,
		.lost = s->pipeline.counts.lost,
		.dropped = s->pipeline.counts.failed + s->pipeline.counts.bad,
		.late = order_late(s->pipeline.order),
		.throttled = s->pipeline.counts.throttled,
	};

	for (size_t i = 0; i < s->p->nr_slots; i++)
		c.dropped += readers_stats(s->p->readers, i).dropped;
	return c;
}

/* Samples were lost: the machine cannot carry the rate, so halve it, and say so. */
static void back_off(struct session *s, uint64_t lost, uint64_t samples, uint64_t now_ns)
{
	struct sampling slower = *session_sampling(s);
	struct reason why;

	if (slower.by_frequency && slower.rate < 2)
		return;
	slower.rate = slower.by_frequency ? slower.rate / 2 : slower.rate * 2;
	if (sampler_change(s->sampler, &slower, &why))
		return;
	notes_add(&s->notes, "back-off", now_ns,
		  "%llu of %llu samples were lost: this machine cannot carry the rate, now %s %llu",
		  (unsigned long long)lost, (unsigned long long)(lost + samples),
		  slower.by_frequency ? "-F" : "-c", (unsigned long long)slower.rate);
}

static void look_after_losses(struct session *s, uint64_t now_ns)
{
	struct session_private *p = s->p;
	struct session_counts c = session_counts(s);
	uint64_t lost = c.lost + c.dropped - p->looked_lost,
		 samples = c.samples - p->looked_samples;

	if (now_ns - p->looked_ns < BACK_OFF_NS)
		return;
	if (lost * BACK_OFF_SHARE > lost + samples)
		back_off(s, lost, samples, now_ns);
	p->looked_ns = now_ns;
	p->looked_lost = c.lost + c.dropped;
	p->looked_samples = c.samples;
	if (s->pipeline.counts.lost_side_band != p->side_band_lost) {
		p->side_band_lost = s->pipeline.counts.lost_side_band;
		space_scan_all(s->pipeline.space, now_ns);
		notes_add(
			&s->notes, "side-band", now_ns,
			"the kernel lost %llu records of processes and mappings: /proc was read again",
			(unsigned long long)p->side_band_lost);
	}
}

static void look_after_target(struct session *s, uint64_t now_ns)
{
	if (now_ns - s->p->rescanned_ns >= RESCAN_TARGET_NS) {
		s->p->rescanned_ns = now_ns;
		(void)sampler_rescan(s->sampler);
	}
	if (s->ended_ns)
		return;
	if (s->command.pid ? command_poll(&s->command) : !sampler_target_alive(s->sampler))
		s->ended_ns = now_ns;
}

void session_tidy(struct session *s, uint64_t now_ns)
{
	look_after_losses(s, now_ns);
	look_after_target(s, now_ns);
	pipeline_tidy(&s->pipeline, now_ns);
}

int session_change(struct session *s, const struct sampling *wanted, struct reason *why)
{
	struct sampling sampling = *wanted;
	bool kernel_is_new = session_sampling(s)->exclude_kernel && !wanted->exclude_kernel;
	int err = sampler_change(s->sampler, &sampling, why);

	if (err)
		return err;
	notes_drop(&s->notes, "back-off");
	if (kernel_is_new && symbols_load_kernel(s->pipeline.symbols))
		notes_add(&s->notes, "kernel", clock_ns(), "%s",
			  symbols_kernel_why(s->pipeline.symbols));
	if (use_event(s, &sampling.event))
		return reason_set(why, -ENOSPC, "no more than %d events in one session",
				  QUERY_ANY_EVENT);
	return 0;
}

const struct sampling *session_sampling(const struct session *s)
{
	return sampler_current(s->sampler);
}

uint8_t session_event(const struct session *s)
{
	return s->p->event;
}

uint64_t session_own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
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
