/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "event/limits.h"
#include "event/sampler_impl.h"

/* A reader that is not told otherwise wakes at each 16 KiB: some hundred samples with callchains.
 */
enum { DEFAULT_WATERMARK = 16 << 10 };

static int copy_list(const struct u32_list *from, struct u32_list *to)
{
	for (size_t i = 0; i < from->nr; i++)
		if (vec_push(to, from->at[i]))
			return -ENOMEM;
	return 0;
}

static bool list_has(const struct u32_list *l, uint32_t x)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->at[i] == x)
			return true;
	return false;
}

static int choose_cpus(struct sampler *sp, struct reason *why)
{
	struct u32_list online = { 0 };
	char *text = NULL;
	size_t len;
	int err = parse_file("/sys/devices/system/cpu/online", 4096, &text, &len);

	if (!err) {
		text[strcspn(text, "\n")] = '\0';
		err = parse_cpulist(text, &online);
	}
	if (err) {
		reason_set(
			why, err,
			"which CPUs are online cannot be read: mount sysfs, sudo mount -t sysfs sys /sys");
		goto out;
	}
	for (size_t i = 0; !err && i < sp->target.cpus.nr; i++)
		if (!list_has(&online, sp->target.cpus.at[i]))
			err = reason_set(why, -EINVAL, "CPU %u is not online: this machine has %s",
					 sp->target.cpus.at[i], text);
	if (!err)
		err = copy_list(sp->target.cpus.nr ? &sp->target.cpus : &online, &sp->cpus);
out:
	free(text);
	vec_done(&online);
	return err;
}

static void close_owners(struct sampler *sp, enum ring_use use)
{
	for (size_t i = 0; sp->owners[use] && i < sp->cpus.nr; i++)
		if (sp->owners[use][i] >= 0)
			close(sp->owners[use][i]);
	free(sp->owners[use]);
	sp->owners[use] = NULL;
}

static int open_owners(struct sampler *sp, enum ring_use use, uint32_t watermark)
{
	struct perf_event_attr attr = attr_owner(&sp->features, watermark);
	int *fds = malloc(sp->cpus.nr * sizeof(*fds));

	if (!fds)
		return -ENOMEM;
	for (size_t i = 0; i < sp->cpus.nr; i++) {
		fds[i] = perf_open(&attr, 0, (int)sp->cpus.at[i]);
		if (fds[i] < 0) {
			int err = fds[i];

			while (i-- > 0)
				close(fds[i]);
			free(fds);
			return err;
		}
	}
	close_owners(sp, use);
	sp->owners[use] = fds;
	return 0;
}

static int sampler_new(struct sampler **ret, const struct target *t, struct reason *why)
{
	struct sampler *sp = calloc(1, sizeof(*sp));
	int err;

	if (!sp)
		return -ENOMEM;
	sp->target = *t;
	sp->target.ids = (struct u32_list){ 0 };
	sp->target.cpus = (struct u32_list){ 0 };
	sp->nr_wanted = 1;
	descriptors_raise(sampler_descriptors(sp, 1));
	err = copy_list(&t->ids, &sp->target.ids);
	if (!err)
		err = copy_list(&t->cpus, &sp->target.cpus);
	if (!err)
		err = choose_cpus(sp, why);
	if (err) {
		sampler_free(sp);
		return err;
	}
	features_probe(&sp->features);
	facts_read(&sp->facts);
	for (int bits = 0; bits < NR_LAYOUTS; bits++) {
		struct perf_event_attr attr = attr_owner(&sp->features, 1);

		if (bits & LAYOUT_CALLCHAIN)
			attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		if (bits & LAYOUT_NO_PERIOD)
			attr.sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
		if (bits & LAYOUT_STACK)
			attr_add_stack(&attr, STACK_BYTES_DEFAULT);
		if (bits & LAYOUT_CALLS)
			attr_add_calls(&attr);
		sp->layouts[bits] = layout_of(&attr);
	}
	sp->watermark = DEFAULT_WATERMARK;
	*ret = sp;
	return 0;
}

void sampler_free(struct sampler *sp)
{
	if (!sp)
		return;
	set_done(&sp->sampling);
	set_done(&sp->tracking);
	for (int use = 0; use < NR_RING_USES; use++)
		close_owners(sp, use);
	for (size_t i = 0; i < KEPT_GENERATIONS; i++)
		free(sp->closed[i].ids);
	vec_done(&sp->pending);
	map_done(&sp->ambiguous);
	map_done(&sp->watched);
	map_done(&sp->outsiders);
	map_done(&sp->ids);
	vec_done(&sp->cpus);
	target_done(&sp->target);
	free(sp);
}

