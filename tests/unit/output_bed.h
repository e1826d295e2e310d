/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report made by hand, for the tests of the writers: 10 samples of weight 100, 2.5 CPUs.
 *
 *	start (app)		self 0	total 10
 *	  work (app)		self 3	total 6
 *	    leaf (libc)		self 3	total 3
 *	  rest (app)		self 2	total 4
 *	    leaf (libc)		self 1	total 1
 *	    tiny (app)		self 1	total 1
 */
#ifndef PTOP_TESTS_OUTPUT_BED_H
#define PTOP_TESTS_OUTPUT_BED_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/report.h"

#define NONE UINT32_MAX

enum { F_START, F_WORK, F_LEAF, F_REST, F_TINY, NR_FUNCTIONS };

struct bed {
	struct report report;
	const char *functions[NR_FUNCTIONS], *modules[NR_FUNCTIONS], *groups[2];
	struct answer flat, tree, by_module;
	struct row module_rows[2];
	struct module_row module_counts[2];
	struct row flat_rows[16], tree_rows[16];
};

static inline const char *bed_function(void *ctx, uint32_t id)
{
	return ((struct bed *)ctx)->functions[id];
}

static inline const char *bed_module(void *ctx, uint32_t id)
{
	return ((struct bed *)ctx)->modules[id];
}

static inline const char *bed_group(void *ctx, uint32_t id)
{
	return ((struct bed *)ctx)->groups[id];
}

/* Appends a row below @parent, behind its siblings; samples weigh 100 each. */
static inline uint32_t bed_row(struct answer *a, uint32_t function, uint32_t group, uint32_t parent,
			       uint64_t self, uint64_t total)
{
	uint32_t i = (uint32_t)a->nr_rows++;
	uint32_t *link = parent == NONE ? &a->first : &a->rows[parent].first_child;

	while (*link != NONE)
		link = &a->rows[*link].next;
	*link = i;
	a->rows[i] = (struct row){ .function = function,
				   .group = group,
				   .parent = parent,
				   .first_child = NONE,
				   .next = NONE,
				   .depth = parent == NONE ? 0 : a->rows[parent].depth + 1,
				   .self = self * 100,
				   .total = total * 100,
				   .self_samples = self,
				   .total_samples = total };
	if (parent != NONE)
		a->rows[parent].has_children = true;
	return i;
}

static inline void bed_answers(struct bed *b, uint32_t group, uint32_t flat_top, uint32_t tree_top)
{
	uint32_t start, work, rest;

	bed_row(&b->flat, F_LEAF, group, flat_top, 4, 4);
	bed_row(&b->flat, F_WORK, group, flat_top, 3, 6);
	bed_row(&b->flat, F_REST, group, flat_top, 2, 4);
	bed_row(&b->flat, F_TINY, group, flat_top, 1, 1);
	bed_row(&b->flat, F_START, group, flat_top, 0, 10);
	start = bed_row(&b->tree, F_START, group, tree_top, 0, 10);
	work = bed_row(&b->tree, F_WORK, group, start, 3, 6);
	rest = bed_row(&b->tree, F_REST, group, start, 2, 4);
	bed_row(&b->tree, F_LEAF, group, work, 3, 3);
	bed_row(&b->tree, F_LEAF, group, rest, 1, 1);
	bed_row(&b->tree, F_TINY, group, rest, 1, 1);
}

static inline void bed_about(void *ctx, uint32_t image, struct report_module *ret)
{
	static const struct report_module known[] = {
		{ "app", "/srv/app", "0123abcd", "symtab", "", "no", "it has no .eh_frame", "yes",
		  "", "" },
		{ "libc.so.6", "/usr/lib/libc.so.6", "", "dynsym",
		  "only exported functions have names", "yes", "", "no",
		  "it has no debug information", "apt install libc6-dbg" },
	};

	(void)ctx;
	*ret = known[image];
}

