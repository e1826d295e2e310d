/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON writer, read back with jansson: names, types, and the arithmetic of the tree. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdbool.h>

#include "output/json.h"
#include "unit/output_bed.h"

static struct bed bed;

static int setup(void **state)
{
	bed_init(&bed);
	*state = &bed;
	return 0;
}

/* The text must be one line. */
static json_t *parse(const struct report *r)
{
	json_error_t error;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	json_t *o;

	assert_non_null(f);
	assert_int_equal(json_write(f, r), 0);
	fclose(f);
	assert_true(len > 1 && text[len - 1] == '\n');
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
	o = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!o)
		fail_msg("%s: %s", error.text, text);
	free(text);
	return o;
}

static json_int_t number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

static double real(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	assert_true(json_is_real(v));
	return json_real_value(v);
}

static const char *string(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	assert_true(json_is_string(v));
	return json_string_value(v);
}

/* Checks total = self + sum of children everywhere below; returns the totals' sum and counts the
 * nodes. */
static json_int_t check_nodes(const json_t *array, size_t *nr)
{
	json_int_t sum = 0;
	const json_t *o;
	size_t i;

	assert_true(json_is_array(array));
	json_array_foreach(array, i, o)
	{
		json_int_t total = number(o, "total_samples");

		assert_int_equal(total, number(o, "self_samples") +
						check_nodes(json_object_get(o, "children"), nr));
		assert_true(json_is_real(json_object_get(o, "total_percent")));
		sum += total;
		++*nr;
	}
	return sum;
}

static void expect_tree(const json_t *o, size_t nodes)
{
	size_t nr = 0;

	assert_int_equal(check_nodes(json_object_get(o, "tree"), &nr), number(o, "samples"));
	assert_int_equal(nr, nodes);
}

/* The node reached by child numbers; each is below the one before. */
static const json_t *at(const json_t *o, size_t depth, const size_t *path)
{
	const json_t *array = json_object_get(o, "tree");

	for (size_t i = 0; i < depth; i++) {
		o = json_array_get(array, path[i]);
		assert_non_null(o);
		array = json_object_get(o, "children");
	}
	return o;
}
#define AT(o, ...) \
	at(o, sizeof((size_t[]){ __VA_ARGS__ }) / sizeof(size_t), (size_t[]){ __VA_ARGS__ })

static void test_header(void **state)
{
	struct bed *b = *state;
	json_t *o = parse(&b->report), *target = json_object_get(o, "target");

	assert_string_equal(string(o, "version"), "0.1.0");
	assert_string_equal(string(o, "host"), "box");
	assert_string_equal(string(target, "kind"), "pids");
	assert_string_equal(string(target, "command"), "mysqld");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(target, "pids"), 0)),
			 4242);
	assert_true(json_is_false(json_object_get(target, "ended")));
	assert_null(json_object_get(target, "user"));
	assert_null(json_object_get(target, "exit_status"));
	assert_string_equal(string(o, "event"), "cpu-clock");
	assert_int_equal(number(o, "frequency_hz"), 999);
	assert_null(json_object_get(o, "period"));
	assert_int_equal(json_array_size(json_object_get(o, "exclude")), 2);
	assert_true(real(o, "start_s") == 86400.25);
	assert_true(real(o, "duration_s") == 4);
	assert_int_equal(number(o, "samples"), 10);
	assert_int_equal(number(o, "weight"), 1000);
	assert_true(real(o, "cpus") == 2.5);
	assert_int_equal(number(o, "lost"), 7);
	assert_int_equal(number(o, "dropped"), 8);
	assert_int_equal(number(o, "throttled"), 9);
	assert_int_equal(number(json_object_get(o, "stacks"), "complete"), 6);
	assert_int_equal(number(json_object_get(o, "stacks"), "cut"), 2);
	assert_int_equal(number(json_object_get(o, "stacks"), "broken"), 1);
	assert_int_equal(number(json_object_get(o, "stacks"), "deep"), 1);
	assert_int_equal(number(o, "unnamed"), 3);
	assert_true(real(json_object_get(o, "own"), "cpu_percent") == 0.61);
	assert_int_equal(number(json_object_get(o, "own"), "rss_bytes"), 23000000);
	assert_true(real(json_object_get(o, "hidden"), "idle_cpus") == 1.5);
	assert_string_equal(json_string_value(json_array_get(json_object_get(o, "notes"), 0)),
			    "user side only");
	assert_true(json_is_null(json_object_get(o, "group_by")));
	json_decref(o);
}

