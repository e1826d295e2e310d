/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pseudo terminal and just enough of an xterm behind it to know what a person would see.  A
 * sequence that it does not know fails the test.  Include after cmocka.h.
 */
#ifndef PTOP_TESTS_FAKE_TERMINAL_H
#define PTOP_TESTS_FAKE_TERMINAL_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/text.h"
#include "screen/theme.h"

#define FAKE_ROWS 60
#define FAKE_COLUMNS 200
#define FAKE_WAIT_MS 5000

struct fake_cell {
	uint32_t ch; /* 0: the right half of a wide one */
	struct look look;
};

struct fake_terminal {
	int master, slave;
	int rows, columns;
	struct fake_cell cells[FAKE_ROWS][FAKE_COLUMNS];
	int row, column;
	struct look look;
	bool cursor, alternate;
	unsigned colour_changes;
	uint64_t bytes;
	char part[64]; /* of a sequence or a character */
	size_t nr_part;
};

static inline void fake_clear(struct fake_terminal *t)
{
	for (int r = 0; r < FAKE_ROWS; r++) {
		for (int c = 0; c < FAKE_COLUMNS; c++)
			t->cells[r][c] = (struct fake_cell){
				.ch = ' ', .look = { .fg = COLOUR_DEFAULT, .bg = COLOUR_DEFAULT }
			};
	}
}

