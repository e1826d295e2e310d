/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms does not tell where a module begins, only its symbols; its text does at the page of the
 * first one, for functions stand at the very beginning.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/kallsyms.h"

#define PAGE_BYTES 4096u

enum fate { UNTOUCHED, MOVED, DROPPED };

/* What becomes of a module's symbols. */
struct shift {
	uint64_t first; /* address of its first symbol */
	uint64_t by;
	enum fate fate;
};

/* "[nf_tables]" is where the recording had "nf_tables"; '-' in the names of files is '_' here. */
static const struct kallsyms_module *placed(const struct kallsyms_places *p, const char *name)
{
	size_t len = strlen(name);

	if (len < 3 || name[0] != '[')
		return NULL;
	for (size_t i = 0; i < p->nr_modules; i++) {
		const char *have = p->modules[i].name;

		if (strlen(have) == len - 2 && !memcmp(have, name + 1, len - 2))
			return &p->modules[i];
	}
	return NULL;
}

static struct shift *shifts_of(const struct kallsyms *k, const struct kallsyms_places *p,
			       uint64_t kernel_by)
{
	struct shift *s = calloc(k->modules.nr, sizeof(*s));

	if (!s)
		return NULL;
	for (size_t i = 0; i < k->at.nr; i++) {
		struct shift *of = &s[k->at.at[i].module];

		if (k->at.at[i].name && (!of->first || k->at.at[i].addr < of->first))
			of->first = k->at.at[i].addr;
	}
	s[0] = (struct shift){ .by = kernel_by, .fate = MOVED };
	for (size_t i = 1; i < k->modules.nr; i++) {
		const struct kallsyms_module *m = placed(p, &k->names.at[k->modules.at[i]]);

		if (m) {
			s[i].by = m->start - s[i].first / PAGE_BYTES * PAGE_BYTES;
			s[i].fate = MOVED;
		} else {
			s[i].fate = kernel_by ? DROPPED : UNTOUCHED;
		}
	}
	return s;
}

static int compare(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

int kallsyms_move(struct kallsyms *k, const struct kallsyms_places *p)
{
	uint64_t anchor = p->anchor && !strcmp(p->anchor, "_stext") ? k->stext : k->text;
	struct shift *shifts;
	size_t nr = 0;

	if (!p->at)
		return 0;
	if (!anchor)
		return -ESRCH;
	shifts = shifts_of(k, p, p->at - anchor);
	if (!shifts)
		return -ENOMEM;
	for (size_t i = 0; i < k->at.nr; i++) {
		struct ksym sym = k->at.at[i];
		const struct shift *s = &shifts[sym.module];

		if (s->fate == DROPPED)
			continue;
		sym.addr += s->by;
		k->at.at[nr++] = sym;
	}
	k->at.nr = nr;
	qsort(k->at.at, nr, sizeof(k->at.at[0]), compare);
	free(shifts);
	return 0;
}
