/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording in place of a live session: -i FILE.  Reads it once from its beginning to its end.
 */
#ifndef PTOP_RECORDING_H
#define PTOP_RECORDING_H

#include "base/reason.h"
#include "options.h"

/*
 * Prints what --format asks for.  0, or -errno with a sentence: also where the recording is
 * damaged, after all that could be read of it has been printed.
 */
int recording_run(const struct options *o, struct reason *why);

#endif
