/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples in memory as a perf.data recording: each with its time, thread, CPU, period and its
 * stack as a callchain, and the mappings and names that explain those.
 *
 * The store holds places in files, not addresses.  A frame gets the address where its thread's
 * process has that place mapped; where nothing tells (any more), the file is given a place of its
 * own in that process, so that its functions are found all the same.  ptop's own frames such as
 * "[broken stack]" have no address and are left out; kernel frames point at their functions'
 * beginnings.  Threads that ended and were folded into one, or whose number came again, get numbers
 * from 2^30 on.
 */
#ifndef PTOP_HISTORY_SAVE_H
#define PTOP_HISTORY_SAVE_H

#include <stdint.h>
#include <sys/types.h>

#include "session.h"

/* Writes all that is held to @fd, which is taken.  0 or -errno. */
int history_write(const struct session *s, int fd, uint64_t *ret_samples);

/*
 * The same in a process of its own, which has the memory as it is at this moment: sampling and the
 * screen go on.  All zeroes: none is at work.
 */
struct history_job {
	pid_t pid;
	char path[64];
};

/* Begins a new file in the working directory.  0, or -errno with a sentence. */
int history_begin(struct history_job *job, const struct session *s, struct reason *why);

/* True once when it has ended, with the sentence that tells how. */
bool history_ended(struct history_job *job, struct reason *ret);

#endif
