/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which package a file is of, by dpkg's lists of files.  Reading them all takes tens of
 * milliseconds, so it is done in slices, for all files asked for at once; answers are kept.
 */
#ifndef PTOP_OWNERS_H
#define PTOP_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "advice.h"

struct owners;

/* @info_dir is borrowed: "/var/lib/dpkg/info".  NULL without memory. */
struct owners *owners_new(const char *info_dir);
void owners_free(struct owners *o);

struct owner {
	enum advice_owner state;
	const char *package;  /* with OWNER_FOUND; as long as @o lives */
	bool debug_installed; /* its package of debug symbols is */
};

/* Copies @path.  With @search, what is not known yet is searched for from now on. */
struct owner owners_get(struct owners *o, const char *path, bool search);

/* Searches for about @budget_ns; true while there is more to do. */
bool owners_work(struct owners *o, uint64_t budget_ns);

/* Whether owners_work() has anything to do. */
bool owners_searching(const struct owners *o);

#endif
