/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole screens against tests/golden/.  After a wanted change: PTOP_GOLDEN_UPDATE=1
 * tests/unit/test_screens, then read the diff.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "view_bed.h"

static void compare(struct bed *b, const char *name)
{
	const char *dir = getenv("srcdir");
	char path[512], *text = canvas_dump(&b->canvas), *golden;
	long size;
	FILE *f;

	assert_non_null(text);
	snprintf(path, sizeof(path), "%s/tests/golden/%s.txt", dir && *dir ? dir : ".", name);
	if (getenv("PTOP_GOLDEN_UPDATE")) {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(text, f);
		assert_int_equal(fclose(f), 0);
	}
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s is missing", path);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	size = ftell(f);
	rewind(f);
	golden = calloc(1, (size_t)size + 1);
	assert_non_null(golden);
	assert_int_equal(fread(golden, 1, (size_t)size, f), size);
	fclose(f);
	if (strcmp(golden, text))
		fail_msg("%s differs; the screen is now:\n%s", path, text);
	free(golden);
	free(text);
}

static struct bed *loaded(struct ui_options options, int rows, int columns)
{
	struct bed *b = bed_new(&options);

	assert_int_equal(canvas_resize(&b->canvas, rows, columns), 0);
	bed_load(b);
	bed_status(b);
	bed_refresh(b);
	return b;
}

static void test_tree(void **state)
{
	struct bed *b = loaded(bed_options(), 24, 80);

	(void)state;
	compare(b, "tree-80x24");
	bed_free(b);
}

static void test_functions(void **state)
{
	struct bed *b = loaded(bed_options(), 24, 80);

	(void)state;
	bed_type(b, "1");
	compare(b, "functions-80x24");
	bed_type(b, "s");
	compare(b, "functions-by-total-80x24");
	bed_free(b);
}

static void test_callers(void **state)
{
	struct bed *b = loaded(bed_options(), 24, 80);

	(void)state;
	bed_type(b, "3E");
	compare(b, "callers-80x24");
	bed_free(b);
}

static void test_large(void **state)
{
	struct bed *b = loaded(bed_options(), 50, 200);

	(void)state;
	bed_type(b, "E");
	compare(b, "tree-200x50");
	bed_free(b);
}

static void test_small(void **state)
{
	struct bed *b = loaded(bed_options(), 10, 40);

	(void)state;
	compare(b, "tree-40x10");
	bed_free(b);
}

static void test_modules(void **state)
{
	struct bed *b = loaded(bed_options(), 24, 80);

	(void)state;
	bed_type(b, "Mjj");
	compare(b, "modules-80x24");
	bed_type(b, "\r");
	assert_true(bed_shows(b, "sudo apt install libc6-dbg"));
	bed_type(b, "\r");
	bed_type(b, "gg");
	bed_type(b, "E");
	compare(b, "modules-by-process-80x24");
	bed_free(b);
}

static void test_modules_small(void **state)
{
	struct bed *b = loaded(bed_options(), 10, 40);

	(void)state;
	bed_type(b, "4j");
	compare(b, "modules-40x10");
	bed_type(b, "\r");
	compare(b, "module-40x10");
	bed_free(b);
}

static void test_modules_large(void **state)
{
	struct bed *b = loaded(bed_options(), 50, 200);

	(void)state;
	bed_type(b, "M");
	compare(b, "modules-200x50");
	bed_free(b);
}

/* A narrow line has a short prompt. */
static void test_entry_small(void **state)
{
	struct bed *b = loaded(bed_options(), 10, 40);

	(void)state;
	bed_type(b, "f499");
	assert_string_equal(bed_line(b, 9), "Frequency, Hz: 499");
	assert_int_equal(canvas_resize(&b->canvas, 10, 8), 0);
	ui_draw(b->ui, &b->canvas);
	assert_string_equal(bed_line(b, 9), "499");
	bed_free(b);
}

static void test_ascii(void **state)
{
	struct ui_options options = bed_options();
	struct bed *b;
	char *dump;

	(void)state;
	options.ascii = true;
	b = loaded(options, 24, 80);
	bed_type(b, "E");
	compare(b, "tree-ascii-80x24");
	bed_type(b, "m");
	dump = canvas_dump(&b->canvas);
	for (const char *p = dump; *p; p++)
		assert_in_range((unsigned char)*p, '\n', 0x7e);
	free(dump);
	bed_free(b);
}

