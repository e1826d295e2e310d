/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The query by module (QUERY_MODULES): which images samples were taken in, in which of them names
 * are missing, and in which of them stacks that are not whole end.  query_run() leads here.
 *
 * Pure, without a cache: it is asked while its view is open only.  Cost: the samples in the window
 * (a few ns each), a pass over the trie, and for each stack seen the images on it.
 */
#ifndef PTOP_PROFILE_MODULES_H
#define PTOP_PROFILE_MODULES_H

#include "profile/query.h"

/*
 * As query_run().  A sample whose stack has no frame but ptop's own is bare.  The frame just inside
 * ptop's own outermost one ("[broken stack]") is where the stack ended.  0 or -ENOMEM.
 */
int query_modules(const struct store *s, const struct stacks *t, const struct naming *n,
		  const struct query *q, struct answer *ret);

#endif
