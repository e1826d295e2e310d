/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_LOG2 = 13, SETS = 1 << SETS_LOG2, WAYS = 2 }; /* 512 KiB */
_Static_assert(sizeof(struct code) * WAYS == 64, "a set is a cache line");

/* Where there is no rule, which of these tells why. */
static const struct unwind_rule no_rows, jit, nowhere;

int code_init(struct code_table *t, struct images *images)
{
	struct code *entries = aligned_alloc(64, sizeof(*entries) * SETS * WAYS);

	if (entries == NULL)
		return -ENOMEM;
	memset(entries, 0, sizeof(*entries) * SETS * WAYS);
	*t = (struct code_table){ .images = images, .entries = entries };
	return 0;
}

void code_done(struct code_table *t)
{
	free(t->entries);
	t->entries = NULL;
}

void code_forget(struct code_table *t, uint32_t image)
{
	t->forgotten |= 1ull << image % 64;
}

void code_settle(struct code_table *t)
{
	if (t->forgotten == 0)
		return;
	for (size_t i = 0; i < (size_t)SETS * WAYS; i++) {
		if (t->forgotten >> t->entries[i].image % 64 & 1)
			t->entries[i].generation = 0;
	}
	t->forgotten = 0;
}

static struct code *set_of(const struct code_table *t, uint64_t addr, uint32_t generation)
{
	uint64_t mix = (addr ^ (uint64_t)generation << 32) * 0x9e3779b97f4a7c15ull;

	return &t->entries[(mix >> (64 - SETS_LOG2)) * WAYS];
}

/* What space and images say. */
static int ask(const struct code_view *v, uint64_t addr, struct code *ret)
{
	struct place p = space_resolve(v->space, v->pid, addr);
	const struct image_key *key = space_image(v->space, p.image);
	int err;

	*ret = (struct code){ addr, &nowhere, p.offset, p.image, v->generation };
	if (p.image == IMAGE_UNKNOWN)
		return 0;
	if (key != NULL && key->kind == IMAGE_ANON) {
		ret->rule = &jit;
		return 0;
	}
	ret->rule = &no_rows;
	err = images_rule(v->table->images, p.image, p.offset, &ret->rule);
	return err == -EAGAIN ? err : 0;
}

int code_find(const struct code_view *v, uint64_t addr, struct code *ret)
{
	struct code *set = set_of(v->table, addr, v->generation);
	int err;

	for (int i = 0; i < WAYS; i++) {
		if (set[i].addr == addr && set[i].generation == v->generation &&
		    set[i].generation != 0) {
			*ret = set[i];
			return 0;
		}
	}
	err = ask(v, addr, ret);
	if (err == 0 && ret->rule != &nowhere && v->generation != 0) {
		set[1] = set[0];
		set[0] = *ret;
	}
	return err;
}

enum code_rows code_rows(const struct code *c)
{
	if (c->rule == &no_rows)
		return CODE_NONE;
	if (c->rule == &jit)
		return CODE_JIT;
	return c->rule == &nowhere ? CODE_NOWHERE : CODE_ROWS;
}
