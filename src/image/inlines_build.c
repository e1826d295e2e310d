/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranges of inlined functions nest, so going through them by address with a stack gives the steps.
 * Where they do not (compilers err), the inner one ends with the outer one.
 */
#include "image/inlines_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image/inlines_impl.h"

#define REACH UINT64_C(0xffffffff) /* of a table, from its base on */

struct layout {
	VEC(struct inlines_span) spans;
	VEC(struct inlines_step) steps;
	uint64_t base;
};

int inlines_open(struct debug_info *info, struct inlines_file **ret, struct reason *why)
{
	struct inlines_file *f = calloc(1, sizeof(*f));
	int err;

	if (f == NULL) {
		debug_info_close(info);
		return reason_set(why, -ENOMEM, "no memory for its debug information");
	}
	f->info = *info;
	memset(info, 0, sizeof(*info));
	err = units_index(f, why);
	if (err != 0) {
		inlines_close(f);
		return err;
	}
	*ret = f;
	return 0;
}

void inlines_close(struct inlines_file *f)
{
	if (f == NULL)
		return;
	vec_done(&f->ranges);
	debug_info_close(&f->info);
	free(f);
}

size_t inlines_mapped(const struct inlines_file *f)
{
	return f->info.size + (f->info.alt != NULL ? f->info.alt->size : 0);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* All ranges of a unit are answered for, once it is read. */
static int add_unit_spans(const struct inlines_file *f, uint64_t unit, struct layout *l)
{
	for (size_t i = 0; i < f->ranges.nr; i++) {
		const struct unit_range *r = &f->ranges.at[i];

		if (r->unit == unit &&
		    vec_push(&l->spans, ((struct inlines_span){ r->start, r->end })) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* No unit: nothing is inlined in all the room up to the next one. */
static int add_gap(const struct inlines_file *f, size_t next, uint64_t vaddr, struct layout *l)
{
	struct inlines_span gap = { vaddr, vaddr + 1 };

	if (next < f->ranges.nr)
		gap.end = f->ranges.at[next].start;
	if (next > 0)
		gap.start = f->ranges.at[next - 1].end;
	return vec_push(&l->spans, gap);
}

static bool answered(const struct layout *l, uint64_t vaddr)
{
	for (size_t i = 0; i < l->spans.nr; i++) {
		if (vaddr >= l->spans.at[i].start && vaddr < l->spans.at[i].end)
			return true;
	}
	return false;
}

static int take_place(struct inlines_file *f, struct inlines_draft *d, struct layout *l,
		      uint64_t vaddr)
{
	size_t at = units_find(f, vaddr);
	Dwarf_Die unit;
	int err;

	if (at == f->ranges.nr || f->ranges.at[at].start > vaddr)
		return add_gap(f, at, vaddr, l);
	err = add_unit_spans(f, f->ranges.at[at].unit, l);
	if (err != 0 || f->ranges.at[at].split ||
	    dwarf_offdie(f->info.dwarf, f->ranges.at[at].unit, &unit) == NULL)
		return err;
	return draft_unit(d, &unit);
}

static int span_cmp(const void *va, const void *vb)
{
	const struct inlines_span *a = va, *b = vb;

	return (a->start > b->start) - (a->start < b->start);
}

/* Sorted and apart, and no further from the base than steps can tell; @first is within. */
static void settle_spans(struct layout *l, uint64_t first)
{
	struct inlines_span *s = l->spans.at;
	size_t kept = 0;

	qsort(s, l->spans.nr, sizeof(*s), span_cmp);
	l->base = s[0].start;
	if (first - l->base > REACH / 2)
		l->base = first - REACH / 2;
	for (size_t i = 0; i < l->spans.nr; i++) {
		uint64_t from = kept > 0 ? s[kept - 1].end : l->base;

		if (s[i].start < from)
			s[i].start = from;
		if (s[i].end > l->base + REACH)
			s[i].end = l->base + REACH;
		if (s[i].start < s[i].end)
			s[kept++] = s[i];
	}
	l->spans.nr = kept;
}

static int range_cmp(const void *va, const void *vb)
{
	const struct inlined_range *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->scope > b->scope) - (a->scope < b->scope); /* outer ones were met first */
}

static int add_step(struct layout *l, uint64_t vaddr, uint32_t scope)
{
	struct inlines_step step = { 0, scope };
	struct inlines_step *last = l->steps.nr > 0 ? &l->steps.at[l->steps.nr - 1] : NULL;

	if (vaddr > l->base + REACH)
		return 0;
	step.start = vaddr > l->base ? (uint32_t)(vaddr - l->base) : 0;
	if (last != NULL && last->start == step.start) {
		last->scope = scope;
		if (l->steps.nr > 1 && last[-1].scope == scope)
			l->steps.nr--;
		return 0;
	}
	if ((last != NULL ? last->scope : INLINES_NONE) == scope)
		return 0;
	return vec_push(&l->steps, step);
}

/* Those that are open at an address, the innermost last. */
struct open_ranges {
	VEC(struct inlined_range) at;
};

/* Closes what ends at or before @vaddr. */
static int close_until(struct layout *l, struct open_ranges *o, uint64_t vaddr)
{
	int err = 0;

	while (err == 0 && o->at.nr > 0 && o->at.at[o->at.nr - 1].end <= vaddr) {
		uint64_t end = o->at.at[--o->at.nr].end;

		err = add_step(l, end, o->at.nr > 0 ? o->at.at[o->at.nr - 1].scope : INLINES_NONE);
	}
	return err;
}

static int make_steps(struct layout *l, struct inlines_draft *d)
{
	struct open_ranges open = { 0 };
	int err = 0;

	if (d->ranges.nr > 0)
		qsort(d->ranges.at, d->ranges.nr, sizeof(d->ranges.at[0]), range_cmp);
	for (size_t i = 0; err == 0 && i < d->ranges.nr; i++) {
		struct inlined_range r = d->ranges.at[i];

		err = close_until(l, &open, r.start);
		if (open.at.nr > 0 && open.at.at[open.at.nr - 1].end < r.end)
			r.end = open.at.at[open.at.nr - 1].end;
		if (err == 0)
			err = add_step(l, r.start, r.scope);
		if (err == 0)
			err = vec_push(&open.at, r);
	}
	if (err == 0)
		err = close_until(l, &open, UINT64_MAX);
	vec_done(&open.at);
	return err;
}

/* Scopes without a name are left out of the chains that they are in. */
static void drop_nameless(struct inlines_draft *d)
{
	for (size_t i = 0; i < d->scopes.nr; i++) {
		struct inlines_scope *s = &d->scopes.at[i];

		while (s->parent != INLINES_NONE && d->scopes.at[s->parent].name == 0)
			s->parent = d->scopes.at[s->parent].parent;
	}
	for (size_t i = 0; i < d->ranges.nr; i++) {
		uint32_t *scope = &d->ranges.at[i].scope;

		while (*scope != INLINES_NONE && d->scopes.at[*scope].name == 0)
			*scope = d->scopes.at[*scope].parent;
	}
	for (size_t i = 0; i < d->scopes.nr; i++) {
		if (d->scopes.at[i].name == 0)
			d->scopes.at[i].name = d->strings.nr > 1 ? 1 : 0;
	}
}

static int write_out(const struct layout *l, const struct inlines_draft *d,
		     struct inlines_bytes *ret)
{
	static const char none[1];
	struct inlines_header h = {
		.magic = INLINES_MAGIC,
		.version = INLINES_VERSION,
		.base = l->base,
		.nr_spans = (uint32_t)l->spans.nr,
		.nr_steps = (uint32_t)l->steps.nr,
		/* Without any string no scope has a name. */
		.nr_scopes = d->strings.nr > 1 ? (uint32_t)d->scopes.nr : 0,
		.spans_at = sizeof(h),
		.strings_size = d->strings.nr > 0 ? d->strings.nr : sizeof(none),
	};
	uint8_t *out;

	h.steps_at = h.spans_at + h.nr_spans * sizeof(struct inlines_span);
	h.scopes_at = h.steps_at + (uint64_t)h.nr_steps * sizeof(struct inlines_step);
	h.strings_at = h.scopes_at + (uint64_t)h.nr_scopes * sizeof(struct inlines_scope);
	h.size = h.strings_at + h.strings_size;
	out = malloc(h.size);
	if (out == NULL)
		return -ENOMEM;
	memcpy(out, &h, sizeof(h));
	memcpy(out + h.spans_at, l->spans.at, h.nr_spans * sizeof(struct inlines_span));
	if (h.nr_steps > 0)
		memcpy(out + h.steps_at, l->steps.at, h.nr_steps * sizeof(struct inlines_step));
	if (h.nr_scopes > 0)
		memcpy(out + h.scopes_at, d->scopes.at, h.nr_scopes * sizeof(struct inlines_scope));
	memcpy(out + h.strings_at, d->strings.nr > 0 ? d->strings.at : none, h.strings_size);
	*ret = (struct inlines_bytes){ out, h.size };
	return 0;
}

static int make(struct inlines_draft *d, struct layout *l, uint64_t first,
		struct inlines_bytes *ret)
{
	struct inlines checked;
	int err;

	drop_nameless(d);
	settle_spans(l, first);
	err = make_steps(l, d);
	if (err == 0)
		err = write_out(l, d, ret);
	if (err == 0 && inlines_check(ret->at, ret->size, &checked) != 0) {
		free(ret->at);
		err = -EBADMSG;
	}
	return err;
}

int inlines_build(struct inlines_file *f, const uint64_t *vaddrs, unsigned nr, uint64_t budget_ns,
		  struct inlines_bytes *ret, struct reason *why)
{
	struct inlines_draft *d = calloc(1, sizeof(*d));
	uint64_t until = now_ns() + budget_ns;
	struct layout l = { 0 };
	int err = d == NULL ? -ENOMEM : 0;

	for (unsigned i = 0; err == 0 && i < nr && (i == 0 || now_ns() < until); i++) {
		if (!answered(&l, vaddrs[i]))
			err = take_place(f, d, &l, vaddrs[i]);
	}
	if (err == 0)
		err = make(d, &l, vaddrs[0], ret);
	vec_done(&l.spans);
	vec_done(&l.steps);
	if (d != NULL) {
		vec_done(&d->ranges);
		vec_done(&d->scopes);
		vec_done(&d->depths);
		vec_done(&d->functions);
		vec_done(&d->strings);
		map_done(&d->by_entry);
	}
	free(d);
	return err == 0 ? 0
			: reason_set(why, err, "its inlined functions cannot be read: %s",
				     err == -EFBIG ? "too many" : strerror(-err));
}
