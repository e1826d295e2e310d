/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen over a pseudo terminal: what is painted is what is drawn, keys in pieces, giving back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>

#include "fake_terminal.h"
#include "screen/screen.h"

#define MS 1000000ull

static struct screen *opened(struct fake_terminal *t, int rows, int columns,
			     struct screen_options o)
{
	struct screen *s = NULL;
	struct reason why = { "" };

	fake_open(t, rows, columns);
	o.in_fd = o.out_fd = t->slave;
	if (screen_open(&o, &s, &why))
		fail_msg("%s", why.text);
	return s;
}

/* The terminal shows the canvas, text and looks. */
static void expect_shown(const struct fake_terminal *t, const struct canvas *c, int colours)
{
	for (int row = 0; row < c->rows; row++) {
		for (int column = 0; column < c->columns; column++) {
			const struct cell *cell = &c->cells[row * c->columns + column];
			const struct fake_cell *seen = &t->cells[row][column];
			struct look look = theme_look(colours, cell);

			if (seen->ch != cell->chars[0])
				fail_msg("row %d column %d: U+%04X, not U+%04X", row, column,
					 seen->ch, cell->chars[0]);
			if (cell->chars[0] == ' ' && !look_shows_on_blank(&look)) {
				assert_false(look_shows_on_blank(&seen->look));
				continue;
			}
			if (cell->width && !look_same(&look, &seen->look))
				fail_msg("row %d column %d looks different", row, column);
		}
	}
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static void scribble(struct canvas *c, uint64_t *seed)
{
	static const char *const texts[] = {
		"a",        "hello world", "   ",
		"行ロック", "x行y",        "▾ fold",
		"▁▂▃▄",     "12.3%",       "                              ",
		"e\xcc\x81"
	};

	for (int i = 0; i < 12; i++)
		canvas_text(c, (int)(next(seed) % (uint64_t)c->rows),
			    (int)(next(seed) % (uint64_t)c->columns), 40,
			    (enum role)(next(seed) % NR_ROLES), texts[next(seed) % 10]);
	canvas_fill(c, (int)(next(seed) % (uint64_t)c->rows),
		    (int)(next(seed) % (uint64_t)c->columns), 30,
		    (enum role)(next(seed) % NR_ROLES), ' ');
	if (next(seed) % 4 == 0)
		canvas_mark(c, (int)(next(seed) % (uint64_t)c->rows));
	if (next(seed) % 10 == 0)
		canvas_clear(c);
}

static void paint_random(struct screen_options o, int colours)
{
	struct fake_terminal t;
	struct screen *s = opened(&t, 12, 50, o);
	struct canvas c = { 0 };
	uint64_t seed = 99;

	assert_int_equal(canvas_resize(&c, 12, 50), 0);
	for (int i = 0; i < 400; i++) {
		scribble(&c, &seed);
		assert_int_equal(screen_paint(s, &c), 0);
		fake_read(&t, screen_bytes(s));
		expect_shown(&t, &c, colours);
	}
	if (!colours)
		assert_int_equal(t.colour_changes, 0);
	canvas_done(&c);
	screen_close(s);
	fake_close(&t);
}

static void test_paint_256(void **state)
{
	(void)state;
	paint_random((struct screen_options){ .colour = SCREEN_COLOUR_256 }, 256);
}

static void test_paint_8(void **state)
{
	(void)state;
	paint_random((struct screen_options){ .colour = SCREEN_COLOUR_8 }, 8);
}

static void test_paint_no_color(void **state)
{
	(void)state;
	setenv("NO_COLOR", "1", 1);
	paint_random((struct screen_options){ .colour = SCREEN_COLOUR_AUTO }, 0);
	unsetenv("NO_COLOR");
}

static void test_same_costs_nothing(void **state)
{
	struct fake_terminal t;
	struct screen *s = opened(&t, 24, 80, (struct screen_options){ 0 });
	struct canvas c = { 0 };
	uint64_t before, one;

	(void)state;
	assert_int_equal(canvas_resize(&c, 24, 80), 0);
	canvas_text(&c, 3, 10, 20, ROLE_PLAIN, "something 12.3%");
	assert_int_equal(screen_paint(s, &c), 0);
	before = screen_bytes(s);
	assert_int_equal(screen_paint(s, &c), 0);
	assert_int_equal(screen_bytes(s), before);
	canvas_text(&c, 3, 20, 20, ROLE_PLAIN, "13");
	assert_int_equal(screen_paint(s, &c), 0);
	one = screen_bytes(s) - before;
	assert_in_range(one, 1, 20); /* a move and a digit */
	screen_repaint(s);
	assert_int_equal(screen_paint(s, &c), 0);
	assert_true(screen_bytes(s) - before - one > one);
	fake_read(&t, screen_bytes(s));
	expect_shown(&t, &c, 256);
	canvas_done(&c);
	screen_close(s);
	fake_close(&t);
}

static void test_cursor_for_typing(void **state)
{
	struct fake_terminal t;
	struct screen *s = opened(&t, 24, 80, (struct screen_options){ 0 });
	struct canvas c = { 0 };

	(void)state;
	assert_int_equal(canvas_resize(&c, 24, 80), 0);
	assert_int_equal(screen_paint(s, &c), 0);
	fake_read(&t, screen_bytes(s));
	assert_false(t.cursor);
	c.cursor_row = 23;
	c.cursor_column = 7;
	assert_int_equal(screen_paint(s, &c), 0);
	fake_read(&t, screen_bytes(s));
	assert_true(t.cursor);
	assert_int_equal(t.row, 23);
	assert_int_equal(t.column, 7);
	canvas_done(&c);
	screen_close(s);
	fake_close(&t);
}

/* perf top takes ESC, 30 ms, "[B" for a lone Escape. */
static void test_split_escape(void **state)
{
	struct fake_terminal t;
	struct screen *s = opened(&t, 24, 80, (struct screen_options){ 0 });
	uint64_t now = 1000 * MS;

	(void)state;
	assert_int_equal(screen_key(s, now), UIKEY_NONE);
	assert_int_equal(screen_key_deadline(s), 0);
	fake_type(&t, "\033");
	assert_int_equal(screen_key(s, now), UIKEY_NONE);
	assert_true(screen_key_deadline(s) >= now + 50 * MS);
	assert_int_equal(screen_key(s, now + 30 * MS), UIKEY_NONE);
	fake_type(&t, "[B");
	assert_int_equal(screen_key(s, now + 30 * MS), UIKEY_DOWN);
	assert_int_equal(screen_key(s, now + 500 * MS), UIKEY_NONE);
	assert_int_equal(screen_key_deadline(s), 0);

	fake_type(&t, "\033["); /* in three pieces, each a while after the other */
	assert_int_equal(screen_key(s, now), UIKEY_NONE);
	fake_type(&t, "6");
	assert_int_equal(screen_key(s, now + 40 * MS), UIKEY_NONE);
	fake_type(&t, "~");
	assert_int_equal(screen_key(s, now + 120 * MS), UIKEY_PAGE_DOWN);

	fake_type(&t, "\033");
	assert_int_equal(screen_key(s, now), UIKEY_NONE);
	assert_int_equal(screen_key(s, screen_key_deadline(s)), UIKEY_ESCAPE);
	assert_int_equal(screen_key(s, now + 900 * MS), UIKEY_NONE);

	fake_type(&t, "\033["); /* its rest is lost: no stray command */
	assert_int_equal(screen_key(s, now), UIKEY_NONE);
	assert_int_equal(screen_key(s, now + 900 * MS), UIKEY_ESCAPE);
	assert_int_equal(screen_key(s, now + 900 * MS), UIKEY_NONE);
	screen_close(s);
	fake_close(&t);
}

static void test_keys(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t keys[4];
	} cases[] = {
		{ "q", { 'q' } },
		{ "\r\n", { UIKEY_ENTER, UIKEY_ENTER } },
		{ "\x7f\b", { UIKEY_BACKSPACE, UIKEY_BACKSPACE } },
		{ "\t\033[Z", { UIKEY_TAB, UIKEY_BACK_TAB } },
		{ "\x03\x1a\x0c", { 3, 26, 12 } },
		{ "\033[A\033OA", { UIKEY_UP, UIKEY_UP } },
		{ "\033[C\033OD", { UIKEY_RIGHT, UIKEY_LEFT } },
		{ "\033[H\033OH\033[1~", { UIKEY_HOME, UIKEY_HOME, UIKEY_HOME } },
		{ "\033[F\033OF\033[4~", { UIKEY_END, UIKEY_END, UIKEY_END } },
		{ "\033[5~\033[6~", { UIKEY_PAGE_UP, UIKEY_PAGE_DOWN } },
		{ "\033OP\033[11~\033[[A", { UIKEY_F1, UIKEY_F1, UIKEY_F1 } },
		{ "\033[1;5B", { UIKEY_DOWN } },
		{ "\033\033[B", { UIKEY_ESCAPE, UIKEY_DOWN } },
		{ "\033q", { UIKEY_ESCAPE, 'q' } },
		{ "\033[24~x", { 'x' } },       /* F12: unknown, swallowed whole */
		{ "\033[<0;33;12Mx", { 'x' } }, /* a mouse report */
		{ "\xe8\xa1\x8c\xc3\xa9", { 0x884c, 0xe9 } },
		{ "\xff\x80z", { 'z' } },
	};
	struct fake_terminal t;
	struct screen *s = opened(&t, 24, 80, (struct screen_options){ 0 });

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_type(&t, cases[i].bytes);
		for (int k = 0; k < 4; k++) {
			uint32_t key = screen_key(s, 1);

			if (key != cases[i].keys[k])
				fail_msg("case %zu: key %d is 0x%x", i, k, key);
			if (key == UIKEY_NONE)
				break;
		}
	}
	screen_close(s);
	fake_close(&t);
}

