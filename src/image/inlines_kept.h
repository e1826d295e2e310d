/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug information that the loader's worker keeps open, since the next request is likely for the
 * same file: its index and, where it was packed, its unpacking need not be paid for again.  Few
 * files, least recently used ones go first, and all go when they grow large.
 */
#ifndef PTOP_IMAGE_INLINES_KEPT_H
#define PTOP_IMAGE_INLINES_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "image/inlines_build.h"
#include "image/key.h"

#define INLINES_KEPT_MAX 4u

struct inlines_kept {
	struct kept_file {
		struct file_key key;
		struct inlines_file *file; /* NULL: free */
		uint64_t used;
	} at[INLINES_KEPT_MAX];
	uint64_t clock;
};

/*
 * inlines_build() of fds[0], whose common parts are in one of the others where its
 * .gnu_debugaltlink tells of one.  Borrows the descriptors.
 */
int inlines_kept_build(struct inlines_kept *k, const int *fds, unsigned nr_fds,
		       const uint64_t *vaddrs, unsigned nr, struct inlines_bytes *ret,
		       struct reason *why);

void inlines_kept_drop(struct inlines_kept *k);

#endif
