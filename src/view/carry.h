/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row's identity is made of functions, and "libfoo.so" becomes foo() once the file has been read.
 * What a person did with the row, open or closed or chosen, goes to the row that takes its place:
 * under the same parent, new, named, of the same module, the largest of these.  What is below keeps
 * its folds too, where its own functions stay.
 */
#ifndef PTOP_VIEW_CARRY_H
#define PTOP_VIEW_CARRY_H

#include "profile/query.h"
#include "view/list.h"
#include "view/ui.h"

/* Between two answers of one list.  Costs nothing but a look at each row where none was folded or
 * chosen by hand.  Without memory folds are lost. */
void carry_folds(struct list *l, const struct answer *before, const struct answer *now,
		 const struct ui_names *names);

#endif
