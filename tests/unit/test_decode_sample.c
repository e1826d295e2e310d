// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PERF_RECORD_SAMPLE from bytes: each field alone among the fixed ones, all together, in both byte
 * orders, cut at every length, and the odd cases of each field.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include <linux/perf_event.h>

#include "record/decode.h"
#include "unit/record_build.h"

enum {
	BRANCH_HW_INDEX = 1 << 17,
	BRANCH_COUNTERS = 1 << 19,
	FORMAT_LOST = 1 << 4,
	USER_MASK = 0x1f,
	INTR_MASK = 0x3,
};

#define ALL_FIELDS ((1u << 25) - 1)
#define FORMAT_ALL                                                                          \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | \
	 PERF_FORMAT_GROUP | FORMAT_LOST)

static struct layout layout_for(uint64_t type, bool swap)
{
	return (struct layout){
		.sample_type = type,
		.read_format = FORMAT_ALL,
		.branch_sample_type = BRANCH_HW_INDEX | BRANCH_COUNTERS,
		.regs_user = USER_MASK,
		.regs_intr = INTR_MASK,
		.sample_id_all = true,
		.swap = swap,
	};
}

static void build_read_group(struct build *b)
{
	build_u64(b, 2);
	build_u64(b, 1000); /* enabled */
	build_u64(b, 900);  /* running */
	for (uint64_t i = 0; i < 2; i++) {
		build_u64(b, 500 + i); /* value, id, lost */
		build_u64(b, 0xa0 + i);
		build_u64(b, 3 + i);
	}
}

static void build_branches(struct build *b)
{
	build_u64(b, 2);
	build_u64(b, 5); /* hw index */
	for (uint64_t i = 0; i < 2; i++) {
		build_u64(b, 0x1000 + i);
		build_u64(b, 0x2000 + i);
		build_u64(b, b->swap ? 1ull << 63 | 0x123ull << 44 : 1 | 0x123 << 4);
	}
	build_u64(b, 0xc0);
	build_u64(b, 0xc1);
}

static void build_regs(struct build *b, uint64_t first, unsigned nr)
{
	build_u64(b, PERF_SAMPLE_REGS_ABI_64);
	for (unsigned i = 0; i < nr; i++)
		build_u64(b, first + i);
}

/* PERIOD to WEIGHT, those of @type. */
static void build_middle(struct build *b, uint64_t type)
{
	if (type & PERF_SAMPLE_PERIOD)
		build_u64(b, 1000003);
	if (type & PERF_SAMPLE_READ)
		build_read_group(b);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		build_u64(b, 3);
		build_u64(b, PERF_CONTEXT_USER);
		build_u64(b, 0x401000);
		build_u64(b, 0x402000);
	}
	if (type & PERF_SAMPLE_RAW) {
		build_u32(b, 12);
		build_name(b, "raw bytes", 12);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		build_branches(b);
	if (type & PERF_SAMPLE_REGS_USER)
		build_regs(b, 0x100, 5);
	if (type & PERF_SAMPLE_STACK_USER) {
		build_u64(b, 32);
		build_name(b, "a stack", 32);
		build_u64(b, 16);
	}
	if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		build_u64(b, 0x0003000200000001);
	else if (type & PERF_SAMPLE_WEIGHT)
		build_u64(b, 0x0003000200000001);
}

static struct build build_sample(uint64_t type, bool swap)
{
	struct build b = build_begin(RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, swap);

