/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"

static const struct {
	const char *text, *name;
	uint32_t type;
	uint64_t config;
	enum event_unit unit;
} names[] = {
	{ "cycles", "cycles", PERF_TYPE_HARDWARE, 0, EVENT_CYCLES },
	{ "cpu-cycles", "cycles", PERF_TYPE_HARDWARE, 0, EVENT_CYCLES },
	{ "instructions", "instructions", PERF_TYPE_HARDWARE, 1, EVENT_COUNT },
	{ "branch-instructions", "branches", PERF_TYPE_HARDWARE, 4, EVENT_COUNT },
	{ "idle-cycles-frontend", "stalled-cycles-frontend", PERF_TYPE_HARDWARE, 7, EVENT_COUNT },
	{ "ref-cycles", "ref-cycles", PERF_TYPE_HARDWARE, 9, EVENT_CYCLES },
	{ "cpu-clock", "cpu-clock", PERF_TYPE_SOFTWARE, 0, EVENT_TIME_NS },
	{ "task-clock", "task-clock", PERF_TYPE_SOFTWARE, 1, EVENT_TIME_NS },
	{ "faults", "page-faults", PERF_TYPE_SOFTWARE, 2, EVENT_COUNT },
	{ "cs", "context-switches", PERF_TYPE_SOFTWARE, 3, EVENT_COUNT },
	{ "migrations", "cpu-migrations", PERF_TYPE_SOFTWARE, 4, EVENT_COUNT },
	{ "cgroup-switches", "cgroup-switches", PERF_TYPE_SOFTWARE, 11, EVENT_COUNT },
	{ "L1-dcache-loads", "L1-dcache-loads", PERF_TYPE_HW_CACHE, 0x00000, EVENT_COUNT },
	{ "L1-dcache-load-misses", "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000,
	  EVENT_COUNT },
	{ "l1-icache-prefetch-misses", "L1-icache-prefetch-misses", PERF_TYPE_HW_CACHE, 0x10201,
	  EVENT_COUNT },
	{ "LLC-store-misses", "LLC-store-misses", PERF_TYPE_HW_CACHE, 0x10102, EVENT_COUNT },
	{ "dTLB-prefetches", "dTLB-prefetches", PERF_TYPE_HW_CACHE, 0x00203, EVENT_COUNT },
	{ "iTLB-load-misses", "iTLB-load-misses", PERF_TYPE_HW_CACHE, 0x10004, EVENT_COUNT },
	{ "branch-loads", "branch-loads", PERF_TYPE_HW_CACHE, 0x00005, EVENT_COUNT },
	{ "node-stores", "node-stores", PERF_TYPE_HW_CACHE, 0x00106, EVENT_COUNT },
};

static void test_names(void **state)
{
	struct event e;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct reason why = { "" };

		assert_int_equal(event_parse(names[i].text, &e, &why), 0);
		assert_string_equal(e.name, names[i].name);
		assert_int_equal(e.type, names[i].type);
		assert_int_equal(e.config, names[i].config);
		assert_int_equal(e.unit, names[i].unit);
		assert_int_equal(e.precise, 0);
		assert_false(e.exclude_kernel || e.exclude_user || e.exclude_hv);
	}
}

/* As perf does: what is named stays, what is not named goes; p and P say nothing of modes. */
static const struct {
	const char *text, *name;
	bool user, kernel, hv;
	uint8_t precise;
} modifiers[] = {
	{ "cycles:u", "cycles:u", true, false, false, 0 },
	{ "cycles:k", "cycles:k", false, true, false, 0 },
	{ "cycles:h", "cycles:h", false, false, true, 0 },
	{ "cycles:ku", "cycles:uk", true, true, false, 0 },
	{ "cycles:uk", "cycles:uk", true, true, false, 0 },
	{ "cycles:ukh", "cycles", true, true, true, 0 },
	{ "cycles:p", "cycles:p", true, true, true, 1 },
	{ "cycles:ppp", "cycles:ppp", true, true, true, 3 },
	{ "cycles:P", "cycles:P", true, true, true, PRECISE_MAX },
	{ "cycles:pup", "cycles:upp", true, false, false, 2 },
	{ "cpu-cycles:Pu", "cycles:uP", true, false, false, PRECISE_MAX },
};

