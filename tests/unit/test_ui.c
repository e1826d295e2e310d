/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys: what each command does to the question, the wishes and the screen. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ui_bed.h"
#include "view/commands.h"

static void test_views(void **state)
{
	struct bed *b = loaded();

	(void)state;
	assert_int_equal(wanted(b).orientation, QUERY_TREE);
	bed_key(b, UIKEY_TAB);
	assert_int_equal(wanted(b).orientation, QUERY_CALLERS);
	bed_key(b, UIKEY_TAB);
	assert_int_equal(wanted(b).orientation, QUERY_MODULES);
	bed_key(b, UIKEY_TAB);
	assert_int_equal(wanted(b).orientation, QUERY_FUNCTIONS);
	bed_key(b, UIKEY_BACK_TAB);
	assert_int_equal(wanted(b).orientation, QUERY_MODULES);
	bed_type(b, "1");
	assert_int_equal(wanted(b).orientation, QUERY_FUNCTIONS);
	bed_type(b, "2");
	assert_int_equal(wanted(b).orientation, QUERY_TREE);
	assert_true(bed_flags(b) & UI_REQUERY);
	bed_type(b, "2");
	assert_int_equal(bed_flags(b), 0);
	bed_free(b);
}

static void test_windows(void **state)
{
	static const uint64_t up[] = { 30, 60, 0, 0 };
	static const uint64_t down[] = { 60, 30, 10, 5, 1, 1 };
	struct bed *b = loaded();

	(void)state;
	assert_int_equal(wanted(b).from_ns, 90 * SECOND);
	assert_int_equal(wanted(b).to_ns, 100 * SECOND);
	for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++) {
		bed_type(b, "w");
		assert_int_equal(wanted(b).window_ns, up[i] * SECOND);
	}
	assert_int_equal(wanted(b).from_ns, 0);
	for (size_t i = 0; i < sizeof(down) / sizeof(down[0]); i++) {
		bed_type(b, "W");
		assert_int_equal(wanted(b).window_ns, down[i] * SECOND);
	}
	bed_type(b, "t2.5\r");
	assert_int_equal(wanted(b).window_ns, SECOND * 5 / 2);
	bed_type(b, "tall\r");
	assert_int_equal(wanted(b).window_ns, 0);
	bed_type(b, "tnever\r");
	assert_true(bed_shows(b, "seconds from 0.1"));
	bed_key(b, UIKEY_ESCAPE);
	assert_int_equal(wanted(b).window_ns, 0);
	bed_free(b);
}

static void test_zero(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_type(b, "z");
	assert_int_equal(wanted(b).from_ns, 100 * SECOND);
	b->now_ns += 3 * SECOND;
	bed_refresh(b);
	assert_int_equal(wanted(b).from_ns, 100 * SECOND);
	assert_true(bed_shows(b, "3s since z"));
	b->now_ns += 30 * SECOND;
	assert_int_equal(wanted(b).from_ns, 123 * SECOND);
	bed_type(b, "wwwZ");
	assert_int_equal(wanted(b).from_ns, 0);
	bed_free(b);
}

static void test_moving_and_folding(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_type(b, "C");
	assert_non_null(strstr(bed_cursor_line(b), "start_thread"));
	assert_false(bed_shows(b, "dispatch_command"));
	bed_key(b, UIKEY_RIGHT);
	assert_true(bed_shows(b, "▾ start_thread"));
	bed_key(b, UIKEY_RIGHT);
	assert_non_null(strstr(bed_cursor_line(b), "handle_connection"));
	bed_type(b, "l");
	bed_type(b, "j");
	assert_non_null(strstr(bed_cursor_line(b), "dispatch_command"));
	bed_type(b, "\r");
	assert_true(bed_shows(b, "▾ dispatch_command"));
	bed_type(b, "e");
	assert_true(bed_shows(b, "▸ dispatch_command"));
	bed_type(b, "h");
	assert_non_null(strstr(bed_cursor_line(b), "handle_connection"));
	bed_key(b, UIKEY_LEFT);
	assert_true(bed_shows(b, "▸ handle_connection"));
	bed_key(b, UIKEY_LEFT);
	assert_non_null(strstr(bed_cursor_line(b), "start_thread"));
	bed_key(b, UIKEY_END);
	assert_non_null(strstr(bed_cursor_line(b), "▸ handle_connection"));
	bed_key(b, UIKEY_HOME);
	assert_non_null(strstr(bed_cursor_line(b), "start_thread"));
	bed_type(b, "E");
	assert_true(bed_shows(b, "tcp_sendmsg"));
	assert_true(wanted(b).all);
	bed_key(b, UIKEY_PAGE_DOWN);
	assert_non_null(strstr(bed_cursor_line(b), "行"));
	bed_key(b, UIKEY_PAGE_UP);
	assert_non_null(strstr(bed_cursor_line(b), "start_thread"));
	bed_free(b);
}