/* Images 0 (app) and 1 (libc). */
static inline void bed_modules(struct bed *b)
{
	b->by_module = (struct answer){ .rows = b->module_rows,
					.modules = b->module_counts,
					.first = NONE,
					.orientation = QUERY_MODULES,
					.weight = 1000,
					.samples = 10 };
	bed_row(&b->by_module, 0, QUERY_NO_GROUP, NONE, 6, 10);
	bed_row(&b->by_module, 1, QUERY_NO_GROUP, NONE, 4, 4);
	b->module_counts[0] = (struct module_row){ .unnamed = 3,
						   .self_ends = { 4, 1, 1, 0 },
						   .ends = { 6, 1, 0, 1 } };
	b->module_counts[1] =
		(struct module_row){ .self_ends = { 2, 1, 0, 1 }, .ends = { 0, 1, 0, 0 } };
	b->report.modules = &b->by_module;
}

static inline void bed_init(struct bed *b)
{
	static const char *const exclude[] = { "kernel", "idle" };
	static const char *const notes[] = { "user side only" };
	static const uint32_t ids[] = { 4242 };

	memset(b, 0, sizeof(*b));
	b->functions[F_START] = "start";
	b->functions[F_WORK] = "work";
	b->functions[F_LEAF] = "leaf";
	b->functions[F_REST] = "rest";
	b->functions[F_TINY] = "tiny";
	for (int i = 0; i < NR_FUNCTIONS; i++)
		b->modules[i] = i == F_LEAF ? "libc.so.6" : "app";
	b->groups[0] = "app[1]";
	b->groups[1] = "other[2]";
	b->flat = (struct answer){
		.rows = b->flat_rows, .first = NONE, .weight = 1000, .samples = 10
	};
	b->tree = (struct answer){ .rows = b->tree_rows,
				   .first = NONE,
				   .orientation = QUERY_TREE,
				   .weight = 1000,
				   .samples = 10 };
	b->report = (struct report){
		.version = "0.1.0",
		.host = "box",
		.target = { .kind = "pids", .ids = ids, .nr_ids = 1, .command = "mysqld" },
		.event = "cpu-clock",
		.by_frequency = true,
		.rate = 999,
		.exclude = exclude,
		.nr_exclude = 2,
		.start_s = 86400.25,
		.duration_s = 4,
		.samples = 10,
		.weight = 1000,
		.cpus = 2.5,
		.lost = 7,
		.dropped = 8,
		.throttled = 9,
		.ends = { [STACK_COMPLETE] = 6,
			  [STACK_CUT] = 2,
			  [STACK_BROKEN] = 1,
			  [STACK_DEEP] = 1 },
		.unnamed = 3,
		.hidden_idle_cpus = 1.5,
		.own_cpu_percent = 0.61,
		.own_rss_bytes = 23000000,
		.notes = notes,
		.nr_notes = 1,
		.functions = &b->flat,
		.tree = &b->tree,
		.names = { .ctx = b,
			   .function = bed_function,
			   .module = bed_module,
			   .group = bed_group,
			   .about = bed_about },
	};
	bed_answers(b, QUERY_NO_GROUP, NONE, NONE);
}

/* The same, below the group app[1]. */
static inline void bed_group_all(struct bed *b)
{
	uint32_t flat_top, tree_top;

	b->flat.nr_rows = b->tree.nr_rows = 0;
	b->flat.first = b->tree.first = NONE;
	b->flat.grouped = b->tree.grouped = true;
	b->report.group = REPORT_GROUP_PROCESS;
	flat_top = bed_row(&b->flat, UINT32_MAX, 0, NONE, 0, 10);
	tree_top = bed_row(&b->tree, UINT32_MAX, 0, NONE, 0, 10);
	bed_answers(b, 0, flat_top, tree_top);
}

/* Bytes that no terminal may ever see, and no UTF-8. */
#define HOSTILE                            \
	"\033]0;x\007a;b\nc\r\xff\xc2\x9b" \
	"31m\xe2\x80\xae\x7f"

#endif
