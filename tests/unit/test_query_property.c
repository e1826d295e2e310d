// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random profiles and queries against a model that keeps every sample with its frames and answers
 * by walking them all.  Between queries the profile grows, functions are renamed and others inlined
 * in them, the trie is pruned and the oldest chunks drop out, all with one and the same query
 * cache.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/query.h"

#define MAX_SAMPLES 6000
#define MAX_DEPTH 7
#define IMAGES 2
#define OFFSETS 8
#define FUNCTIONS 6
#define INLINED 3 /* functions at one place, at most */
#define TASKS 6
#define GROUPS 3

struct model_sample {
	struct stored stored;
	struct frame frames[MAX_DEPTH]; /* innermost first */
	uint32_t nr;
};

struct model {
	uint32_t seed;
	struct model_sample *samples;
	size_t nr_samples;
	uint64_t now_ns;
	uint32_t function_at[IMAGES][OFFSETS];
	uint32_t inlined_at[IMAGES][OFFSETS][1 + INLINED]; /* how many, and which */
	uint32_t group_of[TASKS];
	uint8_t unnamed[FUNCTIONS];
	struct store *store;
	struct stacks *stacks;
	struct query_cache *cache;
	struct naming naming;
	bool any_inlined;
	uint32_t *function_of, *chain_of;
	struct row *rows; /* of the answer expected; .parent is not an index but unused */
	uint64_t *above;  /* path of a row's parent */
	struct map found; /* path -> index in rows */
	size_t nr_rows;
	struct answer sums;
};

static uint32_t below(struct model *m, uint32_t nr)
{
	m->seed = m->seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)m->seed * nr) >> 32);
}

static void name_nodes(struct model *m)
{
	size_t nr = stacks_count(m->stacks);
	const struct stack_node *nodes = stacks_nodes(m->stacks);

	m->function_of = realloc(m->function_of, nr * sizeof(*m->function_of));
	m->function_of[0] = UINT32_MAX;
	for (size_t i = 1; i < nr; i++)
		m->function_of[i] = m->function_at[nodes[i].image][nodes[i].offset];
	m->naming.function_of = m->function_of;
	m->chain_of = realloc(m->chain_of, nr * sizeof(*m->chain_of));
	m->chain_of[0] = 0;
	for (size_t i = 1; i < nr; i++) {
		const uint32_t *list = m->inlined_at[nodes[i].image][nodes[i].offset];

		m->chain_of[i] = list[0] ? (uint32_t)(list - &m->inlined_at[0][0][0]) : 0;
	}
	m->naming.chain_of = m->any_inlined ? m->chain_of : NULL;
	m->naming.chains = &m->inlined_at[0][0][0];
}

static void rename_functions(struct model *m)
{
	for (int i = 0; i < IMAGES; i++) {
		for (int j = 0; j < OFFSETS; j++) {
			m->function_at[i][j] = below(m, FUNCTIONS);
			/* Index 0 of all lists stands for none. */
			m->inlined_at[i][j][0] = m->any_inlined && i + j > 0 ? below(m, 1 + INLINED)
									     : 0;
			for (int k = 1; k <= INLINED; k++)
				m->inlined_at[i][j][k] = below(m, FUNCTIONS);
		}
	}
	m->naming.generation++;
}

static void add_samples(struct model *m, size_t nr, bool equal)
{
	uint64_t weight = 1 + below(m, 3);

	m->now_ns += below(m, 3) ? 0 : 5000000000; /* a new chunk */
	for (; nr && m->nr_samples < MAX_SAMPLES; nr--) {
		struct model_sample *s = &m->samples[m->nr_samples++];
		uint64_t late = below(m, 20) ? 0 : below(m, 2000000000);

		m->now_ns += below(m, 3000000);
		s->nr = below(m, MAX_DEPTH + 1);
		for (uint32_t i = 0; i < s->nr; i++)
			s->frames[i] = (struct frame){ below(m, below(m, 3) ? 2 : OFFSETS),
						       below(m, IMAGES) };
		s->stored = (struct stored){
			.time_ns = m->now_ns > late ? m->now_ns - late : 0,
			.weight = equal ? weight : below(m, 1000),
			.stack = stacks_add(m->stacks, s->frames, s->nr),
			.task = below(m, TASKS + 2),
			.event = (uint8_t)below(m, 3),
			.flags = (uint8_t)below(m, 64),
		};
		assert_int_equal(store_add(m->store, &s->stored), 0);
	}
	name_nodes(m);
}

static void prune(struct model *m)
{
	size_t nr = stacks_count(m->stacks);
	uint8_t *keep = calloc(nr, 1);
	uint32_t *map = calloc(nr, sizeof(*map));

	store_mark(m->store, keep, nr, NULL, 0);
	assert_int_equal(stacks_prune(m->stacks, keep, map), 0);
	store_rename(m->store, map, NULL);
	m->naming.generation++;
	name_nodes(m);
	free(keep);
	free(map);
}

