/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define MAX_ARGS 32

/* Parses "ptop" and the words of @line, which @o borrows until the next call. */
static int parse(struct options *o, const char *line, struct reason *why)
{
	static char *argv[MAX_ARGS + 2];
	static char words[256];
	int argc = 0;

	snprintf(words, sizeof(words), "%s", line);
	argv[argc++] = (char *)"ptop";
	for (char *word = strtok(words, " "); word && argc <= MAX_ARGS; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return options_parse(o, argc, argv, why);
}

static void expect_refused(const char *line, const char *part)
{
	struct options o;
	struct reason why = { "" };

	if (parse(&o, line, &why) == 0)
		fail_msg("'%s' was taken", line);
	if (!strstr(why.text, part))
		fail_msg("'%s' says '%s', not '%s'", line, why.text, part);
	options_done(&o);
}

static void test_defaults(void **state)
{
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(parse(&o, "", &why), 0);
	assert_int_equal(o.mode, RUN_SAMPLE);
	assert_int_equal(o.target.kind, TARGET_SYSTEM);
	assert_true(o.sampling.by_frequency);
	assert_int_equal(o.sampling.rate, 999);
	assert_int_equal(o.sampling.call_graph, CALL_GRAPH_AUTO);
	assert_int_equal(o.view, QUERY_TREE);
	assert_false(o.batch || o.event_given || o.window_given || o.show_own);
	assert_null(o.command);
	options_done(&o);
}

static void test_values(void **state)
{
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(
		parse(&o, "-p 7,9 -C 0-1 -c 5000 -d 0.5 --window all -V callers -g thread -b -n 3",
		      &why),
		0);
	assert_int_equal(o.target.kind, TARGET_PIDS);
	assert_int_equal(o.target.ids.nr, 2);
	assert_int_equal(o.target.ids.at[1], 9);
	assert_int_equal(o.target.cpus.nr, 2);
	assert_false(o.sampling.by_frequency);
	assert_int_equal(o.sampling.rate, 5000);
	assert_true(o.delay_s == 0.5 && isinf(o.window_s) && o.window_given);
	assert_int_equal(o.view, QUERY_CALLERS);
	assert_int_equal(o.group, GROUP_THREAD);
	assert_true(o.batch && o.count == 3);
	options_done(&o);
}

static void test_formats_rows_sides(void **state)
{
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(
		parse(&o,
		      "--format=folded --rows=0 -K --call-graph none --history 8 -e cpu-clock:u",
		      &why),
		0);
	assert_int_equal(o.format, FORMAT_FOLDED);
	assert_true(o.rows == SIZE_MAX);
	assert_true(o.sampling.exclude_kernel && o.event_given);
	assert_int_equal(o.sampling.call_graph, CALL_GRAPH_NONE);
	assert_int_equal(o.history_bytes, 8000000);
	assert_string_equal(o.sampling.event.name, "cpu-clock:u");
	options_done(&o);
}

static void test_call_graph(void **state)
{
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(parse(&o, "--call-graph dwarf,10001", &why), 0);
	assert_int_equal(o.sampling.call_graph, CALL_GRAPH_DWARF);
	assert_int_equal(o.sampling.stack_bytes, 10008);
	options_done(&o);
	assert_int_equal(parse(&o, "--call-graph fp", &why), 0);
	assert_int_equal(o.sampling.call_graph, CALL_GRAPH_FP);
	options_done(&o);
	expect_refused("--call-graph dwarf,65536", "bytes");
	assert_int_equal(parse(&o, "--call-graph lbr", &why), 0);
	assert_int_equal(o.sampling.call_graph, CALL_GRAPH_LBR);
	options_done(&o);
	expect_refused("--call-graph branches", "auto dwarf fp lbr none");
}

static void test_command(void **state)
{
	struct options o;
	struct reason why;

	(void)state;
	assert_int_equal(parse(&o, "-F 100 -- make -j2", &why), 0);
	assert_string_equal(o.command[0], "make");
	assert_string_equal(o.command[1], "-j2");
	assert_null(o.command[2]);
	options_done(&o);
	assert_int_equal(parse(&o, "-b sleep 1", &why), 0); /* options end at the command */
	assert_string_equal(o.command[0], "sleep");
	options_done(&o);
}

static void test_refused(void **state)
{
	(void)state;
	expect_refused("--pidd 3", "--pid");
	expect_refused("--widnow 3", "window");
	expect_refused("-y", "-y");
	expect_refused("-p", "needs a value");
	expect_refused("--pid", "needs a value");
	expect_refused("-p abc", "--pid abc");
	expect_refused("-p 1 -t 2", "exclude each other");
	expect_refused("-u root -p 1", "exclude each other");
	expect_refused("-p 1 true", "exclude each other");
	expect_refused("-K -U", "nothing to sample");
	expect_refused("-F 0", "above 0");
	expect_refused("-d 0.01", "from 0.1");
	expect_refused("-d nan", "--delay");
	expect_refused("-f xml", "text json folded");
	expect_refused("-e cpu-clok", "cpu-clock");
	expect_refused("-C 9-3", "CPUs");
	expect_refused("-n 0", "--count");
	expect_refused("-O /dev/null", "command");
	expect_refused("-u no-such-user-here", "no such user");
}

/* Every option of the table is in the help, and in each completion. */
static void test_help_and_completions(void **state)
{
	static const char *const shells[] = { "bash", "zsh", "fish" };
	const struct option_row *r;
	struct reason why;
	size_t size;
	char *text;
	FILE *out;

	(void)state;
	for (size_t k = 0; k <= 3; k++) {
		out = open_memstream(&text, &size);
		if (k == 3)
			options_help(out);
		else
			assert_int_equal(completion_write(out, shells[k], &why), 0);
		fclose(out);
		for (size_t i = 0; (r = option_row(i)); i++)
			assert_non_null(strstr(text, r->name));
		free(text);
	}
	assert_int_equal(completion_write(stdout, "csh", &why), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_formats_rows_sides),
		cmocka_unit_test(test_call_graph),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_help_and_completions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
