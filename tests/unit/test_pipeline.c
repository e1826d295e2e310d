/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of records in, stored samples and rows out: no kernel, no /proc.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdlib.h>

#include "pipeline.h"
#include "profile/chunk.h"
#include "profile/query.h"
#include "unit/record_build.h"

#define SAMPLE_TYPE                                                                     \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define EVENT_ID 77
#define PID 4242

struct rig {
	struct pipeline pl;
	int kind;
};

/* A sample of a group counts for two events, or, at time 7, for none. */
static void on_counts(void *ctx, const struct record *r, uint8_t event,
		      struct sample_shares *shares)
{
	(void)ctx;
	assert_int_equal(event, 3);
	assert_int_equal(r->sample.read.nr, 1);
	shares->nr = r->sid.time_ns == 7 ? 0 : 2;
	shares->at[0].event = 3;
	shares->at[0].weight = 10;
	shares->at[1].event = 4;
	shares->at[1].weight = 5;
}

static void rig_open(struct rig *r)
{
	struct pipeline_config config = {
		.on_counts = on_counts,
		.nr_sources = 2,
		.history_bytes = 1 << 20,
		.own_pid = 1,
		.max_stack = 8,
	};
	struct record_kind kind = {
		.layout = { .sample_type = SAMPLE_TYPE, .sample_id_all = true },
		.event = 3,
	};

	assert_int_equal(pipeline_init(&r->pl, &config), 0);
	r->kind = pipeline_kind(&r->pl, &kind);
	assert_true(r->kind >= 0);
	assert_int_equal(pipeline_kind(&r->pl, &kind), r->kind);
}

static void sample_id(struct build *b, uint64_t time_ns)
{
	build_u32(b, PID);
	build_u32(b, PID);
	build_u64(b, time_ns);
	build_u32(b, 0); /* cpu */
	build_u32(b, 0);
	build_u64(b, EVENT_ID);
	build_end(b);
}

static void push(struct rig *r, uint32_t source, uint64_t time_ns, struct build *b)
{
	pipeline_push(&r->pl, source, time_ns, b->at, (uint32_t)b->size, r->kind, NULL);
}

static void push_sample(struct rig *r, uint32_t source, uint64_t time_ns, uint16_t mode,
			const uint64_t *chain, uint64_t nr)
{
	struct build b = build_begin(RECORD_SAMPLE, mode, false);

	build_u64(&b, EVENT_ID);
	build_u64(&b, nr > 1 ? chain[1] : 0);
	build_u32(&b, PID);
	build_u32(&b, PID);
	build_u64(&b, time_ns);
	build_u32(&b, 0);
	build_u32(&b, 0);
	build_u64(&b, 1000); /* period */
	build_u64(&b, nr);
	for (uint64_t i = 0; i < nr; i++)
		build_u64(&b, chain[i]);
	build_end(&b);
	push(r, source, time_ns, &b);
}

static void push_mmap(struct rig *r, uint32_t source, uint64_t time_ns, uint64_t start,
		      const char *path)
{
	struct build b = build_begin(RECORD_MMAP, PERF_RECORD_MISC_USER, false);

	build_u32(&b, PID);
	build_u32(&b, PID);
	build_u64(&b, start);
	build_u64(&b, 0x1000);
	build_u64(&b, 0);
	build_name(&b, path, 16);
	sample_id(&b, time_ns);
	push(r, source, time_ns, &b);
}

static void finish(struct rig *r)
{
	order_bound(r->pl.order, 0, UINT64_MAX);
	order_bound(r->pl.order, 1, UINT64_MAX);
	assert_false(pipeline_work(&r->pl, UINT64_MAX));
}

static void functions(struct rig *r, struct answer *ret)
{
	struct query_cache *cache = query_cache_new();
	struct query q = { .to_ns = UINT64_MAX, .event = 3, .orientation = QUERY_FUNCTIONS };
	const struct naming *naming = names_update(r->pl.names);

	assert_non_null(naming);
	assert_int_equal(query_run(cache, r->pl.store, r->pl.stacks, naming, &q, ret), 0);
	assert_null(answer_check(ret));
	query_cache_free(cache);
}

