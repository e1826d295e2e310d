/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording as the plain data that output/ writes: one refresh over all of it for each event that
 * has samples; folded stacks, which have no place for a name, for the event with the most.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "config.h"
#include "output/folded.h"
#include "output/json.h"
#include "output/text.h"
#include "recording_impl.h"
#include "session.h"

#define SETTLE_ALL_NS (60 * NS_PER_S)

#define CONFIG_CPU_CLOCK 0
#define CONFIG_TASK_CLOCK 1
#define TYPE_SOFTWARE 1

struct filling {
	struct recording *recording;
	struct query_cache *cache;
	struct report report;
	struct answer functions, tree;
	char group[96];
	const char *exclude[4];
	const char *notes[NOTES_MAX];
};

static const char *function_name(void *ctx, uint32_t function)
{
	const struct filling *f = ctx;
	struct ui_function info;

	names_function(f->recording->pipeline.names, function, &info);
	return info.name;
}

static const char *module_name(void *ctx, uint32_t function)
{
	const struct filling *f = ctx;
	struct ui_function info;

	names_function(f->recording->pipeline.names, function, &info);
	return info.module;
}

static const char *group_name(void *ctx, uint32_t group)
{
	struct filling *f = ctx;

	names_group(f->recording->pipeline.names, (enum ui_grouping)f->recording->options->group,
		    group, f->group, sizeof(f->group));
	return f->group;
}

static int run_queries(struct filling *f, size_t event)
{
	struct recording *r = f->recording;
	struct pipeline *pl = &r->pipeline;
	const struct options *o = r->options;
	const struct naming *naming = names_update(pl->names);
	struct query q = {
		.to_ns = UINT64_MAX,
		.event = (uint8_t)(event < QUERY_ANY_EVENT ? event : QUERY_ANY_EVENT - 1),
		.hide = o->show_idle ? 0 : SAMPLE_IDLE,
		.orientation = QUERY_FUNCTIONS,
	};
	int err;

	if (!naming || names_group_tasks(pl->names, (enum ui_grouping)o->group, &q))
		return -ENOMEM;
	err = query_run(f->cache, pl->store, pl->stacks, naming, &q, &f->functions);
	if (err || o->format == FORMAT_TEXT)
		return err;
	q.orientation = QUERY_TREE;
	return query_run(f->cache, pl->store, pl->stacks, naming, &q, &f->tree);
}

/* Unix time of the first sample, from when the file was last written; 0 where nothing tells. */
static double start_of(const struct recording *r)
{
	struct stat st;

	if (!strcmp(r->options->input, "-") || stat(r->options->input, &st) != 0)
		return 0;
	return (double)st.st_mtim.tv_sec - (double)(r->last_ns - r->first_ns) / 1e9;
}

static void fill_excluded(struct filling *f, const struct perfdata_event *e)
{
	size_t n = 0;

	if (e->flags & PERFDATA_EXCLUDE_KERNEL)
		f->exclude[n++] = "kernel";
	if (e->flags & PERFDATA_EXCLUDE_USER)
		f->exclude[n++] = "user";
	if (!f->recording->options->show_idle)
		f->exclude[n++] = "idle";
	f->report.exclude = f->exclude;
	f->report.nr_exclude = n;
}

static void fill_counts(struct filling *f, const struct perfdata_event *e)
{
	const struct recording *r = f->recording;
	struct report *to = &f->report;
	bool clock = e->type == TYPE_SOFTWARE &&
		     (e->config == CONFIG_CPU_CLOCK || e->config == CONFIG_TASK_CLOCK);

	to->start_s = start_of(r);
	to->duration_s = (double)(r->last_ns - r->first_ns) / 1e9;
	to->samples = f->functions.samples;
	to->weight = f->functions.weight;
	to->cpus = to->hidden_idle_cpus = NAN;
	if (clock && to->duration_s > 0) {
		to->cpus = (double)to->weight / 1e9 / to->duration_s;
		to->hidden_idle_cpus = (double)f->functions.hidden_idle / 1e9 / to->duration_s;
	}
	to->lost = r->pipeline.counts.lost;
	to->dropped = r->pipeline.counts.failed + r->pipeline.counts.bad + r->no_event;
	to->throttled = r->pipeline.counts.throttled;
	memcpy(to->ends, f->functions.ends, sizeof(to->ends));
	to->unnamed = f->functions.unnamed_samples;
}