static void expect_modes(const struct termios *a, const struct termios *b)
{
	assert_int_equal(a->c_iflag, b->c_iflag);
	assert_int_equal(a->c_oflag, b->c_oflag);
	assert_int_equal(a->c_cflag, b->c_cflag);
	assert_int_equal(a->c_lflag, b->c_lflag);
	assert_memory_equal(a->c_cc, b->c_cc, sizeof(a->c_cc));
}

static void test_gives_back(void **state)
{
	struct termios before, after;
	struct fake_terminal t;
	struct screen *s = opened(&t, 24, 80, (struct screen_options){ 0 });
	struct canvas c = { 0 };

	(void)state;
	assert_int_equal(tcgetattr(t.slave, &after), 0);
	assert_false(after.c_lflag & (ICANON | ECHO | ISIG));
	assert_int_equal(canvas_resize(&c, 24, 80), 0);
	canvas_text(&c, 1, 1, 10, ROLE_HOT, "text");
	assert_int_equal(screen_paint(s, &c), 0);
	fake_read(&t, screen_bytes(s));
	assert_true(t.alternate);
	screen_suspend(s);
	fake_read(&t, screen_bytes(s));
	assert_false(t.alternate);
	assert_true(t.cursor);
	assert_int_equal(tcgetattr(t.slave, &before), 0);
	assert_true((before.c_lflag & (ICANON | ECHO | ISIG)) == (ICANON | ECHO | ISIG));
	assert_int_equal(screen_paint(s, &c), 0); /* not ours now: nothing is written */
	screen_resume(s);
	assert_int_equal(screen_paint(s, &c), 0);
	fake_read(&t, screen_bytes(s));
	assert_true(t.alternate);
	expect_shown(&t, &c, 256);
	screen_close(s);
	screen_close(NULL);
	assert_int_equal(tcgetattr(t.slave, &after), 0);
	expect_modes(&before, &after);
	screen_restore_in_signal(); /* nothing is taken: nothing happens */
	canvas_done(&c);
	fake_close(&t);
}

