/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a query goes, shared by the files that carry it out:
 *
 *	scan.c		samples of the window -> weight by node, or by (group, node)
 *	visit.c		-> the nodes with weight and their ancestors, callers first, with totals
 *	rows.c		-> rows, found by path, linked in order
 *	query.c		the whole, and what each orientation makes of the visited nodes
 *
 * All by node or by function is a dense array that stays in the cache and is zero between
 * queries: whoever fills an entry lists it, whoever reads it last clears it.
 */
#ifndef PTOP_PROFILE_QUERY_INTERNAL_H
#define PTOP_PROFILE_QUERY_INTERNAL_H

#include "base/vec.h"
#include "profile/query.h"

#define NO_ROW UINT32_MAX

struct node_weight {
	uint64_t weight;
	uint32_t samples;
	uint32_t visit; /* index into .visits of its innermost function, while the node is there */
};

/* Samples of one node within one group, as they are counted.  Never across two cache lines. */
struct pair_slot {
	uint32_t node, group;
	uint32_t samples; /* 0: free */
	uint32_t unused;
};

struct pair {
	uint64_t weight;
	uint32_t samples;
	uint32_t node;
};

/* A node with weight in or below it, or a function inlined there: then the node's own function
 * comes first and the weight is in the last.  visits[0] is the root. */
struct visit {
	uint64_t self, total;
	uint32_t self_samples, total_samples;
	uint32_t parent; /* index into .visits, below its own */
	uint32_t function;
	uint32_t row; /* for whoever makes rows */
	bool recurs;  /* its function is that of an ancestor as well */
};

struct function_weight {
	uint64_t self, total;
	uint32_t self_samples, total_samples;
};

struct query_cache {
	/* by node; one more than there are takes what is not counted */
	struct node_weight *nodes;
	uint8_t *recurs;                /* enum recurs */
	uint64_t *marks, *marked_words; /* a bit a node, and a bit a word of those */
	size_t nr_nodes;
	uint32_t generation; /* of the naming that .recurs holds for */
	size_t nr_named;     /* nodes there were then */

	VEC(uint32_t) touched;        /* nodes with weight */
	struct pair_slot *pair_slots; /* hash by (group, node), at most half used */
	uint64_t *pair_weights;       /* by slot; NULL while all weights are equal */
	size_t nr_pair_slots, nr_pairs;
	/* What the slots came to: group g has pairs group_starts[g] .. [g + 1]; nr_groups is the
	 * group of tasks without one. */
	VEC(struct pair) pairs;
	VEC(uint32_t) group_starts;

	VEC(struct visit) visits;
	struct function_weight *functions;
	size_t nr_functions;
	VEC(uint32_t) touched_functions;

	VEC(struct row) rows;
	size_t nr_rows_before; /* of the last answer */
	uint32_t *row_slots;   /* index into .rows + 1; hash by path */
	size_t nr_row_slots;
	struct row_key *keys;
	uint32_t *starts;
	size_t nr_keys;
};

/* What one query works on. */
struct job {
	struct query_cache *cache;
	const struct store *store;
	const struct stack_node *nodes;
	size_t nr_nodes;
	const struct naming *naming;
	const struct query *query;
	struct answer *answer;
};

/*
 * Sums the samples up: without groups in cache->nodes with cache->touched, else in cache->pairs.
 * Fills in the answer's sums.  0 or -ENOMEM.
 */
int scan_store(const struct job *job);
void scan_forget(struct query_cache *c); /* drops the hash of pairs */

/* Makes cache->nodes and what goes with them hold @job's nodes.  0 or -ENOMEM. */
int visit_reserve(const struct job *job);
/* Moves cache->touched and their weights to cache->visits.  0 or -ENOMEM. */
int visit_build(const struct job *job);
void visit_forget(struct query_cache *c); /* clears what a failed query left */

/*
 * Rows.  Until rows_link() .next says whether the row is open (its children are wanted).  A row is
 * made below @parent (NO_ROW: among the tops) by whoever knows that it is new, else found or made;
 * NO_ROW when memory is out.
 */
void rows_begin(struct query_cache *c);
uint32_t rows_group(const struct job *job, uint32_t group);
uint32_t rows_new_child(const struct job *job, uint32_t parent, uint32_t function);
uint32_t rows_child(const struct job *job, uint32_t parent, uint32_t function);
int rows_link(const struct job *job); /* moves the rows to the answer, linked */

static inline bool row_is_open(const struct query_cache *c, uint32_t row)
{
	return c->rows.at[row].next != 0;
}

#endif
