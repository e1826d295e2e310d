/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perf maps of any size: what is read at once is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/naming.h"
#include "unit/jitdump_bytes.h"
#include "unit/space_records.h"

static struct function_info info_of(struct symbols *sy, uint32_t image, uint64_t addr)
{
	struct function_info info;

	assert_true(symbols_info(sy, symbols_function(sy, image, addr), &info));
	return info;
}

/* No line is cut by where a part ends, and all come in the end. */
static void large_perf_maps_come_in_parts(void **state)
{
	enum { LINES = 300000, FIRST = 0x1000000 };
	struct space *space = space_new();
	struct images *images = images_new();
	struct symbols *sy = symbols_new(space, images);
	pid_t self = getpid();
	uint64_t now_ns = 0;
	char path[64], name[64];
	int refreshes = 0;
	uint32_t image;
	FILE *f;

	(void)state;
	assert_non_null(sy);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)self);
	f = fopen(path, "we");
	assert_non_null(f);
	for (int i = LINES - 1; i >= 0; i--) /* the order that costs most */
		fprintf(f, "%x 10 function_%06d_with_a_name_that_is_rather_long_for_one\n",
			FIRST + i * 16, i);
	assert_int_equal(fclose(f), 0);
	do_mmap(space, (uint32_t)self, FIRST, LINES * 16, 0, 0, "//anon", 1);
	image = space_resolve(space, self, FIRST).image;
	assert_true(info_of(sy, image, FIRST + (LINES - 1) * 16).named);
	assert_false(info_of(sy, image, FIRST).named);
	while (!info_of(sy, image, FIRST).named && refreshes++ < 100)
		symbols_refresh(sy, now_ns += 1000000000);
	assert_in_range(refreshes, 1, 10);
	for (int i = 0; i < LINES; i += 97) {
		snprintf(name, sizeof(name),
			 "function_%06d_with_a_name_that_is_rather_long_for_one", i);
		assert_string_equal(info_of(sy, image, FIRST + (uint64_t)i * 16 + 15).name, name);
	}
	assert_true(sy->jit_bytes > (size_t)LINES * sizeof(struct perfmap_entry));
	symbols_forget(sy, image);
	assert_int_equal(sy->jit_bytes, 0);
	unlink(path);
	symbols_free(sy);
	images_free(images);
	space_free(space);
}

/* What is left from one refresh to the next is never so little that a line would not fit. */
static void little_is_not_begun_with(void **state)
{
	struct space *space = space_new();
	struct images *images = images_new();
	struct symbols *sy = symbols_new(space, images);
	pid_t self = getpid();
	char path[64];
	uint32_t image;
	FILE *f;

	(void)state;
	assert_non_null(sy);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)self);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "1000010 10 a_function\n");
	assert_int_equal(fclose(f), 0);
	do_mmap(space, (uint32_t)self, 0x1000000, 0x1000, 0, 0, "//anon", 1);
	image = space_resolve(space, self, 0x1000000).image;
	sy->jit_left = 0;
	assert_false(info_of(sy, image, 0x1000010).named);
	assert_true(symbols_refresh(sy, 5));
	assert_string_equal(info_of(sy, image, 0x1000010).name, "a_function");
	assert_true(sy->jit_left == 0 || sy->jit_left > JIT_READ_LEAST);
	unlink(path);
	symbols_free(sy);
	images_free(images);
	space_free(space);
}

static void write_dump(const char *path, const char *name)
{
	struct dump_bytes b = { 0 };
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	dump_header(&b, 0);
	dump_load(&b, 1, 0x10000, 0x100, name);
	assert_int_equal(fwrite(b.at, 1, b.size, f), b.size);
	assert_int_equal(fclose(f), 0);
}

/* A process may map one dump after the other, and some that are not there; forgotten, nothing of it
 * is gone back to. */
static void one_dump_after_the_other(void **state)
{
	static const char *const names[] = { "first", NULL, "third" };
	const uint64_t second = 1000000000;
	struct space *space = space_new();
	struct images *images = images_new();
	struct symbols *sy = symbols_new(space, images);
	pid_t self = getpid();
	char path[64];
	uint32_t image;

	(void)state;
	assert_non_null(sy);
	do_mmap(space, (uint32_t)self, 0x10000, 0x1000, 0, 0, "//anon", 1);
	image = space_resolve(space, self, 0x10000).image;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t time_ns = (i + 1) * second, place;

		snprintf(path, sizeof(path), "/tmp/jit-%d%u.dump", (int)self, i);
		unlink(path);
		if (names[i])
			write_dump(path, names[i]);
		do_mmap(space, (uint32_t)self, 0x20000, 0x1000, 0, 0, path, time_ns);
		place = symbols_place(sy, self, image, 0x10010, time_ns + second / 2);
		assert_string_equal(info_of(sy, image, place).name, names[i] ? names[i] : "[jit]");
		(void)info_of(sy, image, 0x10800); /* missed: to be looked for again */
		symbols_refresh(sy, time_ns);
	}
	/* The same file, begun anew. */
	assert_int_equal(truncate(path, 0), 0);
	(void)symbols_place(sy, self, image, 0x10010, 5 * second);
	write_dump(path, "fourth");
	assert_string_equal(
		info_of(sy, image, symbols_place(sy, self, image, 0x10010, 6 * second)).name,
		"fourth");
	unlink(path);
	snprintf(path, sizeof(path), "/tmp/jit-%d0.dump", (int)self);
	unlink(path);
	assert_true(sy->dump_bytes > 0);
	assert_int_equal(sy->dumps.nr, 1);
	symbols_forget(sy, image);
	assert_int_equal(sy->dumps.nr, 0);
	assert_int_equal(sy->dump_bytes, 0);
	symbols_refresh(sy, 9 * second);
	symbols_free(sy);
	images_free(images);
	space_free(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_perf_maps_come_in_parts),
		cmocka_unit_test(little_is_not_begun_with),
		cmocka_unit_test(one_dump_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
