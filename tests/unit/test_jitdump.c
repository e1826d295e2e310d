/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dumps of JIT code from bytes: what is where at which time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/jitdump.h"
#include "unit/jitdump_bytes.h"

static uint64_t apply(struct jitdump *d, const struct dump_bytes *b, uint64_t from, uint64_t until)
{
	uint64_t later;

	return from + jitdump_apply(d, b->at + from, b->size - from, b->size - from, until, &later);
}

static const char *name_at(const struct jitdump *d, uint64_t addr)
{
	const struct jitdump_code *code = jitdump_find(d, addr);

	return code ? strpool_get(d->names, code->name) : "";
}

static void code_lives_by_time(void **state)
{
	struct dump_bytes b = { 0 };
	struct jitdump d = { 0 };
	uint64_t at, later;

	(void)state;
	dump_header(&b, 0);
	dump_load(&b, 100, 0x1000, 0x100, "first");
	dump_load(&b, 200, 0x1080, 0x100, "second");
	dump_move(&b, 300, 0x1080, 0x5000, 0x100);
	dump_load(&b, 400, 0x1000, 0x10, "third");
	at = apply(&d, &b, 0, 50);
	assert_string_equal(name_at(&d, 0x1000), "");
	at = apply(&d, &b, at, 150);
	assert_string_equal(name_at(&d, 0x1000), "first");
	assert_string_equal(name_at(&d, 0x10ff), "first");
	assert_string_equal(name_at(&d, 0x1100), "");
	assert_int_equal(jitdump_apply(&d, b.at + at, b.size - at, b.size - at, 150, &later), 0);
	assert_int_equal(later, 200);
	at = apply(&d, &b, at, 200);
	assert_string_equal(name_at(&d, 0x1080), "second");
	assert_string_equal(name_at(&d, 0x117f), "second");
	assert_string_equal(name_at(&d, 0x1000), ""); /* what it overlaps is gone */
	at = apply(&d, &b, at, 300);
	assert_string_equal(name_at(&d, 0x1080), "");
	assert_string_equal(name_at(&d, 0x5000), "second");
	assert_string_equal(name_at(&d, 0x50ff), "second");
	at = apply(&d, &b, at, UINT64_MAX);
	assert_string_equal(name_at(&d, 0x100f), "third");
	assert_int_equal(at, b.size);
	assert_false(d.ended);
	jitdump_done(&d);
}

static void other_clocks_apply_at_once(void **state)
{
	struct dump_bytes b = { 0 };
	struct jitdump d = { 0 };

	(void)state;
	dump_header(&b, 1);
	dump_load(&b, 1ull << 60, 0x1000, 0x100, "first");
	assert_int_equal(apply(&d, &b, 0, 5), b.size);
	assert_string_equal(name_at(&d, 0x1000), "first");
	jitdump_done(&d);
}

static void other_records_are_passed_over(void **state)
{
	struct dump_bytes b = { 0 };
	struct jitdump d = { 0 };
	uint64_t at;

	(void)state;
	dump_header(&b, 0);
	dump_record(&b, 2, 1, 200); /* lines */
	dump_record(&b, 4, 1, 40);  /* unwind tables */
	dump_record(&b, 77, 1, 17);
	dump_load(&b, 1, 0x1000, 0x100, "named");
	dump_move(&b, 1, 0x9000, 0x1000, 0x10); /* of code not told of: something else is there */
	dump_load(&b, 1, 0x2000, 0x100, "");
	dump_load(&b, 1, 0x3000, 0x100, "kept");
	dump_record(&b, 3, 1, 16); /* closed */
	at = b.size;
	dump_load(&b, 1, 0x4000, 0x100, "beyond");
	assert_int_equal(apply(&d, &b, 0, 5), at);
	assert_string_equal(name_at(&d, 0x1000), "");
	assert_string_equal(name_at(&d, 0x2000), "");
	assert_string_equal(name_at(&d, 0x3000), "kept");
	assert_string_equal(name_at(&d, 0x4000), "");
	assert_true(d.ended);
	jitdump_done(&d);
}

