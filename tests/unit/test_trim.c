/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a sample's stack copy leaves the ring: what was written, up to where the thread's stack
 * was read before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <string.h>

#include "ring/trim.h"

enum {
	SP_BIT = 7,
	REGS = 0x1ff, /* nine of them */
	TID = 4242,
	STACK = 512,
	CHAIN = 3,
};

#define TYPE                                                                                    \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |         \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER)
#define SP 0x7ffc00001000ull

struct made {
	uint64_t words[256];
	uint32_t nr;
	uint32_t stack_at; /* words */
};

static void add(struct made *m, uint64_t word)
{
	m->words[m->nr++] = word;
}

/* A sample with @dyn_size of STACK bytes written, of bytes 1, 2, 3... */
static struct made sample(uint64_t sp, uint32_t tid, uint64_t dyn_size)
{
	struct made m = { .nr = 1 };
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE, .misc = 2 };

	add(&m, 77);                       /* identifier */
	add(&m, 0x401000);                 /* ip */
	add(&m, (uint64_t)tid << 32 | 99); /* pid, tid */
	add(&m, 1000);
	add(&m, 0);
	add(&m, 250000);
	add(&m, CHAIN);
	for (int i = 0; i < CHAIN; i++)
		add(&m, 0x500000u + (unsigned)i);
	add(&m, PERF_SAMPLE_REGS_ABI_64);
	for (int i = 0; i < 9; i++)
		add(&m, i == SP_BIT ? sp : (uint64_t)i);
	add(&m, STACK);
	m.stack_at = m.nr;
	for (int i = 0; i < STACK; i++)
		((uint8_t *)&m.words[m.nr])[i] = (uint8_t)(i + 1);
	m.nr += STACK / 8;
	add(&m, dyn_size);
	h.size = (uint16_t)(m.nr * 8);
	memcpy(&m.words[0], &h, sizeof(h));
	return m;
}

static struct ring_record in_one(const struct made *m)
{
	return (struct ring_record){ .at = { (const uint8_t *)m->words, NULL },
				     .len = { m->nr * 8, 0 },
				     .size = m->nr * 8,
				     .type = PERF_RECORD_SAMPLE };
}

static struct trim *make(void)
{
	struct trim *t = trim_new(TYPE, REGS, SP_BIT);

	assert_non_null(t);
	return t;
}

/* What is left is the record with @kept bytes of stack. */
static void check_copy(const struct ring_record *rec, const struct made *m,
		       const struct trimmed *part, uint32_t kept, uint64_t dyn_size)
{
	uint64_t out[256] = { 0 };
	struct perf_event_header h;

	assert_int_equal(part->stack_at, m->stack_at * 8);
	assert_int_equal(part->kept, kept);
	assert_int_equal(part->size, m->stack_at * 8 + kept + 8);
	trim_copy(rec, part, out);
	memcpy(&h, out, sizeof(h));
	assert_int_equal(h.type, PERF_RECORD_SAMPLE);
	assert_int_equal(h.misc, 2);
	assert_int_equal(h.size, part->size);
	assert_memory_equal(out + 1, m->words + 1, (m->stack_at - 2) * 8);
	assert_int_equal(out[m->stack_at - 1], kept);
	assert_memory_equal(out + m->stack_at, m->words + m->stack_at, kept);
	assert_int_equal(out[m->stack_at + kept / 8], dyn_size);
	assert_int_equal(out[m->stack_at + kept / 8 + 1], 0);
}

static void only_what_was_written(void **state)
{
	struct trim *t = make();
	struct made whole = sample(SP, TID, STACK), part = sample(SP, TID, 100);
	struct made none = sample(SP, TID, 0);
	struct ring_record rec = in_one(&whole);
	struct trimmed got;

	(void)state;
	assert_false(trim_sample(t, &rec, &got));
	rec = in_one(&part);
	assert_true(trim_sample(t, &rec, &got));
	check_copy(&rec, &part, &got, 104, 100);
	rec = in_one(&none);
	assert_true(trim_sample(t, &rec, &got));
	check_copy(&rec, &none, &got, 8, 0);
	trim_free(t);
}

static void up_to_where_it_was_read(void **state)
{
	struct trim *t = make();
	struct made m = sample(SP, TID, STACK), other = sample(SP, TID + 1, STACK);
	struct ring_record rec = in_one(&m);
	struct trimmed got;

	(void)state;
	trim_read_to(t, TID, SP + 130);
	assert_true(trim_sample(t, &rec, &got));
	check_copy(&rec, &m, &got, 192, 192);
	trim_read_to(t, TID, SP + 64); /* a stack read less far takes nothing back */
	assert_true(trim_sample(t, &rec, &got));
	assert_int_equal(got.kept, 192);
	trim_read_to(t, TID, SP + 256);
	assert_true(trim_sample(t, &rec, &got));
	assert_int_equal(got.kept, 256);
	rec = in_one(&other);
	assert_false(trim_sample(t, &rec, &got));
	trim_free(t);
}