static inline void fake_open(struct fake_terminal *t, int rows, int columns)
{
	struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };
	struct termios modes;

	*t = (struct fake_terminal){ .rows = rows, .columns = columns, .cursor = true };
	t->look = (struct look){ .fg = COLOUR_DEFAULT, .bg = COLOUR_DEFAULT };
	fake_clear(t);
	t->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(t->master >= 0);
	assert_int_equal(grantpt(t->master), 0);
	assert_int_equal(unlockpt(t->master), 0);
	t->slave = open(ptsname(t->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(t->slave >= 0);
	assert_int_equal(tcgetattr(t->slave, &modes), 0);
	modes.c_oflag &= ~(tcflag_t)OPOST; /* so that bytes out are bytes in */
	assert_int_equal(tcsetattr(t->slave, TCSANOW, &modes), 0);
	assert_int_equal(ioctl(t->slave, TIOCSWINSZ, &size), 0);
}

static inline void fake_close(struct fake_terminal *t)
{
	if (t->master >= 0)
		close(t->master);
	close(t->slave);
}

static inline void fake_sgr(struct fake_terminal *t, const int *n, int nr)
{
	for (int i = 0; i < nr; i++) {
		if (n[i] == 0)
			t->look = (struct look){ .fg = COLOUR_DEFAULT, .bg = COLOUR_DEFAULT };
		else if (n[i] == 1)
			t->look.bold = true;
		else if (n[i] == 2)
			t->look.dim = true;
		else if (n[i] == 4)
			t->look.underline = true;
		else if (n[i] == 7)
			t->look.reverse = true;
		else if (n[i] >= 30 && n[i] <= 37)
			t->look.fg = n[i] - 30;
		else if (n[i] >= 40 && n[i] <= 47)
			t->look.bg = n[i] - 40;
		else if (n[i] >= 90 && n[i] <= 97)
			t->look.fg = n[i] - 82;
		else if (n[i] >= 100 && n[i] <= 107)
			t->look.bg = n[i] - 92;
		else
			fail_msg("SGR %d", n[i]);
		t->colour_changes += n[i] >= 30;
	}
}

static inline void fake_erase_line(struct fake_terminal *t)
{
	for (int c = t->column; c < t->columns; c++)
		t->cells[t->row][c] =
			(struct fake_cell){ .ch = ' ',
					    .look = { .fg = COLOUR_DEFAULT, .bg = t->look.bg } };
}

/* "ESC [ ... final" in .part */
static inline void fake_csi(struct fake_terminal *t, char final)
{
	int n[8] = { 0 }, nr = 0, a;
	bool private = t->part[2] == '?';

	for (const char *p = t->part + 2 + private; nr < 8;) {
		n[nr++] = (int)strtol(p, (char **)&p, 10);
		if (*p != ';')
			break;
		p++;
	}
	a = n[0] ? n[0] : 1;
	if (private && (final == 'h' || final == 'l')) {
		if (n[0] == 25)
			t->cursor = final == 'h';
		if (n[0] == 1049)
			t->alternate = final == 'h';
		return;
	}
	switch (final) {
	case 'H':
		t->row = a - 1;
		t->column = (nr > 1 && n[1] ? n[1] : 1) - 1;
		break;
	case 'G':
		t->column = a - 1;
		break;
	case 'C':
		t->column += a;
		break;
	case 'K':
		fake_erase_line(t);
		break;
	case 'J':
		fake_clear(t);
		break;
	case 'm':
		fake_sgr(t, n, nr);
		break;
	case 't':
		break;
	default:
		fail_msg("unknown sequence %s", t->part);
	}
	if (strchr("HGC", final)) {
		assert_in_range(t->row, 0, t->rows - 1);
		assert_in_range(t->column, 0, t->columns - 1);
	}
}

static inline void fake_put(struct fake_terminal *t, uint32_t ch)
{
	int width = text_char_width(ch);

	if (width == 0)
		return;
	assert_in_range(t->row, 0, t->rows - 1);
	if (t->column + width > t->columns)
		fail_msg("written past the margin in row %d", t->row);
	t->cells[t->row][t->column] = (struct fake_cell){ .ch = ch, .look = t->look };
	if (width == 2)
		t->cells[t->row][t->column + 1] = (struct fake_cell){ .ch = 0, .look = t->look };
	t->column += width;
}

static inline void fake_byte(struct fake_terminal *t, char byte)
{
	uint32_t ch;
	size_t want;

	assert_true(t->nr_part < sizeof(t->part) - 1);
	t->part[t->nr_part++] = byte;
	t->part[t->nr_part] = '\0';
	if (t->part[0] == '\033') {
		if (t->nr_part < 2)
			return;
		if (t->part[1] == '(' && t->nr_part < 3)
			return;
		if (t->part[1] == '[') {
			if (t->nr_part < 3 || byte < 0x40)
				return;
			fake_csi(t, byte);
		}
	} else if (byte == '\r') {
		t->column = 0;
	} else if (byte == '\n') {
		t->row++;
	} else if (byte != '\017') {
		unsigned char lead = (unsigned char)t->part[0];

		want = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
		if (t->nr_part < want)
			return;
		text_char(t->part, t->nr_part, &ch);
		fake_put(t, ch);
	}
	t->nr_part = 0;
}

/* Takes what was written until @bytes have come in all. */
static inline void fake_read(struct fake_terminal *t, uint64_t bytes)
{
	while (t->bytes < bytes) {
		struct pollfd p = { .fd = t->master, .events = POLLIN };
		char buffer[4096];
		ssize_t n;

		if (poll(&p, 1, FAKE_WAIT_MS) != 1)
			fail_msg("only %llu of %llu bytes came", (unsigned long long)t->bytes,
				 (unsigned long long)bytes);
		n = read(t->master, buffer, sizeof(buffer));
		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++)
			fake_byte(t, buffer[i]);
		t->bytes += (uint64_t)n;
	}
}

/* Types bytes and waits until ptop's side can read them. */
static inline void fake_type(struct fake_terminal *t, const char *bytes)
{
	struct pollfd p = { .fd = t->slave, .events = POLLIN };
	size_t len = strlen(bytes);
	int there = 0;

	assert_int_equal(write(t->master, bytes, len), len);
	for (int i = 0; i < FAKE_WAIT_MS && there < (int)len; i++) {
		poll(&p, 1, 1);
		assert_int_equal(ioctl(t->slave, FIONREAD, &there), 0);
	}
	assert_int_equal(there, len);
}

#endif
