// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Strings from outside on their way to a terminal: whatever goes in, no control character comes
 * out, and no character is cut. And the parsers of numbers and lists.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void scrub(const char *text, size_t len, size_t room, bool ascii)
{
	char *out = malloc(room);
	size_t written, at = 0;
	uint32_t cp;

	if (!out)
		return;
	written = text_scrub(out, room, text, len, ascii);
	if (written >= room || out[written] != 0 || strlen(out) != written)
		abort();
	while (at < written) {
		size_t bytes = text_char(out + at, written - at, &cp);
		if (bytes == 0 || cp < 0x20 || cp == 0x7f || (cp >= 0x80 && cp < 0xa0))
			abort();
		if (cp == 0xfffd && bytes == 1)
			abort();
		if (ascii && cp > 0x7e)
			abort();
		at += bytes;
	}
	for (size_t columns = 0; columns < 4; columns++)
		if (text_prefix(out, columns) > written)
			abort();
	text_width(out);
	free(out);
}

static void parse(const char *text)
{
	struct u32_list list = { 0 };
	uint64_t number;
	double seconds;

	parse_u64(text, &number);
	parse_seconds(text, &seconds);
	if (parse_cpulist(text, &list) == 0)
		for (size_t i = 1; i < list.nr; i++)
			if (list.at[i] <= list.at[i - 1])
				abort();
	free(list.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	uint64_t number;
	size_t used = 0;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	scrub(text, size, 1, false);
	scrub(text, size, 9, false);
	scrub(text, size, size + 1, false);
	scrub(text, size, 4 * size + 16, true);
	if (parse_hex(text, size, &number, &used) == 0 && used > size)
		abort();
	parse(text);
	free(text);
	return 0;
}
