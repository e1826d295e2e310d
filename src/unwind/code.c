/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct code) * CODE_WAYS == 64, "a set is a cache line");

enum { ENTRIES = CODE_SETS * CODE_WAYS };

/* An object each: their addresses tell them apart. */
const struct unwind_rule code_no_rows, code_jit, code_nowhere;

/* An empty entry: what is true of the last address where nothing is mapped. */
static struct code nothing(void)
{
	return (struct code){ UINT64_MAX, code_how(&code_nowhere), UINT64_MAX, IMAGE_UNKNOWN, 0 };
}

int code_init(struct code_table *t, struct images *images)
{
	struct code *entries = aligned_alloc(64, sizeof(*entries) * ENTRIES);

	if (entries == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < ENTRIES; i++)
		entries[i] = nothing();
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
	for (size_t i = 0; i < ENTRIES; i++) {
		if (t->forgotten >> t->entries[i].image % 64 & 1)
			t->entries[i] = nothing();
	}
	t->forgotten = 0;
}

/* What space and images say. */
static int ask(const struct code_view *v, uint64_t addr, struct code *ret)
{
	struct place p = space_resolve(v->space, v->pid, addr);
	const struct image_key *key = space_image(v->space, p.image);
	const struct unwind_rule *rule = &code_no_rows;
	int err = 0;

	if (p.image == IMAGE_UNKNOWN)
		rule = &code_nowhere;
	else if (key != NULL && key->kind == IMAGE_ANON)
		rule = &code_jit;
	else
		err = images_rule(v->table->images, p.image, p.offset, &rule);
	*ret = (struct code){ addr, code_how(rule), p.offset, p.image, v->generation };
	return err == -EAGAIN ? err : 0;
}

int code_ask(const struct code_view *v, uint64_t addr, const struct code **ret)
{
	struct code *asked = &v->table->asked;
	int err = ask(v, addr, asked);

	*ret = asked;
	if (err == 0 && !code_is(asked, &code_nowhere)) {
		struct code *set = code_set(v, addr);

		set[1] = set[0];
		set[0] = *asked;
	}
	return err;
}
