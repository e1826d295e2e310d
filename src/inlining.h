/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that were inlined at each node of the trie, for struct naming.  They arrive later
 * than names: nodes that wait are asked about again when something came.  Each list of functions is
 * kept once, and stays when nodes are renumbered.
 */
#ifndef PTOP_INLINING_H
#define PTOP_INLINING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/query.h"
#include "profile/stacks.h"
#include "symbol/symbols.h"

/* All zeroes is empty and knows nothing inlined. */
struct inlining {
	VEC(uint32_t) chain_of;  /* by node: index into .chains; 0: nothing inlined */
	VEC(uint32_t) chains;    /* struct naming's */
	struct map by_hash;      /* hash of a list -> its index */
	struct map by_key;       /* symbols_inlined_key() -> index of the list */
	VEC(uint32_t) waiting;   /* nodes */
	uint32_t names, inlined; /* generations of the symbols when last asked */
};

void inlining_done(struct inlining *in);

/* Node ids mean something else now. */
void inlining_reset(struct inlining *in);

/*
 * Asks about new nodes and, where anything came, those that wait.  Sets @naming's chains; raises
 * its generation where an old node's changed.  0 or -ENOMEM.
 */
int inlining_update(struct inlining *in, struct symbols *sy, const struct stacks *stacks,
		    struct naming *naming);

#endif
