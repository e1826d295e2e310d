/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the writers share: clean strings, and bytes that get out whole or fail.
 */
#ifndef PTOP_OUTPUT_EMIT_H
#define PTOP_OUTPUT_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "output/report.h"

/* Room for one clean string; all zeroes is empty. */
struct scratch {
	char *at;
	size_t nr, cap;
};

void scratch_done(struct scratch *s);

/*
 * @text without anything that is not printable UTF-8 (text_scrub()); borrowed until the next
 * use of @s.  NULL without memory.
 */
const char *scrubbed(struct scratch *s, const char *text, bool ascii);

/* The name of a tree's or table's row, never empty: its function's, or its group's. */
const char *row_name(const struct report *r, const struct row *row);

/* Writes and flushes.  0 or -errno; a caller that wants -EPIPE ignores SIGPIPE. */
int emit(FILE *out, const char *bytes, size_t len);

#endif
