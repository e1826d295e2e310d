/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampling of a running session: changed, followed to new threads, mended of doubles.
 *
 * A change opens the new events beside the old ones, joins them to the same rings, starts them and
 * only then closes the old ones: nothing is missed in between, the side-band is not touched.  Only
 * where the descriptors do not suffice for both are the old ones closed first.  A closed sampling's
 * ids stay known for KEPT_GENERATIONS more, for its records are still in flight.
 */
#include "event/sampler_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "event/limits.h"

static bool same_event(const struct event *a, const struct event *b)
{
	return a->type == b->type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && a->exclude_kernel == b->exclude_kernel &&
	       a->exclude_user == b->exclude_user && a->exclude_hv == b->exclude_hv &&
	       a->precise == b->precise;
}

static bool only_rate_differs(const struct sampling *a, const struct sampling *b)
{
	return same_event(&a->event, &b->event) && a->exclude_kernel == b->exclude_kernel &&
	       a->exclude_user == b->exclude_user && a->call_graph == b->call_graph &&
	       (a->call_graph != CALL_GRAPH_DWARF || a->stack_bytes == b->stack_bytes);
}

/*
 * Whether PERF_EVENT_IOC_PERIOD makes @b of @a, weights included.  Not for clocks: the timer obeys,
 * but the samples go on telling the period they were opened with (hw.last_period,
 * perf_swevent_hrtimer(), kernel/events/core.c).  Not where the samples carry no period: what is in
 * flight would be weighed anew.
 */
static bool changes_in_place(const struct sampling *a, const struct sampling *b)
{
	return only_rate_differs(a, b) && a->by_frequency == b->by_frequency &&
	       !event_is_clock(&a->event) && !counts_each(a);
}

/* The old sampling's ids go to the newest place; the oldest are forgotten. */
static void keep_ids(struct sampler *sp, struct event_set *old)
{
	struct generation *oldest = &sp->closed[KEPT_GENERATIONS - 1];

	set_forget_ids(oldest->ids, oldest->nr_ids, &sp->ids);
	free(oldest->ids);
	memmove(&sp->closed[1], &sp->closed[0], (KEPT_GENERATIONS - 1) * sizeof(sp->closed[0]));
	sp->closed[0] = (struct generation){
		.ids = old->event_ids,
		.nr_ids = old->slots.nr * old->cpus->nr,
		.serial = old->serial,
		.attr = old->attr,
	};
	old->event_ids = NULL;
}

/* set_done() reads what each event lost while it closes it. */
static void close_sampling(struct sampler *sp, struct event_set *old)
{
	if (old->event_ids)
		keep_ids(sp, old);
	set_done(old);
	sp->lost_closed += old->lost_closed;
}

/* Opens the new sampling and lets it take over from @old (NULL: none is open). */
static int open_new(struct sampler *sp, struct event_set *set, struct event_set *old,
		    const struct perf_event_attr *attr, struct reason *why)
{
	int err;

	set_init(set, attr, ++sp->serial, sampler_layout_bits(attr), &sp->cpus, &sp->ids);
	if (sp->started) {
		set->rings = sp->owners[RING_SAMPLES];
	} else {
		set->attr.disabled = sp->target.on_exec;
		set->attr.enable_on_exec = sp->target.on_exec;
	}
	err = cover_all(sp, NULL, set, why);
	if (!err && sp->started) {
		err = set_take_over(set, old);
		if (err)
			sampler_refuse(sp, err, &sp->current.event, false, 0, why);
	}
	if (err)
		close_sampling(sp, set);
	return err;
}

/*
 * Both samplings do not fit: the old one goes first, and comes back if the new one fails.  Only
 * here can a change leave the session without a sampling, when neither opens.
 */
static int swap_close_first(struct sampler *sp, const struct perf_event_attr *attr,
			    struct reason *why)
{
	struct perf_event_attr old_attr = sp->sampling.attr;
	struct event_set set;
	int err;