	if (type & PERF_SAMPLE_IDENTIFIER)
		build_u64(&b, 0x1d);
	if (type & PERF_SAMPLE_IP)
		build_u64(&b, 0xffffffff81000010);
	if (type & PERF_SAMPLE_TID) {
		build_u32(&b, 4242);
		build_u32(&b, 4243);
	}
	if (type & PERF_SAMPLE_TIME)
		build_u64(&b, 777);
	if (type & PERF_SAMPLE_ADDR)
		build_u64(&b, 0xadd);
	if (type & PERF_SAMPLE_ID)
		build_u64(&b, 0x1d);
	if (type & PERF_SAMPLE_STREAM_ID)
		build_u64(&b, 0x57);
	if (type & PERF_SAMPLE_CPU) {
		build_u32(&b, 3);
		build_u32(&b, 0);
	}
	build_middle(&b, type);
	if (type & PERF_SAMPLE_DATA_SRC)
		build_u64(&b, 0xd5c);
	if (type & PERF_SAMPLE_TRANSACTION)
		build_u64(&b, 0x7a);
	if (type & PERF_SAMPLE_REGS_INTR)
		build_regs(&b, 0x200, 2);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		build_u64(&b, 0x9a);
	if (type & PERF_SAMPLE_CGROUP)
		build_u64(&b, 0xc6);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		build_u64(&b, 4096);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		build_u64(&b, 2097152);
	if (type & PERF_SAMPLE_AUX) {
		build_u64(&b, 8);
		build_name(&b, "aux data", 8);
	}
	build_end(&b);
	return b;
}

#define given(bit, value) ((type & (bit)) ? (value) : 0)

