/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening an event on all threads of a target that lives on meanwhile.
 *
 * A thread's event is inherited by the threads it starts from then on.  So a thread born after the
 * first scan is either inherited already, or its parent was not open yet when it was born: /proc
 * does not tell which.  It is opened by its own name and marked ambiguous; if it turns out to be
 * inherited as well, its first inherited sample gives that away and its own events are closed
 * (sampler_saw_sample()).  The loop ends when a scan finds nothing new: all that come later are
 * inherited.
 */
#include "event/sampler_impl.h"

#include <errno.h>
#include <time.h>

#include "event/limits.h"

/* A target that starts threads faster than they are opened is left after this many scans;
 * sampler_rescan() goes on. */
enum { MAX_SCANS = 64 };

uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sampler_tell(struct sampler *sp, const char *sentence)
{
	if (sp->note && sentence[0])
		sp->note(sp->note_ctx, sentence);
}

uint64_t sampler_descriptors(const struct sampler *sp, size_t nr_threads)
{
	/* Tracking, sampling and the next sampling on each thread; two owners and two for the
	 * reader. */
	return (uint64_t)sp->cpus.nr * (nr_threads * 3 + 4);
}

int sampler_refuse(struct sampler *sp, int err, const struct event *e, bool wants_kernel, pid_t tid,
		   struct reason *why)
{
	struct refusal r = {
		.err = -err,
		.event = e,
		.wants_kernel = wants_kernel,
		.kind = sp->target.kind,
		.descriptors = sampler_descriptors(sp, sp->nr_wanted),
	};
	struct task_state state;

	if (sp->target.kind == TARGET_USER) {
		r.id_foreign = sp->target.uid != sp->facts.euid;
	} else if (sp->target.kind != TARGET_SYSTEM && tid > 0) {
		r.id = (uint32_t)tid;
		r.id_gone = task_state_read(tid, &state) == -ESRCH;
		r.id_foreign = task_is_foreign(tid);
	}
	facts_read(&sp->facts);
	return diagnose(&sp->facts, &r, why);
}

int sampler_mark(struct sampler *sp, pid_t tid, bool ambiguous)
{
	uint64_t *watched = map_find(&sp->watched, (uint32_t)tid);
	int err = 0;

	if (sp->target.kind == TARGET_SYSTEM)
		return 0;
	if (watched)
		*watched |= WATCHED_DIRECT;
	else
		err = map_set(&sp->watched, (uint32_t)tid, WATCHED_DIRECT);
	if (!err && ambiguous)
		err = map_set(&sp->ambiguous, (uint32_t)tid, 0);
	return err;
}

/* The id that the person knows a task of the target by. */
static pid_t known_by(const struct sampler *sp, const struct task *task)
{
	return sp->target.kind == TARGET_PIDS ? task->pid : task->tid;
}

/* Whose children are the target's: not those of single threads, /proc names a child's process only.
 */
static bool has_family(const struct sampler *sp)
{
	return sp->target.kind == TARGET_PIDS || sp->target.kind == TARGET_USER;
}

int cover_note_outsiders(struct sampler *sp, const struct task_list *tasks)
{
	struct task_list children = { 0 };
	struct map roots = { 0 };
	int err = 0;

	if (!has_family(sp))
		return 0;
	for (size_t i = 0; !err && i < tasks->nr; i++)
		err = map_set(&roots, (uint32_t)tasks->at[i].pid, 0);
	if (!err)
		err = targets_scan_children(&roots, &sp->outsiders, &children);
	for (size_t i = 0; !err && i < children.nr; i++)
		err = map_set(&sp->outsiders, (uint32_t)children.at[i].pid, 1);
	vec_done(&children);
	map_done(&roots);
	return err;
}

/* The target's own threads, and those that inherited from it: by the records seen, and by /proc's
 * parents. */
