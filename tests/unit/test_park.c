/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "park.h"

static void add(struct park *p, uint32_t task, uint32_t nr)
{
	struct frame frames[8];
	struct stored s = { .task = task };

	for (uint32_t i = 0; i < nr; i++)
		frames[i] = (struct frame){ .image = task, .offset = i };
	assert_int_equal(park_add(p, &s, frames, nr), 0);
}

/* Taking some and packing leaves the others whole and in order. */
static void test_take_some(void **state)
{
	struct park p = { 0 };
	struct parked *at;
	size_t pos = 0, left = 0;

	(void)state;
	for (uint32_t task = 0; task < 6; task++)
		add(&p, task, task + 1);
	while ((at = park_next(&p, &pos)))
		if (at->sample.task % 2 == 0)
			park_take(at);
	park_pack(&p);
	pos = 0;
	while ((at = park_next(&p, &pos))) {
		uint32_t task = (uint32_t)(2 * left + 1);

		assert_int_equal(at->sample.task, task);
		assert_int_equal(at->nr, task + 1);
		for (uint32_t i = 0; i < at->nr; i++)
			assert_true(park_frames(&p, at)[i].image == task &&
				    park_frames(&p, at)[i].offset == i);
		left++;
	}
	assert_int_equal(left, 3);
	park_done(&p);
}

static void test_full(void **state)
{
	struct park p = { 0 };
	struct stored s = { 0 };
	struct frame f = { 0 };
	size_t taken = 0;

	(void)state;
	while (park_add(&p, &s, &f, 1) == 0)
		taken++;
	assert_int_equal(taken, PARK_MAX_SAMPLES);
	assert_int_equal(park_add(&p, &s, &f, 1), -ENOSPC);
	park_done(&p);
}

static void test_marks_and_renames(void **state)
{
	const uint32_t map[4] = { 9, 9, 5, 9 };
	uint8_t tasks[4] = { 0 }, images[3] = { 0 };
	struct park p = { 0 };

	(void)state;
	add(&p, 2, 1);
	park_mark(&p, tasks, images, 3);
	assert_true(tasks[2] && !tasks[0] && images[2] && !images[1]);
	park_rename(&p, map);
	assert_int_equal(p.entries.at[0].sample.task, 5);
	park_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_some),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_marks_and_renames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
