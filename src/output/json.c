/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The object is built with jansson, which owns everything once it is set; a failed allocation
 * anywhere is remembered in struct build and reported once.
 */
#include "output/json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/emit.h"

#define NO_ROW UINT32_MAX

struct build {
	const struct report *r;
	struct scratch scratch;
	bool failed;
};

/* Takes @value (NULL: it could not be made). */
static void put(struct build *b, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		b->failed = true;
}

static void append(struct build *b, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		b->failed = true;
}

static json_t *integer(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

/* null for what is no number; four decimals are enough for people and keep the lines short. */
static json_t *real(double x)
{
	return isfinite(x) ? json_real(round(x * 1e4) / 1e4) : json_null();
}

static json_t *string(struct build *b, const char *text)
{
	const char *clean = scrubbed(&b->scratch, text ? text : "", false);

	return clean ? json_string(clean) : NULL;
}

static json_t *percent(const struct report *r, uint64_t weight)
{
	return real(report_percent(weight, r->weight));
}

static json_t *cpus(const struct report *r, uint64_t weight)
{
	return real(r->weight ? r->cpus * (double)weight / (double)r->weight : r->cpus);
}

static json_t *strings(struct build *b, const char *const *at, size_t nr)
{
	json_t *array = json_array();

	for (size_t i = 0; i < nr; i++)
		append(b, array, string(b, at[i]));
	return array;
}

static json_t *target(struct build *b)
{
	const struct report_target *t = &b->r->target;
	json_t *o = json_object();

	put(b, o, "kind", string(b, t->kind));
	if (t->nr_ids) {
		json_t *ids = json_array();

		for (size_t i = 0; i < t->nr_ids; i++)
			append(b, ids, integer(t->ids[i]));
		put(b, o, strcmp(t->kind, "tids") == 0 ? "tids" : "pids", ids);
	}
	if (t->command)
		put(b, o, "command", string(b, t->command));
	if (t->user)
		put(b, o, "user", string(b, t->user));
	if (t->cpus)
		put(b, o, "cpus", string(b, t->cpus));
	put(b, o, "ended", json_boolean(t->ended));
	if (t->has_exit_status)
		put(b, o, "exit_status", json_integer(t->exit_status));
	return o;
}

static json_t *ends(const uint64_t *at, struct build *b)
{
	static const char *const names[NR_STACK_ENDS] = {
		[STACK_COMPLETE] = "complete",
		[STACK_CUT] = "cut",
		[STACK_BROKEN] = "broken",
		[STACK_DEEP] = "deep",
	};
	json_t *o = json_object();

	for (size_t i = 0; i < NR_STACK_ENDS; i++)
		put(b, o, names[i], integer(at[i]));
	return o;
}

static json_t *function(struct build *b, const struct row *row)
{
	const struct report *r = b->r;
	json_t *o = json_object();

	if (r->functions->grouped) {
		struct row group = { .function = UINT32_MAX, .group = row->group };

		put(b, o, "group", string(b, row_name(r, &group)));
	}
	put(b, o, "function", string(b, row_name(r, row)));
	put(b, o, "module", string(b, r->names.module(r->names.ctx, row->function)));
	put(b, o, "self_samples", integer(row->self_samples));
	put(b, o, "total_samples", integer(row->total_samples));
	put(b, o, "self_percent", percent(r, row->self));
	put(b, o, "total_percent", percent(r, row->total));
	put(b, o, "self_cpus", cpus(r, row->self));
	put(b, o, "total_cpus", cpus(r, row->total));
	return o;
}

/* At most .rows functions from the siblings that begin with @first. */
static void append_functions(struct build *b, json_t *array, uint32_t first)
{
	const struct answer *a = b->r->functions;
	size_t left = b->r->rows ? b->r->rows : SIZE_MAX;

	for (uint32_t i = first; i != NO_ROW && left; i = a->rows[i].next, left--)
		append(b, array, function(b, &a->rows[i]));
}

static json_t *functions(struct build *b)
{
	const struct answer *a = b->r->functions;
	json_t *array = json_array();

	if (!a)
		return array;
	if (!a->grouped)
		append_functions(b, array, a->first);
	for (uint32_t i = a->first; a->grouped && i != NO_ROW; i = a->rows[i].next)
		append_functions(b, array, a->rows[i].first_child);
	return array;
}

/* What is known of a module; what is not known is null. */
static json_t *fact(struct build *b, const char *text)
{
	return *text ? string(b, text) : json_null();
}

static json_t *module(struct build *b, const struct row *row, const struct module_row *counts)
{
	const struct report *r = b->r;
	struct report_module m;
	json_t *o = json_object();

	if (r->modules->grouped) {
		struct row group = { .function = UINT32_MAX, .group = row->group };

		put(b, o, "group", string(b, row_name(r, &group)));
	}
	r->names.about(r->names.ctx, row->function, &m);
	put(b, o, "module", string(b, m.name));
	put(b, o, "path", fact(b, m.path));
	put(b, o, "build_id", fact(b, m.build_id));
	put(b, o, "names", string(b, m.names));
	put(b, o, "names_why", fact(b, m.names_why));
	put(b, o, "rows", fact(b, strcmp(m.rows, "-") ? m.rows : ""));
	put(b, o, "rows_why", fact(b, m.rows_why));
	put(b, o, "inlined", fact(b, strcmp(m.inlined, "-") ? m.inlined : ""));
	put(b, o, "inlined_why", fact(b, m.inlined_why));
	put(b, o, "mend", fact(b, m.advice));
	put(b, o, "self_samples", integer(row->self_samples));
	put(b, o, "total_samples", integer(row->total_samples));
	put(b, o, "self_percent", percent(r, row->self));
	put(b, o, "total_percent", percent(r, row->total));
	put(b, o, "unnamed", integer(counts->unnamed));
	put(b, o, "stacks", ends(counts->self_ends, b));
	put(b, o, "ends", ends(counts->ends, b));
	return o;
}

static void append_modules(struct build *b, json_t *array, uint32_t first)
{
	const struct answer *a = b->r->modules;
	size_t left = b->r->rows ? b->r->rows : SIZE_MAX;

	for (uint32_t i = first; i != NO_ROW && left; i = a->rows[i].next, left--)
		append(b, array, module(b, &a->rows[i], &a->modules[i]));
}

static json_t *modules(struct build *b)
{
	const struct answer *a = b->r->modules;
	json_t *array = json_array();

	if (!a)
		return array;
	if (!a->grouped)
		append_modules(b, array, a->first);
	for (uint32_t i = a->first; a->grouped && i != NO_ROW; i = a->rows[i].next)
		append_modules(b, array, a->rows[i].first_child);
	return array;
}

static json_t *node(struct build *b, const struct row *row, const char *name)
{
	const struct report *r = b->r;
	bool group = row->function == UINT32_MAX && !name;
	json_t *o = json_object();

	put(b, o, group ? "group" : "function", string(b, name ? name : row_name(r, row)));
	if (!group)
		put(b, o, "module",
		    string(b, name ? "" : r->names.module(r->names.ctx, row->function)));
	put(b, o, "self_samples", integer(row->self_samples));
	put(b, o, "total_samples", integer(row->total_samples));
	put(b, o, "total_percent", percent(r, row->total));
	put(b, o, "children", json_array());
	return o;
}

/* A leaf that stands for several rows, or for samples without one. */
static void append_leaf(struct build *b, json_t *array, const char *name, uint64_t weight,
			uint64_t samples)
{
	struct row row = { .function = UINT32_MAX,
			   .self = weight,
			   .total = weight,
			   .self_samples = samples,
			   .total_samples = samples };

	if (samples)
		append(b, array, node(b, &row, name));
}

/*
 * Appends the siblings that begin with @first to @array; those that are small become one. Rows
 * come before their children, so filling each row's array when its turn comes needs no
 * recursion: @arrays notes it by row.
 */
static void append_siblings(struct build *b, json_t *array, uint32_t first, json_t **arrays)
{
	const struct answer *a = b->r->tree;
	uint64_t weight = 0, samples = 0;

	for (uint32_t i = first; i != NO_ROW; i = a->rows[i].next) {
		const struct row *row = &a->rows[i];

		if (report_percent(row->total, b->r->weight) < b->r->min_percent) {
			weight += row->total;
			samples += row->total_samples;
			continue;
		}
		json_t *o = node(b, row, NULL);

		arrays[i] = json_object_get(o, "children");
		append(b, array, o);
	}
	append_leaf(b, array, "[other]", weight, samples);
}

static json_t *tree(struct build *b)
{
	const struct answer *a = b->r->tree;
	json_t *top = json_array(), **arrays;

	if (!a || !top)
		return top;
	arrays = calloc(a->nr_rows + 1, sizeof(json_t *));
	if (!arrays) {
		b->failed = true;
		return top;
	}
	append_siblings(b, top, a->first, arrays);
	if (!a->grouped)
		append_leaf(b, top, "[no stack]", a->bare_weight, a->bare_samples);
	for (size_t i = 0; i < a->nr_rows && !b->failed; i++) {
		const struct row *row = &a->rows[i];

		if (!arrays[i])
			continue;
		append_siblings(b, arrays[i], row->first_child, arrays);
		/* Children that were not asked for. */
		if (row->first_child == NO_ROW)
			append_leaf(b, arrays[i], "[other]", row->total - row->self,
				    row->total_samples - row->self_samples);
	}
	free(arrays);
	return top;
}

static void put_window(struct build *b, json_t *o)
{
	const struct report *r = b->r;

	put(b, o, "event", string(b, r->event));
	put(b, o, r->by_frequency ? "frequency_hz" : "period", integer(r->rate));
	put(b, o, "exclude", strings(b, r->exclude, r->nr_exclude));
	put(b, o, "start_s", real(r->start_s > 0 ? r->start_s : NAN));
	put(b, o, "duration_s", real(r->duration_s));
	put(b, o, "samples", integer(r->samples));
	put(b, o, "weight", integer(r->weight));
	put(b, o, "cpus", real(r->cpus));
	put(b, o, "lost", integer(r->lost));
	put(b, o, "dropped", integer(r->dropped));
	put(b, o, "throttled", integer(r->throttled));
	put(b, o, "stacks", ends(r->ends, b));
	put(b, o, "unnamed", integer(r->unnamed));
}

static json_t *whole(struct build *b)
{
	static const char *const groups[] = {
		[REPORT_GROUP_NONE] = NULL,
		[REPORT_GROUP_COMMAND] = "command",
		[REPORT_GROUP_PROCESS] = "process",
		[REPORT_GROUP_THREAD] = "thread",
	};
	const struct report *r = b->r;
	json_t *o = json_object(), *own = json_object(), *hidden = json_object();

	put(b, o, "version", string(b, r->version));
	put(b, o, "host", string(b, r->host));
	if (r->machine && r->machine[0])
		put(b, o, "machine", string(b, r->machine));
	put(b, o, "target", target(b));
	put_window(b, o);
	put(b, own, "cpu_percent", real(r->own_cpu_percent));
	put(b, own, "rss_bytes", integer(r->own_rss_bytes));
	put(b, o, "own", own);
	put(b, hidden, "idle_cpus", real(r->hidden_idle_cpus));
	put(b, o, "hidden", hidden);
	put(b, o, "notes", strings(b, r->notes, r->nr_notes));
	put(b, o, "group_by", groups[r->group] ? json_string(groups[r->group]) : json_null());
	put(b, o, "functions", functions(b));
	put(b, o, "modules", modules(b));
	put(b, o, "tree", tree(b));
	return o;
}

int json_write(FILE *out, const struct report *r)
{
	struct build b = { .r = r };
	json_t *o = whole(&b);
	char *text = NULL;
	int err = -ENOMEM;

	if (o && !b.failed)
		text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15));
	if (text) {
		size_t len = strlen(text);

		text[len] = '\n'; /* over the terminator: emit() takes a length */
		err = emit(out, text, len + 1);
	}
	free(text);
	json_decref(o);
	scratch_done(&b.scratch);
	return err;
}
