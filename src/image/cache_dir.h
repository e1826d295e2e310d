/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory that nobody but this user (and root) can write to or put another in the place of. */
#ifndef PTOP_IMAGE_CACHE_DIR_H
#define PTOP_IMAGE_CACHE_DIR_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/reason.h"

/*
 * Opens @path (absolute), making what is missing, for the user alone.  A descriptor, or -errno with
 * the reason: -EPERM where it is another's or open to others, or a directory above it is.
 */
int cache_dir_open(const char *path, struct reason *why);

/* Whether somebody else than its owner (and root) can write to what @st tells of.  A group of which
 * only this user can be taken to be a member, his own primary one, is nobody else. */
bool cache_dir_others_write(const struct stat *st);

#endif
