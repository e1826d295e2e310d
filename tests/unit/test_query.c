// SPDX-License-Identifier: GPL-2.0-or-later
/* Queries over one small profile whose answers can be read off. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/query.h"

enum { MAIN, A, B, C, NR_FUNCTIONS };

struct fixture {
	struct store *store;
	struct stacks *stacks;
	struct query_cache *cache;
	uint32_t function_of[64];
	struct naming naming;
	struct query query;
};

/* A frame's offset is ten times its function plus a place in it. */
static void add(struct fixture *f, uint64_t time, uint64_t weight, uint32_t task, uint8_t flags,
		const char *path)
{
	struct frame frames[16];
	size_t nr = strlen(path);
	struct stored s = { .time_ns = time, .weight = weight, .task = task, .flags = flags };

	for (size_t i = 0; i < nr; i++) { /* outermost first: m a b c; capitals are another place */
		char c = path[nr - 1 - i];
		uint64_t function = c == 'm' ? MAIN : (uint64_t)((c | 32) - 'a' + A);

		frames[i] = (struct frame){ function * 10 + (c < 'a'), 1 };
	}
	s.stack = stacks_add(f->stacks, frames, nr);
	assert_int_equal(store_add(f->store, &s), 0);
	for (size_t i = 0; i < stacks_count(f->stacks); i++)
		f->function_of[i] = (uint32_t)(stacks_nodes(f->stacks)[i].offset / 10);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->store = store_new(1 << 20);
	f->stacks = stacks_new();
	f->cache = query_cache_new();
	f->naming = (struct naming){ .function_of = f->function_of,
				     .nr_functions = NR_FUNCTIONS,
				     .generation = 1 };
	f->query = (struct query){ .to_ns = 1000, .event = 0 };
	add(f, 100, 10, 1, SAMPLE_USER, "mab");
	add(f, 200, 20, 1, SAMPLE_USER, "mAb");
	add(f, 300, 5, 2, SAMPLE_KERNEL | STACK_CUT << SAMPLE_END_SHIFT, "maba");
	add(f, 400, 7, 2, SAMPLE_USER, "mc");
	add(f, 500, 100, 3, SAMPLE_IDLE | SAMPLE_KERNEL, "c");
	add(f, 600, 1, 3, SAMPLE_USER | STACK_BROKEN << SAMPLE_END_SHIFT, "");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_free(f->store);
	stacks_free(f->stacks);
	query_cache_free(f->cache);
	free(f);
	return 0;
}

static void write_rows(const struct answer *a, uint32_t first, char *text, size_t size)
{
	static const char *const names[] = { "main", "a", "b", "c" };

	for (uint32_t i = first; i != UINT32_MAX; i = a->rows[i].next) {
		const struct row *r = &a->rows[i];
		size_t len = strlen(text);
		char group[16];

		snprintf(group, sizeof(group), "group%d", (int)r->group);
		snprintf(text + len, size - len, "%*s%s %d/%d %d/%d%s\n", (int)r->depth, "",
			 r->function == UINT32_MAX ? group : names[r->function], (int)r->self,
			 (int)r->total, (int)r->self_samples, (int)r->total_samples,
			 r->has_children && r->first_child == UINT32_MAX ? " +" : "");
		write_rows(a, r->first_child, text, size);
	}
}

/* The rows of the answer to f->query, as text: "function self/total self-samples/total-samples". */
static void assert_rows(struct fixture *f, const char *expected)
{
	struct answer a;
	char text[2000] = "";

	assert_int_equal(query_run(f->cache, f->store, f->stacks, &f->naming, &f->query, &a), 0);
	assert_null(answer_check(&a));
	write_rows(&a, a.first, text, sizeof(text));
	assert_string_equal(text, expected);
	answer_done(&a);
}

static void test_functions(void **state)
{
	struct fixture *f = *state;

	f->query.hide = SAMPLE_IDLE;
	assert_rows(f, "b 30/35 2/3\n"
		       "c 7/7 1/1\n"
		       "a 5/35 1/3\n"
		       "main 0/42 0/4\n");
}

static void test_tree(void **state)
{
	struct fixture *f = *state;

	f->query.orientation = QUERY_TREE;
	assert_rows(f, "c 100/100 1/1\n"
		       "main 0/42 0/4\n"
		       " a 0/35 0/3\n"
		       "  b 30/35 2/3\n"
		       "   a 5/5 1/1\n"
		       " c 7/7 1/1\n");
}

static void test_callers(void **state)
{
	struct fixture *f = *state;

	f->query.orientation = QUERY_CALLERS;
	assert_rows(f, "c 100/107 1/2\n"
		       " main 7/7 1/1\n"
		       "b 0/30 0/2\n"
		       " a 0/30 0/2\n"
		       "  main 30/30 2/2\n"
		       "a 0/5 0/1\n"
		       " b 0/5 0/1\n"
		       "  a 0/5 0/1\n"
		       "   main 5/5 1/1\n");
}

