/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for people: UTF-8 widths, scrubbing of hostile bytes, short numbers.
 * Every string that came from outside passes text_scrub() before it can reach
 * a terminal.
 */
#ifndef PTOP_BASE_TEXT_H
#define PTOP_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies at most @size - 1 bytes of @text into @out, NUL-terminated, never
 * cutting a character: control characters (C0, C1, DEL, bidirectional overrides,
 * zero-width and line separators) become '?', bytes that are no UTF-8 become '?'
 * each.  @ascii turns all else beyond 0x7e into '?' too.  Returns the bytes written.
 */
size_t text_scrub(char *out, size_t size, const char *text, size_t len, bool ascii);

/*
 * Decodes the character at @text into *@ret_cp and returns its bytes (>= 1); a bad byte gives
 * U+FFFD and 1.  @len > 0.
 */
size_t text_char(const char *text, size_t len, uint32_t *ret_cp);

/* Columns of one character: 0 (combining), 1 or 2. */
int text_char_width(uint32_t cp);

/* Columns of a string. */
size_t text_width(const char *text);

/* The longest prefix of @text not wider than @columns, in bytes. */
size_t text_prefix(const char *text, size_t columns);

/* "999", "1.3k", "27k", "4.1M", "12G": at most 4 columns. */
void text_count(char out[8], uint64_t n);

/* "12 MB", "1.4 GB": bytes in powers of 1000. */
void text_bytes(char out[16], uint64_t bytes);

/*
 * Formats one sentence for a person into @out: line ends become spaces, those at the end go, and
 * what does not fit is cut between characters, never inside one.  @out may be among the arguments.
 */
__attribute__((format(printf, 3, 0))) void text_sentence(char *out, size_t size, const char *format,
							 va_list args);

#endif
