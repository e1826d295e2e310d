/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What views and output tell of a module besides its samples: where its names are from, whether it
 * has unwind rows, why not, and the command that mends it.  Borrows the pipeline's parts.
 *
 * The package that holds a file is searched for in the background (modules_work()); until it is
 * found there is no advice.
 */
#ifndef PTOP_MODULES_H
#define PTOP_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline.h"
#include "view/ui.h"

struct modules;

/*
 * @here: the samples are of this machine, whose packages may be asked; @live: and of now, so that
 * its processes and settings may be named in commands.  NULL without memory.
 */
struct modules *modules_new(const struct pipeline *pl, bool here, bool live);
void modules_free(struct modules *m);

/* The callback of struct ui_names, with struct modules as its context. */
void modules_get(void *modules, uint32_t image, struct ui_module *ret);

/* The same, but nothing is searched for: without advice unless it is known. */
void modules_peek(struct modules *m, uint32_t image, struct ui_module *ret);

/* Searches for packages for about @budget_ns; true while there is more to do. */
bool modules_work(struct modules *m, uint64_t budget_ns);
bool modules_searching(const struct modules *m);

#endif
