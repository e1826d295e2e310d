// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/strpool.h"

static void equal_strings_share_an_id(void **state)
{
	struct strpool *p = strpool_new();
	uint32_t a, b, c;

	(void)state;
	assert_non_null(p);
	a = strpool_add(p, "malloc", 6);
	b = strpool_add(p, "free", 4);
	c = strpool_add(p, "mallocx", 6);
	assert_int_equal(a, c);
	assert_int_not_equal(a, b);
	assert_string_equal(strpool_get(p, a), "malloc");
	assert_string_equal(strpool_get(p, b), "free");
	assert_int_equal(strpool_count(p), 3);
	strpool_free(p);
	strpool_free(NULL);
}

static void nothing_is_id_zero(void **state)
{
	struct strpool *p = strpool_new();

	(void)state;
	assert_int_equal(strpool_add(p, "x", 0), 0);
	assert_string_equal(strpool_get(p, 0), "");
	assert_string_equal(strpool_get(p, 12345), "");
	assert_string_equal(strpool_get(p, UINT32_MAX), "");
	strpool_free(p);
}

static void bytes_count_not_text(void **state)
{
	struct strpool *p = strpool_new();
	uint32_t a, b, zero;

	(void)state;
	a = strpool_add(p, "a", 1);
	b = strpool_add(p, "a\0b", 3);
	zero = strpool_add(p, "\0", 1);
	assert_int_not_equal(a, b);
	assert_int_not_equal(zero, 0);
	assert_memory_equal(strpool_get(p, b), "a\0b", 4);
	strpool_free(p);
}

static void strings_never_move(void **state)
{
	enum { NR = 20000 };
	struct strpool *p = strpool_new();
	static const char *where[NR];
	static uint32_t ids[NR];
	static char big[100000];
	char name[32];
	uint32_t id;

	(void)state;
	memset(big, 'x', sizeof(big));
	for (int i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		ids[i] = strpool_add(p, name, strlen(name));
		where[i] = strpool_get(p, ids[i]);
	}
	id = strpool_add(p, big, sizeof(big));
	assert_int_equal(strlen(strpool_get(p, id)), sizeof(big));
	assert_int_equal(strpool_count(p), NR + 2);
	for (int i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		assert_ptr_equal(strpool_get(p, ids[i]), where[i]);
		assert_string_equal(where[i], name);
		assert_int_equal(strpool_add(p, name, strlen(name)), ids[i]);
	}
	assert_true(strpool_bytes(p) > 100000 + NR * 10u);
	assert_true(strpool_bytes(p) < 100000 + NR * 80u);
	strpool_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_share_an_id),
		cmocka_unit_test(nothing_is_id_zero),
		cmocka_unit_test(bytes_count_not_text),
		cmocka_unit_test(strings_never_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
