/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What queries and views call things: the function of each trie node, and the groups of tasks.
 *
 * Names arrive later than samples: names_update() extends the list for new nodes and asks again for
 * those whose image was still loading, so each refresh costs only what is new.  Borrows symbols,
 * space and stacks.
 */
#ifndef PTOP_NAMES_H
#define PTOP_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/query.h"
#include "profile/stacks.h"
#include "space/space.h"
#include "symbol/symbols.h"
#include "view/ui.h"

struct names;

struct names *names_new(struct symbols *symbols, const struct space *space,
			const struct stacks *stacks);
void names_free(struct names *n);

/* The functions of all nodes as known now; borrowed until the next call.  NULL without memory. */
const struct naming *names_update(struct names *n);

/* After stacks_prune(): node ids mean something else. */
void names_reset(struct names *n);

/* Is the function there the outermost one of a thread?  UNSURE while its image is being read. */
enum entry_answer { ENTRY_NO, ENTRY_YES, ENTRY_UNSURE };
enum entry_answer names_entry(struct names *n, uint32_t image, uint64_t offset);

/*
 * One address for all of a kernel function's: the first that was seen of it, or @addr itself where
 * no name is known.  Kernel stacks are many and differ most by where in the same functions they
 * were; nothing shown depends on that, and so the trie stays small.
 */
uint64_t names_kernel_place(struct names *n, uint64_t addr);

/* An image is forgotten, its id may come again: what names_entry() kept is dropped. */
void names_forget(struct names *n);

/*
 * The group of each task; ids keep their meaning from call to call.  Sets q's group_of, nr_tasks
 * and nr_groups, borrowed until the next call; without grouping sets them to none.  0 or -ENOMEM.
 */
int names_group_tasks(struct names *n, enum ui_grouping grouping, struct query *q);

/* For views: the callbacks of struct ui_names, with struct names as their context. */
void names_function(void *names, uint32_t function, struct ui_function *ret);
void names_group(void *names, enum ui_grouping grouping, uint32_t group, char *out, size_t size);

#endif
