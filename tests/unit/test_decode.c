// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every record type but samples, from bytes, in both byte orders, whole and cut at every length,
 * with a sample_id and without.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit/record_sorts.h"

static void every_type(void **state)
{
	(void)state;
	for (int i = 0; i < NR_SORTS * 2; i++) {
		bool swap = i & 1;
		struct build b = sort_build(&sorts[i / 2], swap, true);
		struct layout l = layout_with_id(swap);
		struct sample_id sid;
		struct record r;
		uint32_t type;

		assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
		sort_is(&sorts[i / 2], &r, b.size);
		sample_id_is_whole(&r.sid);
		assert_int_equal(record_peek(&l, b.at, b.size, &type, &sid), 0);
		assert_int_equal(type, sorts[i / 2].type);
		sample_id_is_whole(&sid);
	}
}

/* As kernels without sample_id_all, and programs that forget it, write them. */
static void every_type_without_sample_id(void **state)
{
	(void)state;
	for (int i = 0; i < NR_SORTS * 2; i++) {
		bool swap = i & 1;
		struct build b = sort_build(&sorts[i / 2], swap, false);
		struct layout l = layout_with_id(swap);
		struct sample_id sid;
		struct record r;
		uint32_t type;

		l.sample_id_all = false;
		assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
		sort_is(&sorts[i / 2], &r, b.size);
		assert_int_equal(r.sid.have, 0);
		assert_int_equal(record_peek(&l, b.at, b.size, &type, &sid), 0);
		assert_int_equal(type, sorts[i / 2].type);
		assert_int_equal(sid.have, 0);
	}
}

static void forgotten_sample_id(void **state)
{
	static const struct sort fixed[] = {
		{ "FORK", RECORD_FORK, 0, task_body, task_check },
		{ "LOST", RECORD_LOST, 0, lost_body, lost_check },
		{ "COMM", RECORD_COMM, 0, comm_body, comm_check },
	};
	struct layout l = layout_with_id(false);

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct build b = sort_build(&fixed[i], false, false);
		struct record r;

		assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
		sort_is(&fixed[i], &r, b.size);
		assert_int_equal(r.sid.have, 0);
	}
}

/* Exactly so many bytes on the heap, so that a read past them is seen. */
static int decode_cut(const struct layout *l, const struct build *b, size_t size, bool told)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct sample_id sid;
	struct record r;
	uint32_t type;
	int err, peek;

	assert_non_null(copy);
	memcpy(copy, b->at, size);
	if (told && size >= 8) {
		uint16_t cut = l->swap ? __builtin_bswap16((uint16_t)size) : (uint16_t)size;

		memcpy(copy + 6, &cut, 2);
	}
	err = record_decode(l, copy, size, &r);
	peek = record_peek(l, copy, size, &type, &sid);
	assert_true(err == 0 || err == -EBADMSG);
	assert_true(peek == 0 || peek == -EBADMSG);
	assert_true(peek == 0 || err != 0);
	free(copy);
	return err;
}

static void cut_at_every_length(void **state)
{
	(void)state;
	for (int i = 0; i < NR_SORTS * 2; i++) {
		struct build b = sort_build(&sorts[i / 2], i & 1, true);
		struct layout l = layout_with_id(i & 1);

		assert_int_equal(decode_cut(&l, &b, b.size, true), 0);
		for (size_t size = 0; size < b.size; size++) {
			assert_int_equal(decode_cut(&l, &b, size, false), -EBADMSG);
			(void)decode_cut(&l, &b, size, true);
		}
		/* Without room for its fixed fields nothing but types without any can decode. */
		if (sorts[i / 2].name && sorts[i / 2].type != RECORD_SWITCH)
			assert_int_equal(decode_cut(&l, &b, 12, true), -EBADMSG);
	}
}

static void sizes_that_lie(void **state)
{
	struct build b = sort_build(&sorts[2], false, true);
	struct layout l = layout_with_id(false);
	struct record r;
	const uint16_t zero = 0, larger = (uint16_t)(b.size + 8);

	(void)state;
	memcpy(b.at + 6, &zero, 2);
	assert_int_equal(record_decode(&l, b.at, b.size, &r), -EBADMSG);
	assert_int_equal(record_decode(&l, b.at, 0, &r), -EBADMSG);
	memcpy(b.at + 6, &larger, 2);
	assert_int_equal(record_decode(&l, b.at, b.size, &r), -EBADMSG);
}

