// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Queries over 10 million samples (bound: 100 ms each), and the cost of one refresh of the usual
 * size.
 *
 * The profile: 200 groups of 5 tasks; half the samples are of stacks that every group has (a
 * kernel's), the rest of stacks of the group's own; a few stacks are hot, as they are in life.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "profile/query.h"
#include "profile/timeline.h"

#define SAMPLES 10000000u
#define REFRESH_SAMPLES 50000u
#define GROUPS 200u
#define TASKS 1000u
#define DEPTH 20
#define BOUND_MS 100.0
#define BOUND_REFRESH_US 1000.0

/* How many stacks all groups have, how many each has of its own, functions, samples. */
struct size {
	uint32_t common, own, functions, samples;
};

static const struct size large = { 2000, 300, 6000, SAMPLES };
static const struct size usual = { 400, 5, 1500, 10 * REFRESH_SAMPLES };

struct profile {
	struct size size;
	struct store *store;
	struct stacks *stacks;
	uint32_t *stack; /* the common ones, then each group's own */
	uint32_t *function_of;
	uint32_t *group_of;
	struct naming naming;
	struct query_cache *cache;
	uint64_t end_ns;
};

/* Of this process alone, so that what else the machine does counts less. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A number below @nr, the smaller the likelier. */
static uint32_t random_skewed(uint64_t *seed, uint32_t nr)
{
	uint64_t a = random_next(seed) % nr, b = random_next(seed) % nr, c = random_next(seed) % nr;

	a = a < b ? a : b;
	return (uint32_t)(a < c ? a : c);
}

/* A function calls few others, and mostly one: so call paths share their outer frames, meet and
 * recur. */
static void make_stacks(struct profile *p, uint64_t *seed)
{
	const struct size *size = &p->size;
	size_t nr = size->common + size->own * GROUPS;

	for (size_t i = 0; i < nr; i++) {
		uint32_t group = i < size->common ? 0
						  : 1 + (uint32_t)(i - size->common) / size->own;
		uint64_t function = group * 7;
		struct frame frames[DEPTH];
		size_t depth = DEPTH / 2 + random_next(seed) % (DEPTH / 2);

		for (size_t d = 0; d < depth; d++) {
			uint64_t site = random_next(seed) % (d < depth / 2 ? 8 : 4) /
					(d < depth / 2 ? 7 : 1);

			function = (function * 3 + site + 1) % size->functions;
			frames[depth - 1 - d] = (struct frame){ function * 64 + site, 1 + group };
		}
		p->stack[i] = stacks_add(p->stacks, frames, depth);
	}
}

static void make_samples(struct profile *p, uint64_t *seed)
{
	const struct size *size = &p->size;

	for (uint32_t i = 0; i < size->samples; i++) {
		uint32_t task = (uint32_t)(random_next(seed) % TASKS);
		bool common = random_next(seed) & 1;
		uint32_t own = size->common + p->group_of[task] * size->own;
		struct stored s = {
			.time_ns = p->end_ns += 20000,
			.weight = 1000000,
			.stack = p->stack[common ? random_skewed(seed, size->common)
						 : own + random_skewed(seed, size->own)],
			.task = task,
			.flags = common ? SAMPLE_KERNEL : SAMPLE_USER,
		};

		if (store_add(p->store, &s))
			abort();
	}
}

static void name_functions(struct profile *p)
{
	const struct stack_node *nodes = stacks_nodes(p->stacks);
	size_t nr = stacks_count(p->stacks);

	p->function_of = calloc(nr, sizeof(*p->function_of));
	for (size_t i = 0; i < nr; i++)
		p->function_of[i] = (uint32_t)(nodes[i].offset / 64);
	p->naming = (struct naming){ .function_of = p->function_of,
				     .nr_functions = p->size.functions,
				     .generation = 1 };
}

static void make_profile(struct profile *p, const struct size *size)
{
	uint64_t seed = 88172645463325252ull;

	*p = (struct profile){ *size, .store = store_new(1u << 30), .stacks = stacks_new() };
	p->stack = calloc(size->common + size->own * GROUPS, sizeof(*p->stack));
	p->group_of = calloc(TASKS, sizeof(*p->group_of));
	p->cache = query_cache_new();
	for (uint32_t i = 0; i < TASKS; i++)
		p->group_of[i] = i % GROUPS;
	make_stacks(p, &seed);
	make_samples(p, &seed);
	name_functions(p);
}

static void free_profile(struct profile *p)
{
	store_free(p->store);
	stacks_free(p->stacks);
	query_cache_free(p->cache);
	free(p->stack);
	free(p->function_of);
	free(p->group_of);
}

/* The best of @rounds in nanoseconds. */
static double run(struct profile *p, const struct query *q, int rounds, size_t *ret_rows)
{
	double best = 1e18;

	for (int i = 0; i < rounds; i++) {
		uint64_t start = cpu_ns();
		struct answer a;
		double ns;

		if (query_run(p->cache, p->store, p->stacks, &p->naming, q, &a))
			abort();
		*ret_rows = a.nr_rows;
		answer_done(&a);
		ns = (double)(cpu_ns() - start);
		best = ns < best ? ns : best;
	}
	return best;
}

static int bench_all(struct profile *p)
{
	static const struct map closed;
	static const struct {
		const char *name;
		enum orientation orientation;
		bool grouped, open, bound;
	} cases[] = {
		{ "functions", QUERY_FUNCTIONS, false, true, true },
		{ "tree", QUERY_TREE, false, false, true },
		{ "tree_open", QUERY_TREE, false, true, false },
		{ "callers", QUERY_CALLERS, false, false, true },
		{ "callers_open", QUERY_CALLERS, false, true, false },
		{ "modules", QUERY_MODULES, false, true, true },
		{ "grouped", QUERY_TREE, true, false, true },
		{ "grouped_functions", QUERY_FUNCTIONS, true, true, false },
	};
	int failed = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct query q = {
			.to_ns = UINT64_MAX,
			.event = QUERY_ANY_EVENT,
			.hide = SAMPLE_IDLE,
			.orientation = cases[i].orientation,
			.group_of = cases[i].grouped ? p->group_of : NULL,
			.nr_tasks = TASKS,
			.nr_groups = GROUPS,
			.expanded = cases[i].open ? NULL : &closed,
		};
		size_t rows = 0;
		double ms = run(p, &q, 3, &rows) / 1e6;

		printf("query_10M_ms_%s\t%.1f", cases[i].name, ms);
		if (cases[i].bound)
			printf("\t<= %.0f", BOUND_MS);
		printf("\t%zu rows\n", rows);
		failed |= cases[i].bound && ms > BOUND_MS;
	}
	return failed;
}