/* Whatever is at hand of a growing file, whole records are applied and others wait. */
static void parts_wait(void **state)
{
	struct dump_bytes b = { 0 };
	struct jitdump d = { 0 };
	uint64_t at = 0, later, first;

	(void)state;
	dump_header(&b, 0);
	first = b.size;
	dump_load(&b, 1, 0x1000, 2000, "whole"); /* its code is not in the buffer */
	for (uint64_t size = 0; size < b.size; size++)
		at += jitdump_apply(&d, b.at + at, size - at, size - at, 5, &later);
	assert_int_equal(at, first);
	assert_string_equal(name_at(&d, 0x1000), "");
	/* code need not be at hand: only the head of its record */
	at += jitdump_apply(&d, b.at + at, 600, b.size - at + 1999, 5, &later);
	assert_int_equal(at, first);
	at += jitdump_apply(&d, b.at + at, 600, b.size - at + 2000, 5, &later);
	assert_int_equal(at, b.size + 2000);
	assert_string_equal(name_at(&d, 0x1000), "whole");
	jitdump_done(&d);
}

static void damage_ends_it(void **state)
{
	struct dump_bytes good = { 0 }, b;
	struct jitdump d = { 0 };

	(void)state;
	dump_header(&good, 0);
	dump_load(&good, 1, 0x1000, 0x100, "one");
	dump_load(&good, 1, UINT64_MAX - 4, 0x100, "wraps");
	dump_load(&good, 1, 0x8000, UINT64_MAX, "endless");
	assert_int_equal(apply(&d, &good, 0, 5), good.size);
	assert_int_equal(d.code.nr, 1);
	jitdump_done(&d);
	for (size_t at = 0; at < good.size; at++) {
		b = good;
		b.at[at] ^= 0x80;
		apply(&d, &b, 0, 5);
		for (size_t i = 0; i < d.code.blocks.nr; i++) {
			const struct jitmap_block *block = d.code.blocks.at[i];

			assert_true(block->at[0].start < block->at[0].end);
			for (size_t j = 1; j < block->nr; j++) {
				assert_true(block->at[j].start < block->at[j].end);
				assert_true(block->at[j - 1].end <= block->at[j].start);
			}
		}
		jitdump_done(&d);
	}
	b = good;
	b.at[0] ^= 1; /* the magic number */
	assert_int_equal(apply(&d, &b, 0, 5), 0);
	assert_true(d.ended);
	jitdump_done(&d);
	b = good;
	memset(b.at + 40 + 4, 0, 4); /* a record of no size */
	assert_int_equal(apply(&d, &b, 0, 5), 40);
	assert_true(d.ended);
	jitdump_done(&d);
}

/* Pieces over pieces, at random: as if each byte of memory had its owner written down. */
static void replaced_as_in_memory(void **state)
{
	enum { BYTES = 512, ROUNDS = 400 };
	struct jitdump d = { 0 };
	int owner[BYTES];
	uint64_t seed = 88172645463325252ull;

	(void)state;
	memset(owner, -1, sizeof(owner));
	for (int round = 0; round < ROUNDS; round++) {
		struct dump_bytes b = { 0 };
		uint64_t later;
		size_t start, size;
		char name[16];

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		start = seed % (BYTES - 40);
		size = 1 + (seed >> 32) % 40;
		if (!round)
			dump_header(&b, 0);
		snprintf(name, sizeof(name), "n%d", round);
		dump_load(&b, 1, 0x1000 + start, size, name);
		jitdump_apply(&d, b.at, b.size, b.size, 5, &later);
		for (size_t i = start; i < start + size; i++) { /* what is hit is gone as a whole */
			int gone = owner[i];

			for (size_t j = 0; gone >= 0 && j < BYTES; j++)
				owner[j] = owner[j] == gone ? -1 : owner[j];
			owner[i] = -1;
		}
		for (size_t i = start; i < start + size; i++)
			owner[i] = round;
		for (size_t i = 0; i < BYTES; i++) {
			snprintf(name, sizeof(name), "n%d", owner[i]);
			assert_string_equal(name_at(&d, 0x1000 + i), owner[i] < 0 ? "" : name);
		}
	}
	jitdump_done(&d);
}

/* A process chooses the order of its addresses: none may be dear (falling ones took 70 us a piece
 * in one array of all), and pieces go as they came. */
