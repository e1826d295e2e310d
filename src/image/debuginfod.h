/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from debuginfod servers, only where asked for.  debuginfod-find(1) downloads, a
 * process a file, a few at a time; it knows the servers ($DEBUGINFOD_URLS), keeps what it got, and
 * can be killed at any moment.  Nothing here waits for it.
 *
 * What comes is a file that a server made: it counts only after the loader found the program's
 * build-id in it, and nothing that was read of it is kept.
 */
#ifndef PTOP_IMAGE_DEBUGINFOD_H
#define PTOP_IMAGE_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"

/* Files that may wait for a download. */
#define DEBUGINFOD_MAX 64u

struct debuginfod;

/* 0, or -errno with a sentence: no server is named, no debuginfod-find is there, or root did not
 * allow it (@as_root). */
int debuginfod_open(struct debuginfod **ret, bool as_root, struct reason *why);

/* Ends all downloads, without waiting. */
void debuginfod_free(struct debuginfod *d);

/* Readable when debuginfod_take() has something to do. */
int debuginfod_fd(const struct debuginfod *d);

/* Asks for the debug file of a build-id.  0; -EAGAIN: too many wait; -EINVAL, -ENOMEM. */
int debuginfod_ask(struct debuginfod *d, uint32_t image, const uint8_t *build_id, size_t size);

/* Nobody waits for it any more. */
void debuginfod_cancel(struct debuginfod *d, uint32_t image);

struct debuginfod_answer {
	uint32_t image;
	int fd; /* the file, the receiver's to close; or -errno, and .why tells */
	struct reason why;
};

/* The next answer; false where there is none. */
bool debuginfod_take(struct debuginfod *d, struct debuginfod_answer *ret);

#endif
