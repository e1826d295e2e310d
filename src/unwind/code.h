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
#include "unwind/plain.h"

struct code {
	uint64_t addr;
	uint64_t how; /* plain.h, or a pointer to the rule: code_rule() */
	uint64_t offset;
	uint32_t image;
	uint32_t generation; /* of the mappings */
};

enum { CODE_SETS_LOG2 = 13, CODE_SETS = 1 << CODE_SETS_LOG2, CODE_WAYS = 2 }; /* 512 KiB */

struct code_table {
	struct images *images;
	struct code *entries;
	struct code asked;  /* the last that is not kept in .entries */
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

/* What code_find() does where the memory does not know. */
int code_ask(const struct code_view *v, uint64_t addr, const struct code **ret);

/* The pair of entries where an address would be. */
static inline struct code *code_set(const struct code_view *v, uint64_t addr)
{
	uint64_t mix = (addr ^ (uint64_t)v->generation << 32) * 0x9e3779b97f4a7c15ull;

	return &v->table->entries[(mix >> (64 - CODE_SETS_LOG2)) * CODE_WAYS];
}

/* What is remembered of @addr, or NULL. */
static inline const struct code *code_known(const struct code_view *v, uint64_t addr)
{
	const struct code *set = code_set(v, addr);

	for (int i = 0; i < CODE_WAYS; i++) {
		if (set[i].addr == addr && set[i].generation == v->generation)
			return &set[i];
	}
	return NULL;
}

/*
 * What is at @addr.  0; -EAGAIN: (*ret)->image is still being read (its place is right, its rule is
 * none).  Borrowed until the next call.
 */
static inline int code_find(const struct code_view *v, uint64_t addr, const struct code **ret)
{
	const struct code *known = code_known(v, addr);

	if (known == NULL)
		return code_ask(v, addr, ret);
	*ret = known;
	return 0;
}

/* Where there is no rule, which of these tells why. */
extern const struct unwind_rule code_no_rows, code_jit, code_nowhere;

static inline uint64_t code_how(const struct unwind_rule *rule)
{
	return plain_of(rule) ?: (uint64_t)(uintptr_t)rule;
}

static inline struct unwind_rule code_rule(const struct code *c)
{
	if (c->how & PLAIN)
		return plain_rule(c->how);
	return *(const struct unwind_rule *)(uintptr_t)c->how;
}

/* Nothing is known of how to unwind there. */
static inline bool code_has_no_rule(const struct code *c)
{
	const struct unwind_rule *rule = (const struct unwind_rule *)(uintptr_t)c->how;

	return !(c->how & PLAIN) && rule->cfa == RULE_CFA_NONE && !(rule->flags & RULE_END);
}

static inline bool code_is(const struct code *c, const struct unwind_rule *rule)
{
	return c->how == (uint64_t)(uintptr_t)rule;
}

#endif
