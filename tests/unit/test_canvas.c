/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "view/canvas.h"
#include "view/column.h"

static void expect(const struct canvas *c, const char *text)
{
	char *dump = canvas_dump(c);

	assert_non_null(dump);
	assert_string_equal(dump, text);
	free(dump);
}

static void test_text_is_cut(void **state)
{
	struct canvas c = { 0 };

	(void)state;
	assert_int_equal(canvas_resize(&c, 2, 6), 0);
	assert_int_equal(canvas_text(&c, 0, 1, 100, ROLE_PLAIN, "abcdefgh"), 5);
	assert_int_equal(canvas_text(&c, 1, 0, 2, ROLE_PLAIN, "xyz"), 2);
	assert_int_equal(canvas_text(&c, 2, 0, 2, ROLE_PLAIN, "outside"), 0);
	assert_int_equal(canvas_text(&c, 0, -1, 2, ROLE_PLAIN, "outside"), 0);
	assert_int_equal(canvas_text(&c, 0, 6, 2, ROLE_PLAIN, "outside"), 0);
	expect(&c, " abcde\nxy\n");
	canvas_done(&c);
}

static void test_wide_characters(void **state)
{
	struct canvas c = { 0 };

	(void)state;
	assert_int_equal(canvas_resize(&c, 1, 6), 0);
	assert_int_equal(canvas_text(&c, 0, 0, 5, ROLE_PLAIN, "行ロック"), 4);
	expect(&c, "行ロ\n");
	assert_int_equal(c.cells[0].width, 2);
	assert_int_equal(c.cells[1].width, 0);
	canvas_text(&c, 0, 1, 1, ROLE_PLAIN,
		    "x"); /* half of the first is covered: all of it goes */
	expect(&c, " xロ\n");
	canvas_text(&c, 0, 2, 1, ROLE_PLAIN, "y");
	expect(&c, " xy\n");
	canvas_text(&c, 0, 0, 6, ROLE_PLAIN, "abcdef");
	canvas_text(&c, 0, 1, 4, ROLE_PLAIN, "行");
	expect(&c, "a行def\n");
	canvas_done(&c);
}

static void test_combining(void **state)
{
	struct canvas c = { 0 };

	(void)state;
	assert_int_equal(canvas_resize(&c, 1, 4), 0);
	assert_int_equal(canvas_text(&c, 0, 0, 4, ROLE_PLAIN, "e\xcc\x81z"), 2);
	expect(&c, "e\xcc\x81z\n");
	canvas_clear(&c); /* more marks than a cell holds: the rest is dropped, nothing overflows */
	assert_int_equal(canvas_text(&c, 0, 0, 4, ROLE_PLAIN,
				     "\xcc\x81"
				     "e\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85z"),
			 2);
	expect(&c, "e\xcc\x81\xcc\x82\xcc\x83z\n");
	canvas_done(&c);
}

static void test_hostile_text(void **state)
{
	struct canvas c = { 0 };

	(void)state;
	assert_int_equal(canvas_resize(&c, 1, 20), 0);
	canvas_text(&c, 0, 0, 20, ROLE_PLAIN, "a\033[31mb\x9b\xc2\x9b\x7f\n");
	for (int i = 0; i < 20; i++) {
		assert_true(c.cells[i].chars[0] >= 0x20);
		assert_false(c.cells[i].chars[0] >= 0x7f && c.cells[i].chars[0] < 0xa0);
	}
	c.ascii = true;
	canvas_clear(&c);
	canvas_text(&c, 0, 0, 20, ROLE_PLAIN, "é▾x");
	expect(&c, "??x\n");
	canvas_done(&c);
}

static void test_sizes(void **state)
{
	struct canvas c = { 0 };

	(void)state;
	assert_int_equal(canvas_resize(&c, 0, 0), 0);
	expect(&c, "");
	assert_int_equal(canvas_resize(&c, -5, 100000), 0);
	canvas_fill(&c, 0, 0, 10, ROLE_PLAIN, 'x');
	canvas_mark(&c, 0);
	assert_int_equal(c.rows, 0);
	assert_true(c.columns < 100000);
	canvas_done(&c);
	canvas_done(&c);
}

static void test_percent(void **state)
{
	char out[32];

	(void)state;
	column_percent(1, 3, out, sizeof(out));
	assert_string_equal(out, "33.3%");
	column_percent(7, 7, out, sizeof(out));
	assert_string_equal(out, "100.0%");
	column_percent(0, 0, out, sizeof(out));
	assert_string_equal(out, "0.0%");
	column_percent(1, 1000000, out, sizeof(out));
	assert_string_equal(out, "<0.1%");
}

static void test_layout(void **state)
{
	(void)state;
	for (int view = 0; view <= QUERY_MODULES; view++) {
		for (int width = 1; width <= 300; width++) {
			struct column_layout l;
			int end = 0;

			column_layout((enum orientation)view, width, true, &l);
			assert_true(l.width[COLUMN_function] > 0);
			assert_true(l.width[view == QUERY_MODULES ? COLUMN_self : COLUMN_total] >
				    0);
			for (int i = 0; i < NR_COLUMNS; i++) {
				if (!l.width[i])
					continue;
				assert_true(l.at[i] >= end);
				end = l.at[i] + l.width[i];
			}
			if (width >= 20)
				assert_true(end <= width);
			if (width >= 40)
				assert_true(l.width[COLUMN_function] >= 22);
			if (width >= 80)
				assert_true(l.width[view == QUERY_MODULES ? COLUMN_names
									  : COLUMN_module] &&
					    l.width[COLUMN_cpus]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_cut), cmocka_unit_test(test_wide_characters),
		cmocka_unit_test(test_combining),   cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_sizes),       cmocka_unit_test(test_percent),
		cmocka_unit_test(test_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