/* What the target was asked to be must be there: one missing PID of several is a mistake to tell,
 * not to pass over. */
static int first_scan(struct sampler *sp, struct task_list *tasks, struct reason *why)
{
	uint32_t missing = 0;
	int err = cover_scan(sp, tasks, &missing);

	if (err)
		return reason_set(why, err, "/proc cannot be read: %s", strerror(-err));
	if (missing || (tasks->nr == 0 && sp->target.kind != TARGET_USER))
		return sampler_refuse(sp, -ESRCH, NULL, false, (pid_t)missing, why);
	if (tasks->nr == 0)
		return reason_set(
			why, -ESRCH,
			"user %u runs no process: start one, or watch the whole system without -u",
			(unsigned int)sp->target.uid);
	return 0;
}

static int open_all(struct sampler *sp, struct sampling *s, struct reason *why)
{
	struct perf_event_attr attr, tracking;
	struct task_list tasks = { 0 };
	int err = first_scan(sp, &tasks, why);

	if (!err)
		err = cover_note_outsiders(sp, &tasks);
	if (err)
		goto out;
	descriptors_raise(sampler_descriptors(sp, tasks.nr));
	err = open_owners(sp, RING_SIDE_BAND, 1);
	if (!err)
		err = open_owners(sp, RING_SAMPLES, sp->watermark);
	if (err) {
		sampler_refuse(sp, err, NULL, false, 0, why);
		goto out;
	}
	err = cover_negotiate(sp, &tasks, s, &attr, why);
	if (err)
		goto out;
	sp->current = *s;
	tracking = attr_tracking(&sp->features, &sp->target);
	set_init(&sp->tracking, &tracking, 0, LAYOUT_PLAIN, &sp->cpus, &sp->ids);
	/* Without a ring a running event costs little and gives nothing: so none has to be enabled
	 * one by one. */
	attr.disabled = sp->target.on_exec;
	attr.enable_on_exec = sp->target.on_exec;
	set_init(&sp->sampling, &attr, ++sp->serial, sampler_layout_bits(&attr), &sp->cpus,
		 &sp->ids);
	err = cover_all(sp, &sp->tracking, &sp->sampling, why);
out:
	vec_done(&tasks);
	return err;
}

int sampler_open(struct sampler **ret, const struct target *t, struct sampling *s,
		 sampler_note_fn *note, void *ctx, struct reason *why)
{
	struct sampling wanted = *s;
	struct sampler *sp;
	char text[96];
	int err = sampler_new(&sp, t, why);

	if (err)
		return err == -ENOMEM
			       ? reason_set(why, err,
					    "there is no memory left: free -h shows who has it")
			       : err;
	sp->note = note;
	sp->note_ctx = ctx;
	err = open_all(sp, &wanted, why);
	if (err) {
		sampler_free(sp);
		return err;
	}
	if (sp->nr_protected) {
		snprintf(text, sizeof(text),
			 "%zu protected threads are left out: sudo ptop shows them",
			 sp->nr_protected);
		sampler_tell(sp, text);
	}
	*s = wanted;
	*ret = sp;
	return 0;
}

/* Errors that speak of the event, so that a lesser event may do. */
static bool about_event(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENXIO ||
	       err == -EINVAL || err == -EBUSY;
}

int sampler_open_default(struct sampler **ret, const struct target *t, struct sampling *s,
			 sampler_note_fn *note, void *ctx, struct reason *why)
{
	struct reason best = { "" };
	struct sampling wanted;
	const char *name;
	char text[sizeof(best.text) + 64];
	int err = -ENOENT;

	for (size_t i = 0; (name = event_ladder(i)); i++) {
		wanted = *s;
		err = event_parse(name, &wanted.event, why);
		if (!err)
			err = sampler_open(ret, t, &wanted, note, ctx, why);
		if (!err || !about_event(err))
			break;
		if (!best.text[0] && why)
			best = *why;
	}
	if (err)
		return err;
	if (event_is_clock(&wanted.event) && note) {
		snprintf(text, sizeof(text), "cpu-clock stands in for cycles: %s",
			 (*ret)->facts.virtual_machine
				 ? "this virtual machine has no hardware counters"
				 : "no hardware counter can be opened here");
		note(ctx, text);
	}
	*s = wanted;
	return 0;
}

