/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a typed word is from a name: insertions, deletions, replacements and
 * swaps of neighbours (optimal string alignment), without regard to case.
 * Names that begin with the word are nearer than any misspelling.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

enum { WORD_MAX = 63, BEST = 3 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Both at most WORD_MAX bytes. */
static unsigned distance(const char *a, size_t len_a, const char *b, size_t len_b)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= len_b; j++)
		above[j] = (unsigned)j;
	for (size_t i = 1; i <= len_a; i++) {
		unsigned *spare = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= len_b; j++) {
			unsigned best = above[j - 1] + !same(a[i - 1], b[j - 1]);

			best = least(best, least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				best = least(best, before[j - 2] + 1);
			row[j] = best;
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[len_b];
}

void nearest_begin(struct nearest *n, const char *word)
{
	*n = (struct nearest){ .word = word };
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	size_t len = strlen(n->word), clen = strlen(candidate);
	unsigned d;
	int i;

	if (!len || len > WORD_MAX || clen > WORD_MAX)
		return;
	if (len >= 2 && !strncasecmp(candidate, n->word, len)) {
		d = clen > len;
	} else {
		d = distance(n->word, len, candidate, clen);
		/* A third of the word mistyped, and some of it right. */
		if (d > 1 + len / 4 || d >= len || d >= clen)
			return;
		d++;
	}
	for (i = 0; i < BEST && n->best[i].name; i++) {
		if (!strcmp(n->best[i].name, candidate))
			return;
	}
	for (i = BEST; i > 0 && (!n->best[i - 1].name || n->best[i - 1].distance > d); i--) {
		if (i < BEST)
			n->best[i] = n->best[i - 1];
	}
	if (i < BEST) {
		n->best[i].name = candidate;
		n->best[i].distance = d;
	}
}

void nearest_end(const struct nearest *n, char *out, size_t size)
{
	size_t nr = 0, at = 0;

	if (!size)
		return;
	out[0] = '\0';
	while (nr < BEST && n->best[nr].name)
		nr++;
	for (size_t i = 0; i < nr && at < size; i++) {
		const char *join = !i ? "" : i + 1 == nr ? " or " : ", ";
		int put = snprintf(out + at, size - at, "%s%s", join, n->best[i].name);

		at += put > 0 ? (size_t)put : 0;
	}
}
