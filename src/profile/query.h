/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the store.  Every view, window, filter and grouping is one of these; nothing is
 * aggregated before it is asked, so any key applies to the past.  Pure: no clock, no descriptors.
 *
 * Invariant of every answer: a tree row's total is its self plus its children's totals, for weight
 * and for samples, in every orientation, grouping and filter (answer_check()).  A row whose
 * children were not asked for (struct query's .expanded) keeps its right self and total and says so
 * by .has_children.
 *
 * Cost: the samples inside the window (about 2-5 ns each; chunks outside are not touched), then the
 * trie nodes that have weight in it, their ancestors, and the rows produced.
 */
#ifndef PTOP_PROFILE_QUERY_H
#define PTOP_PROFILE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "profile/stacks.h"
#include "profile/store.h"

enum orientation {
	/* Flat: self; total counts a function once a stack however often it recurs. */
	QUERY_FUNCTIONS,
	/* From the thread's entry down. */
	QUERY_TREE,
	/*
	 * Tops: the innermost functions; children: who called.  A row's self is the samples
	 * whose stack begins there, so that total = self + children; a top's total is
	 * what the function itself took.
	 */
	QUERY_CALLERS,
	/*
	 * Flat, by image: a row's function is an image.  Self: taken in it; total: it is somewhere
	 * on the stack, once a stack.  How far its stacks and names can be trusted: .modules.
	 */
	QUERY_MODULES,
};

#define QUERY_ANY_EVENT 0xff
#define QUERY_NO_GROUP UINT32_MAX

/* Which function a trie node is, and which are inlined in it; ids are dense enough to index arrays.
 */
struct naming {
	const uint32_t *function_of; /* by node id, as many as the trie has nodes */
	uint32_t nr_functions;       /* function ids are below */
	/* Changes when an old node's function changed: so after stacks_prune(), not at new nodes.
	 */
	uint32_t generation;
	/* By function id: not 0 where only an address is known.  NULL: all are named. */
	const uint8_t *unnamed;
	/* By function id: which of two with equal weights comes first (the lower); NULL: by id. */
	const uint32_t *ranks;
	/*
	 * What was inlined at a node: functions inside of its own, each of them a frame of its own.
	 * By node id an index into .chains, 0: nothing; there: how many, at least one, then the
	 * functions, the outermost first.  NULL: nothing is anywhere.
	 */
	const uint32_t *chain_of;
	const uint32_t *chains;
};

struct query {
	uint64_t from_ns, to_ns; /* half open: [from, to) */
	uint8_t event;           /* or QUERY_ANY_EVENT */
	uint8_t hide;            /* samples with any of these SAMPLE_* bits are left out */
	enum orientation orientation;
	/*
	 * By task id: a group, below .nr_groups; NULL: no grouping.  Tasks past .nr_tasks and those
	 * whose group is not below .nr_groups go to one more group, shown as QUERY_NO_GROUP.
	 */
	const uint32_t *group_of;
	size_t nr_tasks;
	uint32_t nr_groups;
	/*
	 * A set of struct row's .path: only rows in it get their children; tops are always there.
	 * NULL: everything.  Borrowed during the query.
	 */
	const struct map *expanded;
};

struct row {
	uint32_t function;          /* UINT32_MAX: a group's own row */
	uint32_t group;             /* or QUERY_NO_GROUP */
	uint32_t parent;            /* row index; UINT32_MAX at the top */
	uint32_t first_child, next; /* row indices; UINT32_MAX ends */
	uint32_t depth;             /* 0 at the top */
	uint64_t self, total;       /* weight */
	uint64_t self_samples, total_samples;
	/* Hash of the group and the functions from the top: the row's identity over refreshes. */
	uint64_t path;
	/* Also where they were not asked for; then .first_child is UINT32_MAX. */
	bool has_children;
};

/* Samples of a row of QUERY_MODULES, by what makes them less than perfect. */
struct module_row {
	uint64_t unnamed;                  /* taken in it, in no function with a name */
	uint64_t self_ends[NR_STACK_ENDS]; /* taken in it, by how their stack ended */
	/* Its stack is known up to here: this is the outermost frame that there is. */
	uint64_t ends[NR_STACK_ENDS];
};

struct answer {
	struct row *rows; /* parents before children */
	struct module_row
		*modules; /* QUERY_MODULES: as many as rows, a group's all zero; else NULL */
	size_t nr_rows;
	/*
	 * First top row, UINT32_MAX for none.  Siblings are linked by falling total, then self;
	 * what is flat (functions, modules) by falling self, then total.
	 */
	uint32_t first;
	enum orientation orientation;
	bool grouped;
	uint64_t weight, samples; /* all that matched: 100 % */
	/* Of it, without any frame: in no row, or with groups in the group's self. */
	uint64_t bare_weight, bare_samples;
	uint64_t unnamed_samples;     /* whose innermost frame's function is unnamed */
	uint64_t ends[NR_STACK_ENDS]; /* samples by how their stack ended */
	uint64_t hidden_weight;       /* left out by .hide, by the same window and event */
	uint64_t hidden_idle;         /* of it, idle */
};

/*
 * Scratch kept between queries so that a refresh allocates little.  Also caches what depends on
 * (stacks, naming) only: which nodes recur on their own path.
 */
struct query_cache;
struct query_cache *query_cache_new(void);
void query_cache_free(struct query_cache *c);

/*
 * Runs @q.  With grouping the tops are one row a group (function UINT32_MAX) whose children are the
 * functions or trees.
 * @ret is freed by answer_done().  0 or -ENOMEM.
 */
int query_run(struct query_cache *c, const struct store *s, const struct stacks *t,
	      const struct naming *n, const struct query *q, struct answer *ret);
void answer_done(struct answer *a);

/* NULL, or what is wrong: the invariants above, links, order.  For tests and debugging. */
const char *answer_check(const struct answer *a);

/*
 * Row.path by hand: of a group's row (or, of QUERY_NO_GROUP, what is above the tops), and of a row
 * below it.  It does not depend on the orientation, so a path found in one view opens in another.
 */
uint64_t query_path_top(uint32_t group);
uint64_t query_path(uint64_t parent_path, uint32_t function);

/*
 * Weight in each of @nr equal buckets of [from, to) of what @q (event, hide) matches; visits only
 * chunks inside. For a strip that moves with time see profile/timeline.h.
 */
void query_timeline(const struct store *s, const struct query *q, uint64_t *ret_buckets, size_t nr);

#endif