size_t sampler_nr_cpus(const struct sampler *sp)
{
	return sp->cpus.nr;
}

uint32_t sampler_cpu(const struct sampler *sp, size_t i)
{
	return sp->cpus.at[i];
}

int sampler_owner(const struct sampler *sp, size_t i, enum ring_use use)
{
	return sp->owners[use][i];
}

int sampler_set_watermark(struct sampler *sp, uint32_t sample_bytes)
{
	int err;

	if (sp->started)
		return -EBUSY;
	err = open_owners(sp, RING_SAMPLES, sample_bytes);
	if (!err)
		sp->watermark = sample_bytes;
	return err;
}

int sampler_start(struct sampler *sp, struct reason *why)
{
	struct refusal r = { .step = STEP_REDIRECT,
			     .event = &sp->current.event,
			     .kind = sp->target.kind };
	int err = set_start(&sp->tracking, sp->owners[RING_SIDE_BAND]);

	if (!err)
		err = set_start(&sp->sampling, sp->owners[RING_SAMPLES]);
	if (err == -EINVAL)
		return reason_set(why, err,
				  "events cannot be joined to the rings: a ring is not mapped");
	if (err) {
		r.err = -err;
		return diagnose(&sp->facts, &r, why);
	}
	sp->started = true;
	return 0;
}

const struct sampling *sampler_current(const struct sampler *sp)
{
	return &sp->current;
}

bool sampler_target_alive(const struct sampler *sp)
{
	struct task_state state;

	if (sp->target.kind == TARGET_SYSTEM || sp->target.kind == TARGET_USER)
		return true;
	/* Asking the events would take a wake-up from the reader now and then, so they are asked
	 * last. */
	for (size_t i = 0; i < sp->target.ids.nr; i++)
		if (map_find(&sp->watched, sp->target.ids.at[i]) &&
		    task_state_read((pid_t)sp->target.ids.at[i], &state) == 0 &&
		    state.state != 'Z' && state.state != 'X')
			return true;
	return set_alive(&sp->tracking);
}

const struct layout *sampler_layout(const struct sampler *sp, uint64_t id, uint32_t *ret_serial)
{
	const uint64_t *value = map_find(&sp->ids, id);
	struct id_meaning meaning;

	if (!value)
		return NULL;
	meaning = id_unpack(*value);
	if (ret_serial)
		*ret_serial = meaning.serial;
	return &sp->layouts[meaning.layout];
}

const struct layout *sampler_common_layout(const struct sampler *sp)
{
	return &sp->layouts[LAYOUT_PLAIN];
}

const struct layout *sampler_stack_layout(const struct sampler *sp)
{
	return &sp->layouts[LAYOUT_CALLCHAIN | LAYOUT_STACK];
}

uint32_t sampler_serial(const struct sampler *sp)
{
	return sp->sampling.serial;
}

const struct perf_event_attr *sampler_attr(const struct sampler *sp, uint32_t serial)
{
	if (!serial)
		return &sp->tracking.attr;
	if (serial == sp->sampling.serial)
		return &sp->sampling.attr;
	for (size_t i = 0; i < KEPT_GENERATIONS; i++)
		if (sp->closed[i].serial == serial)
			return &sp->closed[i].attr;
	return NULL;
}

static uint64_t fixed_period(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_PERIOD ? 0 : attr->sample_period;
}

uint64_t sampler_fixed_period(const struct sampler *sp, uint32_t serial)
{
	const struct perf_event_attr *attr = serial ? sampler_attr(sp, serial) : NULL;

	return attr ? fixed_period(attr) : 0;
}

uint8_t sampler_layout_bits(const struct perf_event_attr *attr)
{
	return (attr->sample_type & PERF_SAMPLE_CALLCHAIN ? LAYOUT_CALLCHAIN : 0) |
	       (attr->sample_type & PERF_SAMPLE_STACK_USER ? LAYOUT_STACK : 0) |
	       (attr->sample_type & PERF_SAMPLE_BRANCH_STACK ? LAYOUT_CALLS : 0) |
	       (attr->sample_type & PERF_SAMPLE_PERIOD ? 0 : LAYOUT_NO_PERIOD);
}

uint64_t sampler_kernel_lost(const struct sampler *sp)
{
	return sp->lost_closed + set_lost(&sp->tracking) + set_lost(&sp->sampling);
}

size_t sampler_nr_events(const struct sampler *sp)
{
	return NR_RING_USES * sp->cpus.nr + sp->tracking.nr_open + sp->sampling.nr_open;
}
