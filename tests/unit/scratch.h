/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folders that a test makes and takes away again. */
#ifndef PTOP_UNIT_SCRATCH_H
#define PTOP_UNIT_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

/* Removes a folder that mkdtemp() made, with all that is in it. */
static inline void scratch_remove(const char *directory)
{
	char command[4096];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	assert_int_equal(system(command), 0);
}

#endif