static void test_modifiers(void **state)
{
	struct event e, again;

	(void)state;
	for (size_t i = 0; i < sizeof(modifiers) / sizeof(modifiers[0]); i++) {
		struct reason why = { "" };

		assert_int_equal(event_parse(modifiers[i].text, &e, &why), 0);
		assert_string_equal(e.name, modifiers[i].name);
		assert_int_equal(e.exclude_user, !modifiers[i].user);
		assert_int_equal(e.exclude_kernel, !modifiers[i].kernel);
		assert_int_equal(e.exclude_hv, !modifiers[i].hv);
		assert_int_equal(e.precise, modifiers[i].precise);
		assert_int_equal(event_parse(e.name, &again, &why), 0);
		assert_string_equal(again.name, e.name);
	}
}

static const struct {
	const char *text, *part;
} refused[] = {
	{ "", "name is missing" },
	{ ":u", "name is missing" },
	{ "cycels", "did you mean cycles" },
	{ "page-fault", "page-faults" },
	{ "L1-dcache-load", "L1-dcache-loads" },
	{ "zzzzzzzzzzzzzzz", "there is no event \"zzzzzzzzzzzzzzz\"" },
	{ "cycles:", "lacks its modifiers" },
	{ "cycles:x", "\"x\"" },
	{ "cycles:uu", "\"u\"" },
	{ "cycles:pppp", "\"p\"" },
	{ "cycles:PP", "\"P\"" },
	{ "cycles:pP", "\"P\"" },
	{ "cycles:Pp", "\"p\"" },
	{ "cycles:\x1b[31m", "\"?\"" },
	{ "iTLB-stores", "there is no event" },
	{ "L1-icache-stores", "there is no event" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct event e = { .name = "untouched" };
		struct reason why = { "" };

		assert_int_equal(event_parse(refused[i].text, &e, &why), -EINVAL);
		assert_string_equal(e.name, "untouched");
		if (!strstr(why.text, refused[i].part))
			fail_msg("\"%s\": %s", refused[i].text, why.text);
		assert_int_equal(event_parse(refused[i].text, &e, NULL), -EINVAL);
	}
}

static void test_very_long_name(void **state)
{
	char text[4096];
	struct event e;
	struct reason why;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(event_parse(text, &e, &why), -EINVAL);
	text[8] = ':';
	memcpy(text, "ref-cycles:", 11);
	assert_int_equal(event_parse(text, &e, &why), -EINVAL);
}

/* Every row can be parsed by its name and alias, says what it is for in one line, and no two share
 * a name. */
static void test_table(void **state)
{
	const struct event_row *row, *other;
	size_t nr[3] = { 0 }, group = 0;
	static const char *const groups[] = { "hardware", "software", "cache" };

	(void)state;
	for (size_t i = 0; (row = event_row(i)); i++) {
		struct event e, alias;

		assert_int_equal(event_parse(row->name, &e, NULL), 0);
		assert_string_equal(e.name, row->name);
		if (row->alias) {
			assert_int_equal(event_parse(row->alias, &alias, NULL), 0);
			assert_string_equal(alias.name, row->name);
		}
		while (group < 3 && strcmp(row->group, groups[group]) != 0)
			group++;
		assert_true(group < 3);
		nr[group]++;
		assert_in_range(strlen(row->help), 8, 72);
		for (size_t j = 0; j < i; j++) {
			other = event_row(j);
			assert_string_not_equal(other->name, row->name);
		}
	}
	assert_int_equal(nr[0], 10);
	assert_int_equal(nr[1], 12);
	assert_int_equal(nr[2], 32);
	assert_null(event_row(SIZE_MAX));
}

static void test_kernel_only(void **state)
{
	struct event e;

	(void)state;
	assert_int_equal(event_parse("context-switches", &e, NULL), 0);
	assert_true(e.kernel_only);
	assert_int_equal(event_parse("page-faults", &e, NULL), 0);
	assert_false(e.kernel_only);
}

static void test_ladder(void **state)
{
	struct event e;
	size_t i;

	(void)state;
	for (i = 0; event_ladder(i); i++)
		assert_int_equal(event_parse(event_ladder(i), &e, NULL), 0);
	assert_int_equal(i, 3);
	assert_true(event_is_clock(&e));
	assert_string_equal(event_ladder(0), "cycles:P");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),   cmocka_unit_test(test_modifiers),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_very_long_name),
		cmocka_unit_test(test_table),   cmocka_unit_test(test_kernel_only),
		cmocka_unit_test(test_ladder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
