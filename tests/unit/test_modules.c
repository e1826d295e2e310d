// SPDX-License-Identifier: GPL-2.0-or-later
/* Modules: what can be read off a small profile, and random ones against counting stack by stack.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/query.h"

#define DEPTH 8
#define NODES_MAX 100000

struct fixture {
	struct store *store;
	struct stacks *stacks;
	struct query_cache *cache;
	uint32_t *function_of;
	uint8_t unnamed[2];
	struct naming naming;
	struct query query;
};

/*
 * A stack outermost first: a digit is a frame in that image, 2 is ptop's own; a frame is without a
 * name where a '?' follows.
 */
static uint32_t intern(struct fixture *f, const char *path)
{
	struct frame frames[2 * DEPTH];
	size_t nr = 0;

	for (size_t i = strlen(path); i-- > 0;) {
		bool unnamed = path[i] == '?';

		i -= unnamed;
		frames[nr++] = (struct frame){ 2 * i + unnamed, (uint32_t)(path[i] - '0') };
	}
	return stacks_add(f->stacks, frames, nr);
}

static void add(struct fixture *f, uint64_t time, uint64_t weight, uint32_t task, uint8_t flags,
		enum stack_end end, const char *path)
{
	struct stored s = { .time_ns = time,
			    .weight = weight,
			    .task = task,
			    .flags = flags | (uint8_t)(end << SAMPLE_END_SHIFT),
			    .stack = intern(f, path) };

	assert_int_equal(store_add(f->store, &s), 0);
	assert_in_range(stacks_count(f->stacks), 1, NODES_MAX);
	for (size_t i = 0; i < stacks_count(f->stacks); i++)
		f->function_of[i] = (uint32_t)stacks_nodes(f->stacks)[i].offset & 1;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->store = store_new(1 << 24);
	f->stacks = stacks_new();
	f->cache = query_cache_new();
	f->function_of = calloc(NODES_MAX, sizeof(*f->function_of));
	f->unnamed[1] = 1;
	f->naming = (struct naming){ .function_of = f->function_of,
				     .nr_functions = 2,
				     .generation = 1,
				     .unnamed = f->unnamed };
	f->query = (struct query){ .to_ns = 1000, .orientation = QUERY_MODULES };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_free(f->store);
	stacks_free(f->stacks);
	query_cache_free(f->cache);
	free(f->function_of);
	free(f);
	return 0;
}

static void run(struct fixture *f, struct answer *a)
{
	const char *wrong;

	assert_int_equal(query_run(f->cache, f->store, f->stacks, &f->naming, &f->query, a), 0);
	wrong = answer_check(a);
	if (wrong)
		fail_msg("%s", wrong);
}

static void write_rows(const struct answer *a, uint32_t first, char *text, size_t size)
{
	for (uint32_t i = first; i != UINT32_MAX; i = a->rows[i].next) {
		const struct row *r = &a->rows[i];
		const struct module_row *m = &a->modules[i];
		size_t len = strlen(text);

		if (r->function == UINT32_MAX)
			snprintf(text + len, size - len, "group%d %d/%d%s\n", (int)r->group,
				 (int)r->self, (int)r->total,
				 r->has_children && r->first_child == UINT32_MAX ? " +" : "");
		else
			snprintf(
				text + len, size - len,
				"%*s%d %d/%d %d/%d no name %d, ends %d %d %d %d, taken %d %d %d %d\n",
				(int)r->depth, "", (int)r->function, (int)r->self, (int)r->total,
				(int)r->self_samples, (int)r->total_samples, (int)m->unnamed,
				(int)m->ends[0], (int)m->ends[1], (int)m->ends[2], (int)m->ends[3],
				(int)m->self_ends[0], (int)m->self_ends[1], (int)m->self_ends[2],
				(int)m->self_ends[3]);
		write_rows(a, r->first_child, text, size);
	}
}

static void assert_rows(struct fixture *f, const char *expected)
{
	struct answer a;
	char text[2000] = "";

	run(f, &a);
	write_rows(&a, a.first, text, sizeof(text));
	assert_string_equal(text, expected);
	answer_done(&a);
}

static void load(struct fixture *f)
{
	add(f, 100, 10, 1, SAMPLE_USER, STACK_COMPLETE, "3345");
	add(f, 200, 10, 1, SAMPLE_USER, STACK_COMPLETE, "3434?"); /* there and back again */
	add(f, 300, 20, 2, SAMPLE_USER, STACK_BROKEN, "25?4?");
	add(f, 400, 40, 2, SAMPLE_KERNEL, STACK_CUT, "2541");
	add(f, 500, 5, 3, SAMPLE_USER, STACK_BROKEN, "2");
	add(f, 600, 3, 3, SAMPLE_USER, STACK_BROKEN, "");
	add(f, 700, 100, 3, SAMPLE_KERNEL | SAMPLE_IDLE, STACK_COMPLETE, "1");
}

static void test_rows(void **state)
{
	struct fixture *f = *state;
	struct answer a;

	load(f);
	f->query.hide = SAMPLE_IDLE;
	assert_rows(f, "1 40/40 1/1 no name 0, ends 0 0 0 0, taken 0 1 0 0\n"
		       "4 30/80 2/4 no name 2, ends 0 0 0 0, taken 1 0 1 0\n"
		       "5 10/70 1/3 no name 0, ends 0 1 1 0, taken 1 0 0 0\n"
		       "3 0/20 0/2 no name 0, ends 2 0 0 0, taken 0 0 0 0\n");
	run(f, &a);
	assert_int_equal(a.orientation, QUERY_MODULES);
	assert_int_equal(a.weight, 88);
	assert_int_equal(a.samples, 6);
	assert_int_equal(a.bare_weight, 8);
	assert_int_equal(a.bare_samples, 2);
	assert_int_equal(a.unnamed_samples, 2);
	assert_int_equal(a.ends[STACK_BROKEN], 3);
	assert_int_equal(a.hidden_weight, 100);
	assert_int_equal(a.hidden_idle, 100);
	answer_done(&a);
}