static void test_hottest(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_type(b, "Cx");
	/* the heaviest chain ends where a function's own time outweighs what it calls */
	assert_non_null(strstr(bed_cursor_line(b), "Protocol::send_result_set_row"));
	assert_false(wanted(b).all); /* the next questions are small again */
	bed_type(b, "3CH");
	assert_non_null(strstr(bed_cursor_line(b), "start_thread"));
	bed_free(b);
}

static void test_callers_of_a_function(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_type(b, "1jj");
	assert_non_null(strstr(bed_cursor_line(b), "tcp_sendmsg"));
	bed_type(b, "\r");
	assert_int_equal(wanted(b).orientation, QUERY_CALLERS);
	assert_non_null(strstr(bed_cursor_line(b), "▾ tcp_sendmsg"));
	bed_free(b);
}

static void test_modules_of_jit_code(void **state)
{
	struct ui_options options = bed_options();
	struct bed *b = bed_new(&options);

	(void)state;
	BED_SAMPLE(b, b->now_ns - SECOND, 1, SAMPLE_USER | STACK_BROKEN << SAMPLE_END_SHIFT, 20,
		   JIT);
	bed_status(b);
	bed_refresh(b);
	bed_type(b, "4");
	assert_true(bed_shows(b, "100.0% broken"));
	assert_true(bed_shows(b, "code made without frame pointers; java keeps them with"));
	bed_free(b);
}

static void test_modules(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_type(b, "M");
	assert_int_equal(wanted(b).orientation, QUERY_MODULES);
	assert_true(bed_shows(b, "of all stacks, known up to here only: 2.0% broken"));
	bed_type(b, "s"); /* by self, unnamed, broken, total */
	assert_true(bed_shows(b, "▾UNNAMED"));
	bed_type(b, "s");
	assert_true(bed_shows(b, "▾BROKEN"));
	bed_type(b, "s");
	assert_true(bed_shows(b, "▾TOTAL"));
	assert_non_null(strstr(bed_cursor_line(b), "mysqld"));
	bed_key(b, UIKEY_DOWN);
	assert_non_null(strstr(bed_cursor_line(b), "libc.so.6"));
	bed_type(b, "s");
	assert_true(bed_shows(b, "▾SELF"));
	bed_type(b, "/x86_64\r"); /* by path as well */
	assert_non_null(strstr(bed_cursor_line(b), "libc.so.6"));
	assert_true(bed_shows(b, "to mend sudo apt install libc6-dbg"));
	bed_type(b, "/nosuch\r");
	assert_true(bed_shows(b, "No module here matches"));
	assert_int_equal(canvas_resize(&b->canvas, 12, 60), 0);
	bed_key(b, UIKEY_DOWN); /* no room below the list */
	assert_false(bed_shows(b, "to mend"));
	bed_key(b, UIKEY_ENTER);
	assert_true(bed_shows(b, "to mend sudo apt install libc6-dbg"));
	b->now_ns += 100 * SECOND; /* all samples are old now */
	bed_refresh(b);
	assert_true(bed_shows(b, "no samples in this window any more"));
	bed_key(b, UIKEY_ENTER);
	assert_false(bed_shows(b, "any more"));
	bed_free(b);
}

static void test_search(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_type(b, "C/TCP_send\r"); /* in closed rows too, whatever the case */
	assert_non_null(strstr(bed_cursor_line(b), "tcp_sendmsg"));
	bed_type(b, "/handle\r");
	assert_non_null(strstr(bed_cursor_line(b), "handle_connection"));
	bed_type(b, "n");
	assert_non_null(strstr(bed_cursor_line(b), "handle_connection"));
	bed_type(b, "N");
	assert_non_null(strstr(bed_cursor_line(b), "handle_connection"));
	bed_type(b, "/nosuch\r");
	assert_true(bed_shows(b, "No function here matches \"nosuch\""));
	bed_key(b, UIKEY_ESCAPE);
	bed_type(b, "n");
	assert_true(bed_shows(b, "press / first"));
	/* UTF-8 is typed and erased by characters */
	bed_type(b, "/");
	bed_key(b, 0x884c);
	bed_key(b, 'x');
	bed_key(b, UIKEY_BACKSPACE);
	bed_key(b, UIKEY_ENTER);
	assert_non_null(strstr(bed_cursor_line(b), "行"));
	bed_free(b);
}