static void test_window_is_half_open(void **state)
{
	struct fixture *f = *state;

	f->query.from_ns = 200;
	f->query.to_ns = 400;
	assert_rows(f, "b 20/25 1/2\n"
		       "a 5/25 1/2\n"
		       "main 0/25 0/2\n");
	f->query.from_ns = f->query.to_ns = 400;
	assert_rows(f, "");
	f->query.to_ns = 300;
	assert_rows(f, "");
}

static void test_groups(void **state)
{
	static const uint32_t group_of[] = { 0, 1, 0 };
	struct fixture *f = *state;

	f->query.group_of = group_of;
	f->query.nr_tasks = 3;
	f->query.nr_groups = 2;
	f->query.orientation = QUERY_TREE;
	assert_rows(f, "group-1 1/101 1/2\n" /* task 3 has no group; its bare sample is self */
		       " c 100/100 1/1\n"
		       "group1 0/30 0/2\n"
		       " main 0/30 0/2\n"
		       "  a 0/30 0/2\n"
		       "   b 30/30 2/2\n"
		       "group0 0/12 0/2\n"
		       " main 0/12 0/2\n"
		       "  c 7/7 1/1\n"
		       "  a 0/5 0/1\n"
		       "   b 0/5 0/1\n"
		       "    a 5/5 1/1\n");
}

static void test_opens_lazily(void **state)
{
	struct fixture *f = *state;
	struct map open = { 0 };
	uint64_t top = query_path(query_path_top(QUERY_NO_GROUP), MAIN);

	f->query.orientation = QUERY_TREE;
	f->query.expanded = &open;
	assert_rows(f, "c 100/100 1/1\nmain 0/42 0/4 +\n");
	map_set(&open, top, 1);
	assert_rows(f, "c 100/100 1/1\nmain 0/42 0/4\n a 0/35 0/3 +\n c 7/7 1/1\n");
	f->query.orientation = QUERY_CALLERS;
	assert_rows(f, "c 100/107 1/2 +\nb 0/30 0/2 +\na 0/5 0/1 +\n");
	/* The same path of functions opens from here too: b called by a. */
	map_set(&open, query_path(query_path_top(QUERY_NO_GROUP), B), 1);
	assert_rows(f, "c 100/107 1/2 +\nb 0/30 0/2\n a 0/30 0/2 +\na 0/5 0/1 +\n");
	map_done(&open);
}

static void test_sums(void **state)
{
	struct fixture *f = *state;
	uint8_t unnamed[NR_FUNCTIONS] = { [B] = 1 };
	struct answer a;

	f->naming.unnamed = unnamed;
	f->query.hide = SAMPLE_IDLE;
	assert_int_equal(query_run(f->cache, f->store, f->stacks, &f->naming, &f->query, &a), 0);
	assert_int_equal(a.weight, 43);
	assert_int_equal(a.samples, 5);
	assert_int_equal(a.bare_weight, 1);
	assert_int_equal(a.bare_samples, 1);
	assert_int_equal(a.unnamed_samples, 2);
	assert_int_equal(a.hidden_weight, 100);
	assert_int_equal(a.hidden_idle, 100);
	assert_int_equal(a.ends[STACK_COMPLETE], 3);
	assert_int_equal(a.ends[STACK_CUT], 1);
	assert_int_equal(a.ends[STACK_BROKEN], 1);
	assert_int_equal(a.ends[STACK_DEEP], 0);
	answer_done(&a);
	f->query.event = 1;
	assert_rows(f, "");
}

/* answer_check() finds what is wrong; else the tests that lean on it would say nothing. */
static void test_check_finds(void **state)
{
	struct fixture *f = *state;
	struct answer a;
	struct row *main_row, saved;

	f->query.orientation = QUERY_TREE;
	assert_int_equal(query_run(f->cache, f->store, f->stacks, &f->naming, &f->query, &a), 0);
	assert_null(answer_check(&a));
	for (main_row = a.rows; main_row->function != MAIN; main_row++)
		;
	saved = *main_row;
	main_row->total++;
	assert_non_null(answer_check(&a));
	*main_row = saved;
	main_row->self_samples = 1;
	assert_non_null(answer_check(&a));
	*main_row = saved;
	main_row->first_child = UINT32_MAX;
	assert_non_null(answer_check(&a));
	*main_row = saved;
	main_row->path ^= 1;
	assert_non_null(answer_check(&a));
	*main_row = saved;
	main_row->next = a.first;
	assert_non_null(answer_check(&a));
	*main_row = saved;
	a.weight++;
	assert_non_null(answer_check(&a));
	a.weight--;
	a.ends[0]++;
	assert_non_null(answer_check(&a));
	a.ends[0]--;
	assert_null(answer_check(&a));
	answer_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(test_callers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_window_is_half_open, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_opens_lazily, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sums, setup, teardown),
		cmocka_unit_test_setup_teardown(test_check_finds, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
