/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where tables of read files are kept from one start to the next (image/cache.h). */
#ifndef PTOP_KEPT_H
#define PTOP_KEPT_H

#include <stdio.h>

#include "base/reason.h"
#include "image/cache.h"
#include "options.h"

/*
 * The directory that the options tell.  0, and *@ret NULL where nothing is kept: ptop then reads
 * anew, which only takes longer.  -errno where a directory was asked for and cannot be had.
 */
int kept_open(struct cache **ret, const struct options *o, struct reason *why);

/* One line for --doctor: where, and how much of it; or why not. */
void kept_report(FILE *out, const struct options *o);

#endif
