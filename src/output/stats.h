/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording holds, as counts: "records TYPE COUNT" for each type of record and "samples
 * EVENT COUNT" for each event, tab-separated, a line each, those that are zero left out.
 */
#ifndef PTOP_OUTPUT_STATS_H
#define PTOP_OUTPUT_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct stats_row {
	const char *kind; /* "records", "samples" */
	const char *name; /* any bytes */
	uint64_t count;
};

/* 0, -ENOMEM, or -errno of the write. */
int stats_write(FILE *out, const struct stats_row *rows, size_t nr);

#endif
