/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include <utf8proc.h>

enum { REPLACEMENT = 0xfffd };

size_t text_char(const char *text, size_t len, uint32_t *ret_cp)
{
	utf8proc_int32_t cp;
	utf8proc_ssize_t n;

	if ((uint8_t)text[0] < 0x80) {
		*ret_cp = (uint8_t)text[0];
		return 1;
	}
	if (len > 4)
		len = 4;
	n = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &cp);
	if (n <= 0 || cp < 0) {
		*ret_cp = REPLACEMENT;
		return 1;
	}
	*ret_cp = (uint32_t)cp;
	return (size_t)n;
}

int text_char_width(uint32_t cp)
{
	int width;

	if (cp >= 0x20 && cp < 0x7f)
		return 1;
	width = utf8proc_charwidth((utf8proc_int32_t)cp);
	return width < 0 ? 0 : width > 2 ? 2 : width;
}

/*
 * What a terminal might obey, hide, reorder or measure otherwise than we do: controls, formats
 * (bidi, zero-width, tags), line separators, unassigned code points, variation selectors.
 */
static bool char_is_hostile(uint32_t cp)
{
	if (cp < 0x7f)
		return cp < 0x20;
	switch (utf8proc_category((utf8proc_int32_t)cp)) {
	case UTF8PROC_CATEGORY_CC:
	case UTF8PROC_CATEGORY_CF:
	case UTF8PROC_CATEGORY_CS:
	case UTF8PROC_CATEGORY_CN:
	case UTF8PROC_CATEGORY_ZL:
	case UTF8PROC_CATEGORY_ZP:
		return true;
	default:
		return (cp >= 0xfe00 && cp <= 0xfe0f) || (cp >= 0xe0100 && cp <= 0xe01ef);
	}
}

size_t text_scrub(char *out, size_t size, const char *text, size_t len, bool ascii)
{
	size_t written = 0;

	if (!size)
		return 0;
	while (len) {
		uint32_t cp;
		size_t n = text_char(text, len, &cp);
		bool bad = (n == 1 && (uint8_t)text[0] >= 0x80) || (ascii && cp > 0x7e) ||
			   char_is_hostile(cp);
		size_t put = bad ? 1 : n;

		if (put > size - 1 - written)
			break;
		if (bad)
			out[written] = '?';
		else
			memcpy(out + written, text, n);
		written += put;
		text += n;
		len -= n;
	}
	out[written] = '\0';
	return written;
}

size_t text_width(const char *text)
{
	size_t len = strlen(text), columns = 0;

	while (len) {
		uint32_t cp;
		size_t n = text_char(text, len, &cp);

		columns += (size_t)text_char_width(cp);
		text += n;
		len -= n;
	}
	return columns;
}

size_t text_prefix(const char *text, size_t columns)
{
	size_t len = strlen(text), at = 0;

	while (at < len) {
		uint32_t cp;
		size_t n = text_char(text + at, len - at, &cp);
		size_t width = (size_t)text_char_width(cp);

		if (width > columns)
			break;
		columns -= width;
		at += n;
	}
	return at;
}

/*
 * Scales @n by thousands to three digits at most ("27") or one and a tenth ("1.3"), rounding half
 * up without floating point.  Returns the power of 1000.
 */
static unsigned scale(uint64_t n, char *digits, size_t size)
{
	unsigned power = 0;
	uint64_t unit = 1;

	while (n / unit >= 1000) {
		unit *= 1000;
		power++;
	}
	/* 999.5 and more of a unit would round to a fourth digit. */
	if (power && n / unit == 999 && n % unit >= unit / 2 && power < 6) {
		snprintf(digits, size, "1.0");
		return power + 1;
	}
	if (power && n / unit < 10) {
		uint64_t tenths = n / unit * 10 + (n % unit + unit / 20) / (unit / 10);

		if (tenths < 100) {
			snprintf(digits, size, "%u.%u", (unsigned)(tenths / 10),
				 (unsigned)(tenths % 10));
			return power;
		}
		snprintf(digits, size, "10");
		return power;
	}
	snprintf(digits, size, "%u", (unsigned)(n / unit + (power && n % unit >= unit / 2)));
	return power;
}

void text_count(char out[8], uint64_t n)
{
	char digits[6];
	unsigned power = scale(n, digits, sizeof(digits));

	if (power)
		snprintf(out, 8, "%s%c", digits, "kMGTPE"[power - 1]);
	else
		snprintf(out, 8, "%s", digits);
}

void text_bytes(char out[16], uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	char digits[6];
	unsigned power = scale(bytes, digits, sizeof(digits));

	snprintf(out, 16, "%s %s", digits, units[power]);
}

void text_sentence(char *out, size_t size, const char *format, va_list args)
{
	char line[1024];
	size_t len, at = 0;
	int n;

	if (!size)
		return;
	n = vsnprintf(line, sizeof(line), format, args);
	len = n < 0 ? 0 : (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1;
	while (at < len) {
		uint32_t cp;
		size_t step = text_char(line + at, len - at, &cp);

		if (at + step > size - 1)
			break;
		if (line[at] == '\n' || line[at] == '\r' || line[at] == '\t')
			line[at] = ' ';
		at += step;
	}
	while (at && line[at - 1] == ' ')
		at--;
	memcpy(out, line, at);
	out[at] = '\0';
}