/* A sample handed in before the mapping that explains it, but stamped after it, is explained by it.
 */
static void test_side_band_comes_first_by_time(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x400010, 0x400020 };
	struct rig r;
	const struct stack_node *nodes;

	(void)state;
	rig_open(&r);
	push_sample(&r, 0, 200, PERF_RECORD_MISC_USER, chain, 3);
	push_mmap(&r, 1, 100, 0x400000, "/bin/thing");
	finish(&r);
	assert_int_equal(r.pl.counts.samples, 1);
	nodes = stacks_nodes(r.pl.stacks);
	for (size_t i = 1; i < stacks_count(r.pl.stacks); i++)
		assert_true(nodes[i].image >= IMAGE_FIRST || nodes[i].image == IMAGE_PSEUDO);
	pipeline_done(&r.pl);
}

/* The caller of a return address is the address before it; the innermost address is taken as it is.
 */
static void test_return_addresses(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010,
				   0xffffffff81000100 };
	const struct stack_node *nodes;
	struct rig r;

	(void)state;
	rig_open(&r);
	push_sample(&r, 0, 5, PERF_RECORD_MISC_KERNEL, chain, 3);
	finish(&r);
	nodes = stacks_nodes(r.pl.stacks);
	assert_int_equal(stacks_count(r.pl.stacks), 3);
	assert_true(nodes[1].offset == 0xffffffff810000ff && nodes[1].parent == 0);
	assert_true(nodes[2].offset == 0xffffffff81000010 && nodes[2].parent == 1);
	pipeline_done(&r.pl);
}

/*
 * Calls that the processor recorded, innermost first; a sample of the kernel begins with the
 * kernel's own frames, and of its user code the function called last is known.
 */
static void push_calls(struct rig *r, uint64_t time_ns, uint16_t mode, const uint64_t *chain,
		       uint64_t nr)
{
	static const uint64_t calls[][2] = { { 0x400110, 0x400200 }, { 0x400010, 0x400100 } };
	struct record_kind kind = {
		.layout = { .sample_type = SAMPLE_TYPE | PERF_SAMPLE_BRANCH_STACK,
			    .branch_sample_type = PERF_SAMPLE_BRANCH_USER |
						  PERF_SAMPLE_BRANCH_CALL_STACK,
			    .sample_id_all = true },
		.event = 3,
	};
	struct build b = build_begin(RECORD_SAMPLE, mode, false);

	build_u64(&b, EVENT_ID);
	build_u64(&b, 0x400222);
	build_u32(&b, PID);
	build_u32(&b, PID);
	build_u64(&b, time_ns);
	build_u32(&b, 0);
	build_u32(&b, 0);
	build_u64(&b, 1000);
	build_u64(&b, nr);
	for (uint64_t i = 0; i < nr; i++)
		build_u64(&b, chain[i]);
	build_u64(&b, 2);
	for (int i = 0; i < 2; i++) {
		build_u64(&b, calls[i][0]); /* from */
		build_u64(&b, calls[i][1]); /* to */
		build_u64(&b, 0);
	}
	build_end(&b);
	pipeline_push(&r->pl, 0, time_ns, b.at, (uint32_t)b.size, pipeline_kind(&r->pl, &kind),
		      NULL);
}

static void test_recorded_calls(void **state)
{
	const uint64_t kernel[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010 };
	/* Outermost first; the second stack shares the first two frames. */
	const uint64_t expected[] = { 0x10, 0x110, 0x222, 0x200, 0xffffffff81000010 };
	const struct stack_node *nodes;
	size_t nr = 0;
	struct rig r;

	(void)state;
	rig_open(&r);
	push_mmap(&r, 0, 0, 0x400000, "/bin/thing");
	push_calls(&r, 1, PERF_RECORD_MISC_USER, NULL, 0);
	push_calls(&r, 2, PERF_RECORD_MISC_KERNEL, kernel, 2);
	finish(&r);
	assert_int_equal(r.pl.counts.ends[STACK_CUT], 2); /* nobody knows that 0x400010 begins it */
	nodes = stacks_nodes(r.pl.stacks);
	for (size_t i = 1; i < stacks_count(r.pl.stacks); i++) {
		if (nodes[i].image == IMAGE_PSEUDO)
			continue;
		assert_true(nr < 5);
		assert_true(nodes[i].offset == expected[nr++]);
	}
	assert_int_equal(nr, 5);
	pipeline_done(&r.pl);
}