int cover_scan(struct sampler *sp, struct task_list *ret, uint32_t *ret_missing)
{
	struct map roots = { 0 };
	const struct map_entry *entry;
	size_t pos = 0;
	int err = targets_scan(&sp->target, ret, ret_missing);

	if (err || sp->target.kind == TARGET_SYSTEM || !sp->started)
		return err;
	for (size_t i = 0; !err && i < ret->nr; i++)
		err = map_set(&roots, (uint32_t)ret->at[i].pid, 0);
	while (!err && (entry = map_next(&sp->watched, &pos))) {
		struct task task = { .pid = (pid_t)entry->key, .tid = (pid_t)entry->key };

		if (entry->value & WATCHED_INHERITED) {
			err = map_set(&roots, entry->key, 0);
			if (!err)
				err = vec_push(ret, task);
		}
	}
	if (!err && has_family(sp))
		err = targets_scan_children(&roots, &sp->outsiders, ret);
	map_done(&roots);
	return err;
}

static int check_sampling(const struct sampling *s, struct reason *why)
{
	bool no_kernel = s->exclude_kernel || s->event.exclude_kernel;
	bool no_user = s->exclude_user || s->event.exclude_user;

	if (no_kernel && no_user)
		return reason_set(
			why, -EINVAL,
			"%s with kernel and user both left out samples nothing: include one of them",
			s->event.name);
	if (no_kernel && s->event.kernel_only)
		return reason_set(
			why, -EINVAL,
			"%s happens in the kernel, which is left out: include the kernel, or use "
			"-e cpu-clock",
			s->event.name);
	return 0;
}

/* The first thread that still exists decides; rights differ by thread only for TARGET_USER, where
 * others are tried. */
static int negotiate_on(struct sampler *sp, const struct task_list *tasks, const struct event *e,
			struct perf_event_attr *attr, pid_t *ret_tid)
{
	int err = -ESRCH;

	for (size_t i = 0; i < tasks->nr; i++) {
		int now = attr_negotiate(attr, e, tasks->at[i].tid, (int)sp->cpus.at[0]);

		if (now == 0)
			return 0;
		if (now == -ESRCH)
			continue;
		*ret_tid = known_by(sp, &tasks->at[i]);
		err = now;
		if (sp->target.kind != TARGET_USER || (err != -EACCES && err != -EPERM))
			return err;
	}
	return err;
}

/* Whether it is the processor's record of calls that cannot be had, and nothing else. */
static bool only_calls_fail(struct sampler *sp, const struct task_list *tasks,
			    const struct sampling *s)
{
	struct sampling plain = *s;
	struct perf_event_attr attr;
	pid_t tid;

	if (s->call_graph != CALL_GRAPH_LBR)
		return false;
	plain.call_graph = CALL_GRAPH_FP;
	attr = attr_sampling(&sp->features, sp->target.kind, &plain);
	return negotiate_on(sp, tasks, &plain.event, &attr, &tid) == 0;
}

int cover_negotiate(struct sampler *sp, const struct task_list *tasks, struct sampling *s,
		    struct perf_event_attr *ret, struct reason *why)
{
	struct sampling wanted = *s;
	struct perf_event_attr attr;
	struct reason note, step = { "" };
	pid_t tid = tasks->nr ? known_by(sp, &tasks->at[0]) : 0;
	bool kernel;
	int err;