static void test_grouping(void **state)
{
	struct bed *b = loaded();

	(void)state;
	for (int g = 1; g <= NR_UI_GROUPINGS; g++) {
		bed_type(b, "g");
		assert_int_equal(wanted(b).grouping, g % NR_UI_GROUPINGS);
	}
	bed_type(b, "g1");
	assert_true(bed_shows(b, "▸ command1"));
	bed_type(b, "\r");
	assert_true(bed_shows(b, "▾ command1"));
	assert_true(bed_shows(b, "dispatch_command"));
	bed_free(b);
}

/* Rows move, the cursor stays on its function. */
static void test_cursor_follows(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_type(b, "1jjj");
	assert_non_null(strstr(bed_cursor_line(b), "memcpy"));
	assert_int_equal(strncmp(bed_line(b, 6), bed_cursor_line(b), 10), 0);
	BED_SAMPLE(b, b->now_ns, 2, SAMPLE_USER, 50000, START, HANDLE, MEMCPY);
	b->now_ns += SECOND;
	bed_refresh(b);
	assert_non_null(strstr(bed_line(b, 3), "memcpy")); /* it is the first now */
	assert_non_null(strstr(bed_cursor_line(b), "memcpy"));
	bed_free(b);
}

static char *rows_of(struct bed *b)
{
	char *dump = canvas_dump(&b->canvas);

	assert_non_null(dump);
	return dump;
}

static void test_pause(void **state)
{
	struct bed *b = loaded();
	char *before, *after;

	(void)state;
	bed_type(b, " ");
	assert_true(bed_shows(b, "paused"));
	assert_true(bed_shows(b, "Space resume"));
	assert_true(wanted(b).frozen);
	before = rows_of(b);
	for (int i = 0; i < 5; i++) { /* all of it changes: nothing of it is shown */
		static const char *const note[] = { "A new note." };
		const struct ui_status st = { .event = "cpu-clock",
					      .by_frequency = true,
					      .rate = 999,
					      .target = "mysqld[4242]",
					      .kernel = true,
					      .user = true,
					      .samples_per_s = 7,
					      .own_cpu_percent = 9.9,
					      .own_rss_bytes = 1,
					      .notes = note,
					      .nr_notes = 1,
					      .refresh_s = 1.0 };

		BED_SAMPLE(b, b->now_ns, 2, SAMPLE_USER, 5000, START, HANDLE, MEMCPY);
		b->now_ns += SECOND;
		ui_status(b->ui, &st);
		bed_refresh(b);
	}
	after = rows_of(b);
	assert_string_equal(before, after);
	free(after);
	bed_type(b, "1"); /* another view of the same ten seconds */
	assert_int_equal(wanted(b).to_ns, 100 * SECOND);
	assert_non_null(strstr(bed_line(b, 3), "dispatch_command"));
	bed_type(b, "2");
	after = rows_of(b);
	assert_string_equal(before, after);
	free(after);
	free(before);
	bed_type(b, "1 ");
	assert_non_null(strstr(bed_line(b, 3), "memcpy")); /* live again */
	assert_false(bed_shows(b, "paused"));
	bed_free(b);
}

static void test_sort(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_type(b, "1");
	assert_non_null(strstr(bed_line(b, 3), "dispatch_command"));
	bed_type(b, "s");
	assert_non_null(strstr(bed_line(b, 3), "handle_connection"));
	bed_type(b, "s");
	assert_non_null(strstr(bed_line(b, 3), "dispatch_command"));
	bed_free(b);
}

static void test_pages(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_type(b, "?");
	assert_true(bed_shows(b, "one row up"));
	bed_key(b, UIKEY_END);
	assert_false(bed_shows(b, "one row up"));
	assert_true(bed_shows(b, "complete"));
	b->now_ns += SECOND;
	bed_refresh(b);
	bed_type(b, "k");
	bed_key(b, UIKEY_HOME);
	assert_true(bed_shows(b, "one row up"));
	bed_type(b, "?");
	assert_false(bed_shows(b, "one row up"));
	bed_type(b, "h"); /* perf top's help key acts where h has nothing to close */
	assert_false(bed_shows(b, "one row up"));
	bed_type(b, "1h");
	assert_true(bed_shows(b, "one row up"));
	bed_key(b, UIKEY_ESCAPE);
	bed_key(b, UIKEY_F1);
	assert_true(bed_shows(b, "one row up"));
	bed_type(b, "q!");
	assert_true(bed_shows(b, "Nothing to say"));
	bed_free(b);
}

