/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void notes_remove(struct notes *n, size_t i)
{
	n->nr--;
	memmove(&n->at[i], &n->at[i + 1], (n->nr - i) * sizeof(n->at[0]));
}

/* The place of @key, or n->nr. */
static size_t notes_find(const struct notes *n, const char *key)
{
	size_t i = 0;

	while (i < n->nr && (!*key || strncmp(n->at[i].key, key, NOTE_KEY_BYTES) != 0))
		i++;
	return i;
}

void notes_add(struct notes *n, const char *key, uint64_t now_ns, const char *format, ...)
{
	struct note note = { .time_ns = now_ns, .count = 1 };
	size_t old;
	va_list args;

	/* Formatted first: the arguments may lie in the note that goes. */
	va_start(args, format);
	text_sentence(note.text, sizeof(note.text), format, args);
	va_end(args);
	snprintf(note.key, sizeof(note.key), "%s", key ? key : "");
	old = notes_find(n, note.key);
	if (old < n->nr) {
		note.count += n->at[old].count;
		notes_remove(n, old);
	} else if (n->nr == NOTES_MAX) {
		notes_remove(n, 0);
	}
	n->at[n->nr++] = note;
	n->added++;
}

bool notes_drop(struct notes *n, const char *key)
{
	size_t i = notes_find(n, key);

	if (i == n->nr)
		return false;
	notes_remove(n, i);
	return true;
}

const struct note *notes_get(const struct notes *n, size_t i)
{
	return i < n->nr ? &n->at[n->nr - 1 - i] : NULL;
}
