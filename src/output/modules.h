/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The modules of a refresh as text: a table, and below it, for each module shown, what is wrong
 * with its names or unwind rows and the command that mends it.  A part of text_write().
 */
#ifndef PTOP_OUTPUT_MODULES_H
#define PTOP_OUTPUT_MODULES_H

#include "output/emit.h"

/* Writes to memory; 0 or -ENOMEM.  @r->modules is there. */
int modules_text(FILE *out, const struct report *r, struct scratch *scratch, bool ascii);

#endif