static void test_functions(void **state)
{
	struct bed *b = *state;
	json_t *o = parse(&b->report), *work = json_array_get(json_object_get(o, "functions"), 1);

	assert_int_equal(json_array_size(json_object_get(o, "functions")), 5);
	assert_string_equal(string(work, "function"), "work");
	assert_string_equal(string(work, "module"), "app");
	assert_int_equal(number(work, "self_samples"), 3);
	assert_int_equal(number(work, "total_samples"), 6);
	assert_true(real(work, "self_percent") == 30);
	assert_true(real(work, "total_percent") == 60);
	assert_true(real(work, "self_cpus") == 0.75);
	assert_true(real(work, "total_cpus") == 1.5);
	assert_null(json_object_get(work, "group"));
	json_decref(o);

	b->report.rows = 2;
	o = parse(&b->report);
	assert_int_equal(json_array_size(json_object_get(o, "functions")), 2);
	json_decref(o);
}

static void test_tree(void **state)
{
	struct bed *b = *state;
	json_t *o = parse(&b->report);

	expect_tree(o, 6);
	assert_string_equal(string(AT(o, 0), "function"), "start");
	assert_string_equal(string(AT(o, 0, 0), "function"), "work");
	assert_string_equal(string(AT(o, 0, 0, 0), "function"), "leaf");
	assert_string_equal(string(AT(o, 0, 0, 0), "module"), "libc.so.6");
	assert_string_equal(string(AT(o, 0, 1, 1), "function"), "tiny");
	assert_true(real(AT(o, 0, 1), "total_percent") == 40);
	json_decref(o);
}

static void test_pruned_tree_still_adds_up(void **state)
{
	static const struct {
		double min_percent;
		size_t nodes;
	} cases[] = {
		{ 10, 6 }, { 10.5, 5 }, { 35, 5 }, { 50, 4 }, { 100, 2 }, { 101, 1 },
	};
	struct bed *b = *state;
	json_t *o;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		b->report.min_percent = cases[i].min_percent;
		o = parse(&b->report);
		expect_tree(o, cases[i].nodes);
		json_decref(o);
	}
	b->report.min_percent = 20;
	o = parse(&b->report);
	assert_string_equal(string(AT(o, 0, 1, 0), "function"), "[other]");
	assert_string_equal(string(AT(o, 0, 1, 0), "module"), "");
	assert_int_equal(number(AT(o, 0, 1, 0), "self_samples"), 2);
	json_decref(o);
}

/* Rows that were not opened, and samples without a stack, must not make the sums wrong. */
static void test_partial_tree_still_adds_up(void **state)
{
	struct bed *b = *state;
	json_t *o;

	b->tree_rows[1].first_child = NONE;
	b->report.samples = 12;
	b->tree.bare_samples = 2;
	b->tree.bare_weight = 200;
	o = parse(&b->report);
	expect_tree(o, 7);
	assert_string_equal(string(AT(o, 0, 0, 0), "function"), "[other]");
	assert_string_equal(string(AT(o, 1), "function"), "[no stack]");
	json_decref(o);
}

static void test_groups(void **state)
{
	struct bed *b = *state;
	json_t *o;

	bed_group_all(b);
	o = parse(&b->report);
	assert_string_equal(string(o, "group_by"), "process");
	expect_tree(o, 7);
	assert_string_equal(string(AT(o, 0), "group"), "app[1]");
	assert_null(json_object_get(AT(o, 0), "function"));
	assert_string_equal(string(AT(o, 0, 0), "function"), "start");
	assert_int_equal(json_array_size(json_object_get(o, "functions")), 5);
	assert_string_equal(string(json_array_get(json_object_get(o, "functions"), 4), "group"),
			    "app[1]");
	json_decref(o);
}

static void test_events_that_are_no_time(void **state)
{
	struct bed *b = *state;
	json_t *o;

	b->report.cpus = b->report.hidden_idle_cpus = NAN;
	b->report.by_frequency = false;
	b->report.rate = 1000;
	o = parse(&b->report);
	assert_true(json_is_null(json_object_get(o, "cpus")));
	assert_true(json_is_null(json_object_get(json_object_get(o, "hidden"), "idle_cpus")));
	assert_true(json_is_null(
		json_object_get(json_array_get(json_object_get(o, "functions"), 0), "self_cpus")));
	assert_int_equal(number(o, "period"), 1000);
	assert_null(json_object_get(o, "frequency_hz"));
	json_decref(o);
}