static void head_is(const struct record *r, uint64_t type)
{
	const struct sample_id *sid = &r->sid;

	assert_int_equal(sid->have,
			 type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
	assert_int_equal(sid->id, given(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID, 0x1d));
	assert_int_equal(sid->pid, given(PERF_SAMPLE_TID, 4242));
	assert_int_equal(sid->tid, given(PERF_SAMPLE_TID, 4243));
	assert_int_equal(sid->time_ns, given(PERF_SAMPLE_TIME, 777));
	assert_int_equal(sid->stream_id, given(PERF_SAMPLE_STREAM_ID, 0x57));
	assert_int_equal(sid->cpu, given(PERF_SAMPLE_CPU, 3));
	assert_true(r->sample.ip == given(PERF_SAMPLE_IP, 0xffffffff81000010));
	assert_int_equal(r->sample.addr, given(PERF_SAMPLE_ADDR, 0xadd));
	assert_int_equal(r->sample.period, given(PERF_SAMPLE_PERIOD, 1000003));
}

static void read_is(const struct sample *s)
{
	assert_int_equal(s->read.nr, 2);
	assert_int_equal(s->read.time_enabled, 1000);
	assert_int_equal(s->read.time_running, 900);
	for (uint32_t i = 0; i < 2; i++) {
		struct read_value v = read_values_get(&s->read, i);

		assert_int_equal(v.value, 500 + i);
		assert_int_equal(v.id, 0xa0 + i);
		assert_int_equal(v.lost, 3 + i);
	}
}

static void branches_are(const struct sample *s)
{
	assert_int_equal(s->branches.nr, 2);
	assert_true(s->branches.has_hw_index);
	assert_int_equal(s->branches.hw_index, 5);
	assert_int_equal(s->branches.counters.nr, 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct branch b = sample_branch(s, i);

		assert_int_equal(b.from, 0x1000 + i);
		assert_int_equal(b.to, 0x2000 + i);
		assert_int_equal(b.flags, 1 | 0x123 << 4); /* mispredicted, 0x123 cycles */
		assert_int_equal(u64s_get(&s->branches.counters, i), 0xc0 + i);
	}
}

static void regs_are(const struct sample_regs *r, uint64_t mask, uint64_t first)
{
	assert_int_equal(r->abi, PERF_SAMPLE_REGS_ABI_64);
	assert_int_equal(r->mask, mask);
	assert_int_equal(r->regs.nr, __builtin_popcountll(mask));
	for (uint32_t i = 0; i < r->regs.nr; i++)
		assert_int_equal(u64s_get(&r->regs, i), first + i);
}

static void middle_is(const struct sample *s, uint64_t type)
{
	if (type & PERF_SAMPLE_READ)
		read_is(s);
	assert_int_equal(s->callchain.nr, given(PERF_SAMPLE_CALLCHAIN, 3));
	if (s->callchain.nr) {
		assert_true(u64s_get(&s->callchain, 0) == (uint64_t)PERF_CONTEXT_USER);
		assert_int_equal(u64s_get(&s->callchain, 2), 0x402000);
	}
	assert_int_equal(s->raw.size, given(PERF_SAMPLE_RAW, 12));
	if (s->raw.size)
		assert_memory_equal(s->raw.at, "raw bytes", 10);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		branches_are(s);
	if (type & PERF_SAMPLE_REGS_USER)
		regs_are(&s->user, USER_MASK, 0x100);
	else
		assert_int_equal(s->user.abi, 0);
	assert_int_equal(s->stack.dyn_size, given(PERF_SAMPLE_STACK_USER, 16));
	assert_int_equal(s->stack.bytes.size, given(PERF_SAMPLE_STACK_USER, 16));
	if (type & PERF_SAMPLE_WEIGHT_STRUCT) {
		assert_int_equal(s->weight, 1);
		assert_int_equal(s->weight2, 2);
		assert_int_equal(s->weight3, 3);
	} else {
		assert_int_equal(s->weight, given(PERF_SAMPLE_WEIGHT, 0x0003000200000001));
	}
}

static void sample_is(const struct record *r, uint64_t type)
{
	const struct sample *s = &r->sample;

	assert_int_equal(r->type, RECORD_SAMPLE);
	assert_int_equal(r->cpumode, CPUMODE_KERNEL);
	head_is(r, type);
	middle_is(s, type);
	assert_int_equal(s->data_src, given(PERF_SAMPLE_DATA_SRC, 0xd5c));
	assert_int_equal(s->transaction, given(PERF_SAMPLE_TRANSACTION, 0x7a));
	if (type & PERF_SAMPLE_REGS_INTR)
		regs_are(&s->intr, INTR_MASK, 0x200);
	assert_int_equal(s->phys_addr, given(PERF_SAMPLE_PHYS_ADDR, 0x9a));
	assert_int_equal(s->cgroup, given(PERF_SAMPLE_CGROUP, 0xc6));
	assert_int_equal(s->data_page_size, given(PERF_SAMPLE_DATA_PAGE_SIZE, 4096));
	assert_int_equal(s->code_page_size, given(PERF_SAMPLE_CODE_PAGE_SIZE, 2097152));
	assert_int_equal(s->aux.size, given(PERF_SAMPLE_AUX, 8));
	if (s->aux.size)
		assert_memory_equal(s->aux.at, "aux data", 8);
}

/* Builds, decodes and checks a sample of @type; a record on the heap shows reads past its end. */
static void round_trip(uint64_t type, bool swap)
{
	struct layout l = layout_for(type, swap);
	struct build b = build_sample(type, swap);
	uint8_t *copy = malloc(b.size);
	struct sample_id sid;
	struct record r;
	uint32_t told;

	assert_non_null(copy);
	memcpy(copy, b.at, b.size);
	assert_int_equal(record_decode(&l, copy, b.size, &r), 0);
	sample_is(&r, type);
	assert_int_equal(record_peek(&l, copy, b.size, &told, &sid), 0);
	assert_int_equal(told, RECORD_SAMPLE);
	assert_memory_equal(&sid, &r.sid, sizeof(sid));
	free(copy);
}

static void each_field(void **state)
{
	(void)state;
	for (int bit = 0; bit < 25; bit++) {
		for (int swap = 0; swap < 2; swap++) {
			round_trip(1u << bit, swap);
			round_trip(ALL_FIELDS & ~(1u << bit), swap);
			round_trip(1u << bit | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME |
					   PERF_SAMPLE_CODE_PAGE_SIZE,
				   swap);
		}
	}
	round_trip(0, false);
	round_trip(ALL_FIELDS, false);
	round_trip(ALL_FIELDS, true);
}

static void random_fields(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		round_trip(random >> 30 & ALL_FIELDS, i & 1);
	}
}

