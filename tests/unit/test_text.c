// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/notes.h"
#include "base/reason.h"
#include "base/text.h"

#define scrubbed(literal, ascii, want) scrub_is(literal, sizeof(literal) - 1, ascii, want)

static void scrub_is(const char *text, size_t len, bool ascii, const char *want)
{
	char out[128];

	assert_int_equal(text_scrub(out, sizeof(out), text, len, ascii), strlen(want));
	assert_string_equal(out, want);
}

static void scrub_disarms(void **state)
{
	(void)state;
	scrubbed("plain text ~", false, "plain text ~");
	scrubbed("a\x1b[31mred", false, "a?[31mred");
	scrubbed("\x1b]0;title\x07", false, "?]0;title?");
	scrubbed("nul\0in\r\n\t\x7f", false, "nul?in????");
	scrubbed("\xc2\x9b"
		 "31m",
		 false, "?31m"); /* C1 CSI */
	scrubbed("\xe2\x80\xae"
		 "cod.exe",
		 false, "?cod.exe");                   /* right-to-left override */
	scrubbed("\xe2\x81\xa6\xd8\x9c", false, "??"); /* isolate, arabic letter mark */
	scrubbed("a\xe2\x80\x8b"
		 "b\xef\xbb\xbf",
		 false, "a?b?"); /* zero width */
	scrubbed("a\xe2\x80\xa8"
		 "b\xe2\x80\xa9",
		 false, "a?b?");                                      /* line separators */
	scrubbed("\xf3\xa0\x81\x81", false, "?");                     /* tag */
	scrubbed("\xe2\x9d\xa4\xef\xb8\x8f", false, "\xe2\x9d\xa4?"); /* variation selector */
}

static void scrub_takes_good_utf8(void **state)
{
	(void)state;
	scrubbed("größe", false, "größe");
	scrubbed("größe", true, "gr??e");
	scrubbed("日本", false, "日本");
	scrubbed("日本", true, "??");
	scrubbed("e\xcc\x81", false, "e\xcc\x81");
}

static void scrub_refuses_bad_utf8(void **state)
{
	(void)state;
	scrubbed("\x80\xff\xfe", false, "???");
	scrubbed("a\xc3", false, "a?");
	scrubbed("\xe6\x97", false, "??");
	scrubbed("\xc0\x80", false, "??");           /* overlong NUL */
	scrubbed("\xc0\x9b[", false, "??[");         /* overlong ESC */
	scrubbed("\xed\xa0\x80", false, "???");      /* surrogate */
	scrubbed("\xf4\x90\x80\x80", false, "????"); /* beyond U+10FFFF */
	scrubbed("\xe6\x97\x1b[m", false, "???[m");  /* cut off by an escape */
}

static void scrub_cuts_between_characters(void **state)
{
	char out[6];

	(void)state;
	assert_int_equal(text_scrub(out, 6, "日本語", 9, false), 3);
	assert_string_equal(out, "日");
	assert_int_equal(text_scrub(out, 1, "abc", 3, false), 0);
	assert_string_equal(out, "");
	out[0] = 'x';
	assert_int_equal(text_scrub(out, 0, "abc", 3, false), 0);
	assert_int_equal(out[0], 'x');
	assert_int_equal(text_scrub(out, 6, "abcdefgh", 8, true), 5);
	assert_string_equal(out, "abcde");
}

/* Whatever goes in, what comes out is UTF-8 without controls, and fits. */
static void scrub_of_any_bytes(void **state)
{
	uint64_t random = 42;
	char in[64], out[48];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len, n;

		for (size_t i = 0; i < sizeof(in); i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			in[i] = (char)(random >> 40);
			if (random >> 62 == 0)
				in[i] = "\x1b\xe2\x80\xae\xc2\x9b\xf0\x9f"[random >> 37 & 7];
		}
		len = (random >> 20) % sizeof(in);
		n = text_scrub(out, 1 + (random >> 10) % sizeof(out), in, len, round & 1);
		assert_true(n < sizeof(out));
		assert_int_equal(strlen(out), n);
		for (size_t i = 0; i < n;) {
			uint32_t cp;
			size_t step = text_char(out + i, n - i, &cp);

			assert_true(step > 1 || (unsigned char)out[i] < 0x80);
			assert_true(cp >= 0x20 && cp != 0x7f && (cp < 0x80 || cp > 0x9f));
			assert_false(cp >= 0x202a && cp <= 0x202e);
			i += step;
		}
	}
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("größe"), 5);
	assert_int_equal(text_width("日本語"), 6);
	assert_int_equal(text_width("e\xcc\x81"), 1);
	assert_int_equal(text_width("▸▾│▁█…"), 6);
	assert_int_equal(text_char_width('a'), 1);
	assert_int_equal(text_char_width(0x65e5), 2);
	assert_int_equal(text_char_width(0x301), 0);
	assert_int_equal(text_char_width(0xfffd), 1);
	assert_true(text_char_width(0x7fffffff) <= 2);
}