static void test_restore_in_signal(void **state)
{
	struct termios before, after;
	struct fake_terminal t;
	struct screen *s;

	(void)state;
	s = opened(&t, 24, 80, (struct screen_options){ 0 });
	screen_suspend(s);
	assert_int_equal(tcgetattr(t.slave, &before), 0);
	screen_resume(s);
	fake_read(&t, screen_bytes(s));
	screen_restore_in_signal();
	assert_int_equal(tcgetattr(t.slave, &after), 0);
	expect_modes(&before, &after);
	fake_read(&t, screen_bytes(s) + 10);
	assert_false(t.alternate);
	assert_true(t.cursor);
	screen_close(s);
	fake_close(&t);
}

static void test_resize(void **state)
{
	struct winsize size = { .ws_row = 10, .ws_col = 40 };
	struct fake_terminal t;
	struct screen *s = opened(&t, 24, 80, (struct screen_options){ 0 });
	struct canvas c = { 0 };
	int rows, columns;

	(void)state;
	assert_false(screen_resize(s));
	assert_int_equal(canvas_resize(&c, 24, 80), 0);
	canvas_fill(&c, 5, 0, 80, ROLE_TITLE, 'x');
	assert_int_equal(screen_paint(s, &c), 0);
	fake_read(&t, screen_bytes(s));
	assert_int_equal(ioctl(t.slave, TIOCSWINSZ, &size), 0);
	t.rows = 10;
	t.columns = 40;
	assert_true(screen_resize(s));
	screen_size(s, &rows, &columns);
	assert_int_equal(rows, 10);
	assert_int_equal(columns, 40);
	assert_int_equal(canvas_resize(&c, rows, columns), 0);
	canvas_text(&c, 2, 2, 10, ROLE_PLAIN, "small");
	assert_int_equal(screen_paint(s, &c), 0);
	fake_read(&t, screen_bytes(s));
	expect_shown(&t, &c, 256);
	canvas_done(&c);
	screen_close(s);
	fake_close(&t);
}

