/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes what a live session collects as a perf.data recording, while it goes on (-o FILE): the
 * records as the kernel gave them, in order of time, and before them what was there already when
 * sampling began.
 *
 * The file bears its name from the beginning and can be opened at any time; at most one second of
 * records is not in it yet.  An error of writing is said once in the session's notes, and what came
 * until then stays readable.
 */
#ifndef PTOP_RECORDER_H
#define PTOP_RECORDER_H

#include "output_file.h"
#include "session.h"

struct recorder;
struct layout;
struct perfdata_writer;

/*
 * Begins, after session_open() and before the first record is taken, in @file, which output_begin()
 * made for @path; ends it.  Borrows @s and @path.  0, or -errno with a sentence.
 */
int recorder_open(struct recorder **ret, struct session *s, const char *path,
		  struct output_file *file, struct reason *why);

/* Finishes the file, before session_close(); NULL is fine.  0, or -errno with a sentence where it
 * is not complete. */
int recorder_close(struct recorder *r, struct reason *why);

/* struct source's, of what is sampled here and now. */
int recorder_save_begin(const struct session *s, int fd, struct perfdata_writer **ret,
			int *ret_clockid);
int recorder_save_kernel(const struct session *s, struct perfdata_writer *w,
			 const struct layout *l);

#endif
