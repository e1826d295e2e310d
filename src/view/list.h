/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows as a person walks them: folds, order, cursor and scrolling over answers that are replaced
 * every second.
 *
 * All state is by the rows' identity (struct row's .path), none by row number: the cursor stays
 * on its row when rows move, folds survive a row that comes and goes.  Rows keep their place
 * until they move by more than the noise of counting (twice the square root of their samples).
 * Borrows the answer during each call.
 */
#ifndef PTOP_VIEW_LIST_H
#define PTOP_VIEW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/query.h"

/* What modules may be ordered by, besides their shares. */
enum list_count { COUNT_NONE, COUNT_UNNAMED, COUNT_BROKEN };

/* Samples of a module that are less than perfect; 0 of a row that is none. */
uint64_t list_count_of(enum list_count count, const struct answer *a, uint32_t row);

struct list {
	bool all; /* rows are open unless in .flipped; else closed unless in it */
	struct map flipped;
	struct map anchors;  /* path -> the two shares (floats) that give a row its place */
	bool by_self;        /* order by self, else by total */
	enum list_count by;  /* order by this first */
	VEC(uint32_t) order; /* every row of the answer, children behind their parent */
	VEC(uint32_t) shown; /* of them the ones that no fold hides: indices of rows */
	bool pinned;         /* the person chose a row; else the cursor is the top line */
	uint64_t path;       /* the row chosen */
	size_t cursor;       /* line it is on now */
	size_t top;          /* first line on the screen */
};

void list_done(struct list *l);

/* Takes another answer into account.  0, or -ENOMEM with nothing shown. */
int list_update(struct list *l, const struct answer *a);

/* After a fold was changed: the lines again.  0 or -ENOMEM. */
int list_refold(struct list *l, const struct answer *a);

/* Forgets the rows' places: the next update sorts exactly. */
void list_resort(struct list *l);

/* The row under the cursor, NULL when there is none. */
const struct row *list_row(const struct list *l, const struct answer *a);

void list_move(struct list *l, const struct answer *a, long lines);
void list_go(struct list *l, const struct answer *a, size_t line);
bool list_seek(struct list *l, const struct answer *a, uint64_t path); /* false: not shown */

bool list_open(const struct list *l, const struct row *row);
int list_set_open(struct list *l, uint64_t path, bool open);
void list_set_all(struct list *l, bool open);

/* Opens every row above row @index. */
int list_reveal(struct list *l, const struct answer *a, uint32_t index);

/* Scrolls so that the cursor is among @lines lines. */
void list_scroll(struct list *l, size_t lines);

#endif