static void test_window_and_event(void **state)
{
	struct fixture *f = *state;

	load(f);
	f->query.from_ns = 300;
	f->query.to_ns = 400;
	assert_rows(f, "4 20/20 1/1 no name 1, ends 0 0 0 0, taken 0 0 1 0\n"
		       "5 0/20 0/1 no name 0, ends 0 0 1 0, taken 0 0 0 0\n");
	f->query.event = 1;
	assert_rows(f, "");
	f->query.event = QUERY_ANY_EVENT;
	f->query.hide = SAMPLE_USER;
	assert_rows(f, "");
}

static void test_groups(void **state)
{
	static const uint32_t groups[] = { 7, 0, 1 };
	struct fixture *f = *state;
	struct map open = { 0 };

	load(f);
	f->query.hide = SAMPLE_IDLE;
	f->query.group_of = groups;
	f->query.nr_tasks = 3;
	f->query.nr_groups = 2;
	assert_rows(f, "group1 0/60\n"
		       " 1 40/40 1/1 no name 0, ends 0 0 0 0, taken 0 1 0 0\n"
		       " 4 20/60 1/2 no name 1, ends 0 0 0 0, taken 0 0 1 0\n"
		       " 5 0/60 0/2 no name 0, ends 0 1 1 0, taken 0 0 0 0\n"
		       "group0 0/20\n"
		       " 4 10/20 1/2 no name 1, ends 0 0 0 0, taken 1 0 0 0\n"
		       " 5 10/10 1/1 no name 0, ends 0 0 0 0, taken 1 0 0 0\n"
		       " 3 0/20 0/2 no name 0, ends 2 0 0 0, taken 0 0 0 0\n"
		       "group-1 8/8\n");
	f->query.expanded = &open;
	assert_int_equal(map_set(&open, query_path_top(0), 1), 0);
	assert_rows(f, "group1 0/60 +\n"
		       "group0 0/20\n"
		       " 4 10/20 1/2 no name 1, ends 0 0 0 0, taken 1 0 0 0\n"
		       " 5 10/10 1/1 no name 0, ends 0 0 0 0, taken 1 0 0 0\n"
		       " 3 0/20 0/2 no name 0, ends 2 0 0 0, taken 0 0 0 0\n"
		       "group-1 8/8\n");
	map_done(&open);
}

static void test_empty(void **state)
{
	struct fixture *f = *state;
	struct answer a;

	run(f, &a);
	assert_int_equal(a.nr_rows, 0);
	assert_int_equal(a.first, UINT32_MAX);
	answer_done(&a);
}

struct naive {
	uint64_t self, total, unnamed, ends[NR_STACK_ENDS], self_ends[NR_STACK_ENDS];
};

static void count(struct naive *images, const char *path, enum stack_end end)
{
	size_t len = strlen(path);
	bool seen[10] = { false }, unnamed = path[len - 1] == '?';
	const char *outermost = path[0] == '2' ? path + 1 : path;
	int leaf = path[len - 1 - unnamed] - '0';

	if (!*outermost)
		return;
	images[leaf].self++;
	images[leaf].self_ends[end]++;
	images[leaf].unnamed += unnamed;
	images[outermost[0] - '0'].ends[end]++;
	for (const char *p = outermost; *p; p++) {
		int image = *p - '0';

		if (*p == '?' || seen[image])
			continue;
		seen[image] = true;
		images[image].total++;
	}
}

static void test_random(void **state)
{
	struct fixture *f = *state;
	struct naive images[10] = { 0 };
	struct answer a;
	size_t nr = 0;

	srand(3);
	for (int i = 0; i < 3000; i++) {
		enum stack_end end = (enum stack_end)(rand() % NR_STACK_ENDS);
		int depth = 1 + rand() % DEPTH;
		char path[2 * DEPTH + 3] = "2", *at = path + (end != STACK_COMPLETE);

		for (int k = 0; k < depth; k++)
			*at++ = (char)('3' + rand() % 5);
		if (rand() % 3 == 0)
			*at++ = '?';
		*at = '\0';
		add(f, (uint64_t)i / 4, 1, 0, SAMPLE_USER, end, path);
		count(images, path, end);
	}
	run(f, &a);
	assert_int_equal(a.samples, 3000);
	for (size_t i = 0; i < a.nr_rows; i++) {
		const struct row *r = &a.rows[i];
		const struct naive *n = &images[r->function];

		assert_int_equal(r->self, n->self);
		assert_int_equal(r->total, n->total);
		assert_int_equal(a.modules[i].unnamed, n->unnamed);
		assert_memory_equal(a.modules[i].ends, n->ends, sizeof(n->ends));
		assert_memory_equal(a.modules[i].self_ends, n->self_ends, sizeof(n->ends));
	}
	for (int i = 0; i < 10; i++)
		nr += images[i].total != 0;
	assert_int_equal(a.nr_rows, nr);
	answer_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_window_and_event, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
