/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front end without a screen: a refresh each --delay, printed to standard output.  Without
 * --window each covers the time since the one before, without gaps; the last one, cut short by a
 * signal or the target's end, is printed, too.
 */
#ifndef PTOP_BATCH_H
#define PTOP_BATCH_H

#include "session.h"

/* Runs until --count, a signal or the target's end.  0, or -errno with a sentence. */
int batch_run(struct session *s, struct reason *why);

#endif
