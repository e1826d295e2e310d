/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A refresh as text: the header's lines as on the screen, then the functions by self, for
 * people, grep and awk.
 */
#ifndef PTOP_OUTPUT_TEXT_H
#define PTOP_OUTPUT_TEXT_H

#include <stdio.h>

#include "output/report.h"

/*
 * Writes one refresh and flushes.  @ascii: no byte beyond 0x7e.  0, or -errno of the write
 * (-EPIPE, -ENOSPC).
 */
int text_write(FILE *out, const struct report *r, bool ascii);

#endif
