/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, as flamegraph.pl and its kin read them: "group;outermost;...;innermost
 * COUNT\n", one line a distinct path of functions, COUNT in samples.  Written from the report's
 * tree, so that their sum is "samples". In a name ';' becomes ':', and control characters and
 * line breaks '?'.
 */
#ifndef PTOP_OUTPUT_FOLDED_H
#define PTOP_OUTPUT_FOLDED_H

#include <stdio.h>

#include "output/report.h"

/*
 * Writes all stacks and flushes; min_percent and rows do not apply.  0, -ENOMEM, or -errno of
 * the write.
 */
int folded_write(FILE *out, const struct report *r);

#endif
