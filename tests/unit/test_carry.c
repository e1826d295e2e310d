/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds and the chosen row, over rows that get their names. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "view/carry.h"

#define NONE UINT32_MAX

enum { MAIN, LIBRARY, FOO, BAR, OTHER_LIBRARY, OTHER, BELOW, UNNAMED_BELOW, NAMED_BELOW };

static void function(void *ctx, uint32_t id, struct ui_function *ret)
{
	static const struct ui_function functions[] = {
		[MAIN] = { .name = "main", .module = "a.out", .named = true },
		[LIBRARY] = { .name = "libfoo.so", .module = "libfoo.so" },
		[FOO] = { .name = "foo", .module = "libfoo.so", .named = true },
		[BAR] = { .name = "bar", .module = "libfoo.so", .named = true },
		[OTHER_LIBRARY] = { .name = "libother.so", .module = "libother.so" },
		[OTHER] = { .name = "other", .module = "libother.so", .named = true },
		[BELOW] = { .name = "below", .module = "a.out", .named = true },
		[UNNAMED_BELOW] = { .name = "libfoo.so+0x10", .module = "libfoo.so" },
		[NAMED_BELOW] = { .name = "named", .module = "libfoo.so", .named = true },
	};

	(void)ctx;
	*ret = functions[id];
}

static const struct ui_names names = { .function = function };

struct tree {
	struct row rows[8];
	struct answer answer;
};

/* Adds a row as the last child of row @parent; returns its index. */
static uint32_t add(struct tree *t, uint32_t parent, uint32_t function)
{
	uint32_t i = (uint32_t)t->answer.nr_rows++;
	uint64_t above = parent == NONE ? query_path_top(QUERY_NO_GROUP) : t->rows[parent].path;
	uint32_t *link;

	if (!i)
		t->answer = (struct answer){ .rows = t->rows, .nr_rows = 1, .first = NONE };
	t->rows[i] = (struct row){ .function = function,
				   .parent = parent,
				   .first_child = NONE,
				   .next = NONE,
				   .path = query_path(above, function) };
	link = parent == NONE ? &t->answer.first : &t->rows[parent].first_child;
	while (*link != NONE)
		link = &t->rows[*link].next;
	*link = i;
	return i;
}

static bool flipped(const struct list *l, uint64_t path)
{
	return map_find(&l->flipped, path) != NULL;
}

/* main -> libfoo.so -> below, all open; then libfoo.so is foo and bar. */
static void names_come(void **state)
{
	struct tree before = { 0 }, now = { 0 };
	struct list l = { 0 };
	uint32_t main_row, library, below, foo, bar;

	(void)state;
	main_row = add(&before, NONE, MAIN);
	library = add(&before, main_row, LIBRARY);
	below = add(&before, library, BELOW);
	assert_int_equal(list_set_open(&l, before.rows[main_row].path, true), 0);
	assert_int_equal(list_set_open(&l, before.rows[library].path, true), 0);
	assert_int_equal(list_set_open(&l, before.rows[below].path, true), 0);
	l.pinned = true;
	l.path = before.rows[below].path;
	main_row = add(&now, NONE, MAIN);
	add(&now, main_row, OTHER);
	foo = add(&now, main_row, FOO);
	bar = add(&now, main_row, BAR);
	carry_folds(&l, &before.answer, &now.answer, &names);
	assert_true(flipped(&l, now.rows[main_row].path));
	assert_true(flipped(&l, now.rows[foo].path));
	assert_false(flipped(&l, now.rows[bar].path));
	assert_false(flipped(&l, before.rows[library].path));
	assert_true(flipped(&l, query_path(now.rows[foo].path, BELOW)));
	assert_true(l.path == query_path(now.rows[foo].path, BELOW));
	assert_int_equal(l.flipped.nr, 3);
	list_done(&l);
}

/* Names at two depths at once. */
static void names_come_below_names(void **state)
{
	struct tree before = { 0 }, now = { 0 };
	struct list l = { 0 };
	uint32_t library, below, foo, named;

	(void)state;
	library = add(&before, NONE, LIBRARY);
	below = add(&before, library, UNNAMED_BELOW);
	assert_int_equal(list_set_open(&l, before.rows[below].path, true), 0);
	foo = add(&now, NONE, FOO);
	named = add(&now, foo, NAMED_BELOW);
	carry_folds(&l, &before.answer, &now.answer, &names);
	assert_true(flipped(&l, now.rows[named].path));
	list_done(&l);
}

/* Rows that went, and those that only look like successors. */
static void others_stay(void **state)
{
	struct tree before = { 0 }, now = { 0 };
	struct list l = { 0 };
	uint32_t named, library, row;

	(void)state;
	named = add(&before, NONE, BAR);
	library = add(&before, NONE, OTHER_LIBRARY);
	add(&before, NONE, FOO);
	assert_int_equal(list_set_open(&l, before.rows[named].path, true), 0);
	assert_int_equal(list_set_open(&l, before.rows[library].path, true), 0);
	add(&now, NONE, FOO); /* was there before */
	row = add(&now, NONE, NAMED_BELOW);
	carry_folds(&l, &before.answer, &now.answer, &names);
	assert_true(flipped(&l, before.rows[named].path));
	assert_true(flipped(&l, before.rows[library].path));
	assert_false(flipped(&l, now.rows[row].path));
	assert_int_equal(l.flipped.nr, 2);
	now.answer.grouped = true;
	add(&now, NONE, OTHER);
	carry_folds(&l, &before.answer, &now.answer, &names);
	assert_true(flipped(&l, before.rows[library].path));
	now.answer.grouped = false;
	carry_folds(&l, &before.answer, &now.answer, &names);
	assert_false(flipped(&l, before.rows[library].path));
	list_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come),
		cmocka_unit_test(names_come_below_names),
		cmocka_unit_test(others_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
