/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/emit.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"

void scratch_done(struct scratch *s)
{
	vec_done(s);
}

const char *scrubbed(struct scratch *s, const char *text, bool ascii)
{
	size_t len = strlen(text);

	/* Scrubbing never makes a string longer. */
	if (vec_reserve(s, len + 1))
		return NULL;
	s->nr = text_scrub(s->at, s->cap, text, len, ascii);
	return s->at;
}

const char *row_name(const struct report *r, const struct row *row)
{
	const char *name = "";

	if (row->function != UINT32_MAX)
		name = r->names.function(r->names.ctx, row->function);
	else if (row->group != QUERY_NO_GROUP)
		name = r->names.group(r->names.ctx, row->group);
	return *name ? name : "[unknown]";
}

int emit(FILE *out, const char *bytes, size_t len)
{
	errno = 0;
	if (fwrite(bytes, 1, len, out) != len || fflush(out) != 0)
		return errno ? -errno : -EIO;
	return 0;
}