static void a_stack_elsewhere_is_whole(void **state)
{
	struct trim *t = make();
	struct made above = sample(SP + 512, TID, STACK), far = sample(SP - 4096, TID, STACK);
	struct made odd = sample(SP - 3, TID, STACK);
	struct ring_record rec = in_one(&above);
	struct trimmed got;

	(void)state;
	trim_read_to(t, TID, SP + 512);
	assert_false(trim_sample(t, &rec, &got));
	rec = in_one(&far);
	assert_false(trim_sample(t, &rec, &got));
	trim_free(t);

	t = make();
	trim_read_to(t, TID, SP + 64);
	rec = in_one(&odd);
	assert_true(trim_sample(t, &rec, &got));
	check_copy(&rec, &odd, &got, 72, 67);
	trim_free(t);
}

static void a_stack_cut_here_is_whole_from_then_on(void **state)
{
	struct trim *t = make();
	struct made m = sample(SP, TID, STACK);
	struct ring_record rec = in_one(&m);
	struct trimmed got;

	(void)state;
	trim_read_to(t, TID, SP + 128);
	trim_ended(t, TID, SP + 512); /* cut where the kernel's copy ended: not by us */
	trim_ended(t, TID + 1, SP + 128);
	assert_true(trim_sample(t, &rec, &got));
	trim_ended(t, TID, SP + 128);
	assert_false(trim_sample(t, &rec, &got));
	trim_read_to(t, TID, SP + 128);
	assert_false(trim_sample(t, &rec, &got));
	trim_free(t);
}

/* Wherever the ring's end falls into the record. */
static void in_two_pieces(void **state)
{
	struct trim *t = make();
	struct made m = sample(SP, TID, STACK);
	struct trimmed got;

	(void)state;
	trim_read_to(t, TID, SP + 128);
	for (uint32_t first = 1; first < m.nr; first++) {
		struct ring_record rec = in_one(&m);
		uint64_t behind[256];

		memcpy(behind, m.words + first, (m.nr - first) * 8);
		rec.at[1] = (const uint8_t *)behind;
		rec.len[0] = first * 8;
		rec.len[1] = rec.size - rec.len[0];
		assert_true(trim_sample(t, &rec, &got));
		check_copy(&rec, &m, &got, 128, 128);
	}
	trim_free(t);
}

/* A record of another event, or one that lies about itself, is left as it is. */
static void other_shapes(void **state)
{
	struct trim *t = make();
	struct made m = sample(SP, TID, 64), lies;
	struct ring_record rec;
	struct trimmed got;

	(void)state;
	for (uint32_t nr = 1; nr < m.nr; nr++) {
		rec = in_one(&m);
		rec.size = rec.len[0] = nr * 8;
		assert_false(trim_sample(t, &rec, &got));
	}
	for (uint32_t i = 0; i < 8; i++) {
		static const uint64_t values[] = { 0,        1,          4,          60,
						   1u << 20, 1ull << 61, UINT64_MAX, 1ull << 32 };

		lies = m;
		lies.words[7] = values[i]; /* the chain's length */
		rec = in_one(&lies);
		assert_false(trim_sample(t, &rec, &got));
		lies = m;
		lies.words[m.stack_at - 1] = values[i];
		rec = in_one(&lies);
		assert_false(trim_sample(t, &rec, &got));
	}
	lies = m;
	lies.words[m.nr - 1] = STACK + 1; /* more written than there is room */
	rec = in_one(&lies);
	assert_false(trim_sample(t, &rec, &got));
	lies = m;
	lies.words[8 + CHAIN] = PERF_SAMPLE_REGS_ABI_32;
	rec = in_one(&lies);
	assert_false(trim_sample(t, &rec, &got));
	trim_free(t);

	t = trim_new(TYPE | PERF_SAMPLE_RAW, REGS, SP_BIT);
	rec = in_one(&m);
	assert_false(trim_sample(t, &rec, &got));
	trim_free(t);
	t = trim_new(TYPE & ~PERF_SAMPLE_STACK_USER, REGS, SP_BIT);
	assert_false(trim_sample(t, &rec, &got));
	trim_free(t);
}

static void odd_threads_and_ends(void **state)
{
	struct trim *t = make();
	struct made m = sample(SP, UINT32_MAX, STACK), none = sample(SP, 0, STACK);
	struct ring_record rec = in_one(&m);
	struct trimmed got;

	(void)state;
	trim_read_to(t, UINT32_MAX, SP + 64);
	trim_ended(t, UINT32_MAX, SP + 64);
	assert_false(trim_sample(t, &rec, &got));
	trim_read_to(t, 0, SP + 64);
	rec = in_one(&none);
	assert_false(trim_sample(t, &rec, &got));
	m = sample(SP, TID, STACK);
	rec = in_one(&m);
	trim_read_to(t, TID, UINT64_MAX);
	trim_read_to(t, TID, 0);
	assert_false(trim_sample(t, &rec, &got));
	trim_free(t);
	trim_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_was_written),
		cmocka_unit_test(up_to_where_it_was_read),
		cmocka_unit_test(a_stack_elsewhere_is_whole),
		cmocka_unit_test(a_stack_cut_here_is_whole_from_then_on),
		cmocka_unit_test(in_two_pieces),
		cmocka_unit_test(other_shapes),
		cmocka_unit_test(odd_threads_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
