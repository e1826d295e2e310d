/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables written by hand: what table_check() refuses, what look-ups answer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/table.h"

/* All parts in their usual order. */
struct whole {
	struct table_header header;
	struct table_segment segments[2];
	struct table_symbol symbols[4];
	char strings[16];
};

static const struct whole good = {
	.header = {
		.magic = TABLE_MAGIC,
		.version = TABLE_VERSION,
		.source = TABLE_SYMTAB,
		.size = sizeof(struct whole),
		.nr_segments = 2,
		.nr_symbols = 4,
		.segments_at = offsetof(struct whole, segments),
		.symbols_at = offsetof(struct whole, symbols),
		.strings_at = offsetof(struct whole, strings),
		.strings_size = 16,
		.build_id_size = 20,
	},
	.segments = {
		{.offset = 0x200, .filesz = 0x100, .vaddr = 0x5200, .memsz = 0x100},
		{.offset = 0x300, .filesz = 0x100, .vaddr = 0x1000, .memsz = 0x200},
	},
	.symbols = {
		{.start = 0x1000, .size = 0x10, .name = 1, .outer = TABLE_NO_SYMBOL},
		{.start = 0x1020, .size = 0xe0, .name = 3, .outer = TABLE_NO_SYMBOL},
		{.start = 0x1040, .size = 0x10, .name = 5, .outer = 1},
		{.start = 0x5200, .size = 0x08, .name = 7, .outer = TABLE_NO_SYMBOL},
	},
	.strings = "\0a\0b\0c\0d",
};

static int check(const struct whole *w)
{
	struct table t;

	return table_check(w, sizeof(*w), &t);
}

static const char *found(const struct table *t, uint64_t offset)
{
	uint32_t i = table_symbol(t, offset);

	return i == TABLE_NO_SYMBOL ? "" : table_name(t, i);
}

static void lookups(void **state)
{
	struct whole w = good;
	struct table t;
	uint64_t at = 1;

	(void)state;
	assert_int_equal(table_check(&w, sizeof(w), &t), 0);
	assert_string_equal(found(&t, 0x300), "a");
	assert_string_equal(found(&t, 0x30f), "a");
	assert_string_equal(found(&t, 0x310), "");
	assert_string_equal(found(&t, 0x320), "b");
	assert_string_equal(found(&t, 0x340), "c");
	assert_string_equal(found(&t, 0x350), "b");
	assert_string_equal(found(&t, 0x3ff), "b");
	assert_string_equal(found(&t, 0x400), "");
	assert_string_equal(found(&t, 0x200), "d");
	assert_string_equal(found(&t, 0x208), "");
	assert_string_equal(found(&t, 0), "");
	assert_string_equal(found(&t, UINT64_MAX), "");
	assert_true(table_offset(&t, 0x5207, &at));
	assert_int_equal(at, 0x207);
	assert_false(table_offset(&t, 0x1100, &at));
	assert_string_equal(table_source_name(&t), "symtab");
}

static void every_length_but_its_own_is_refused(void **state)
{
	struct table t;

	(void)state;
	for (size_t size = 0; size < sizeof(good); size++) {
		uint8_t *copy = malloc(size + 1);

		memcpy(copy, &good, size);
		assert_int_equal(table_check(copy, size, &t), -EBADMSG);
		free(copy);
	}
	assert_int_equal(check(&good), 0);
}

static void misaligned_bytes_are_refused(void **state)
{
	_Alignas(8) char room[sizeof(good) + 1];
	struct table t;

	(void)state;
	memcpy(room + 1, &good, sizeof(good));
	assert_int_equal(table_check(room + 1, sizeof(good), &t), -EBADMSG);
}

#define REFUSED(change)                                \
	do {                                           \
		struct whole w = good;                 \
		w.change;                              \
		assert_int_equal(check(&w), -EBADMSG); \
	} while (0)

static void damage_is_refused(void **state)
{
	(void)state;
	REFUSED(header.magic ^= 1);
	REFUSED(header.version++);
	REFUSED(header.size++);
	REFUSED(header.source = NR_TABLE_SOURCES);
	REFUSED(header.build_id_size = 21);
	REFUSED(header.nr_segments = 65);
	REFUSED(header.nr_symbols = UINT32_MAX);
	REFUSED(header.nr_symbols = 100);
	REFUSED(header.segments_at += 4);
	REFUSED(header.segments_at = UINT64_MAX - 7);
	REFUSED(header.symbols_at = UINT64_MAX - 7);
	REFUSED(header.strings_at = sizeof(struct whole));
	REFUSED(header.strings_size = 0);
	REFUSED(header.strings_size = 17);
	REFUSED(header.strings_size = UINT64_MAX);
	REFUSED(segments[0].filesz = UINT64_MAX);
	REFUSED(segments[1].vaddr = UINT64_MAX);
	REFUSED(symbols[1].start = 0x1000);
	REFUSED(symbols[3].start = 0x1030);
	REFUSED(symbols[3].start = UINT64_MAX - 3);
	REFUSED(symbols[0].size = 0);
	REFUSED(symbols[2].name = 16);
	REFUSED(symbols[2].outer = 2);
	REFUSED(symbols[0].outer = 1);
	REFUSED(symbols[0].kind = NR_TABLE_KINDS);
	REFUSED(strings[15] = 'x');
}

static void chains_of_outer_symbols_end(void **state)
{
	enum { NR = 64 };
	struct chain {
		struct table_header header;
		struct table_segment segment;
		struct table_symbol symbols[NR];
		char strings[8];
	} c = {
		.header = {
			.magic = TABLE_MAGIC,
			.version = TABLE_VERSION,
			.size = sizeof(struct chain),
			.nr_segments = 1,
			.nr_symbols = NR,
			.segments_at = offsetof(struct chain, segment),
			.symbols_at = offsetof(struct chain, symbols),
			.strings_at = offsetof(struct chain, strings),
			.strings_size = 8,
		},
		.segment = {.filesz = 0x1000},
	};
	struct table t;

	(void)state;
	for (uint32_t i = 0; i < NR; i++)
		c.symbols[i] = (struct table_symbol){
			.start = i,
			.size = i == 0 ? 0x1000 : 1,
			.outer = i == 0 ? TABLE_NO_SYMBOL : i - 1,
		};
	assert_int_equal(table_check(&c, sizeof(c), &t), 0);
	/* From the last one it is too far to the one that covers; from near ones it is not. */
	assert_int_equal(table_find(&t, 0x800), TABLE_NO_SYMBOL);
	assert_int_equal(table_find(&t, 5), 5);
	c.header.nr_symbols = 8;
	assert_int_equal(table_find(&t, 0x800), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lookups),
		cmocka_unit_test(every_length_but_its_own_is_refused),
		cmocka_unit_test(misaligned_bytes_are_refused),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(chains_of_outer_symbols_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
