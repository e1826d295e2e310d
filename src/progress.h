/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the reading of a recording is, in words: for the screen, and on standard error where that
 * is a terminal and standard output is none.
 */
#ifndef PTOP_PROGRESS_H
#define PTOP_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session.h"

/* "43% of 512M, 1.2M samples, 3s left" */
void progress_text(const struct session_progress *p, char *out, size_t size);

struct progress_line {
	bool on;
	uint64_t shown_ns; /* 0: nothing is on the line */
};

void progress_begin(struct progress_line *l);
/* Writes the line, a few times a second at most. */
void progress_show(struct progress_line *l, const struct session *s);
/* Wipes it out. */
void progress_end(struct progress_line *l);

#endif