static void any_order_is_borne(void **state)
{
	enum { PIECES = 200000 };
	static const struct {
		uint64_t first, step;
	} orders[] = { { 0, 1 }, { PIECES - 1, PIECES - 1 }, { 7, 77773 } };
	struct jitmap m = { 0 };

	(void)state;
	for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
		for (uint64_t i = 0, at = orders[o].first; i < PIECES; i++) {
			struct jitdump_code code = { at * 16, at * 16 + 16, (uint32_t)at };

			assert_int_equal(jitmap_replace(&m, code.start, code.end, &code), 0);
			at = (at + orders[o].step) % PIECES;
		}
		assert_int_equal(m.nr, PIECES);
		for (uint32_t at = 0; at < PIECES; at++)
			assert_int_equal(jitmap_find(&m, at * 16ull + 15)->name, at);
		assert_null(jitmap_find(&m, PIECES * 16ull));
	}
	assert_true(jitmap_bytes(&m) < (size_t)3 * PIECES * sizeof(struct jitdump_code));
	assert_int_equal(jitmap_replace(&m, 1, PIECES * 16ull - 1, NULL), 0);
	assert_int_equal(m.nr, 0);
	assert_int_equal(m.blocks.nr, 0);
	jitmap_done(&m);
}

static void append_to(const char *path, const void *bytes, size_t size)
{
	FILE *f = fopen(path, "ae");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void files_are_read_as_they_grow(void **state)
{
	struct dump_bytes b = { 0 };
	struct image_sight sight = { 0 };
	struct jitdump_file *f;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/ptop-%d-jit-1.dump", (int)getpid());
	unlink(path);
	sight.path = path;
	assert_null(jitdump_open(&sight));
	dump_header(&b, 0);
	dump_load(&b, 100, 0x1000, 100000, "large"); /* longer than what is read at once */
	append_to(path, b.at, b.size);
	f = jitdump_open(&sight);
	assert_non_null(f);
	assert_false(jitdump_advance(f, 50, 50) && f->dump.code.nr);
	assert_false(jitdump_advance(f, 150, 150)); /* its code is not written yet */
	assert_int_equal(truncate(path, (off_t)b.size + 100000), 0);
	assert_false(jitdump_advance(f, 160, 160)); /* nor looked at again so soon */
	assert_true(jitdump_advance(f, 170, 1000000000));
	assert_string_equal(name_at(&f->dump, 0x1000 + 99999), "large");
	b.size = 0;
	dump_load(&b, 200, 0x1000, 16, "next");
	append_to(path, b.at, b.size);
	assert_false(jitdump_advance(f, 190, 2000000000));
	assert_string_equal(name_at(&f->dump, 0x1000), "large");
	assert_true(jitdump_advance(f, 210, 2000000001));
	assert_string_equal(name_at(&f->dump, 0x1000), "next");
	/* begun anew */
	assert_int_equal(truncate(path, 0), 0);
	assert_false(jitdump_advance(f, 220, 3000000000));
	assert_null(jitdump_find(&f->dump, 0x1000));
	jitdump_close(f);
	unlink(path);
	jitdump_close(NULL);
}

static void paths(void **state)
{
	(void)state;
	assert_true(jitdump_is_path("/tmp/jit-42.dump"));
	assert_true(jitdump_is_path("/home/a/.debug/jit/x/jit-42.dump (deleted)"));
	assert_true(jitdump_is_path("jit-1.dump"));
	assert_false(jitdump_is_path("/tmp/jit-.dump"));
	assert_false(jitdump_is_path("/tmp/jit-42.dumpling"));
	assert_false(jitdump_is_path("/tmp/xjit-42.dump"));
	assert_false(jitdump_is_path("/jit-42.dump/libc.so"));
	assert_false(jitdump_is_path(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_lives_by_time),
		cmocka_unit_test(other_clocks_apply_at_once),
		cmocka_unit_test(other_records_are_passed_over),
		cmocka_unit_test(parts_wait),
		cmocka_unit_test(damage_ends_it),
		cmocka_unit_test(replaced_as_in_memory),
		cmocka_unit_test(any_order_is_borne),
		cmocka_unit_test(files_are_read_as_they_grow),
		cmocka_unit_test(paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