static void fill(struct filling *f, size_t event, uint64_t wall_ns)
{
	static const enum report_group groups[] = {
		[GROUP_NONE] = REPORT_GROUP_NONE,
		[GROUP_COMMAND] = REPORT_GROUP_COMMAND,
		[GROUP_PROCESS] = REPORT_GROUP_PROCESS,
		[GROUP_THREAD] = REPORT_GROUP_THREAD,
	};
	struct recording *r = f->recording;
	const struct perfdata_event *e = perfdata_event(r->pd, event);
	const struct perfdata_facts *facts = perfdata_facts(r->pd);
	const struct note *note;
	size_t n = 0;

	f->report.version = PACKAGE_VERSION;
	f->report.host = facts->hostname ? facts->hostname : "";
	f->report.target.kind = "recording";
	f->report.target.command = facts->cmdline;
	f->report.event = perfdata_event_name(r->pd, event);
	f->report.by_frequency = e->by_frequency;
	f->report.rate = e->sample_period;
	f->report.own_cpu_percent =
		wall_ns ? 100.0 * (double)session_own_cpu_ns(NULL) / (double)wall_ns : 0;
	f->report.own_rss_bytes = session_own_rss_bytes();
	f->report.group = groups[r->options->group];
	f->report.functions = &f->functions;
	f->report.tree = r->options->format == FORMAT_TEXT ? NULL : &f->tree;
	f->report.names = (struct report_names){
		.ctx = f,
		.function = function_name,
		.module = module_name,
		.group = group_name,
	};
	f->report.rows = r->options->rows == SIZE_MAX ? 0 : r->options->rows;
	f->report.min_percent = r->options->min_percent;
	while (n < NOTES_MAX && (note = notes_get(&r->notes, n)))
		f->notes[n++] = note->text;
	f->report.notes = f->notes;
	f->report.nr_notes = n;
	fill_excluded(f, e);
	fill_counts(f, e);
}

static int write_event(struct recording *r, struct query_cache *cache, size_t event)
{
	struct filling f = { .recording = r, .cache = cache };
	int err = run_queries(&f, event);

	if (!err) {
		fill(&f, event, clock_ns() - r->started_ns);
		if (r->options->format == FORMAT_JSON)
			err = json_write(stdout, &f.report);
		else if (r->options->format == FORMAT_FOLDED)
			err = folded_write(stdout, &f.report);
		else
			err = text_write(stdout, &f.report, r->options->ascii);
	}
	answer_done(&f.functions);
	answer_done(&f.tree);
	return err;
}

static size_t most_sampled(const struct recording *r)
{
	size_t most = 0;

	for (size_t i = 1; i < r->samples.nr; i++)
		if (r->samples.at[i] > r->samples.at[most])
			most = i;
	return most;
}

static void tell_losses(struct recording *r)
{
	uint64_t late = order_late(r->pipeline.order);

	if (late)
		notes_add(&r->notes, "late", 0,
			  "%" PRIu64 " records were further out of order than can be mended", late);
	if (r->no_event)
		notes_add(&r->notes, "no event", 0,
			  "%" PRIu64 " samples are of events that the recording does not describe",
			  r->no_event);
}

/* Reads the images that names are still waiting for, for a bounded time. */
static void settle(struct recording *r, uint64_t most_ns)
{
	uint64_t now = clock_ns(), until = now + most_ns;

	while (names_update(r->pipeline.names) && images_wanting(r->pipeline.images) &&
	       now < until) {
		if (pipeline_work(&r->pipeline, until))
			break;
		symbols_refresh(r->pipeline.symbols, now = clock_ns());
	}
}

int recording_report(struct recording *r)
{
	struct query_cache *cache;
	int err = feed_all(r);

	if (err)
		return err;
	rnames_finish(r);
	tell_losses(r);
	settle(r, SETTLE_ALL_NS);
	pipeline_flush(&r->pipeline);
	settle(r, SETTLE_ALL_NS);
	rnames_tell(r);
	cache = query_cache_new();
	if (!cache)
		return -ENOMEM;
	if (!r->samples.nr || r->options->format == FORMAT_FOLDED) {
		err = r->samples.nr ? write_event(r, cache, most_sampled(r)) : 0;
	} else {
		for (size_t i = 0; i < r->samples.nr && !err; i++)
			if (r->samples.at[i])
				err = write_event(r, cache, i);
	}
	query_cache_free(cache);
	return err;
}