	old_attr.disabled = 1;
	close_sampling(sp, &sp->sampling);
	err = open_new(sp, &set, NULL, attr, why);
	if (err && open_new(sp, &set, NULL, &old_attr, NULL)) {
		set_init(&sp->sampling, &old_attr, sp->serial, sampler_layout_bits(&old_attr),
			 &sp->cpus, &sp->ids);
		return err;
	}
	sp->sampling = set;
	return err;
}

static int reopen(struct sampler *sp, const struct perf_event_attr *attr, struct reason *why)
{
	struct map ambiguous = sp->ambiguous;
	struct event_set set;
	int err;

	sp->ambiguous = (struct map){ 0 };
	err = open_new(sp, &set, &sp->sampling, attr, why);
	if (err && err != -EMFILE) {
		map_done(&sp->ambiguous);
		sp->ambiguous = ambiguous;
		return err;
	}
	map_done(&ambiguous);
	if (err)
		return swap_close_first(sp, attr, why);
	close_sampling(sp, &sp->sampling);
	sp->sampling = set;
	return 0;
}

/*
 * The new rate on the events that are open, if that reaches all: inherited events keep the old one,
 * so it does not where a thread lives that is watched by inheritance.  @ret_done false: a reopening
 * is needed.
 */
static int change_rate(struct sampler *sp, const struct sampling *s, bool *ret_done)
{
	struct perf_event_attr attr = attr_sampling(&sp->features, sp->target.kind, s);
	struct task_list tasks = { 0 };
	bool reaches_all = true;
	int err;

	*ret_done = false;
	/* sample_freq and sample_period are one field. */
	err = set_period(&sp->sampling, attr.sample_freq);
	if (err)
		return err;
	if (sp->target.kind != TARGET_SYSTEM) {
		err = cover_scan(sp, &tasks, NULL);
		for (size_t i = 0; !err && reaches_all && i < tasks.nr; i++) {
			struct task_state state;

			reaches_all = set_find(&sp->sampling, tasks.at[i].tid) ||
				      task_state_read(tasks.at[i].tid, &state) == -ESRCH;
		}
		vec_done(&tasks);
	}
	*ret_done = !err && reaches_all;
	if (*ret_done)
		sp->sampling.attr.sample_freq = attr.sample_freq;
	return err;
}

int sampler_change(struct sampler *sp, struct sampling *s, struct reason *why)
{
	struct task_list tasks = { 0 };
	struct sampling wanted = *s;
	struct perf_event_attr attr;
	bool done = false;
	int err = cover_scan(sp, &tasks, NULL);

	if (err)
		return reason_set(why, err, "/proc cannot be read: %s", strerror(-err));
	err = cover_negotiate(sp, &tasks, &wanted, &attr, why);
	if (err)
		goto out;
	done = only_rate_differs(&sp->current, &wanted) && sp->current.rate == wanted.rate &&
	       sp->current.by_frequency == wanted.by_frequency;
	if (!done && changes_in_place(&sp->current, &wanted) && change_rate(sp, &wanted, &done))
		done = false;
	if (!done)
		err = reopen(sp, &attr, why);
	if (err) {
		/* A rate that reached some events is taken back. */
		if (changes_in_place(&wanted, &sp->current))
			(void)set_period(&sp->sampling, sp->sampling.attr.sample_freq);
		goto out;
	}
	sp->current = wanted;
	*s = wanted;
out:
	vec_done(&tasks);
	return err;
}

/* Opens threads by name in the running session; how many. */
static size_t watch_tasks(struct sampler *sp, const struct task_list *tasks, bool tracking)
{
	size_t opened = 0;

	for (size_t i = 0; i < tasks->nr; i++) {
		pid_t tid = tasks->at[i].tid;

		if (set_find(&sp->sampling, tid))
			continue;
		if (tracking && set_add(&sp->tracking, tid, true, sp->round))
			continue;
		if (set_add(&sp->sampling, tid, true, sp->round)) {
			if (tracking)
				set_close_slot(&sp->tracking, set_find(&sp->tracking, tid),
					       sp->round);
			continue;
		}
		if (sampler_mark(sp, tid, true))
			break;
		opened++;
	}
	return opened;
}

