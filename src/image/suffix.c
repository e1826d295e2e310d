/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/suffix.h"

#include <stdbool.h>
#include <string.h>

/* Is it such a word?  Some come with a number only: without, runtime.clone is a function of Go. */
static bool is_word(const char *at, size_t len, bool numbered)
{
	static const struct {
		const char *text;
		bool bare; /* comes without a number, too */
	} words[] = {
		{ "cold", true },       { "warm", true },      { "localalias", true },
		{ "abi0", true },       { "part", false },     { "isra", false },
		{ "constprop", false }, { "lto_priv", false }, { "llvm", false },
		{ "clone", false },     { "__uniq", false },   { "specialized", false },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].text) == len && !memcmp(at, words[i].text, len))
			return numbered || words[i].bare;
	}
	return false;
}

/* Where the last part of @name, from its dot on, begins; @len where it has no dot. */
static size_t last_part(const char *name, size_t len)
{
	const char *dot = memrchr(name, '.', len);

	return dot ? (size_t)(dot - name) : len;
}

static bool is_number(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] < '0' || at[i] > '9')
			return false;
	}
	return len > 0;
}

/* " [clone .cold]" at the end; where it begins, or @len. */
static size_t clone_start(const char *name, size_t len)
{
	static const char mark[] = " [clone .";
	size_t size = sizeof(mark) - 1, at;

	if (!len || name[len - 1] != ']')
		return len;
	for (at = len - 1; at > 0 && name[at] != '['; at--)
		;
	return at > 1 && len - (at - 1) > size && !memcmp(name + at - 1, mark, size) ? at - 1 : len;
}

/* ".word" or ".word.123" at the end. */
static size_t word_start(const char *name, size_t len)
{
	size_t at = last_part(name, len), end = len;

	if (at < len && is_number(name + at + 1, len - at - 1)) {
		end = at;
		at = last_part(name, end);
	}
	return at < end && at > 0 && is_word(name + at + 1, end - at - 1, end < len) ? at : len;
}

size_t suffix_start(const char *name, size_t len)
{
	for (;;) {
		size_t at = clone_start(name, len);

		if (at == len)
			at = word_start(name, len);
		if (at == len)
			return len;
		len = at;
	}
}
