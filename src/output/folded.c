/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the tree in depth-first order with the path so far as text, and the length of it at
 * each depth.
 */
#include "output/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "output/emit.h"

#define NO_ROW UINT32_MAX

struct path {
	VEC(char) text;
	VEC(size_t) ends; /* by depth: bytes of text up to and with that row */
	struct scratch scratch;
};

static void path_done(struct path *p)
{
	vec_done(&p->text);
	vec_done(&p->ends);
	scratch_done(&p->scratch);
}

/* Sets the part of the path at @depth, and cuts off what was below. */
static int path_set(struct path *p, size_t depth, const char *name)
{
	const char *clean = scrubbed(&p->scratch, name, false);
	size_t start = depth ? p->ends.at[depth - 1] : 0;
	size_t len = clean ? strlen(clean) : 0;
	char *at;

	if (!clean || vec_reserve(&p->text, start + len + 1) || vec_reserve(&p->ends, depth + 1))
		return -ENOMEM;
	at = p->text.at + start;
	if (depth)
		*at++ = ';';
	memcpy(at, clean, len);
	for (size_t i = 0; i < len; i++)
		if (at[i] == ';')
			at[i] = ':';
	p->text.nr = start + (depth ? 1 : 0) + len;
	p->ends.nr = depth + 1;
	p->ends.at[depth] = p->text.nr;
	return 0;
}

static int write_rows(FILE *f, const struct report *r, struct path *p)
{
	const struct answer *a = r->tree;
	uint32_t i = a->first;
	size_t depth = 0;

	while (i != NO_ROW) {
		const struct row *row = &a->rows[i];

		if (path_set(p, depth, row_name(r, row)))
			return -ENOMEM;
		if (row->self_samples) {
			fwrite(p->text.at, 1, p->text.nr, f);
			fprintf(f, " %" PRIu64 "\n", row->self_samples);
		}
		if (row->first_child != NO_ROW) {
			i = row->first_child;
			depth++;
			continue;
		}
		while (a->rows[i].next == NO_ROW && a->rows[i].parent != NO_ROW) {
			i = a->rows[i].parent;
			depth--;
		}
		i = a->rows[i].next;
	}
	if (!a->grouped && a->bare_samples)
		fprintf(f, "[no stack] %" PRIu64 "\n", a->bare_samples);
	return 0;
}

int folded_write(FILE *out, const struct report *r)
{
	struct path path = { 0 };
	char *bytes = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&bytes, &len);
	int err;

	if (!f)
		return -ENOMEM;
	err = r->tree ? write_rows(f, r, &path) : 0;
	if (fclose(f) != 0 && !err)
		err = -ENOMEM;
	if (!err)
		err = emit(out, bytes, len);
	free(bytes);
	path_done(&path);
	return err;
}
