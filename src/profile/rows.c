// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows are made in any order that puts parents first and found again by their path, whose hash is
 * both identity and place in the table (parent and function are compared all the same).  At the end
 * siblings are brought together by a counting sort and each family is sorted by weight.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/query_internal.h"

#define MIN_SLOTS 256u
#define SORT_RUN 8u
#define TOP_PATH 0x70746f702f746f70ull

/* What siblings are sorted by. */
struct row_key {
	uint64_t major, minor;
	uint32_t tie;
	uint32_t row;
};

uint64_t query_path_top(uint32_t group)
{
	return hash_u64(TOP_PATH + group);
}

uint64_t query_path(uint64_t parent_path, uint32_t function)
{
	return hash_u64(parent_path * 0x9e3779b97f4a7c15ull + function + 1);
}

void rows_begin(struct query_cache *c)
{
	vec_clear(&c->rows);
	if (c->nr_row_slots > MIN_SLOTS && c->nr_rows_before < c->nr_row_slots / 16) {
		free(c->row_slots);
		c->row_slots = NULL;
		c->nr_row_slots = 0;
	} else if (c->nr_row_slots) {
		memset(c->row_slots, 0, c->nr_row_slots * sizeof(*c->row_slots));
	}
}

/* Makes the table (larger, if there was one) so that all rows and one more fit. */
static int grow_slots(struct query_cache *c)
{
	size_t nr = c->nr_row_slots ? c->nr_row_slots : MIN_SLOTS;
	uint32_t *slots;

	while (nr / 2 <= c->rows.nr)
		nr *= 2;
	slots = calloc(nr, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->row_slots);
	c->row_slots = slots;
	c->nr_row_slots = nr;
	for (size_t i = 0; i < c->rows.nr; i++) {
		size_t slot = c->rows.at[i].path & (nr - 1);

		while (slots[slot])
			slot = (slot + 1) & (nr - 1);
		slots[slot] = (uint32_t)i + 1;
	}
	return 0;
}

static bool is_open(const struct job *job, uint64_t path)
{
	return !job->query->expanded || map_find(job->query->expanded, path);
}

/* Appends a row; NO_ROW when memory is out. */
static uint32_t rows_push(const struct job *job, uint32_t group, uint32_t parent, uint32_t function,
			  uint64_t path)
{
	struct query_cache *c = job->cache;
	struct row row = {
		.function = function,
		.group = group,
		.parent = parent,
		.first_child = NO_ROW,
		.next = is_open(job, path),
		.path = path,
	};

	if (vec_reserve(&c->rows, c->nr_rows_before))
		return NO_ROW;
	if (parent != NO_ROW)
		row.depth = c->rows.at[parent].depth + 1;
	if (vec_push(&c->rows, row))
		return NO_ROW;
	return (uint32_t)c->rows.nr - 1;
}

/* Finds the slot of a path, which is free if there is no such row. */
static size_t find_slot(const struct query_cache *c, uint64_t path, uint32_t parent,
			uint32_t function)
{
	size_t slot = path & (c->nr_row_slots - 1);

	for (; c->row_slots[slot]; slot = (slot + 1) & (c->nr_row_slots - 1)) {
		const struct row *r = &c->rows.at[c->row_slots[slot] - 1];

		if (r->path == path && r->function == function && r->parent == parent)
			break;
	}
	return slot;
}

static uint32_t rows_get(const struct job *job, uint32_t group, uint32_t parent, uint32_t function,
			 uint64_t path)
{
	struct query_cache *c = job->cache;
	uint32_t row;
	size_t slot;

	if (c->rows.nr >= c->nr_row_slots / 2 && grow_slots(c))
		return NO_ROW;
	slot = find_slot(c, path, parent, function);
	if (c->row_slots[slot])
		return c->row_slots[slot] - 1;
	row = rows_push(job, group, parent, function, path);
	if (row != NO_ROW)
		c->row_slots[slot] = row + 1;
	return row;
}

uint32_t rows_group(const struct job *job, uint32_t group)
{
	return rows_push(job, group, NO_ROW, UINT32_MAX, query_path_top(group));
}

static uint32_t row_group(const struct job *job, uint32_t row)
{
	return row == NO_ROW ? QUERY_NO_GROUP : job->cache->rows.at[row].group;
}

static uint64_t row_path(const struct job *job, uint32_t row)
{
	return row == NO_ROW ? query_path_top(QUERY_NO_GROUP) : job->cache->rows.at[row].path;
}

uint32_t rows_new_child(const struct job *job, uint32_t parent, uint32_t function)
{
	return rows_push(job, row_group(job, parent), parent, function,
			 query_path(row_path(job, parent), function));
}

uint32_t rows_child(const struct job *job, uint32_t parent, uint32_t function)
{
	return rows_get(job, row_group(job, parent), parent, function,
			query_path(row_path(job, parent), function));
}