/* The model's row of a path below @above, made where there is none. */
static struct row *model_row(struct model *m, uint64_t above, uint64_t path, uint32_t group,
			     uint32_t function, uint32_t depth)
{
	const uint64_t *at = map_find(&m->found, path);
	struct row *r;

	if (at) {
		assert_true(m->above[*at] == above);
		return &m->rows[*at];
	}
	m->rows = realloc(m->rows, (m->nr_rows + 1) * sizeof(*m->rows));
	m->above = realloc(m->above, (m->nr_rows + 1) * sizeof(*m->above));
	assert_int_equal(map_set(&m->found, path, m->nr_rows), 0);
	m->above[m->nr_rows] = above;
	r = &m->rows[m->nr_rows++];
	*r = (struct row){ .function = function, .group = group, .path = path, .depth = depth };
	return r;
}

static void count_row(struct row *r, const struct stored *s, bool self, bool total)
{
	r->self += self ? s->weight : 0;
	r->self_samples += self;
	r->total += total ? s->weight : 0;
	r->total_samples += total;
}

/* All functions of a sample, innermost first. */
static uint32_t functions_of(const struct model *m, const struct model_sample *s,
			     uint32_t ret[MAX_DEPTH * (1 + INLINED)])
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct frame *f = &s->frames[i];
		const uint32_t *list = m->inlined_at[f->image][f->offset];

		for (uint32_t j = list[0]; j > 0; j--)
			ret[nr++] = list[j];
		ret[nr++] = m->function_at[f->image][f->offset];
	}
	return nr;
}

/* Adds a sample's rows below @top. */
static void count_frames(struct model *m, const struct query *q, const struct model_sample *s,
			 uint64_t top, uint32_t group, uint32_t depth)
{
	uint32_t functions[MAX_DEPTH * (1 + INLINED)], nr = functions_of(m, s, functions);
	uint64_t path = top;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t f = functions[q->orientation == QUERY_TREE ? nr - 1 - i : i];
		uint64_t above = q->orientation == QUERY_FUNCTIONS ? top : path;
		bool again = false;
		struct row *r;

		path = query_path(above, f);
		r = model_row(m, above, path, group, f, depth);
		for (uint32_t j = 0; j < i; j++)
			again |= functions[j] == f;
		if (q->orientation == QUERY_FUNCTIONS) {
			count_row(r, &s->stored, i == 0, !again);
		} else {
			r->has_children |= i + 1 < nr;
			count_row(r, &s->stored, i + 1 == nr, true);
			depth++;
		}
	}
}

static void count_sums(struct model *m, const struct model_sample *s)
{
	m->sums.weight += s->stored.weight;
	m->sums.samples++;
	m->sums.ends[s->stored.flags >> SAMPLE_END_SHIFT]++;
	if (!s->nr) {
		m->sums.bare_weight += s->stored.weight;
		m->sums.bare_samples++;
	} else if (m->naming.unnamed) {
		m->sums.unnamed_samples +=
			m->unnamed[m->function_at[s->frames[0].image][s->frames[0].offset]];
	}
}

static void model_run(struct model *m, const struct query *q)
{
	m->nr_rows = 0;
	map_done(&m->found);
	memset(&m->sums, 0, sizeof(m->sums));
	for (size_t i = (size_t)store_dropped(m->store); i < m->nr_samples; i++) {
		const struct model_sample *s = &m->samples[i];
		uint32_t task = s->stored.task, group = QUERY_NO_GROUP;
		uint64_t top;

		if (s->stored.time_ns < q->from_ns || s->stored.time_ns >= q->to_ns ||
		    (q->event != QUERY_ANY_EVENT && s->stored.event != q->event))
			continue;
		if (s->stored.flags & q->hide) {
			m->sums.hidden_weight += s->stored.weight;
			if (s->stored.flags & SAMPLE_IDLE)
				m->sums.hidden_idle += s->stored.weight;
			continue;
		}
		count_sums(m, s);
		if (q->group_of && task < q->nr_tasks && q->group_of[task] < q->nr_groups)
			group = q->group_of[task];
		top = query_path_top(group);
		if (q->group_of) {
			struct row *r = model_row(m, 0, top, group, UINT32_MAX, 0);

			count_row(r, &s->stored, !s->nr, true);
			r->has_children |= s->nr > 0;
		}
		count_frames(m, q, s, top, group, q->group_of != NULL);
	}
}

/* Whether the model's row is to be in the answer: all rows above it are open. */
static bool shown(const struct model *m, const struct query *q, size_t row)
{
	const uint64_t *above = &m->above[row];

	if (!q->expanded)
		return true;
	while ((above = map_find(&m->found, *above))) {
		if (!map_find(q->expanded, m->rows[*above].path))
			return false;
		above = &m->above[*above];
	}
	return true;
}