static void cut_at_every_length(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct layout l = layout_for(ALL_FIELDS, swap);
		struct build b = build_sample(ALL_FIELDS, swap);

		for (uint16_t size = 0; size < b.size; size++) {
			uint16_t told = swap ? __builtin_bswap16(size) : size;
			uint8_t *copy = malloc(size ? size : 1);
			struct record r;

			assert_non_null(copy);
			memcpy(copy, b.at, size);
			if (size >= 8)
				memcpy(copy + 6, &told, 2);
			assert_int_equal(record_decode(&l, copy, size, &r), -EBADMSG);
			free(copy);
		}
	}
}

static void unknown_fields_behind(void **state)
{
	struct layout l = layout_for(ALL_FIELDS | 1ull << 40, false);
	struct build b = build_sample(ALL_FIELDS, false);
	struct record r;

	(void)state;
	build_u64(&b, 0x4141414141414141);
	build_end(&b);
	assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
	sample_is(&r, ALL_FIELDS);
}

/* Each count or size in turn, set to what overflows when multiplied or added. */
static void counts_that_lie(void **state)
{
	static const uint64_t types[] = { PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN,
					  PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_STACK_USER,
					  PERF_SAMPLE_AUX };
	static const uint64_t wild[] = {
		100, UINT32_MAX, 1ull << 32, UINT64_MAX / 24 + 1, UINT64_MAX / 8 + 1, UINT64_MAX
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (size_t j = 0; j < sizeof(wild) / sizeof(wild[0]); j++) {
			struct layout l = layout_for(types[i], false);
			struct build b = build_sample(types[i], false);
			struct record r;

			memcpy(b.at + 8, &wild[j], 8);
			assert_int_equal(record_decode(&l, b.at, b.size, &r), -EBADMSG);
		}
	}
}

static void raw_that_lies(void **state)
{
	struct layout l = layout_for(PERF_SAMPLE_RAW, false);
	struct build b = build_sample(PERF_SAMPLE_RAW, false);
	const uint32_t wild[] = { 13, UINT32_MAX };
	struct record r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		memcpy(b.at + 8, &wild[i], 4);
		assert_int_equal(record_decode(&l, b.at, b.size, &r), -EBADMSG);
	}
}

static void read_formats(void **state)
{
	(void)state;
	for (uint64_t format = 0; format < 32; format++) {
		struct layout l = layout_for(PERF_SAMPLE_READ | PERF_SAMPLE_CODE_PAGE_SIZE, true);
		struct build b = build_begin(RECORD_SAMPLE, 0, true);
		bool group = format & PERF_FORMAT_GROUP;
		uint32_t nr = group ? 3 : 1;
		struct record r;

		l.read_format = format;
		build_u64(&b, group ? nr : 70);
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			build_u64(&b, 21);
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			build_u64(&b, 22);
		for (uint32_t i = 0; i < nr; i++) {
			if (group)
				build_u64(&b, 70 + i);
			if (format & PERF_FORMAT_ID)
				build_u64(&b, 80 + i);
			if (format & FORMAT_LOST)
				build_u64(&b, 90 + i);
		}
		build_u64(&b, 4096);
		build_end(&b);
		assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
		assert_int_equal(r.sample.code_page_size, 4096);
		assert_int_equal(r.sample.read.nr, nr);
		assert_int_equal(r.sample.read.time_enabled, format & 1 ? 21 : 0);
		assert_int_equal(r.sample.read.time_running, format & 2 ? 22 : 0);
		for (uint32_t i = 0; i < nr; i++) {
			struct read_value v = read_values_get(&r.sample.read, i);

			assert_int_equal(v.value, 70 + i);
			assert_int_equal(v.id, format & PERF_FORMAT_ID ? 80 + i : 0);
			assert_int_equal(v.lost, format & FORMAT_LOST ? 90 + i : 0);
		}
	}
}