/* Functions by self, all else by total. */
static struct row_key key_of(const struct job *job, uint32_t row)
{
	const struct answer *a = job->answer;
	const uint32_t *ranks = job->naming->ranks;
	const struct row *r = &a->rows[row];
	bool group = r->function == UINT32_MAX;
	bool by_self = a->orientation == QUERY_FUNCTIONS && !group;

	return (struct row_key){
		.major = by_self ? r->self : r->total,
		.minor = by_self ? r->total : r->self,
		.tie = group   ? r->group
		       : ranks ? ranks[r->function]
			       : r->function,
		.row = row,
	};
}

/* Whether @a comes before @b. */
static inline bool key_before(const struct row_key *a, const struct row_key *b)
{
	if (a->major != b->major)
		return a->major > b->major;
	if (a->minor != b->minor)
		return a->minor > b->minor;
	return a->tie < b->tie;
}

static void insertion_sort(struct row_key *keys, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		struct row_key key = keys[i];
		size_t j = i;

		for (; j > 0 && key_before(&key, &keys[j - 1]); j--)
			keys[j] = keys[j - 1];
		keys[j] = key;
	}
}

/* Merge sort, bottom up; @other has room for @nr as well.  Twice as quick as qsort(), which counts
 * at each refresh. */
static void sort_keys(struct row_key *keys, struct row_key *other, size_t nr)
{
	struct row_key *from = keys, *to = other, *swap;

	for (size_t i = 0; i < nr; i += SORT_RUN)
		insertion_sort(keys + i, nr - i < SORT_RUN ? nr - i : SORT_RUN);
	for (size_t run = SORT_RUN; run < nr; run *= 2) {
		for (size_t i = 0; i < nr; i += 2 * run) {
			size_t a = i, a_end = i + run < nr ? i + run : nr;
			size_t b = a_end, b_end = a_end + run < nr ? a_end + run : nr;

			for (size_t k = i; k < b_end; k++) {
				bool first = b == b_end ||
					     (a < a_end && key_before(&from[a], &from[b]));

				to[k] = from[first ? a++ : b++];
			}
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != keys)
		memcpy(keys, from, nr * sizeof(*keys));
}

/* Links one family; returns its first row. */
static uint32_t link_family(struct row *rows, struct row_key *keys, struct row_key *other,
			    size_t nr)
{
	sort_keys(keys, other, nr);
	for (size_t i = 0; i < nr; i++)
		rows[keys[i].row].next = i + 1 < nr ? keys[i + 1].row : NO_ROW;
	return keys[0].row;
}

static int reserve_keys(struct query_cache *c, size_t nr)
{
	if (nr <= c->nr_keys)
		return 0;
	free(c->keys);
	free(c->starts);
	c->nr_keys = 0;
	c->keys = malloc(2 * nr * sizeof(*c->keys));
	c->starts = malloc((nr + 2) * sizeof(*c->starts));
	if (!c->keys || !c->starts)
		return -ENOMEM;
	c->nr_keys = nr;
	return 0;
}

/* Fills keys family by family; family f (0: the tops, else parent + 1) is starts[f] .. starts[f +
 * 1]. */
static void gather_families(const struct job *job)
{
	struct query_cache *c = job->cache;
	const struct answer *a = job->answer;
	uint32_t *starts = c->starts;

	memset(starts, 0, (a->nr_rows + 2) * sizeof(*starts));
	for (size_t i = 0; i < a->nr_rows; i++)
		starts[(size_t)(a->rows[i].parent + 1u) + 1]++;
	for (size_t f = 1; f < a->nr_rows + 2; f++)
		starts[f] += starts[f - 1];
	/* From the last row back, starts[f + 1] moves from the end of family f down to its start.
	 */
	for (size_t i = a->nr_rows; i-- > 0;)
		c->keys[--starts[(size_t)(a->rows[i].parent + 1u) + 1]] = key_of(job, (uint32_t)i);
}

int rows_link(const struct job *job)
{
	struct query_cache *c = job->cache;
	struct answer *a = job->answer;

	if (reserve_keys(c, c->rows.nr))
		return -ENOMEM;
	c->nr_rows_before = c->rows.nr;
	a->rows = c->rows.at;
	a->nr_rows = c->rows.nr;
	c->rows.at = NULL;
	c->rows.nr = c->rows.cap = 0;
	a->first = NO_ROW;
	if (!a->nr_rows)
		return 0;
	gather_families(job);
	for (size_t f = 0; f <= a->nr_rows; f++) {
		/* After gathering, starts[f + 1] is where family f begins. */
		uint32_t begin = c->starts[f + 1];
		uint32_t end = f == a->nr_rows ? (uint32_t)a->nr_rows : c->starts[f + 2];
		uint32_t first;

		if (begin == end)
			continue;
		first = link_family(a->rows, c->keys + begin, c->keys + a->nr_rows, end - begin);
		if (f == 0)
			a->first = first;
		else
			a->rows[f - 1].first_child = first;
	}
	return 0;
}