static void prefixes(void **state)
{
	(void)state;
	assert_int_equal(text_prefix("abcdef", 3), 3);
	assert_int_equal(text_prefix("abc", 10), 3);
	assert_int_equal(text_prefix("abc", 0), 0);
	assert_int_equal(text_prefix("日本語", 3), 3);
	assert_int_equal(text_prefix("日本語", 4), 6);
	assert_int_equal(text_prefix("日本語", 1), 0);
	assert_int_equal(text_prefix("e\xcc\x81x", 1), 3); /* the accent stays with its letter */
}

static void count_is(uint64_t n, const char *want)
{
	char out[8];

	text_count(out, n);
	assert_string_equal(out, want);
	assert_true(strlen(out) <= 4);
}

static void counts(void **state)
{
	(void)state;
	count_is(0, "0");
	count_is(999, "999");
	count_is(1000, "1.0k");
	count_is(1260, "1.3k");
	count_is(9949, "9.9k");
	count_is(9950, "10k");
	count_is(27400, "27k");
	count_is(27500, "28k");
	count_is(999499, "999k");
	count_is(999500, "1.0M");
	count_is(4100000, "4.1M");
	count_is(12000000000, "12G");
	count_is(999999999999, "1.0T");
	count_is(UINT64_MAX, "18E");
}

static void bytes_is(uint64_t n, const char *want)
{
	char out[16];

	text_bytes(out, n);
	assert_string_equal(out, want);
}

static void sizes(void **state)
{
	(void)state;
	bytes_is(0, "0 B");
	bytes_is(999, "999 B");
	bytes_is(12000000, "12 MB");
	bytes_is(1400000000, "1.4 GB");
	bytes_is(2048, "2.0 kB");
	bytes_is(UINT64_MAX, "18 EB");
}

static void reasons(void **state)
{
	struct reason why;

	(void)state;
	assert_int_equal(reason_set(&why, -EPERM, "no %s\nfor %d\n", "way", 7), -EPERM);
	assert_string_equal(why.text, "no way for 7");
	assert_int_equal(reason_set(NULL, -EIO, "lost"), -EIO);
	/* Its own text again, as layers above add to what those below said. */
	assert_int_equal(reason_set(&why, -EIO, "cpu 3: %s", why.text), -EIO);
	assert_string_equal(why.text, "cpu 3: no way for 7");
	reason_set(&why, -1, "%0318d€x", 0);
	assert_int_equal(strlen(why.text), 318); /* the euro sign would not fit whole */
	reason_set(&why, -1, "%0316d€", 0);
	assert_int_equal(strlen(why.text), 319);
}

static void notes_are_bounded_and_newest_first(void **state)
{
	struct notes n = { 0 };

	(void)state;
	assert_null(notes_get(&n, 0));
	for (int i = 0; i < 20; i++)
		notes_add(&n, NULL, (uint64_t)i, "note %d", i);
	assert_int_equal(n.added, 20);
	assert_string_equal(notes_get(&n, 0)->text, "note 19");
	assert_int_equal(notes_get(&n, 0)->time_ns, 19);
	assert_string_equal(notes_get(&n, 15)->text, "note 4");
	assert_null(notes_get(&n, 16));
}

static void notes_replace_by_key(void **state)
{
	struct notes n = { 0 };

	(void)state;
	notes_add(&n, "rate", 1, "rate 4000");
	notes_add(&n, "lost", 2, "lost 1");
	notes_add(&n, "rate", 3, "was \"%s\"", notes_get(&n, 1)->text);
	assert_string_equal(notes_get(&n, 0)->text, "was \"rate 4000\"");
	assert_int_equal(notes_get(&n, 0)->count, 2);
	assert_string_equal(notes_get(&n, 1)->text, "lost 1");
	assert_null(notes_get(&n, 2));
	assert_true(notes_drop(&n, "lost"));
	assert_false(notes_drop(&n, "lost"));
	assert_false(notes_drop(&n, ""));
	assert_null(notes_get(&n, 1));
	notes_add(&n, "a key longer than there is room for it, one", 4, "one");
	notes_add(&n, "a key longer than there is room for it, two", 5, "two");
	assert_string_equal(notes_get(&n, 0)->text, "two");
	assert_string_equal(notes_get(&n, 1)->text, "was \"rate 4000\"");
}

static void notes_keep_sentences_whole(void **state)
{
	struct notes n = { 0 };

	(void)state;
	notes_add(&n, NULL, 0, "%0320d", 1);
	assert_int_equal(strlen(notes_get(&n, 0)->text), 320);
	notes_add(&n, NULL, 0, "%0319dé", 1);
	assert_int_equal(strlen(notes_get(&n, 0)->text), 319);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scrub_disarms),
		cmocka_unit_test(scrub_takes_good_utf8),
		cmocka_unit_test(scrub_refuses_bad_utf8),
		cmocka_unit_test(scrub_cuts_between_characters),
		cmocka_unit_test(scrub_of_any_bytes),
		cmocka_unit_test(widths),
		cmocka_unit_test(prefixes),
		cmocka_unit_test(counts),
		cmocka_unit_test(sizes),
		cmocka_unit_test(reasons),
		cmocka_unit_test(notes_are_bounded_and_newest_first),
		cmocka_unit_test(notes_replace_by_key),
		cmocka_unit_test(notes_keep_sentences_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
