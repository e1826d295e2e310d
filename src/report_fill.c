/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report_fill.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "config.h"

/* Modules below this share are told without the package that they are of. */
#define SEARCH_PERCENT 1.0
#define SEARCH_NS (500 * NS_PER_MS)

void own_cost_look(struct own_cost *c, const struct session *s, uint64_t now_ns)
{
	uint64_t cpu = session_own_cpu_ns(s);

	/* It falls when a loader's worker was replaced. */
	if (c->wall_ns && now_ns > c->wall_ns && cpu >= c->cpu_ns)
		c->percent = 100.0 * (double)(cpu - c->cpu_ns) / (double)(now_ns - c->wall_ns);
	c->cpu_ns = cpu;
	c->wall_ns = now_ns;
}

static const char *function_name(void *ctx, uint32_t function)
{
	const struct filled *f = ctx;
	struct ui_function info;

	names_function(f->names, function, &info);
	return info.name;
}

static const char *module_name(void *ctx, uint32_t function)
{
	const struct filled *f = ctx;
	struct ui_function info;

	names_function(f->names, function, &info);
	return info.module;
}

static const char *group_name(void *ctx, uint32_t group)
{
	struct filled *f = ctx;

	names_group(f->names, f->grouping, group, f->group, sizeof(f->group));
	return f->group;
}

static void about_module(void *ctx, uint32_t image, struct report_module *ret)
{
	const struct filled *f = ctx;
	struct ui_module m;

	modules_peek(f->about, image, &m);
	*ret = (struct report_module){
		.name = m.name,
		.path = m.path,
		.build_id = m.build_id,
		.names = m.names,
		.names_why = m.names_why,
		.rows = m.rows,
		.rows_why = m.rows_why,
		.inlined = m.inlined,
		.inlined_why = m.inlined_why,
		.advice = m.advice,
	};
}

/* Finds the packages of the modules that matter, so that the report can tell them. */
static void search_packages(struct filled *f)
{
	uint64_t until = clock_ns() + SEARCH_NS;
	struct ui_module m;

	for (size_t i = 0; i < f->modules.nr_rows; i++) {
		const struct row *r = &f->modules.rows[i];

		if (r->function != UINT32_MAX &&
		    report_percent(r->self, f->modules.weight) >= SEARCH_PERCENT)
			modules_get(f->about, r->function, &m);
	}
	while (modules_work(f->about, SEARCH_NS) && clock_ns() < until)
		;
}

static char *join(char **argv)
{
	size_t len = 1;
	char *text, *at;

	for (char **a = argv; *a; a++)
		len += strlen(*a) + 1;
	text = malloc(len);
	if (!text)
		return NULL;
	at = text;
	for (char **a = argv; *a; a++)
		at += sprintf(at, "%s%s", a == argv ? "" : " ", *a);
	return text;
}