static void test_grouped(void **state)
{
	struct bed *b = loaded(bed_options(), 24, 80);

	(void)state;
	bed_type(b, "ggx");
	compare(b, "tree-by-process-80x24");
	bed_free(b);
}

static void test_no_time(void **state)
{
	struct ui_options options = bed_options();
	struct bed *b = bed_new(&options);

	(void)state;
	b->cpu_seconds = 0.0;
	bed_load(b);
	bed_status(b);
	bed_refresh(b);
	compare(b, "tree-counts-80x24");
	bed_free(b);
}

static void test_help(void **state)
{
	struct bed *b = loaded(bed_options(), 24, 80);

	(void)state;
	bed_type(b, "?");
	compare(b, "help-80x24");
	bed_free(b);
}

static void test_events(void **state)
{
	static const struct ui_event events[] = {
		{ "cycles:P", "hardware", "CPU cycles, precise", false,
		  "cycles:P is not there: this virtual machine has no hardware counters; cpu-clock measures time instead." },
		{ "cpu-clock", "software", "time on a CPU", true, NULL },
		{ "page-faults", "software", "page faults", true, NULL },
	};
	struct bed *b = loaded(bed_options(), 24, 80);

	(void)state;
	bed_type(b, "m");
	assert_true(bed_flags(b) & UI_NEED_EVENTS);
	assert_int_equal(ui_set_events(b->ui, events, 3), 0);
	ui_draw(b->ui, &b->canvas);
	compare(b, "events-80x24");
	bed_free(b);
}

static void test_notes(void **state)
{
	static const char *const notes[] = {
		"The kernel cannot be sampled by this user, so only user space is shown: sysctl kernel.perf_event_paranoid=1 gives it back.",
		"This machine offers no cycles; sampling cpu-clock instead.",
	};
	const struct ui_status st = {
		.event = "cpu-clock",
		.rate = 100000,
		.target = "a target with a rather long name, pids 1,2,3,4",
		.user = true,
		.samples_per_s = 100,
		.own_cpu_percent = 0.6,
		.lost = 1234,
		.dropped = 5,
		.throttled = 3,
		.late = 2,
		.ended = true,
		.ended_how = "exit status 1",
		.when = "ended",
		.notes = notes,
		.nr_notes = 2,
		.refresh_s = 2.0,
		.history_bounded = true,
		.history_s = 252,
	};
	struct bed *b = loaded(bed_options(), 24, 80);

	(void)state;
	ui_status(b->ui, &st);
	ui_draw(b->ui, &b->canvas);
	compare(b, "notes-line-80x24");
	bed_type(b, "!");
	compare(b, "notes-80x24");
	bed_free(b);
}

static void test_entry(void **state)
{
	struct bed *b = loaded(bed_options(), 24, 80);

	(void)state;
	bed_type(b, "f12x\r");
	compare(b, "frequency-80x24");
	bed_free(b);
}

/* Every size that a terminal can have is drawn without harm, in every view and page. */
static void test_all_sizes(void **state)
{
	static const char *const keys[] = { "", "3E", "1", "?", "!", "m", "/abc", "4", "4\r" };

	(void)state;
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		struct bed *b = loaded(bed_options(), 24, 80);

		bed_type(b, keys[k]);
		for (int rows = 0; rows <= 30; rows++) {
			for (int columns = 0; columns <= 120; columns += columns < 20 ? 1 : 7) {
				assert_int_equal(canvas_resize(&b->canvas, rows, columns), 0);
				ui_draw(b->ui, &b->canvas);
			}
		}
		bed_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),          cmocka_unit_test(test_functions),
		cmocka_unit_test(test_callers),       cmocka_unit_test(test_large),
		cmocka_unit_test(test_small),         cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_grouped),       cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_help),          cmocka_unit_test(test_events),
		cmocka_unit_test(test_notes),         cmocka_unit_test(test_entry),
		cmocka_unit_test(test_modules),       cmocka_unit_test(test_modules_small),
		cmocka_unit_test(test_modules_large), cmocka_unit_test(test_entry_small),
		cmocka_unit_test(test_all_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
