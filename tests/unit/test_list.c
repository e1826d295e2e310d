/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list against hand-made answers: order within the noise, cursor by identity, folds, scrolling.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "view/list.h"

#define NONE UINT32_MAX

/* Flat rows with these sample counts; row i has path 100 + i.  0: not there. */
static struct answer flat(const uint64_t *samples, size_t nr)
{
	struct answer a = { .first = NONE };

	a.rows = calloc(nr, sizeof(*a.rows));
	assert_non_null(a.rows);
	for (size_t i = 0; i < nr; i++) {
		struct row *row = &a.rows[a.nr_rows];

		if (!samples[i])
			continue;
		*row = (struct row){ .function = (uint32_t)i,
				     .group = QUERY_NO_GROUP,
				     .parent = NONE,
				     .first_child = NONE,
				     .next = a.first,
				     .self = samples[i],
				     .total = samples[i],
				     .self_samples = samples[i],
				     .total_samples = samples[i],
				     .path = 100 + i };
		a.first = (uint32_t)a.nr_rows++;
		a.weight += samples[i];
		a.samples += samples[i];
	}
	return a;
}

static void update(struct list *l, struct answer *a, const uint64_t *samples, size_t nr)
{
	free(a->rows);
	*a = flat(samples, nr);
	assert_int_equal(list_update(l, a), 0);
}

static uint32_t shown(const struct list *l, const struct answer *a, size_t line)
{
	assert_true(line < l->shown.nr);
	return a->rows[l->shown.at[line]].function;
}

static void test_order_within_noise(void **state)
{
	struct list l = { 0 };
	struct answer a = { 0 };

	(void)state;
	update(&l, &a, (const uint64_t[]){ 400, 410, 100 }, 3);
	assert_int_equal(shown(&l, &a, 0), 1);
	assert_int_equal(shown(&l, &a, 1), 0);
	/* 2 * sqrt(n) is 40 here: the two change places in figures, not on the screen. */
	update(&l, &a, (const uint64_t[]){ 415, 395, 100 }, 3);
	assert_int_equal(shown(&l, &a, 0), 1);
	update(&l, &a, (const uint64_t[]){ 405, 405, 100 }, 3);
	assert_int_equal(shown(&l, &a, 0), 1);
	/* Now one has really changed. */
	update(&l, &a, (const uint64_t[]){ 500, 310, 100 }, 3);
	assert_int_equal(shown(&l, &a, 0), 0);
	assert_int_equal(shown(&l, &a, 2), 2);
	list_done(&l);
	free(a.rows);
}

/* Modules by samples without a name, or by stacks that end there; rows that are none come last. */
static void test_order_by_count(void **state)
{
	static struct module_row counts[] = {
		{ .unnamed = 10, .ends = { [STACK_COMPLETE] = 400 } },
		{ .unnamed = 300, .ends = { [STACK_CUT] = 1, [STACK_DEEP] = 1 } },
		{ .unnamed = 0, .ends = { [STACK_BROKEN] = 50 } },
	};
	struct list l = { .by_self = true, .by = COUNT_UNNAMED };
	struct answer a = flat((const uint64_t[]){ 400, 310, 100 }, 3);

	(void)state;
	a.modules = counts;
	assert_int_equal(list_count_of(COUNT_NONE, &a, 1), 0);
	assert_int_equal(list_count_of(COUNT_UNNAMED, &a, 1), 300);
	assert_int_equal(list_count_of(COUNT_BROKEN, &a, 1), 2);
	assert_int_equal(list_update(&l, &a), 0);
	assert_int_equal(shown(&l, &a, 0), 1);
	assert_int_equal(shown(&l, &a, 1), 0);
	assert_int_equal(shown(&l, &a, 2), 2);
	l.by = COUNT_BROKEN;
	list_resort(&l);
	assert_int_equal(list_update(&l, &a), 0);
	assert_int_equal(shown(&l, &a, 0), 2);
	assert_int_equal(shown(&l, &a, 1), 1);
	counts[1].ends[STACK_CUT] += 3; /* within the noise */
	counts[0].ends[STACK_BROKEN] = 3;
	assert_int_equal(list_update(&l, &a), 0);
	assert_int_equal(shown(&l, &a, 1), 1);
	a.modules = NULL; /* another view's rows */
	assert_int_equal(list_count_of(COUNT_BROKEN, &a, 1), 0);
	free(a.rows);
	list_done(&l);
}

static void test_resort_is_exact(void **state)
{
	struct list l = { 0 };
	struct answer a = { 0 };

	(void)state;
	update(&l, &a, (const uint64_t[]){ 400, 410 }, 2);
	update(&l, &a, (const uint64_t[]){ 410, 400 }, 2);
	assert_int_equal(shown(&l, &a, 0), 1);
	list_resort(&l);
	assert_int_equal(list_update(&l, &a), 0);
	assert_int_equal(shown(&l, &a, 0), 0);
	list_done(&l);
	free(a.rows);
}