static void test_ends(void **state)
{
	const uint64_t kernel[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010 };
	const uint64_t unknown[] = { (uint64_t)PERF_CONTEXT_USER, 0x10 };
	const uint64_t deep[] = { (uint64_t)PERF_CONTEXT_USER,
				  0x400001,
				  0x400011,
				  0x400021,
				  0x400031,
				  0x400041,
				  0x400051,
				  0x400061,
				  0x400071 };
	struct answer a;
	struct rig r;

	(void)state;
	rig_open(&r);
	push_mmap(&r, 0, 0, 0x400000, "/bin/thing");
	push_sample(&r, 0, 1, PERF_RECORD_MISC_KERNEL, kernel, 2);
	push_sample(&r, 0, 2, PERF_RECORD_MISC_USER, unknown, 2);
	push_sample(&r, 0, 3, PERF_RECORD_MISC_USER, deep, 9);
	finish(&r);
	functions(&r, &a);
	assert_int_equal(a.samples, 3);
	assert_int_equal(a.weight, 3000);
	assert_int_equal(a.ends[STACK_COMPLETE], 1);
	assert_int_equal(a.ends[STACK_BROKEN], 1);
	assert_int_equal(a.ends[STACK_DEEP], 1);
	answer_done(&a);
	pipeline_done(&r.pl);
}

/* Code in a memory file that is no ELF file may get names, but no thread begins there. */
static void test_memory_files_keep_nothing_waiting(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x400010, 0x400020 };
	const struct image_sight sight = { .pid = -1, .path = "/nowhere/memory" };
	struct rig r;

	(void)state;
	rig_open(&r);
	push_mmap(&r, 0, 1, 0x400000, "/memfd:jit");
	push_sample(&r, 0, 2, PERF_RECORD_MISC_USER, chain, 3);
	finish(&r);
	assert_int_equal(r.pl.counts.ends[STACK_BROKEN], 0);
	images_see(r.pl.images, space_resolve(r.pl.space, PID, 0x400010).image, &sight);
	pipeline_tidy(&r.pl, 1000000000);
	assert_int_equal(r.pl.counts.ends[STACK_BROKEN], 1);
	assert_false(pipeline_naming(&r.pl));
	pipeline_done(&r.pl);
}

static void test_losses_are_counted(void **state)
{
	struct build lost = build_begin(RECORD_LOST, 0, false);
	struct build throttle = build_begin(RECORD_THROTTLE, 0, false);
	struct build torn = build_begin(RECORD_COMM, 0, false);
	struct rig r;

	(void)state;
	rig_open(&r);
	build_u64(&lost, EVENT_ID);
	build_u64(&lost, 41);
	sample_id(&lost, 1);
	push(&r, 0, 1, &lost);
	build_u64(&throttle, 2);
	build_u64(&throttle, EVENT_ID);
	build_u64(&throttle, EVENT_ID);
	sample_id(&throttle, 2);
	push(&r, 0, 2, &throttle);
	build_end(&torn);
	push(&r, 0, 3, &torn);
	finish(&r);
	assert_int_equal(r.pl.counts.lost, 41);
	assert_int_equal(r.pl.counts.throttled, 1);
	assert_int_equal(r.pl.counts.bad, 1);
	pipeline_done(&r.pl);
}

/* Tidying forgets dead tasks and keeps what samples name. */
static void test_tidy_keeps_answers(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010 };
	struct answer before, after;
	struct rig r;

	(void)state;
	rig_open(&r);
	for (uint64_t t = 1; t <= 100; t++)
		push_sample(&r, 0, t, PERF_RECORD_MISC_KERNEL, chain, 2);
	finish(&r);
	functions(&r, &before);
	pipeline_tidy(&r.pl, 3600ull * 1000000000);
	functions(&r, &after);
	assert_int_equal(before.weight, after.weight);
	assert_int_equal(before.nr_rows, after.nr_rows);
	assert_int_equal(after.samples, 100);
	answer_done(&before);
	answer_done(&after);
	pipeline_done(&r.pl);
}

