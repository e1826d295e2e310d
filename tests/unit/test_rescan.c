/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes to be read again: once a second each, oldest first, bounded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "clock.h"
#include "rescan.h"

static void once_a_second_each(void **state)
{
	struct rescans r = { 0 };
	pid_t got[8];

	(void)state;
	assert_int_equal(rescans_take(&r, got, 8), 0);
	rescans_want(&r, 5, 10 * NS_PER_S);
	rescans_want(&r, 7, 10 * NS_PER_S);
	rescans_want(&r, 5, 10 * NS_PER_S + 1);
	rescans_want(&r, 0, 10 * NS_PER_S);
	rescans_want(&r, -1, 10 * NS_PER_S);
	assert_int_equal(rescans_take(&r, got, 1), 1);
	assert_int_equal(got[0], 5);
	rescans_want(&r, 5, 11 * NS_PER_S - 1);
	assert_int_equal(rescans_take(&r, got, 8), 1);
	assert_int_equal(got[0], 7);
	rescans_want(&r, 5, 11 * NS_PER_S);
	assert_int_equal(rescans_take(&r, got, 8), 1);
	assert_int_equal(got[0], 5);
	rescans_done(&r);
}

static void never_without_bound(void **state)
{
	struct rescans r = { 0 };
	size_t nr = 0, taken;
	pid_t got[8];

	(void)state;
	for (pid_t pid = 1; pid <= 100000; pid++)
		rescans_want(&r, pid, 10 * NS_PER_S);
	assert_in_range(r.wanting.nr, 1000, 5000);
	while ((taken = rescans_take(&r, got, 8)) > 0) {
		assert_int_equal(got[0], nr + 1);
		nr += taken;
	}
	assert_in_range(nr, 1000, 5000);
	rescans_want(&r, 90000, 10 * NS_PER_S);
	assert_int_equal(rescans_take(&r, got, 8), 1);
	assert_int_equal(got[0], 90000);
	rescans_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_a_second_each),
		cmocka_unit_test(never_without_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