/* What the kernel writes where it had nothing: abi 0, size 0, nr 0. */
static void fields_left_empty(void **state)
{
	const uint64_t type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			      PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_AUX |
			      PERF_SAMPLE_CODE_PAGE_SIZE;
	struct layout l = layout_for(type, false);
	struct build b = build_begin(RECORD_SAMPLE, 0, false);
	struct record r;

	(void)state;
	for (int i = 0; i < 4; i++)
		build_u64(&b, 0); /* chain, registers, stack (no dyn_size then), registers */
	build_u64(&b, 4096);
	build_u64(&b, 0);
	build_end(&b);
	assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
	assert_int_equal(r.sample.callchain.nr, 0);
	assert_int_equal(r.sample.user.abi, 0);
	assert_int_equal(r.sample.user.regs.nr, 0);
	assert_int_equal(r.sample.stack.bytes.size, 0);
	assert_int_equal(r.sample.intr.regs.nr, 0);
	assert_int_equal(r.sample.code_page_size, 4096);
	assert_int_equal(r.sample.aux.size, 0);
}

static void stack_dump_larger_than_it_is(void **state)
{
	const uint64_t told[] = { 0, 5, 16, 17, UINT64_MAX };
	struct layout l = layout_for(PERF_SAMPLE_STACK_USER, false);

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct build b = build_begin(RECORD_SAMPLE, 0, false);
		struct record r;

		build_u64(&b, 16);
		build_name(&b, "0123456789abcdef", 16);
		build_u64(&b, told[i]);
		build_end(&b);
		assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
		assert_true(r.sample.stack.dyn_size == told[i]);
		assert_int_equal(r.sample.stack.bytes.size, told[i] < 16 ? told[i] : 16);
	}
}

/* No branches: the index is there, or is not; either way what follows is in its place. */
static void branch_index_without_branches(void **state)
{
	const uint64_t type = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
			      PERF_SAMPLE_CODE_PAGE_SIZE;
	struct layout l = layout_for(type, false);

	(void)state;
	for (int with = 0; with < 2; with++) {
		struct build b = build_begin(RECORD_SAMPLE, 0, false);
		struct record r;

		build_u64(&b, 0);
		if (with)
			build_u64(&b, UINT64_MAX);
		build_regs(&b, 0x100, 5);
		build_u64(&b, 4096);
		build_end(&b);
		assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
		assert_int_equal(r.sample.branches.nr, 0);
		assert_int_equal(r.sample.branches.has_hw_index, with);
		assert_int_equal(r.sample.branches.hw_index, with ? -1 : 0);
		regs_are(&r.sample.user, USER_MASK, 0x100);
		assert_int_equal(r.sample.code_page_size, 4096);
	}
}

static void branch_flags_of_big_endian(void **state)
{
	/* mispred 0, predicted 1, in_tx 0, abort 1, cycles 7, type 9, spec 2, new_type 3, priv 5 */
	const uint64_t big = 1ull << 62 | 1ull << 60 | 7ull << 44 | 9ull << 40 | 2ull << 38 |
			     3ull << 34 | 5ull << 31;
	const uint64_t little = 1ull << 1 | 1ull << 3 | 7ull << 4 | 9ull << 20 | 2ull << 24 |
				3ull << 26 | 5ull << 30;
	struct layout l = layout_for(PERF_SAMPLE_BRANCH_STACK, true);
	struct build b = build_begin(RECORD_SAMPLE, 0, true);
	struct record r;

	(void)state;
	l.branch_sample_type = 0;
	build_u64(&b, 1);
	build_u64(&b, 1);
	build_u64(&b, 2);
	build_u64(&b, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? big : little);
	build_end(&b);
	assert_int_equal(record_decode(&l, b.at, b.size, &r), 0);
	assert_true(sample_branch(&r.sample, 0).flags == little);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field),
		cmocka_unit_test(random_fields),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(unknown_fields_behind),
		cmocka_unit_test(counts_that_lie),
		cmocka_unit_test(raw_that_lies),
		cmocka_unit_test(read_formats),
		cmocka_unit_test(fields_left_empty),
		cmocka_unit_test(stack_dump_larger_than_it_is),
		cmocka_unit_test(branch_index_without_branches),
		cmocka_unit_test(branch_flags_of_big_endian),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