/* Processes of the user that no watched process started: by login, su, cron. */
static size_t watch_new_of_user(struct sampler *sp)
{
	struct task_list all = { 0 }, strangers = { 0 };
	struct task_state state;
	size_t opened = 0;
	int err = targets_scan(&sp->target, &all, NULL);

	for (size_t i = 0; !err && i < all.nr; i++) {
		const struct task *task = &all.at[i];

		if (map_find(&sp->watched, (uint32_t)task->tid) ||
		    map_find(&sp->watched, (uint32_t)task->pid))
			continue;
		if (task_state_read(task->pid, &state) ||
		    map_find(&sp->watched, (uint32_t)state.parent))
			continue;
		err = vec_push(&strangers, *task);
	}
	descriptors_raise(sampler_descriptors(sp, sp->watched.nr + strangers.nr));
	opened = watch_tasks(sp, &strangers, true);
	vec_done(&strangers);
	vec_done(&all);
	return opened;
}

size_t sampler_rescan(struct sampler *sp)
{
	size_t opened;

	if (sp->target.kind == TARGET_SYSTEM || !sp->started)
		return 0;
	sp->round++;
	sp->sampling.attr.disabled = 0;
	sp->sampling.attr.enable_on_exec = 0;
	set_close_ended(&sp->tracking, sp->round);
	set_close_ended(&sp->sampling, sp->round);
	opened = watch_tasks(sp, &sp->pending, false);
	vec_clear(&sp->pending);
	if (sp->target.kind == TARGET_USER)
		opened += watch_new_of_user(sp);
	return opened;
}

void sampler_saw_fork(struct sampler *sp, pid_t pid, pid_t tid, uint64_t time_ns)
{
	struct task task = { .pid = pid, .tid = tid };
	uint64_t *watched;

	if (sp->target.kind == TARGET_SYSTEM)
		return;
	map_remove(&sp->outsiders, (uint32_t)tid);
	watched = map_find(&sp->watched, (uint32_t)tid);
	if (watched)
		*watched |= WATCHED_INHERITED;
	else if (map_set(&sp->watched, (uint32_t)tid, WATCHED_INHERITED))
		return;
	if (time_ns <= sp->covered_ns && !set_find(&sp->sampling, tid))
		(void)vec_push(&sp->pending, task);
}

void sampler_saw_exit(struct sampler *sp, pid_t tid)
{
	const uint64_t *watched;
	struct slot *slot;

	if (sp->target.kind == TARGET_SYSTEM)
		return;
	watched = map_find(&sp->watched, (uint32_t)tid);
	if (!watched)
		return;
	if (*watched & WATCHED_DIRECT) {
		slot = set_find(&sp->tracking, tid);
		if (slot)
			slot->ended = true;
		slot = set_find(&sp->sampling, tid);
		if (slot)
			slot->ended = true;
	}
	map_remove(&sp->watched, (uint32_t)tid);
	map_remove(&sp->ambiguous, (uint32_t)tid);
}

/* The thread was inherited after all: what was opened by its name doubles each sample. */
static void close_double(struct event_set *set, pid_t tid, uint32_t round)
{
	struct slot *slot = set_find(set, tid);

	if (slot && slot->ambiguous)
		set_close_slot(set, slot, round);
}

void sampler_saw_sample(struct sampler *sp, uint64_t id, pid_t tid)
{
	/* Own and inherited events fire at the same rate: so many of the one without the other
	 * settle it. */
	enum { SETTLED = 16 };
	const uint64_t *value;
	struct id_meaning meaning;
	uint64_t *own;

	if (sp->ambiguous.nr == 0)
		return;
	own = map_find(&sp->ambiguous, (uint32_t)tid);
	value = own ? map_find(&sp->ids, id) : NULL;
	if (!value)
		return;
	meaning = id_unpack(*value);
	if (meaning.serial != (sp->sampling.serial & 0xffffff))
		return;
	if (meaning.tid == tid) {
		if (++*own >= SETTLED)
			map_remove(&sp->ambiguous, (uint32_t)tid);
		return;
	}
	map_remove(&sp->ambiguous, (uint32_t)tid);
	close_double(&sp->sampling, tid, sp->round);
	close_double(&sp->tracking, tid, sp->round);
}
