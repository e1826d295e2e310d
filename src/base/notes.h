/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What ptop has to say to the person while it runs: a bounded list of sentences,
 * newest first.  A sentence under a key replaces the earlier one under that key, so a thing that
 * repeats (a back-off, a missing right) holds one place.  All zeroes is an empty list; no heap.
 */
#ifndef PTOP_BASE_NOTES_H
#define PTOP_BASE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NOTES_MAX = 16, NOTE_BYTES = 320, NOTE_KEY_BYTES = 23 };

struct note {
	char key[NOTE_KEY_BYTES + 1]; /* "": none, nothing replaces it */
	uint64_t time_ns;             /* the caller's clock, when it was last said */
	uint64_t count;               /* times said under this key */
	char text[NOTE_BYTES + 1];
};

struct notes {
	struct note at[NOTES_MAX]; /* oldest first; read by notes_get() */
	size_t nr;
	uint64_t added; /* rises with every notes_add(): something is new */
};

/*
 * Says a sentence, as the newest.  Under a @key (copied, its first NOTE_KEY_BYTES; NULL or "" for
 * none) it takes the place of the earlier one; else, when full, the oldest goes.  Not scrubbed; cut
 * at NOTE_BYTES.
 */
__attribute__((format(printf, 4, 5))) void notes_add(struct notes *n, const char *key,
						     uint64_t now_ns, const char *format, ...);

/* Takes back what was said under @key; false where nothing was. */
bool notes_drop(struct notes *n, const char *key);

/* The i-th newest, from 0; NULL past the end.  Borrowed until the list changes. */
const struct note *notes_get(const struct notes *n, size_t i);

#endif