static void test_nothing(void **state)
{
	struct bed *b = *state;
	json_t *o;

	b->report.samples = b->report.weight = 0;
	b->report.cpus = 0;
	b->flat.nr_rows = b->tree.nr_rows = 0;
	b->flat.first = b->tree.first = NONE;
	b->report.target = (struct report_target){ .kind = "command",
						   .command = "true",
						   .ended = true,
						   .has_exit_status = true,
						   .exit_status = 139 };
	o = parse(&b->report);
	expect_tree(o, 0);
	assert_int_equal(number(json_object_get(o, "target"), "exit_status"), 139);
	assert_null(json_object_get(json_object_get(o, "target"), "pids"));
	json_decref(o);
	b->report.functions = b->report.tree = NULL;
	o = parse(&b->report);
	expect_tree(o, 0);
	json_decref(o);
}

static void test_hostile(void **state)
{
	static const char *const notes[] = { HOSTILE };
	struct bed *b = *state;
	json_t *o;

	b->functions[F_WORK] = HOSTILE "\xc3\xa9\"\\";
	b->functions[F_LEAF] = "";
	b->groups[0] = b->modules[F_WORK] = b->report.host = HOSTILE;
	b->report.target.command = HOSTILE;
	b->report.notes = notes;
	b->report.weight = UINT64_MAX;
	bed_group_all(b);
	o = parse(&b->report);
	expect_tree(o, 7);
	assert_string_equal(string(AT(o, 0, 0, 0), "function"), "?]0;x?a;b?c???31m??\xc3\xa9\"\\");
	assert_string_equal(string(AT(o, 0, 0, 0, 0), "function"), "[unknown]");
	assert_string_equal(string(AT(o, 0), "group"), "?]0;x?a;b?c???31m??");
	assert_true(number(o, "weight") == INT64_MAX);
	json_decref(o);
}

/* As deep as stacks get, and parsed by a reader with default limits. */
static void test_deep(void **state)
{
	enum { DEPTH = 900 };
	static struct row rows[DEPTH];
	struct bed *b = *state;
	uint32_t parent = NONE;
	json_t *o;

	b->tree.rows = rows;
	b->tree.nr_rows = 0;
	b->tree.first = NONE;
	for (int i = 0; i < DEPTH; i++)
		parent = bed_row(&b->tree, F_WORK, QUERY_NO_GROUP, parent, i == DEPTH - 1 ? 10 : 0,
				 10);
	o = parse(&b->report);
	expect_tree(o, DEPTH);
	json_decref(o);
}

static void test_modules(void **state)
{
	struct bed *b = *state;
	json_t *o = parse(&b->report), *modules, *m;

	assert_int_equal(json_array_size(json_object_get(o, "modules")), 0);
	json_decref(o);
	bed_modules(b);
	o = parse(&b->report);
	modules = json_object_get(o, "modules");
	assert_int_equal(json_array_size(modules), 2);
	m = json_array_get(modules, 0);
	assert_string_equal(string(m, "module"), "app");
	assert_string_equal(string(m, "path"), "/srv/app");
	assert_string_equal(string(m, "build_id"), "0123abcd");
	assert_string_equal(string(m, "names"), "symtab");
	assert_string_equal(string(m, "rows"), "no");
	assert_string_equal(string(m, "rows_why"), "it has no .eh_frame");
	assert_string_equal(string(m, "inlined"), "yes");
	assert_true(json_is_null(json_object_get(m, "inlined_why")));
	assert_true(json_is_null(json_object_get(m, "mend")));
	assert_null(json_object_get(m, "group"));
	assert_int_equal(number(m, "self_samples"), 6);
	assert_int_equal(number(m, "total_samples"), 10);
	assert_int_equal(number(m, "unnamed"), 3);
	assert_true(real(m, "self_percent") == 60.0);
	assert_int_equal(number(json_object_get(m, "stacks"), "complete"), 4);
	assert_int_equal(number(json_object_get(m, "ends"), "deep"), 1);
	m = json_array_get(modules, 1);
	assert_true(json_is_null(json_object_get(m, "build_id")));
	assert_string_equal(string(m, "mend"), "apt install libc6-dbg");
	json_decref(o);
	b->report.rows = 1;
	o = parse(&b->report);
	assert_int_equal(json_array_size(json_object_get(o, "modules")), 1);
	json_decref(o);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(test_modules),
		T(test_header),
		T(test_functions),
		T(test_tree),
		T(test_pruned_tree_still_adds_up),
		T(test_partial_tree_still_adds_up),
		T(test_groups),
		T(test_events_that_are_no_time),
		T(test_nothing),
		T(test_hostile),
		T(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
