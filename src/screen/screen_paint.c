/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Painting: row by row the cells that differ from what the terminal shows.  Short stretches of
 * equal cells are written over where moving the cursor would cost more; a blank rest of a row is
 * erased by one sequence.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "screen/terminal.h"

#define GAP 4        /* equal cells that are cheaper to write again than to jump over */
#define ERASE_FROM 4 /* changed blank cells that make erasing cheaper */

int screen_flush(struct screen *s)
{
	while (s->sent < s->out.nr) {
		struct pollfd p = { .fd = s->out_fd, .events = POLLOUT };
		ssize_t n;

		if (!s->own_out && poll(&p, 1, 0) == 0)
			return 0;
		n = write(s->out_fd, s->out.at + s->sent, s->out.nr - s->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return -EIO;
		s->sent += (size_t)n;
		s->bytes += (size_t)n;
	}
	s->out.nr = s->sent = 0;
	return 0;
}

static bool is_blank(const struct cell *cell)
{
	return cell->chars[0] == ' ' && !cell->chars[1];
}

static struct look look_of(const struct screen *s, const struct cell *cell)
{
	return theme_look(s->colours, cell);
}

/* A blank whose look cannot be seen. */
static bool is_empty(const struct screen *s, const struct cell *cell)
{
	struct look look = look_of(s, cell);

	return is_blank(cell) && !look_shows_on_blank(&look);
}

static bool same(const struct screen *s, const struct cell *a, const struct cell *b)
{
	struct look la, lb;

	if (cell_same(a, b))
		return true;
	if (a->width != b->width || memcmp(a->chars, b->chars, sizeof(a->chars)))
		return false;
	la = look_of(s, a);
	lb = look_of(s, b);
	return look_same(&la, &lb) || (is_empty(s, a) && is_empty(s, b));
}

static int put(struct screen *s, const char *text, size_t len)
{
	return bytes_add(&s->out, text, len);
}

/* Whether @to can be reached from @from by adding attributes. */
static bool only_adds(const struct look *from, const struct look *to)
{
	return !(from->bold && !to->bold) && !(from->dim && !to->dim) &&
	       !(from->underline && !to->underline) && !(from->reverse && !to->reverse) &&
	       !(from->fg != COLOUR_DEFAULT && to->fg == COLOUR_DEFAULT) &&
	       !(from->bg != COLOUR_DEFAULT && to->bg == COLOUR_DEFAULT);
}

static int set_look(struct screen *s, const struct look *to)
{
	const struct look plain = { .fg = COLOUR_DEFAULT, .bg = COLOUR_DEFAULT };
	const struct terminfo *t = &s->info;
	struct look from = s->look;
	int err = 0;

	if (s->look_known && look_same(&from, to))
		return 0;
	if (!s->look_known || !only_adds(&from, to)) {
		err = terminfo_put(t, &s->out, CAP_PLAIN);
		from = plain;
	}
	if (!err && to->bold && !from.bold)
		err = terminfo_put(t, &s->out, CAP_BOLD);
	if (!err && to->dim && !from.dim)
		err = terminfo_put(t, &s->out, CAP_DIM);
	if (!err && to->underline && !from.underline)
		err = terminfo_put(t, &s->out, CAP_UNDERLINE);
	if (!err && to->reverse && !from.reverse)
		err = terminfo_put(t, &s->out, CAP_REVERSE);
	if (!err && to->fg != from.fg)
		err = terminfo_put2(t, &s->out, CAP_FG, to->fg, 0);
	if (!err && to->bg != from.bg)
		err = terminfo_put2(t, &s->out, CAP_BG, to->bg, 0);
	s->look = *to;
	s->look_known = !err;
	return err;
}

static int go(struct screen *s, int row, int column)
{
	const struct terminfo *t = &s->info;
	size_t whole, best;
	enum cap cap = CAP_GOTO;
	int a = row, b = column;

	if (s->row == row && s->column == column)
		return 0;
	if (column == 0 && s->row >= 0 && (s->row == row || s->row + 1 == row)) {
		int err = put(s, "\r\n", s->row == row ? 1 : 2);

		s->row = row;
		s->column = 0;
		return err;
	}
	best = whole = terminfo_cost(t, CAP_GOTO, row, column);
	if (s->row == row && terminfo_cost(t, CAP_GOTO_COLUMN, column, 0) < best) {
		best = terminfo_cost(t, CAP_GOTO_COLUMN, column, 0);
		cap = CAP_GOTO_COLUMN;
		a = column;
		b = 0;
	}
	if (s->row == row && s->column < column &&
	    terminfo_cost(t, CAP_RIGHT, column - s->column, 0) < best) {
		cap = CAP_RIGHT;
		a = column - s->column;
		b = 0;
	}
	s->row = row;
	s->column = column;
	return terminfo_put2(t, &s->out, cap, a, b);
}

static int put_cell(struct screen *s, const struct canvas *c, int row, int column)
{
	const struct cell *cell = &c->cells[(size_t)row * (size_t)c->columns + (size_t)column];
	char bytes[CELL_CHARS * 4 + 1];
	struct look look = look_of(s, cell);
	int err;

	if (!s->info.last_cell && row == c->rows - 1 && column + cell->width >= c->columns)
		return 0; /* would scroll the terminal */
	err = go(s, row, column);
	if (!err && !(is_empty(s, cell) && s->look_known && !look_shows_on_blank(&s->look)))
		err = set_look(s, &look);
	if (!err)
		err = put(s, bytes, cell_bytes(cell, bytes));
	s->column += cell->width;
	/* Terminals differ in what they do at the margin, and in the width of rare characters. */
	if (s->column >= c->columns || cell->width != 1 || cell->chars[1])
		s->row = -1;
	return err;
}

/* From which column on the row is empty, if erasing that is cheaper than writing it; else .columns.
 */
static int erase_from(struct screen *s, const struct cell *old, const struct cell *new, int columns)
{
	int from = columns, changed = 0;

	if (!s->info.caps[CAP_ERASE_LINE])
		return columns;
	for (; from > 0 && is_empty(s, &new[from - 1]); from--)
		changed += !same(s, &old[from - 1], &new[from - 1]);
	return changed >= ERASE_FROM ? from : columns;
}

/* The end of the stretch to write from @column on. */
static int stretch_end(const struct screen *s, const struct cell *old, const struct cell *new,
		       int column, int limit)
{
	int end = column + 1;

	for (int i = end; i < limit && i - end < GAP; i++) {
		if (!same(s, &old[i], &new[i]))
			end = i + 1;
	}
	while (end < limit && new[end].width == 0)
		end++;
	return end;
}

static int paint_row(struct screen *s, const struct canvas *c, int row)
{
	const struct look plain = { .fg = COLOUR_DEFAULT, .bg = COLOUR_DEFAULT };
	const struct cell *new = c->cells + (size_t)row *(size_t)c->columns;
	const struct cell *old = s->front.cells + (size_t)row * (size_t)c->columns;
	int limit = erase_from(s, old, new, c->columns), err = 0;

	for (int column = 0; !err && column < limit; column++) {
		int end;

		if (same(s, &old[column], &new[column]))
			continue;
		while (column > 0 && new[column].width == 0)
			column--;
		end = stretch_end(s, old, new, column, limit);
		for (; !err && column < end; column++) {
			if (new[column].width)
				err = put_cell(s, c, row, column);
		}
		column--;
	}
	if (!err && limit < c->columns) {
		err = go(s, row, limit);
		if (!err)
			err = set_look(s, &plain);
		if (!err)
			err = terminfo_put(&s->info, &s->out, CAP_ERASE_LINE);
	}
	return err;
}

static int paint_cursor(struct screen *s, const struct canvas *c)
{
	bool show = c->cursor_row >= 0 && c->cursor_column >= 0;
	int err = 0;

	if (show)
		err = go(s, c->cursor_row, c->cursor_column);
	if (!err && show != s->cursor_shown)
		err = terminfo_put(&s->info, &s->out, show ? CAP_SHOW_CURSOR : CAP_HIDE_CURSOR);
	s->cursor_shown = show;
	return err;
}

static int paint_start(struct screen *s, const struct canvas *c)
{
	const struct look plain = { .fg = COLOUR_DEFAULT, .bg = COLOUR_DEFAULT };
	int err = 0;

	if (c->rows != s->front.rows || c->columns != s->front.columns)
		screen_repaint(s);
	if (!s->whole)
		return 0;
	err = canvas_resize(&s->front, c->rows, c->columns);
	if (!err)
		err = set_look(s, &plain);
	if (!err)
		err = terminfo_put(&s->info, &s->out, CAP_CLEAR);
	s->row = s->column = 0;
	s->whole = false;
	return err;
}

int screen_paint(struct screen *s, const struct canvas *c)
{
	int err = screen_flush(s);

	if (err)
		return err;
	if (!s->taken || s->out.nr)
		return 0; /* the last picture is still on its way: skip this one */
	err = paint_start(s, c);
	for (int row = 0; !err && row < c->rows; row++)
		err = paint_row(s, c, row);
	if (!err)
		err = paint_cursor(s, c);
	if (err) { /* no memory: send nothing, start afresh next time */
		s->out.nr = 0;
		screen_repaint(s);
		return 0;
	}
	if (c->rows && c->columns)
		memcpy(s->front.cells, c->cells,
		       (size_t)c->rows * (size_t)c->columns * sizeof(*c->cells));
	return screen_flush(s);
}