/* A slow drift is followed, each step of it within the noise of the last place. */
static void test_drift_is_followed(void **state)
{
	struct list l = { 0 };
	struct answer a = { 0 };

	(void)state;
	for (uint64_t i = 0; i <= 60; i++)
		update(&l, &a, (const uint64_t[]){ 700 - 10 * i, 100 + 10 * i }, 2);
	assert_int_equal(shown(&l, &a, 0), 1);
	list_done(&l);
	free(a.rows);
}

static void test_cursor_is_a_row(void **state)
{
	struct list l = { 0 };
	struct answer a = { 0 };

	(void)state;
	update(&l, &a, (const uint64_t[]){ 900, 500, 100 }, 3);
	assert_int_equal(list_row(&l, &a)->function, 0);
	update(&l, &a, (const uint64_t[]){ 300, 900, 100 }, 3); /* nothing chosen: the top line */
	assert_int_equal(list_row(&l, &a)->function, 1);
	list_move(&l, &a, 1);
	assert_int_equal(list_row(&l, &a)->function, 0);
	update(&l, &a, (const uint64_t[]){ 2000, 100, 900 }, 3);
	assert_int_equal(list_row(&l, &a)->function, 0);
	assert_int_equal(l.cursor, 0);
	update(&l, &a, (const uint64_t[]){ 100, 900, 2000 }, 3);
	assert_int_equal(list_row(&l, &a)->function, 0);
	assert_int_equal(l.cursor, 2);
	update(&l, &a, (const uint64_t[]){ 0, 900, 2000 }, 3); /* gone: some row meanwhile */
	assert_non_null(list_row(&l, &a));
	update(&l, &a, (const uint64_t[]){ 3000, 900, 2000 }, 3); /* back: on it again */
	assert_int_equal(list_row(&l, &a)->function, 0);
	update(&l, &a, (const uint64_t[]){ 0, 0, 0 }, 3);
	assert_null(list_row(&l, &a));
	list_move(&l, &a, -5);
	list_go(&l, &a, 7);
	assert_null(list_row(&l, &a));
	list_done(&l);
	free(a.rows);
}

static void test_moves_are_bounded(void **state)
{
	struct list l = { 0 };
	struct answer a = { 0 };
	uint64_t samples[50];

	(void)state;
	for (size_t i = 0; i < 50; i++)
		samples[i] = 10000 - 150 * i;
	update(&l, &a, samples, 50);
	list_move(&l, &a, -3);
	assert_int_equal(l.cursor, 0);
	list_move(&l, &a, 1000);
	assert_int_equal(l.cursor, 49);
	list_scroll(&l, 20);
	assert_int_equal(l.top, 30);
	list_move(&l, &a, -10);
	list_scroll(&l, 20);
	assert_int_equal(l.top, 30);
	list_move(&l, &a, -15);
	list_scroll(&l, 20);
	assert_int_equal(l.top, 24);
	list_scroll(&l, 60);
	assert_int_equal(l.top, 0);
	list_done(&l);
	free(a.rows);
}

/* a(b(c)), d */
static struct answer nested(void)
{
	struct answer a = flat((const uint64_t[]){ 90, 80, 70, 10 }, 4);

	a.rows[0].has_children = a.rows[1].has_children = true;
	a.rows[0].first_child = 1;
	a.rows[1].first_child = 2;
	a.rows[1].parent = 0;
	a.rows[2].parent = 1;
	a.rows[1].depth = 1;
	a.rows[2].depth = 2;
	a.rows[1].next = a.rows[2].next = a.rows[3].next = NONE;
	a.rows[0].next = 3;
	a.first = 0;
	return a;
}

static void test_folds(void **state)
{
	struct answer a = nested();
	struct list l = { 0 };

	(void)state;
	assert_int_equal(list_update(&l, &a), 0);
	assert_int_equal(l.shown.nr, 2);
	assert_int_equal(l.order.nr, 4);
	assert_int_equal(list_set_open(&l, 100, true), 0);
	assert_int_equal(list_refold(&l, &a), 0);
	assert_int_equal(l.shown.nr, 3);
	assert_true(list_seek(&l, &a, 103));
	assert_int_equal(l.cursor, 2);
	assert_int_equal(list_reveal(&l, &a, 2), 0); /* the cursor stays on d */
	assert_int_equal(l.shown.nr, 4);
	assert_int_equal(l.cursor, 3);
	list_set_all(&l, true);
	assert_int_equal(list_set_open(&l, 101, false), 0);
	assert_int_equal(list_refold(&l, &a), 0);
	assert_int_equal(l.shown.nr, 3);
	assert_false(list_seek(&l, &a, 102));
	list_set_all(&l, false);
	assert_int_equal(list_refold(&l, &a), 0);
	assert_int_equal(l.shown.nr, 2);
	assert_int_equal(list_row(&l, &a)->function, 3);
	list_done(&l);
	free(a.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_within_noise),
		cmocka_unit_test(test_order_by_count),
		cmocka_unit_test(test_resort_is_exact),
		cmocka_unit_test(test_drift_is_followed),
		cmocka_unit_test(test_cursor_is_a_row),
		cmocka_unit_test(test_moves_are_bounded),
		cmocka_unit_test(test_folds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
