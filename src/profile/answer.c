// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The invariants of an answer, checked by walking it along its links.  Independent of how it was
 * made: nothing here is shared with the query but the hash of paths.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/query.h"

#define NONE UINT32_MAX

struct sums {
	uint64_t self, total, self_samples, total_samples;
};

static bool is_group(const struct row *r)
{
	return r->function == UINT32_MAX;
}

static bool is_flat(const struct answer *a)
{
	return a->orientation == QUERY_FUNCTIONS || a->orientation == QUERY_MODULES;
}

static const char *check_order(const struct answer *a, const struct row *r, const struct row *next)
{
	bool by_self = is_flat(a) && !is_group(r);
	uint64_t major = by_self ? r->self : r->total,
		 next_major = by_self ? next->self : next->total;
	uint64_t minor = by_self ? r->total : r->self,
		 next_minor = by_self ? next->total : next->self;

	if (major < next_major || (major == next_major && minor < next_minor))
		return "siblings are out of order";
	return NULL;
}

/* The row by itself and against its parent. */
static const char *check_row(const struct answer *a, uint32_t i, uint32_t parent)
{
	const struct row *r = &a->rows[i];
	const struct row *p = parent == NONE ? NULL : &a->rows[parent];
	uint64_t path;

	if (r->parent != parent)
		return "a row's parent is not the row that lists it";
	if (p && parent >= i)
		return "a row is before its parent";
	if (r->depth != (p ? p->depth + 1 : 0))
		return "a row's depth is wrong";
	if (is_group(r) != (a->grouped && !p))
		return "a group's row is not at the top, or another row is where a group belongs";
	if (p ? r->group != p->group : !a->grouped && r->group != QUERY_NO_GROUP)
		return "a row's group is wrong";
	if (is_group(r))
		path = query_path_top(r->group);
	else
		path = query_path(p ? p->path : query_path_top(QUERY_NO_GROUP), r->function);
	if (r->path != path)
		return "a row's path is wrong";
	if (!r->total_samples)
		return "a row has no samples";
	if (r->total < r->self || r->total_samples < r->self_samples)
		return "a row's total is less than its self";
	return NULL;
}

/* A row against its children's sums. */
static const char *check_sums(const struct answer *a, const struct row *r, const struct sums *sums)
{
	bool flat = is_flat(a);
	uint64_t below = flat ? sums->self : sums->total;
	uint64_t samples_below = flat ? sums->self_samples : sums->total_samples;

	if (r->first_child != NONE) {
		if (!r->has_children)
			return "a row has children but says it has none";
		if (r->total != r->self + below ||
		    r->total_samples != r->self_samples + samples_below)
			return "a row's total is not its self and its children's";
	} else if (!r->has_children && !(flat && !is_group(r))) {
		if (r->total != r->self || r->total_samples != r->self_samples)
			return "a row without children has more than its self";
	}
	return NULL;
}

/* Checks the siblings from @first on and sums them up.  @seen counts every row that is reached. */
static const char *check_family(const struct answer *a, uint32_t first, uint32_t parent,
				uint8_t *seen, struct sums *ret_sums)
{
	const struct row *above = parent == NONE ? NULL : &a->rows[parent];
	uint64_t most = above ? above->total : a->weight;
	const char *wrong;

	memset(ret_sums, 0, sizeof(*ret_sums));
	for (uint32_t i = first; i != NONE; i = a->rows[i].next) {
		const struct row *r;

		if (i >= a->nr_rows || seen[i]++)
			return "a link leads out of the rows or to a row twice";
		r = &a->rows[i];
		wrong = check_row(a, i, parent);
		if (!wrong && r->next < a->nr_rows)
			wrong = check_order(a, r, &a->rows[r->next]);
		if (!wrong && r->total > most)
			wrong = "a row has more than all there is above it";
		if (wrong)
			return wrong;
		ret_sums->self += r->self;
		ret_sums->total += r->total;
		ret_sums->self_samples += r->self_samples;
		ret_sums->total_samples += r->total_samples;
	}
	return NULL;
}

static const char *check_tops(const struct answer *a, const struct sums *tops)
{
	bool flat = is_flat(a) && !a->grouped;
	uint64_t weight = flat ? tops->self : tops->total;
	uint64_t samples = flat ? tops->self_samples : tops->total_samples;

	if (!a->grouped) {
		weight += a->bare_weight;
		samples += a->bare_samples;
	} else if (tops->self != a->bare_weight || tops->self_samples != a->bare_samples) {
		return "the groups' self is not what is without frames";
	}
	if (weight != a->weight || samples != a->samples)
		return "the top rows are not all there is";
	return NULL;
}

/* What modules say of samples adds up to what the answer says of all. */
static const char *check_modules(const struct answer *a)
{
	uint64_t unnamed = 0, ends[NR_STACK_ENDS] = { 0 };
	bool open = true;

	for (size_t i = 0; i < a->nr_rows; i++) {
		const struct row *r = &a->rows[i];
		const struct module_row *m = &a->modules[i];
		uint64_t self = 0;

		for (int e = 0; e < NR_STACK_ENDS; e++) {
			self += m->self_ends[e];
			ends[e] += m->ends[e];
		}
		if (!is_group(r) && (self != r->self_samples || m->unnamed > self))
			return "a module's samples are not those by end or by name";
		unnamed += m->unnamed;
		open &= !r->has_children || r->first_child != NONE;
	}
	if (open && unnamed != a->unnamed_samples)
		return "the modules' samples without names are not all there are";
	for (int e = 0; e < NR_STACK_ENDS; e++) {
		if (ends[e] > a->ends[e])
			return "more stacks end in modules than at all";
	}
	return NULL;
}

static const char *check_answer(const struct answer *a)
{
	uint64_t ends = 0;

	for (int i = 0; i < NR_STACK_ENDS; i++)
		ends += a->ends[i];
	if (ends != a->samples)
		return "the stacks' ends are not as many as the samples";
	if (a->hidden_idle > a->hidden_weight)
		return "more is hidden as idle than at all";
	if (a->unnamed_samples > a->samples - a->bare_samples)
		return "more is unnamed than has frames";
	return NULL;
}

static const char *check_links(const struct answer *a, uint8_t *seen)
{
	struct sums sums;
	const char *wrong = check_family(a, a->first, NONE, seen, &sums);

	if (!wrong)
		wrong = check_tops(a, &sums);
	for (uint32_t i = 0; i < a->nr_rows && !wrong; i++) {
		wrong = check_family(a, a->rows[i].first_child, i, seen, &sums);
		if (!wrong)
			wrong = check_sums(a, &a->rows[i], &sums);
	}
	for (size_t i = 0; i < a->nr_rows && !wrong; i++) {
		if (!seen[i])
			wrong = "a row is not linked";
	}
	return wrong;
}

const char *answer_check(const struct answer *a)
{
	const char *wrong = check_answer(a);
	uint8_t *seen;

	if (!wrong && a->modules)
		wrong = check_modules(a);

	if (wrong)
		return wrong;
	seen = calloc(a->nr_rows + 1, 1);
	if (!seen)
		return "no memory to check";
	wrong = check_links(a, seen);
	free(seen);
	return wrong;
}