/* One refresh of a screen: the rows that are open, and the strip above. */
static int bench_refresh(struct profile *p)
{
	static const char *const names[] = { "functions", "tree", "callers", "modules" };
	struct timeline t;
	struct map open = { 0 };
	uint64_t from = p->end_ns - REFRESH_SAMPLES * 20000ull;
	int failed = 0;

	if (timeline_init(&t, 960))
		abort();
	for (int o = QUERY_FUNCTIONS; o <= QUERY_MODULES; o++) {
		struct query q = {
			.from_ns = from,
			.to_ns = p->end_ns + 1,
			.event = 0,
			.hide = SAMPLE_IDLE | SAMPLE_OWN,
			.orientation = (enum orientation)o,
			.expanded = &open,
		};
		size_t rows = 0;
		double us = run(p, &q, 50, &rows) / 1e3;

		printf("refresh_us_%s\t%.0f\t<= %.0f\t%zu rows\n", names[o], us, BOUND_REFRESH_US,
		       rows);
		failed |= us > BOUND_REFRESH_US;
	}
	from = cpu_ns();
	timeline_update(&t, p->store, 0, 0, 100000000, p->end_ns);
	printf("timeline_anew_us\t%.0f\t%" PRIu64 " samples\n", (double)(cpu_ns() - from) / 1e3,
	       store_count(p->store));
	timeline_done(&t);
	return failed;
}

int main(void)
{
	struct profile p;
	int failed;

	make_profile(&p, &large);
	printf("query_10M_nodes\t%zu\n", stacks_count(p.stacks));
	failed = bench_all(&p);
	free_profile(&p);
	make_profile(&p, &usual);
	printf("refresh_nodes\t%zu\n", stacks_count(p.stacks));
	failed |= bench_refresh(&p);
	free_profile(&p);
	return failed;
}
