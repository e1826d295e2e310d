// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"

static void whole_numbers(void **state)
{
	uint64_t n = 7;
	uint32_t w = 7;

	(void)state;
	assert_int_equal(parse_u64("0", &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(parse_u64("18446744073709551615", &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(parse_u64("18446744073709551616", &n), -ERANGE);
	assert_int_equal(parse_u64("99999999999999999999999", &n), -ERANGE);
	assert_int_equal(parse_u64("000000000000000000000000012", &n), 0);
	assert_int_equal(n, 12);
	assert_int_equal(parse_u64("", &n), -EINVAL);
	assert_int_equal(parse_u64(" 1", &n), -EINVAL);
	assert_int_equal(parse_u64("1 ", &n), -EINVAL);
	assert_int_equal(parse_u64("+1", &n), -EINVAL);
	assert_int_equal(parse_u64("-1", &n), -EINVAL);
	assert_int_equal(parse_u64("0x10", &n), -EINVAL);
	assert_int_equal(parse_u64("99999999999999999999999x", &n), -EINVAL);
	assert_int_equal(n, 12);
	assert_int_equal(parse_u32("4294967295", &w), 0);
	assert_true(w == UINT32_MAX);
	assert_int_equal(parse_u32("4294967296", &w), -ERANGE);
	assert_true(w == UINT32_MAX);
}

static void hexadecimal(void **state)
{
	uint64_t n = 7;
	size_t used = 7;

	(void)state;
	assert_int_equal(parse_hex("ffffffffDEADbeef r-xp", 21, &n, &used), 0);
	assert_true(n == 0xffffffffdeadbeefull);
	assert_int_equal(used, 16);
	assert_int_equal(parse_hex("1234", 2, &n, &used), 0);
	assert_int_equal(n, 0x12);
	assert_int_equal(used, 2);
	assert_int_equal(parse_hex("0000000000000000000001", 22, &n, &used), 0);
	assert_int_equal(n, 1);
	assert_int_equal(parse_hex("10000000000000000", 17, &n, &used), -ERANGE);
	assert_int_equal(parse_hex("", 0, &n, &used), -EINVAL);
	assert_int_equal(parse_hex("g", 1, &n, &used), -EINVAL);
	assert_int_equal(parse_hex("-1", 2, &n, &used), -EINVAL);
	assert_int_equal(n, 1);
}

static void seconds(void **state)
{
	double s = 7;

	(void)state;
	assert_int_equal(parse_seconds("2", &s), 0);
	assert_true(s == 2.0);
	assert_int_equal(parse_seconds("0.5", &s), 0);
	assert_true(s == 0.5);
	assert_int_equal(parse_seconds("0.1", &s), 0);
	assert_true(s == 0.1);
	assert_int_equal(parse_seconds(".25", &s), 0);
	assert_true(s == 0.25);
	assert_int_equal(parse_seconds("3.", &s), 0);
	assert_true(s == 3.0);
	assert_int_equal(parse_seconds("0.30000000000000000000004", &s), 0);
	assert_true(s == 0.3);
	assert_int_equal(parse_seconds("0.0000000000000000000000000000001", &s), 0);
	assert_true(s >= 0 && s < 1e-9);
	assert_int_equal(parse_seconds("123456.789", &s), 0);
	assert_true(s == 123456.789);
	assert_int_equal(parse_seconds("0", &s), 0);
	assert_true(s == 0.0);
	assert_int_equal(parse_seconds("1000000000000000000", &s), -ERANGE);
	assert_int_equal(parse_seconds("", &s), -EINVAL);
	assert_int_equal(parse_seconds(".", &s), -EINVAL);
	assert_int_equal(parse_seconds("1.2.3", &s), -EINVAL);
	assert_int_equal(parse_seconds("-1", &s), -EINVAL);
	assert_int_equal(parse_seconds("1e3", &s), -EINVAL);
	assert_int_equal(parse_seconds("nan", &s), -EINVAL);
	assert_int_equal(parse_seconds("inf", &s), -EINVAL);
	assert_int_equal(parse_seconds("1,5", &s), -EINVAL);
	assert_int_equal(parse_seconds("1s", &s), -EINVAL);
	assert_true(s == 0.0);
}

static void list_is(const struct u32_list *list, size_t nr, const uint32_t *want)
{
	assert_int_equal(list->nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(list->at[i], want[i]);
}

static void id_lists(void **state)
{
	static const char *const bad[] = { "",    ",", "1,",   ",1",  "1,,2", "0",
					   "1,0", "a", "1 ,2", "1;2", "-1",   "1-2" };
	struct u32_list ids = { 0 };

	(void)state;
	assert_int_equal(parse_ids("1,5,7", &ids), 0);
	list_is(&ids, 3, (const uint32_t[]){ 1, 5, 7 });
	assert_int_equal(parse_ids("4294967295", &ids), 0);
	list_is(&ids, 4, (const uint32_t[]){ 1, 5, 7, UINT32_MAX });
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse_ids(bad[i], &ids), -EINVAL);
		assert_int_equal(ids.nr, 4);
	}
	assert_int_equal(parse_ids("2,4294967296", &ids), -ERANGE);
	assert_int_equal(ids.nr, 4);
	vec_done(&ids);
}

static void cpu_lists(void **state)
{
	static const char *const bad[] = { "",  ",",     "1,",  "3-1", "1-",    "-1",
					   "a", "1-2-3", "1 2", "0x1", "1\n\n", "1\n2" };
	struct u32_list cpus = { 0 };

	(void)state;
	assert_int_equal(parse_cpulist("8,0-3,2-3\n", &cpus), 0);
	list_is(&cpus, 5, (const uint32_t[]){ 0, 1, 2, 3, 8 });
	assert_int_equal(parse_cpulist("5", &cpus), 0);
	list_is(&cpus, 1, (const uint32_t[]){ 5 });
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse_cpulist(bad[i], &cpus), -EINVAL);
		list_is(&cpus, 1, (const uint32_t[]){ 5 });
	}
	assert_int_equal(parse_cpulist("8192", &cpus), -ERANGE);
	assert_int_equal(parse_cpulist("0-99999999999999999999", &cpus), -ERANGE);
	assert_int_equal(parse_cpulist("0-8191", &cpus), 0);
	assert_int_equal(cpus.nr, 8192);
	vec_done(&cpus);
}

static void write_file(char *path, const void *bytes, size_t len)
{
	int fd;

	strcpy(path, "/tmp/ptop-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static void files(void **state)
{
	static char big[20000];
	char path[64], *bytes = NULL;
	size_t len = 0;

	(void)state;
	memset(big, 'b', sizeof(big));
	write_file(path, big, sizeof(big));
	assert_int_equal(parse_file(path, sizeof(big), &bytes, &len), 0);
	assert_int_equal(len, sizeof(big));
	assert_int_equal(strlen(bytes), sizeof(big));
	free(bytes);
	bytes = NULL;
	assert_int_equal(parse_file(path, sizeof(big) - 1, &bytes, &len), -EFBIG);
	assert_null(bytes);
	unlink(path);
	assert_int_equal(parse_file(path, 100, &bytes, &len), -ENOENT);
	assert_int_equal(parse_file("/tmp", 100, &bytes, &len), -EISDIR);
	assert_null(bytes);
	assert_int_equal(parse_file("/dev/null", 0, &bytes, &len), 0);
	assert_int_equal(len, 0);
	assert_string_equal(bytes, "");
	free(bytes);
	assert_int_equal(parse_file("/proc/self/maps", 1 << 20, &bytes, &len), 0);
	assert_non_null(strstr(bytes, "[stack]"));
	free(bytes);
}

static void file_numbers(void **state)
{
	static const struct {
		const char *text;
		int err;
		long n;
	} cases[] = {
		{ "2\n", 0, 2 },         { "-1\n", 0, -1 },
		{ "4000", 0, 4000 },     { "", -EINVAL, 0 },
		{ "\n", -EINVAL, 0 },    { "-\n", -EINVAL, 0 },
		{ "1 2\n", -EINVAL, 0 }, { "max\n", -EINVAL, 0 },
		{ "--1", -EINVAL, 0 },   { "9223372036854775808", -ERANGE, 0 },
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		long n = 0;

		write_file(path, cases[i].text, strlen(cases[i].text));
		assert_int_equal(parse_file_long(path, &n), cases[i].err);
		assert_int_equal(n, cases[i].n);
		unlink(path);
	}
}

static void nearest_is(const char *word, const char *want)
{
	static const char *const names[] = {
		"cycles",        "instructions",     "cache-misses", "cache-references",
		"cpu-clock",     "task-clock",       "page-faults",  "branches",
		"branch-misses", "context-switches", "cs",           "cycles",
	};
	struct nearest n;
	char out[128];

	nearest_begin(&n, word);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_offer(&n, names[i]);
	nearest_end(&n, out, sizeof(out));
	assert_string_equal(out, want);
}

static void nearest_names(void **state)
{
	struct nearest n;
	char out[8];

	(void)state;
	nearest_is("cycels", "cycles");
	nearest_is("Cycles", "cycles");
	nearest_is("cpuclock", "cpu-clock");
	nearest_is("cache", "cache-misses or cache-references");
	nearest_is("inst", "instructions");
	nearest_is("br", "branches or branch-misses");
	nearest_is("c", "");
	nearest_is("", "");
	nearest_is("zzzzzz", "");
	nearest_is("a word so long that no name of an event could ever be mistaken for it", "");
	nearest_begin(&n, "cycle");
	nearest_offer(&n, "cycles-of-something");
	nearest_end(&n, out, sizeof(out));
	assert_string_equal(out, "cycles-");
	nearest_end(&n, out, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers), cmocka_unit_test(hexadecimal),
		cmocka_unit_test(seconds),       cmocka_unit_test(id_lists),
		cmocka_unit_test(cpu_lists),     cmocka_unit_test(files),
		cmocka_unit_test(file_numbers),  cmocka_unit_test(nearest_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