/* Nobody reads: painting returns at once, and the picture is right once somebody does. */
static void test_stalled_terminal(void **state)
{
	struct fake_terminal t;
	struct screen *s = opened(&t, 50, 180, (struct screen_options){ 0 });
	struct canvas c = { 0 };
	uint64_t stuck, seed = 5;

	(void)state;
	assert_int_equal(canvas_resize(&c, 50, 180), 0);
	for (int i = 0; i < 100; i++) {
		for (int row = 0; row < 50; row++)
			canvas_fill(&c, row, 0, 180, (enum role)(next(&seed) % NR_ROLES),
				    'a' + (uint32_t)(next(&seed) % 26));
		assert_int_equal(screen_paint(s, &c), 0);
	}
	stuck = screen_bytes(s);
	assert_int_equal(screen_paint(s, &c), 0);
	assert_int_equal(screen_bytes(s), stuck);
	for (int i = 0; i < 20; i++) { /* each time as much as the terminal takes */
		fake_read(&t, screen_bytes(s));
		assert_int_equal(screen_paint(s, &c), 0);
	}
	fake_read(&t, screen_bytes(s));
	expect_shown(&t, &c, 256);
	canvas_done(&c);
	screen_close(s);
	fake_close(&t);
}

static void test_hangup(void **state)
{
	struct fake_terminal t;
	struct screen *s = opened(&t, 24, 80, (struct screen_options){ 0 });
	struct canvas c = { 0 };

	(void)state;
	assert_int_equal(canvas_resize(&c, 24, 80), 0);
	close(t.master);
	t.master = -1;
	assert_int_equal(screen_key(s, 1), UIKEY_HANGUP);
	assert_int_equal(screen_key(s, 2), UIKEY_HANGUP);
	assert_int_equal(screen_paint(s, &c), -EIO);
	canvas_done(&c);
	screen_close(s);
	fake_close(&t);
}

static void test_refusals(void **state)
{
	struct screen_options o = { 0 };
	struct reason why = { "" };
	struct screen *s = NULL;
	struct fake_terminal t;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	o.in_fd = o.out_fd = null;
	assert_int_equal(screen_open(&o, &s, &why), -ENOTTY);
	assert_non_null(strstr(why.text, "-b"));
	close(null);
	fake_open(&t, 24, 80);
	o.in_fd = o.out_fd = t.slave;
	setenv("TERM", "no-such-terminal", 1);
	assert_int_equal(screen_open(&o, &s, &why), -ENODEV);
	assert_non_null(strstr(why.text, "no-such-terminal"));
	setenv("TERM", "dumb", 1);
	assert_int_equal(screen_open(&o, &s, &why), -ENODEV);
	unsetenv("TERM");
	assert_int_equal(screen_open(&o, &s, &why), -ENODEV);
	assert_null(s);
	setenv("TERM", "xterm-256color", 1);
	fake_close(&t);
}

static void test_character_sets(void **state)
{
	struct fake_terminal t;
	struct screen *s = opened(&t, 24, 80, (struct screen_options){ 0 });

	(void)state;
	assert_false(screen_ascii(s));
	screen_close(s);
	fake_close(&t);
	s = opened(&t, 24, 80, (struct screen_options){ .ascii = true });
	assert_true(screen_ascii(s));
	screen_close(s);
	fake_close(&t);
	setlocale(LC_ALL, "C");
	setenv("TERM", "vt100", 1);
	s = opened(&t, 24, 80, (struct screen_options){ 0 });
	assert_true(screen_ascii(s));
	screen_close(s);
	fake_close(&t);
	setlocale(LC_ALL, "C.UTF-8");
	setenv("TERM", "xterm-256color", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paint_256),
		cmocka_unit_test(test_paint_8),
		cmocka_unit_test(test_paint_no_color),
		cmocka_unit_test(test_same_costs_nothing),
		cmocka_unit_test(test_cursor_for_typing),
		cmocka_unit_test(test_split_escape),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_gives_back),
		cmocka_unit_test(test_restore_in_signal),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_stalled_terminal),
		cmocka_unit_test(test_hangup),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_character_sets),
	};

	if (!setlocale(LC_ALL, "C.UTF-8")) {
		fputs("skipped: there is no locale C.UTF-8\n", stderr);
		return 77;
	}
	setenv("TERM", "xterm-256color", 1);
	unsetenv("NO_COLOR");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