/* Three samples of one chain, and a mapping before the last; returns the nodes they have made. */
static size_t nodes_of_a_chain(const char *remapped)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x400010, 0x900000 };
	struct answer a;
	struct rig r;
	size_t nr;

	rig_open(&r);
	push_mmap(&r, 0, 10, 0x400000, "/bin/thing");
	push_sample(&r, 0, 20, PERF_RECORD_MISC_USER, chain, 3);
	push_sample(&r, 0, 30, PERF_RECORD_MISC_USER, chain, 3);
	push_mmap(&r, 0, 35, 0x400000, remapped);
	push_sample(&r, 0, 40, PERF_RECORD_MISC_USER, chain, 3);
	finish(&r);
	functions(&r, &a);
	assert_int_equal(a.samples, 3);
	assert_int_equal(r.pl.counts.ends[STACK_BROKEN], 3);
	answer_done(&a);
	nr = stacks_count(r.pl.stacks) - 1; /* the root is none */
	pipeline_done(&r.pl);
	return nr;
}

/* A chain that was seen before means something else once a mapping is another. */
static void test_chains_again(void **state)
{
	(void)state;
	assert_int_equal(nodes_of_a_chain("/bin/thing"), 2); /* that it is broken, and the frame */
	assert_int_equal(nodes_of_a_chain("/bin/other"), 3);
}

static void push_ksymbol(struct rig *r, uint64_t time_ns, uint64_t addr, uint32_t len)
{
	struct build b = build_begin(RECORD_KSYMBOL, 0, false);

	build_u64(&b, addr);
	build_u32(&b, len);
	build_u16(&b, 1);
	build_u16(&b, 0);
	build_name(&b, "bpf_prog", 16);
	sample_id(&b, time_ns);
	push(r, 0, time_ns, &b);
}

/* Two places of one function of the kernel are one, until its code becomes two functions. */
static void test_chains_again_under_other_names(void **state)
{
	const uint64_t begin = 0xffffffffc0001000;
	const uint64_t one[] = { (uint64_t)PERF_CONTEXT_KERNEL, begin + 0x10 };
	const uint64_t other[] = { (uint64_t)PERF_CONTEXT_KERNEL, begin + 0x20 };
	struct chunks c;
	struct rig r;

	(void)state;
	rig_open(&r);
	push_ksymbol(&r, 5, begin, 0x100);
	push_sample(&r, 0, 10, PERF_RECORD_MISC_KERNEL, one, 2);
	push_sample(&r, 0, 20, PERF_RECORD_MISC_KERNEL, other, 2);
	push_ksymbol(&r, 30, begin + 0x20, 0x100);
	push_sample(&r, 0, 40, PERF_RECORD_MISC_KERNEL, one, 2);
	push_sample(&r, 0, 50, PERF_RECORD_MISC_KERNEL, other, 2);
	finish(&r);
	c = store_chunks(r.pl.store);
	assert_true(c.nr == 1 && c.at[0].nr == 4);
	assert_int_equal(c.at[0].stack[0], c.at[0].stack[1]);
	assert_int_not_equal(c.at[0].stack[2], c.at[0].stack[3]);
	pipeline_done(&r.pl);
}

/* The address of the sample of a time: mostly its own, from some time on each second is the same,
 * so that the number of its stack is not among the first. */
static uint64_t address_at(uint64_t time_ns)
{
	return time_ns % 2 || time_ns < 30000 ? 0xffffffff81000000 + 16 * time_ns
					      : 0xffffffff80001000;
}

/* Each sample held has the stack of its time. */
static void stacks_are_of_their_time(const struct rig *r)
{
	const struct stack_node *nodes = stacks_nodes(r->pl.stacks);
	const struct chunks c = store_chunks(r->pl.store);

	for (size_t k = 0; k < c.nr; k++)
		for (uint32_t i = 0; i < c.at[k].nr; i++) {
			uint64_t time_ns = c.at[k].base_ns + c.at[k].time[i];

			assert_int_equal(nodes[c.at[k].stack[i]].offset, address_at(time_ns));
		}
}