static void counts_that_lie(void **state)
{
	static const uint64_t wild[] = {
		4, 5, UINT32_MAX, UINT64_MAX / 16 + 3, UINT64_MAX / 8 + 4, UINT64_MAX
	};
	struct layout l = layout_with_id(false);

	(void)state;
	l.sample_id_all = false;
	for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		struct build n = build_begin(RECORD_NAMESPACES, 0, false);
		struct build d = build_begin(RECORD_CALLCHAIN_DEFERRED, 0, false);
		struct record r;

		namespaces_body(&n);
		build_end(&n);
		memcpy(n.at + 16, &wild[i], 8);
		assert_int_equal(record_decode(&l, n.at, n.size, &r), -EBADMSG);
		deferred_body(&d);
		build_end(&d);
		memcpy(d.at + 16, &wild[i], 8);
		assert_int_equal(record_decode(&l, d.at, d.size, &r), -EBADMSG);
	}
}

/* A newer kernel's fields between those known and the sample_id. */
static void unknown_trailing_fields(void **state)
{
	(void)state;
	for (int i = 0; i < NR_SORTS; i++) {
		struct build b =
			build_begin(sorts[i].type, sorts[i].misc | PERF_RECORD_MISC_USER, false);
		struct layout l = layout_with_id(false);
		struct record r;

		sorts[i].body(&b);
		build_u64(&b, 0);
		build_u64(&b, 0x4141414141414141);
		build_sample_id(&b);
		build_end(&b);
		assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
		sort_is(&sorts[i], &r, b.size);
		sample_id_is_whole(&r.sid);
	}
}

static void names_of_every_length(void **state)
{
	struct layout l = layout_with_id(false);
	char name[17] = "";

	(void)state;
	for (size_t len = 0; len <= 16; len++) {
		struct build b = build_begin(RECORD_COMM, 0, false);
		struct record r;

		memset(name, 'n', len);
		name[len] = '\0';
		build_u32(&b, 1);
		build_u32(&b, 1);
		/* 16 of 16 leaves no NUL: the name ends where its field ends. */
		build_name(&b, name, len <= 7 ? 8 : 16);
		build_sample_id(&b);
		build_end(&b);
		assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
		bytes_are(r.comm.comm, name);
		sample_id_is_whole(&r.sid);
	}
}

/* Types of perf's file format end as they like. */
static void user_types_have_no_sample_id(void **state)
{
	struct layout l = layout_with_id(false);
	struct build b = build_begin(68, 7, false);
	struct record r;

	(void)state;
	build_sample_id(&b);
	build_end(&b);
	assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
	assert_int_equal(r.type, 68);
	assert_int_equal(r.sid.have, 0);
	assert_int_equal(r.cpumode, CPUMODE_UNKNOWN); /* 7 is none */
}

static void names_of_types(void **state)
{
	(void)state;
	for (int i = 0; i < NR_SORTS - 1; i++)
		assert_string_equal(record_type_name(sorts[i].type), sorts[i].name);
	assert_string_equal(record_type_name(RECORD_SAMPLE), "SAMPLE");
	assert_null(record_type_name(0));
	assert_null(record_type_name(RECORD_KERNEL_MAX));
	assert_null(record_type_name(UINT32_MAX));
}

static void layouts(void **state)
{
	struct perf_event_attr attr = {
		.sample_type = 1,
		.read_format = 2,
		.branch_sample_type = 3,
		.sample_regs_user = 4,
		.sample_regs_intr = 5,
		.sample_id_all = 1,
	};
	struct layout l = layout_of(&attr);

	(void)state;
	assert_int_equal(l.sample_type, 1);
	assert_int_equal(l.read_format, 2);
	assert_int_equal(l.branch_sample_type, 3);
	assert_int_equal(l.regs_user, 4);
	assert_int_equal(l.regs_intr, 5);
	assert_true(l.sample_id_all);
	assert_false(l.swap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type),
		cmocka_unit_test(every_type_without_sample_id),
		cmocka_unit_test(forgotten_sample_id),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(sizes_that_lie),
		cmocka_unit_test(counts_that_lie),
		cmocka_unit_test(unknown_trailing_fields),
		cmocka_unit_test(names_of_every_length),
		cmocka_unit_test(user_types_have_no_sample_id),
		cmocka_unit_test(names_of_types),
		cmocka_unit_test(layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