static void assert_row(const struct model *m, const struct row *r)
{
	const uint64_t *at = map_find(&m->found, r->path);
	const struct row *e;

	assert_non_null(at);
	e = &m->rows[*at];
	assert_int_equal(r->function, e->function);
	assert_int_equal(r->group, e->group);
	assert_int_equal(r->depth, e->depth);
	assert_true(r->self == e->self);
	assert_true(r->total == e->total);
	assert_true(r->self_samples == e->self_samples);
	assert_true(r->total_samples == e->total_samples);
	assert_int_equal(r->has_children, e->has_children);
}

static void assert_answer(struct model *m, const struct query *q)
{
	struct answer a;
	size_t nr = 0;

	assert_int_equal(query_run(m->cache, m->store, m->stacks, &m->naming, q, &a), 0);
	model_run(m, q);
	if (answer_check(&a))
		fail_msg("%s", answer_check(&a));
	for (size_t i = 0; i < m->nr_rows; i++)
		nr += shown(m, q, i);
	assert_int_equal(a.nr_rows, nr);
	for (size_t i = 0; i < a.nr_rows; i++)
		assert_row(m, &a.rows[i]);
	assert_true(a.weight == m->sums.weight);
	assert_true(a.samples == m->sums.samples);
	assert_true(a.bare_weight == m->sums.bare_weight);
	assert_true(a.bare_samples == m->sums.bare_samples);
	assert_true(a.unnamed_samples == m->sums.unnamed_samples);
	assert_true(a.hidden_weight == m->sums.hidden_weight);
	assert_true(a.hidden_idle == m->sums.hidden_idle);
	assert_memory_equal(a.ends, m->sums.ends, sizeof(a.ends));
	answer_done(&a);
}

/* Opens about two of three rows of the whole answer. */
static void open_some(struct model *m, const struct query *q, struct map *open)
{
	model_run(m, q);
	for (size_t i = 0; i < m->nr_rows; i++) {
		if (below(m, 3))
			assert_int_equal(map_set(open, m->rows[i].path, 1), 0);
	}
}

static void ask(struct model *m)
{
	struct map open = { 0 };
	struct query q = {
		.to_ns = UINT64_MAX,
		.event = below(m, 2) ? QUERY_ANY_EVENT : (uint8_t)below(m, 4),
		.hide = below(m, 2) ? 0 : (uint8_t)(1u << below(m, 4)),
		.orientation = (enum orientation)below(m, 3),
		.nr_tasks = TASKS,
		.nr_groups = GROUPS,
	};

	if (below(m, 2) && m->nr_samples) { /* edges on samples and just behind them */
		q.from_ns = m->samples[below(m, (uint32_t)m->nr_samples)].stored.time_ns;
		q.to_ns = m->samples[below(m, (uint32_t)m->nr_samples)].stored.time_ns;
		q.to_ns += below(m, 2);
	}
	if (below(m, 2))
		q.group_of = m->group_of;
	m->naming.unnamed = below(m, 2) ? m->unnamed : NULL;
	if (below(m, 2)) {
		open_some(m, &q, &open);
		q.expanded = &open;
	}
	assert_answer(m, &q);
	map_done(&open);
}

static void run_profile(uint32_t seed, size_t cap_bytes)
{
	struct model m = {
		.seed = seed,
		.now_ns = seed % 2 * 1000000000000ull,
		.samples = calloc(MAX_SAMPLES, sizeof(*m.samples)),
		.store = store_new(cap_bytes),
		.stacks = stacks_new(),
		.cache = query_cache_new(),
		.naming = { .nr_functions = FUNCTIONS },
		.any_inlined = seed / 2 % 2,
	};

	for (uint32_t i = 0; i < TASKS; i++)
		m.group_of[i] = below(&m, 5) ? below(&m, GROUPS) : QUERY_NO_GROUP;
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		m.unnamed[i] = (uint8_t)below(&m, 2);
	rename_functions(&m);
	name_nodes(&m);
	ask(&m); /* of nothing */
	for (int round = 0; round < 12; round++) {
		add_samples(&m, below(&m, 2) ? below(&m, 20) : below(&m, 600), below(&m, 2));
		if (!below(&m, 4))
			rename_functions(&m);
		name_nodes(&m);
		if (!below(&m, 3))
			prune(&m);
		for (int i = 0; i < 6; i++)
			ask(&m);
	}
	assert_int_equal(store_dropped(m.store) > 0, cap_bytes < 100000);
	store_free(m.store);
	stacks_free(m.stacks);
	query_cache_free(m.cache);
	map_done(&m.found);
	free(m.samples);
	free(m.function_of);
	free(m.chain_of);
	free(m.rows);
	free(m.above);
}

static void test_random_profiles(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 12; seed++)
		run_profile(seed * 7919, 64 << 20);
}

static void test_random_profiles_at_the_cap(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 8; seed++)
		run_profile(seed * 104729, 8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_profiles),
		cmocka_unit_test(test_random_profiles_at_the_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