static void write_cpus(const struct u32_list *cpus, char *out, size_t size)
{
	size_t len = 0;

	out[0] = 0;
	for (size_t i = 0; i < cpus->nr && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%u", i ? "," : "", cpus->at[i]);
}

static int fill_target(struct filled *f, const struct session *s)
{
	const struct options *o = s->options;
	static const char *const kinds[] = {
		[TARGET_SYSTEM] = "system",
		[TARGET_PIDS] = "pids",
		[TARGET_TIDS] = "tids",
		[TARGET_USER] = "user",
	};
	struct report_target *t = &f->report.target;
	const struct passwd *pw;

	if (session_recorded(s)) {
		t->kind = "recording";
		t->command = s->command_line;
		return 0;
	}
	t->kind = kinds[o->target.kind];
	t->ids = o->target.ids.at;
	t->nr_ids = o->target.ids.nr;
	t->ended = s->ended_ns != 0;
	if (o->command) {
		f->command_line = join(o->command);
		if (!f->command_line)
			return -ENOMEM;
		t->kind = "command";
		t->command = f->command_line;
		t->ids = (const uint32_t *)&s->command.pid;
		t->nr_ids = 1;
		t->has_exit_status = s->command.ended;
		t->exit_status = command_exit_status(&s->command);
	} else if (t->nr_ids == 1) {
		t->command = s->target_name;
	}
	if (o->target.kind == TARGET_USER) {
		pw = getpwuid(o->target.uid);
		snprintf(f->user, sizeof(f->user), "%s", pw ? pw->pw_name : "");
		if (!pw)
			snprintf(f->user, sizeof(f->user), "%u", o->target.uid);
		t->user = f->user;
	}
	if (o->target.cpus.nr) {
		write_cpus(&o->target.cpus, f->cpus, sizeof(f->cpus));
		t->cpus = f->cpus;
	}
	return 0;
}

static void fill_excluded(struct filled *f, const struct session *s, const struct ui_question *q)
{
	const struct sampling *sampling = session_sampling(s);
	size_t n = 0;

	if (sampling->exclude_kernel || sampling->event.exclude_kernel || (q->hide & SAMPLE_KERNEL))
		f->exclude[n++] = "kernel";
	if (sampling->exclude_user || sampling->event.exclude_user || (q->hide & SAMPLE_USER))
		f->exclude[n++] = "user";
	if (q->hide & SAMPLE_IDLE)
		f->exclude[n++] = "idle";
	if ((q->hide & SAMPLE_OWN) && !session_recorded(s))
		f->exclude[n++] = "self";
	f->report.exclude = f->exclude;
	f->report.nr_exclude = n;
}

static void fill_notes(struct filled *f, const struct session *s)
{
	const struct note *note;
	size_t n = 0;

	while (n < NOTES_MAX && (note = notes_get(&s->notes, n)))
		f->notes[n++] = note->text;
	f->report.notes = f->notes;
	f->report.nr_notes = n;
}

static void fill_counts(struct filled *f, const struct asker *a, const struct ui_question *q,
			const struct ui_measure *m)
{
	const struct session *s = a->session;
	struct session_counts counts = session_counts(s);
	struct report *r = &f->report;
	uint64_t from = asker_from(a, q->from_ns);

	if (s->start_unix_ns)
		r->start_s = (double)(s->start_unix_ns + (from - s->start_ns)) / 1e9;
	r->duration_s = m->seconds;
	r->samples = f->functions.samples;
	r->weight = f->functions.weight;
	r->cpus = m->cpus;
	r->lost = counts.lost;
	r->dropped = counts.dropped;
	r->throttled = counts.throttled;
	memcpy(r->ends, f->functions.ends, sizeof(r->ends));
	r->unnamed = f->functions.unnamed_samples;
	r->hidden_idle_cpus = m->idle_cpus;
}

int fill_report(struct filled *f, struct asker *a, const struct ui_question *q,
		const struct own_cost *cost, bool with_tree)
{
	static const enum report_group groups[NR_UI_GROUPINGS] = {
		[UI_GROUP_COMMAND] = REPORT_GROUP_COMMAND,
		[UI_GROUP_PROCESS] = REPORT_GROUP_PROCESS,
		[UI_GROUP_THREAD] = REPORT_GROUP_THREAD,
	};
	struct session *s = a->session;
	const struct sampling *sampling = session_sampling(s);
	bool with_modules = with_tree || q->orientation == QUERY_MODULES;
	bool with_outline = !with_modules && q->orientation != QUERY_FUNCTIONS;
	struct ui_question question = *q;
	struct ui_measure m;
	int err;

	*f = (struct filled){ .names = s->pipeline->names,
			      .about = a->modules,
			      .grouping = q->grouping };
	question.all = true;
	question.orientation = QUERY_FUNCTIONS;
	err = ask(a, &question, &f->functions, &m);
	question.orientation = QUERY_TREE;
	if (!err && with_tree)
		err = ask(a, &question, &f->tree, NULL);
	question.orientation = q->orientation;
	if (!err && with_outline)
		err = ask(a, &question, &f->outline, NULL);
	question.orientation = QUERY_MODULES;
	if (!err && with_modules)
		err = ask(a, &question, &f->modules, NULL);
	if (!err)
		err = fill_target(f, s);
	if (err) {
		filled_done(f);
		return err;
	}
	f->report.version = PACKAGE_VERSION;
	f->report.host = s->host;
	f->report.machine = s->machine;
	f->report.event = sampling->event.name;
	f->report.by_frequency = sampling->by_frequency;
	f->report.rate = sampling->rate;
	f->report.own_cpu_percent = cost->percent;
	f->report.own_rss_bytes = session_own_rss_bytes();
	f->report.group = groups[q->grouping];
	f->report.functions = &f->functions;
	f->report.tree = with_tree ? &f->tree : NULL;
	f->report.outline = with_outline ? &f->outline : NULL;
	f->report.modules = with_modules ? &f->modules : NULL;
	f->report.show_modules = q->orientation == QUERY_MODULES;
	f->report.names = (struct report_names){
		.ctx = f,
		.function = function_name,
		.module = module_name,
		.group = group_name,
		.about = about_module,
	};
	search_packages(f);
	f->report.rows = s->options->rows == SIZE_MAX ? 0 : s->options->rows;
	f->report.min_percent = s->options->min_percent;
	fill_excluded(f, s, q);
	fill_notes(f, s);
	fill_counts(f, a, q, &m);
	return 0;
}

void filled_done(struct filled *f)
{
	answer_done(&f->functions);
	answer_done(&f->tree);
	answer_done(&f->outline);
	answer_done(&f->modules);
	free(f->command_line);
	f->command_line = NULL;
}
