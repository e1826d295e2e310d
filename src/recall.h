/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callchains seen before, word for word, and the stacks they became: a program in a loop, and a
 * processor without work, show the same ones again and again.  What a chain means depends on more
 * than its words; the caller puts that into the ground, and forgets where it changes.
 *
 * Bounded: a chain that has not come for a while gives way to new ones.  Well below 1 MB.
 */
#ifndef PTOP_RECALL_H
#define PTOP_RECALL_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

/* What a chain is read by, besides its words. */
struct recall_ground {
	uint32_t mappings; /* space_generation() of the process */
	uint32_t kind;     /* of the record, by the pipeline's number */
	uint8_t cpumode;
};

/* What became of it. */
struct recalled {
	uint32_t stack; /* of the stacks */
	uint8_t end;    /* enum stack_end */
};

struct recall;

struct recall *recall_new(void);
void recall_free(struct recall *r);

/* False where the chain is not known; recall_keep() right after takes it in. */
bool recall_find(struct recall *r, const struct recall_ground *ground, const struct u64s *chain,
		 struct recalled *ret);
/* Keeps the chain that was looked for last (the same bytes), unless it is very long. */
void recall_keep(struct recall *r, const struct u64s *chain, const struct recalled *what);

/* Everything: names, images or stacks are not what they were. */
void recall_forget(struct recall *r);

#endif
