/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address of a process -> its place and the rule to unwind there, remembered.  Private to this
 * folder.
 *
 * The memory is a fixed table of pairs, one pair a cache line, keyed by (mappings, address).  What
 * it holds is true as long as the mappings are the same (space_generation()) and the image is
 * neither forgotten nor loaded anew (code_forget()).
 */
#ifndef PTOP_UNWIND_CODE_H
#define PTOP_UNWIND_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/images.h"
#include "image/rows.h"
#include "space/space.h"

enum code_rows {
	CODE_ROWS,   /* .rule is of the image's rows; RULE_CFA_NONE: they do not cover it */
	CODE_NONE,   /* an image without rows, or one that could not be read */
	CODE_JIT,    /* anonymous memory */
	CODE_NOWHERE /* no mapping, or none that may be executed */
};

struct code {
	uint64_t addr;
	const struct unwind_rule *rule;
	uint64_t offset;
	uint32_t image;
	uint32_t generation; /* of the mappings; 0: an empty entry */
};

struct code_table {
	struct images *images;
	struct code *entries;
	uint64_t forgotten; /* a bit for each image number % 64 whose entries must go */
};

int code_init(struct code_table *t, struct images *images); /* borrows; 0 or -ENOMEM */
void code_done(struct code_table *t);
void code_forget(struct code_table *t, uint32_t image);

/* Before each walk: drops what was forgotten. */
void code_settle(struct code_table *t);

struct code_view { /* whose addresses are meant */
	struct code_table *table;
	struct space *space;
	pid_t pid;
	uint32_t generation;
};

/*
 * What is at @addr.  0; -EAGAIN: ret->image is still being read (its place is right, its rule is
 * none).
 */
int code_find(const struct code_view *v, uint64_t addr, struct code *ret);

enum code_rows code_rows(const struct code *c);

#endif