/* Of a recording longer than the history, what only the dropped part named does not stay. */
static void test_recordings_are_forgotten_with_their_samples(void **state)
{
	enum { BATCHES = 40, BATCH = 10000 };
	uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0 }, time_ns = 0;
	struct answer a;
	struct rig r;

	(void)state;
	rig_open(&r);
	order_bound(r.pl.order, 1, UINT64_MAX);
	for (int batch = 0; batch < BATCHES; batch++) {
		for (int i = 0; i < BATCH; i++) {
			chain[1] = address_at(++time_ns);
			push_sample(&r, 0, time_ns, PERF_RECORD_MISC_KERNEL, chain, 2);
		}
		order_bound(r.pl.order, 0, time_ns);
		assert_false(pipeline_work(&r.pl, UINT64_MAX));
		pipeline_forget(&r.pl);
		stacks_are_of_their_time(&r);
	}
	assert_true(store_dropped(r.pl.store) > 0);
	assert_true(stacks_count(r.pl.stacks) < BATCHES * BATCH / 2 * 3 / 4);
	functions(&r, &a);
	assert_int_equal(a.samples, store_count(r.pl.store));
	answer_done(&a);
	pipeline_done(&r.pl);
}

/* Samples that do not tell whose they are belong to a task without a name: none is the idle one. */
static void test_samples_of_nobody(void **state)
{
	struct build b = build_begin(RECORD_SAMPLE, PERF_RECORD_MISC_USER, false);
	struct record_kind kind = { .layout = { .sample_type = PERF_SAMPLE_IP }, .event = 3 };
	struct answer a;
	struct task_info task;
	struct rig r;

	(void)state;
	rig_open(&r);
	r.kind = pipeline_kind(&r.pl, &kind);
	build_u64(&b, 0x1234);
	build_end(&b);
	push(&r, 0, 1, &b);
	finish(&r);
	functions(&r, &a);
	assert_int_equal(a.samples, 1);
	assert_int_equal(a.hidden_idle, 0);
	assert_int_equal(space_nr_tasks(r.pl.space), 1);
	assert_true(space_task_info(r.pl.space, 0, &task));
	assert_int_equal(task.tid, SPACE_NOT_TOLD);
	assert_string_equal(task.comm, "[not recorded]");
	answer_done(&a);
	pipeline_done(&r.pl);
}

static void test_groups_count_for_their_members(void **state)
{
	struct record_kind kind = { .layout = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME |
							       PERF_SAMPLE_READ },
				    .event = 3 };
	struct answer a;
	struct rig r;

	(void)state;
	rig_open(&r);
	r.kind = pipeline_kind(&r.pl, &kind);
	for (uint64_t time_ns = 6; time_ns < 9; time_ns++) {
		struct build b = build_begin(RECORD_SAMPLE, PERF_RECORD_MISC_USER, false);

		build_u64(&b, 0x1234);
		build_u64(&b, time_ns);
		build_u64(&b, 1); /* the count */
		build_end(&b);
		push(&r, 0, time_ns, &b);
	}
	finish(&r);
	functions(&r, &a); /* of event 3 */
	assert_int_equal(r.pl.counts.samples, 3);
	assert_int_equal(a.samples, 2);
	assert_int_equal(a.weight, 20);
	answer_done(&a);
	pipeline_done(&r.pl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_side_band_comes_first_by_time),
		cmocka_unit_test(test_return_addresses),
		cmocka_unit_test(test_recorded_calls),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_memory_files_keep_nothing_waiting),
		cmocka_unit_test(test_losses_are_counted),
		cmocka_unit_test(test_tidy_keeps_answers),
		cmocka_unit_test(test_chains_again),
		cmocka_unit_test(test_chains_again_under_other_names),
		cmocka_unit_test(test_recordings_are_forgotten_with_their_samples),
		cmocka_unit_test(test_samples_of_nobody),
		cmocka_unit_test(test_groups_count_for_their_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
