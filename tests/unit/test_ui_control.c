/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys that change what is sampled, or ask something of the program. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ui_bed.h"

static void test_exclusion(void **state)
{
	struct bed *b = loaded();

	(void)state;
	assert_true(bed_shows(b, "entry_SYSCALL"));
	bed_type(b, "K");
	expect_control(b, UI_SAMPLE_KERNEL, 0);
	assert_int_equal(wanted(b).hide, SAMPLE_IDLE | SAMPLE_KERNEL);
	assert_false(bed_shows(b, "entry_SYSCALL"));
	assert_true(bed_shows(b, "user only"));
	bed_type(b, "U"); /* nothing would be left */
	assert_false(bed_flags(b) & UI_CONTROL);
	assert_true(bed_shows(b, "press K"));
	bed_type(b, "K");
	expect_control(b, UI_SAMPLE_KERNEL, 1);
	assert_int_equal(wanted(b).hide, SAMPLE_IDLE);
	bed_type(b, "U");
	expect_control(b, UI_SAMPLE_USER, 0);
	assert_true(bed_shows(b, "kernel only"));
	bed_type(b, "UI");
	assert_int_equal(wanted(b).hide, 0);
	assert_true(bed_shows(b, "do_idle"));
	bed_free(b);
}

static void test_sampling_wishes(void **state)
{
	static const struct {
		const char *keys;
		enum ui_control_kind kind;
		uint64_t value;
	} wishes[] = {
		{ ">", UI_EVENT_NEXT, 0 },
		{ "<", UI_EVENT_PREVIOUS, 0 },
		{ "]", UI_RATE_DOUBLE, 0 },
		{ "S", UI_CALL_GRAPH_NEXT, 0 },
		{ "[", UI_RATE_HALVE, 0 },
		{ "f4000\r", UI_RATE_FREQUENCY, 4000 },
		{ "c100000\r", UI_RATE_PERIOD, 100000 },
		{ "P", UI_SAVE, 0 },
		{ "O", UI_RECORD, 0 },
		{ "f12\177\17799\r", UI_RATE_FREQUENCY, 99 },
	};
	struct bed *b = loaded();
	struct ui_control c;

	(void)state;
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		bed_type(b, wishes[i].keys);
		expect_control(b, wishes[i].kind, wishes[i].value);
	}
	bed_type(b, "d0.5\r");
	assert_true(ui_control(b->ui, &c));
	assert_int_equal(c.kind, UI_REFRESH);
	assert_true(c.seconds == 0.5);
	bed_type(b, "f0\r");
	assert_false(ui_control(b->ui, &c));
	assert_true(bed_shows(b, "a whole number"));
	bed_key(b, UIKEY_ESCAPE);
	bed_type(b, "d0\r");
	assert_false(ui_control(b->ui, &c));
	bed_key(b, UIKEY_ESCAPE);
	bed_type(b, "f\r"); /* nothing typed: nothing changes */
	assert_false(ui_control(b->ui, &c));
	for (int i = 0; i < 100; i++)
		bed_type(b, "]"); /* nobody listens: bounded */
	bed_free(b);
}

static void test_event_menu(void **state)
{
	static const struct ui_event events[] = {
		{ "cycles", "hardware", "CPU cycles", false, "no hardware counters here" },
		{ "cpu-clock", "software", "time on a CPU", true, NULL },
		{ "page-faults", "software", "page faults", true, NULL },
	};
	struct bed *b = loaded();
	struct ui_control c;

	(void)state;
	bed_type(b, "m");
	assert_int_equal(ui_set_events(b->ui, events, 3), 0);
	ui_draw(b->ui, &b->canvas);
	assert_non_null(strstr(bed_cursor_line(b), "cpu-clock")); /* the one sampled now */
	bed_type(b, "kk\r");
	assert_false(ui_control(b->ui, &c));
	assert_true(bed_shows(b, "cycles: no hardware counters here"));
	b->now_ns += SECOND;
	bed_refresh(b); /* the list below goes on */
	bed_type(b, "jj\r");
	assert_true(ui_control(b->ui, &c));
	assert_int_equal(c.kind, UI_EVENT_SET);
	assert_string_equal(c.name, "page-faults");
	assert_false(bed_shows(b, "can be sampled"));
	bed_type(b, "mq");
	assert_false(bed_flags(b) & UI_QUIT);
	bed_type(b, "q");
	assert_true(bed_flags(b) & UI_QUIT);
	bed_free(b);
}

static void test_program_keys(void **state)
{
	struct bed *b = loaded();

	(void)state;
	bed_key(b, UIKEY_CTRL('L'));
	assert_true(bed_flags(b) & UI_REPAINT);
	bed_key(b, UIKEY_CTRL('Z'));
	assert_true(bed_flags(b) & UI_SUSPEND);
	bed_type(b, "/abc");
	bed_key(b, UIKEY_CTRL('C')); /* from anywhere */
	assert_true(bed_flags(b) & UI_QUIT);
	bed_key(b, UIKEY_ESCAPE);
	bed_key(b, UIKEY_HANGUP);
	assert_true(bed_flags(b) & UI_QUIT);
	bed_key(b, UIKEY_ESCAPE); /* alone it never quits */
	bed_key(b, 'y');
	bed_key(b, UIKEY_NONE);
	assert_int_equal(bed_flags(b), 0);
	bed_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exclusion),
		cmocka_unit_test(test_sampling_wishes),
		cmocka_unit_test(test_event_menu),
		cmocka_unit_test(test_program_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