	facts_read(&sp->facts);
	err = rate_bound(&wanted, (uint64_t)sp->facts.max_sample_rate, &note, why);
	if (!err)
		err = check_sampling(&wanted, why);
	if (err)
		return err;
	attr = attr_sampling(&sp->features, sp->target.kind, &wanted);
	kernel = !attr.exclude_kernel;
	err = negotiate_on(sp, tasks, &wanted.event, &attr, &tid);
	if ((err == -EACCES || err == -EPERM) && kernel && !wanted.event.kernel_only &&
	    !attr.exclude_user) {
		wanted.exclude_kernel = true;
		attr = attr_sampling(&sp->features, sp->target.kind, &wanted);
		diagnose_kernel_note(&sp->facts, &step);
		kernel = false;
		err = negotiate_on(sp, tasks, &wanted.event, &attr, &tid);
	}
	if (err && only_calls_fail(sp, tasks, &wanted))
		return reason_set(
			why, err,
			"this machine records no calls for %s (--call-graph lbr needs the "
			"counters of an Intel or AMD processor that do): use --call-graph auto",
			wanted.event.name);
	if (err)
		return sampler_refuse(sp, err, &wanted.event, kernel, tid, why);
	sampler_tell(sp, note.text);
	sampler_tell(sp, step.text);
	*s = wanted;
	*ret = attr;
	return 0;
}

/* Opens one thread in both sets; a thread that ended meanwhile is none. */
static int cover_one(struct sampler *sp, struct event_set *tracking, struct event_set *sampling,
		     pid_t tid, bool ambiguous)
{
	int err = 0;

	if (tracking)
		err = set_add(tracking, tid, ambiguous, sp->round);
	if (err)
		return err;
	err = set_add(sampling, tid, ambiguous, sp->round);
	if (err && tracking)
		set_close_slot(tracking, set_find(tracking, tid), sp->round);
	return err;
}

struct coverage {
	struct map seen; /* tids tried, by this opening */
	size_t nr_opened;
	pid_t refused;
	int err; /* of that refusal */
};

static bool rights(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* One pass over a scan; *ret_new: how many were not seen before. */
static int cover_pass(struct sampler *sp, struct event_set *tracking, struct event_set *sampling,
		      const struct task_list *tasks, struct coverage *c, bool ambiguous,
		      size_t *ret_new)
{
	size_t new = 0;
	int err;

	for (size_t i = 0; i < tasks->nr; i++) {
		pid_t tid = tasks->at[i].tid;

		if (map_find(&c->seen, (uint32_t)tid))
			continue;
		new ++;
		if (map_set(&c->seen, (uint32_t)tid, 1))
			return -ENOMEM;
		err = cover_one(sp, tracking, sampling, tid, ambiguous);
		if (err == -ESRCH)
			continue;
		if (rights(err) && (sp->target.kind == TARGET_USER || sp->started)) {
			sp->nr_protected++;
			c->refused = known_by(sp, &tasks->at[i]);
			c->err = err;
			continue;
		}
		if (err) {
			c->refused = known_by(sp, &tasks->at[i]);
			return err;
		}
		c->nr_opened++;
		err = sampler_mark(sp, tid, ambiguous);
		if (err)
			return err;
	}
	*ret_new = new;
	return 0;
}

int cover_all(struct sampler *sp, struct event_set *tracking, struct event_set *sampling,
	      struct reason *why)
{
	struct task_list tasks = { 0 };
	struct coverage c = { 0 };
	size_t new = 1;
	int err = 0;

	sp->nr_protected = 0;
	for (int scan = 0; !err && new &&scan < MAX_SCANS; scan++) {
		vec_clear(&tasks);
		err = cover_scan(sp, &tasks, NULL);
		if (!err && scan == 0)
			descriptors_raise(sampler_descriptors(sp, tasks.nr));
		sp->nr_wanted = tasks.nr;
		if (!err)
			err = cover_pass(sp, tracking, sampling, &tasks, &c, scan > 0, &new);
		if (sp->target.kind == TARGET_SYSTEM)
			break;
	}
	if (!err && c.nr_opened == 0)
		err = c.err ? c.err : -ESRCH;
	sp->covered_ns = monotonic_ns();
	if (err)
		sampler_refuse(sp, err, &sp->current.event, !sampling->attr.exclude_kernel,
			       c.refused  ? c.refused
			       : tasks.nr ? known_by(sp, &tasks.at[0])
					  : 0,
			       why);
	vec_done(&tasks);
	map_done(&c.seen);
	return err;
}
