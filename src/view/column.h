/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Columns of rows: which there are (columns.def), how wide, which are shown where, and their text.
 * Batch output uses the same titles and the same texts.
 */
#ifndef PTOP_VIEW_COLUMN_H
#define PTOP_VIEW_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/query.h"

enum column_align { COLUMN_LEFT, COLUMN_RIGHT };

enum column_id {
#define COLUMN(id, title, width, align, views, drop, from, help) COLUMN_##id,
#include "view/columns.def"
#undef COLUMN
	NR_COLUMNS
};

enum {
	V_FUNCTIONS = 1 << QUERY_FUNCTIONS,
	V_TREE = 1 << QUERY_TREE,
	V_CALLERS = 1 << QUERY_CALLERS,
	V_MODULES = 1 << QUERY_MODULES,
};

struct column {
	const char *name, *title, *help;
	int width;
	enum column_align align;
	unsigned views;
	int drop, from;
};

extern const struct column columns[NR_COLUMNS];

/* What shares are of, and how a share becomes CPUs. */
struct column_base {
	uint64_t weight;  /* 100 % */
	double cpus;      /* all of .weight as CPUs; NAN: no such thing */
	bool by_self;     /* the sorted share is self, not total */
	uint64_t samples; /* 100 % of what is counted by samples */
	/* of the row, where it is a module */
	bool is_module;
	uint64_t unnamed, broken;
};

/* Text of a number column of @row ("" for others); not padded. */
void column_number(enum column_id id, const struct row *row, const struct column_base *base,
		   char *out, size_t size);

/* @part of @whole in percent: "97.1%", "100%", "<0.1%" never rounds something to nothing. */
void column_percent(uint64_t part, uint64_t whole, char *out, size_t size);

/* Where each column stands on a line of @columns; width 0: not shown. */
struct column_layout {
	int at[NR_COLUMNS];
	int width[NR_COLUMNS];
};

/* Lays out a view's columns, dropping the least important until the function has room. */
void column_layout(enum orientation view, int columns, bool has_cpus, struct column_layout *ret);

#endif
