/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is printed of a recording without asking the store: its counts, its samples as lines.  All
 * else of a recording is a session (source_recording.c).
 */
#ifndef PTOP_RECORDING_H
#define PTOP_RECORDING_H

#include "base/reason.h"
#include "options.h"

/*
 * --format stats and script.  0, or -errno with a sentence: also where the recording is damaged,
 * after all that could be read of it has been printed.
 */
int recording_print(const struct options *o, struct reason *why);

#endif
