/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines are gathered, sorted and laid over what was there in one sweep over the addresses: a heap
 * holds the lines that are open at a place, the latest on top.  O(n log n) whatever the file says.
 */
#include "symbol/perfmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

enum { ENTRIES_MAX = 1 << 20, NAMES_MAX = 1 << 26, NAME_MAX_BYTES = 512 };

void perfmap_done(struct perfmap *m)
{
	vec_done(&m->at);
	vec_done(&m->names);
	m->full = false;
}

size_t perfmap_bytes(const struct perfmap *m)
{
	return m->at.cap * sizeof(m->at.at[0]) + m->names.cap;
}

const struct perfmap_entry *perfmap_find(const struct perfmap *m, uint64_t addr)
{
	size_t low = 0, high = m->at.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->at.at[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->at.nr && m->at.at[low].start <= addr ? &m->at.at[low] : NULL;
}

static bool take_hex(const char **at, const char *end, uint64_t *ret)
{
	size_t used;

	while (*at < end && **at == ' ')
		++*at;
	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
		*at += 2;
	if (parse_hex(*at, (size_t)(end - *at), ret, &used))
		return false;
	*at += used;
	return *at < end && **at == ' ';
}

/* Adds the line's entry behind the others; 0, also for a line that says nothing, or -ENOMEM. */
static int parse_line(struct perfmap *m, const char *at, const char *end)
{
	struct perfmap_entry e = { .line = (uint32_t)m->at.nr + 1, .name = (uint32_t)m->names.nr };
	uint64_t bytes;
	size_t size;

	if (!take_hex(&at, end, &e.start) || !take_hex(&at, end, &bytes))
		return 0;
	while (at < end && *at == ' ')
		at++;
	if (end > at && end[-1] == '\r')
		end--;
	size = strnlen(at, (size_t)(end - at));
	e.end = e.start + bytes;
	if (!size || e.end <= e.start)
		return 0;
	if (size > NAME_MAX_BYTES)
		size = NAME_MAX_BYTES;
	if (m->at.nr >= ENTRIES_MAX || m->names.nr + size + 1 > NAMES_MAX) {
		m->full = true;
		return 0;
	}
	if (vec_reserve(&m->names, m->names.nr + size + 1) || vec_push(&m->at, e))
		return -ENOMEM;
	memcpy(m->names.at + m->names.nr, at, size);
	m->names.at[m->names.nr + size] = '\0';
	m->names.nr += size + 1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct perfmap_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

struct heap { /* of entries, the latest line first */
	const struct perfmap_entry **at;
	size_t nr;
};

static void heap_push(struct heap *h, const struct perfmap_entry *e)
{
	size_t i = h->nr++;

	for (; i && h->at[(i - 1) / 2]->line < e->line; i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = e;
}

static void heap_pop(struct heap *h)
{
	const struct perfmap_entry *last = h->at[--h->nr];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= h->nr)
			break;
		if (child + 1 < h->nr && h->at[child + 1]->line > h->at[child]->line)
			child++;
		if (h->at[child]->line <= last->line)
			break;
		h->at[i] = h->at[child];
		i = child;
	}
	h->at[i] = last;
}

/* Adds a piece to @out, joined to the one before if it is of the same line. */
static size_t put(struct perfmap_entry *out, size_t nr, uint64_t start, uint64_t end, uint32_t name)
{
	if (nr && out[nr - 1].end == start && out[nr - 1].name == name) {
		out[nr - 1].end = end;
		return nr;
	}
	out[nr] = (struct perfmap_entry){ .start = start, .end = end, .name = name };
	return nr + 1;
}

/* @in sorted by start; @out has room for twice as many pieces.  Returns the pieces. */
static size_t sweep(const struct perfmap_entry *in, size_t nr, struct heap *open,
		    struct perfmap_entry *out)
{
	size_t i = 0, nr_out = 0;
	uint64_t at = 0;

	while (i < nr || open->nr) {
		const struct perfmap_entry *top;
		uint64_t end;

		if (!open->nr && at < in[i].start)
			at = in[i].start;
		for (; i < nr && in[i].start <= at; i++)
			heap_push(open, &in[i]);
		while (open->nr && open->at[0]->end <= at)
			heap_pop(open);
		if (!open->nr)
			continue;
		top = open->at[0];
		end = top->end;
		for (; i < nr && in[i].start < end; i++) {
			if (in[i].line > top->line) {
				end = in[i].start;
				break;
			}
			if (in[i].end > top->end)
				heap_push(open, &in[i]);
		}
		nr_out = put(out, nr_out, at, end, top->name);
		at = end;
	}
	return nr_out;
}

/* The first @fresh of @in are sorted; sorts the others and writes all of them sorted to @out. */
static void merge_sorted(struct perfmap_entry *in, size_t fresh, size_t nr,
			 struct perfmap_entry *out)
{
	size_t old = 0, new = fresh;

	qsort(in + fresh, nr - fresh, sizeof(*in), compare);
	for (size_t i = 0; i < nr; i++) {
		bool first = new == nr || (old < fresh && compare(&in[old], &in[new]) <= 0);

		out[i] = first ? in[old++] : in[new ++];
	}
}

/* Entries from @fresh on are new lines in their order; those before are sorted and older than all
 * of them: they are passed over once, not sorted again, for a few lines may come each second. */
static int merge(struct perfmap *m, size_t fresh)
{
	struct heap open = { 0 };
	struct perfmap_entry *out, *sorted;
	size_t nr = m->at.nr, i = fresh ? fresh : 1;

	while (i < nr && m->at.at[i - 1].end <= m->at.at[i].start)
		i++;
	if (i >= nr) /* appended in order, as most are */
		return 0;
	out = malloc(2 * nr * sizeof(*out));
	sorted = malloc(nr * sizeof(*sorted));
	open.at = malloc(nr * sizeof(*open.at));
	if (!out || !sorted || !open.at) {
		free(out);
		free(sorted);
		free(open.at);
		return -ENOMEM;
	}
	for (i = 0; i < fresh; i++)
		m->at.at[i].line = 0;
	merge_sorted(m->at.at, fresh, nr, sorted);
	m->at.cap = 2 * nr;
	m->at.nr = sweep(sorted, nr, &open, out);
	free(open.at);
	free(sorted);
	free(m->at.at);
	m->at.at = out;
	return 0;
}

int perfmap_parse(struct perfmap *m, const char *bytes, size_t size, bool all, size_t *ret_used)
{
	size_t fresh = m->at.nr, used = 0;
	int err = 0;

	while (!err && used < size) {
		const char *newline = memchr(bytes + used, '\n', size - used);

		if (!newline && !all)
			break;
		if (!newline)
			newline = bytes + size;
		err = parse_line(m, bytes + used, newline);
		used = (size_t)(newline - bytes) + (newline < bytes + size);
	}
	if (!err)
		err = merge(m, fresh);
	if (err)
		m->at.nr = fresh;
	*ret_used = used;
	return err;
}