static void test_notes_are_read(void **state)
{
	const char *notes[] = { "The newest note.", "An older note." };
	struct ui_status st = { .event = "cpu-clock",
				.target = "all CPUs",
				.kernel = true,
				.user = true,
				.own_cpu_percent = NAN,
				.notes = notes,
				.nr_notes = 2,
				.refresh_s = 1.0 };
	struct bed *b = loaded();

	(void)state;
	ui_status(b->ui, &st);
	ui_draw(b->ui, &b->canvas);
	assert_true(bed_shows(b, "The newest note."));
	bed_type(b, "!");
	assert_true(bed_shows(b, "An older note."));
	bed_type(b, "!");
	assert_false(bed_shows(b, "The newest note.")); /* read: its line is the list's again */
	notes[0] = "Another note.";
	ui_status(b->ui, &st);
	ui_draw(b->ui, &b->canvas);
	assert_true(bed_shows(b, "Another note."));
	bed_free(b);
}

/* The tables: no key means two things in one place, every row has its texts, every key is in the
 * help. */
static void test_table(void **state)
{
	char *help = ui_help_text(false);

	(void)state;
	assert_non_null(help);
	for (size_t i = 0; i < nr_commands; i++) {
		const struct command *c = &commands[i];

		assert_true(c->label[0] && c->help[0] && c->contexts && c->keys[0]);
		assert_non_null(strstr(help, c->help));
		for (unsigned bit = 1; bit <= IN_NOTES; bit <<= 1) {
			for (int k = 0; k < COMMAND_KEYS; k++) {
				if (c->contexts & bit && c->keys[k] &&
				    command_find(c->keys[k], bit) != c)
					fail_msg("%s: key %d is taken", c->name, k);
			}
		}
	}
	free(help);
}

/* Any keys in any order: no harm, bounded, and the invariants hold at each step (bed_answer checks
 * the answers). */
static void test_random_keys(void **state)
{
	static const uint32_t special[] = { UIKEY_UP,        UIKEY_DOWN,      UIKEY_LEFT,
					    UIKEY_RIGHT,     UIKEY_END,       UIKEY_HOME,
					    UIKEY_TAB,       UIKEY_ENTER,     UIKEY_ESCAPE,
					    UIKEY_PAGE_DOWN, UIKEY_BACKSPACE, 0x884c };
	struct bed *b = loaded();
	uint64_t seed = 12345;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		bed_key(b, (seed >> 33) % 3 ? special[(seed >> 40) % 12]
					    : (uint32_t)(seed >> 40) % 96 + 32);
		if (i % 50 == 0) {
			b->now_ns += SECOND / 100;
			bed_refresh(b);
		}
		if (i % 500 == 0)
			assert_int_equal(canvas_resize(&b->canvas, i % 37 + 1, i % 91 + 1), 0);
	}
	bed_free(b);
}

/* The tree deeper than the screen is wide still shows names. */
static void test_deep(void **state)
{
	struct ui_options options = bed_options();
	struct bed *b = bed_new(&options);
	uint32_t functions[BED_DEPTH];

	(void)state;
	for (uint32_t i = 0; i < BED_DEPTH; i++)
		functions[i] = DEEP + i % 50;
	bed_sample(b, b->now_ns - SECOND, 1, SAMPLE_USER, 100, functions, BED_DEPTH);
	bed_status(b);
	bed_refresh(b);
	bed_type(b, "E");
	bed_key(b, UIKEY_END);
	assert_non_null(strstr(bed_cursor_line(b), "79"));
	assert_non_null(strstr(bed_cursor_line(b), "deep_function"));
	bed_free(b);
}

static void test_no_samples(void **state)
{
	struct ui_options options = bed_options();
	struct bed *b = bed_new(&options);

	(void)state;
	ui_draw(b->ui, &b->canvas); /* before the first answer */
	bed_refresh(b);
	assert_true(bed_shows(b, "No samples in the last 10s yet"));
	bed_type(b, "jkxnE/abc\r\r1\r");
	bed_refresh(b);
	bed_free(b);
	ui_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views),          cmocka_unit_test(test_windows),
		cmocka_unit_test(test_zero),           cmocka_unit_test(test_moving_and_folding),
		cmocka_unit_test(test_hottest),        cmocka_unit_test(test_callers_of_a_function),
		cmocka_unit_test(test_modules),        cmocka_unit_test(test_modules_of_jit_code),
		cmocka_unit_test(test_search),         cmocka_unit_test(test_grouping),
		cmocka_unit_test(test_cursor_follows), cmocka_unit_test(test_pause),
		cmocka_unit_test(test_sort),           cmocka_unit_test(test_pages),
		cmocka_unit_test(test_notes_are_read), cmocka_unit_test(test_table),
		cmocka_unit_test(test_random_keys),    cmocka_unit_test(test_deep),
		cmocka_unit_test(test_no_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
