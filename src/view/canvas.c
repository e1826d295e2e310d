/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SIDE_MAX 4096 /* no terminal is larger; keeps products in range */

int canvas_resize(struct canvas *c, int rows, int columns)
{
	if (rows < 0)
		rows = 0;
	if (columns < 0)
		columns = 0;
	if (rows > SIDE_MAX)
		rows = SIDE_MAX;
	if (columns > SIDE_MAX)
		columns = SIDE_MAX;
	if (rows != c->rows || columns != c->columns) {
		size_t nr = (size_t)rows * (size_t)columns;
		struct cell *cells = calloc(nr ? nr : 1, sizeof(*cells));

		free(c->cells);
		c->cells = cells;
		c->rows = cells ? rows : 0;
		c->columns = cells ? columns : 0;
		if (!cells)
			return -ENOMEM;
	}
	canvas_clear(c);
	return 0;
}

void canvas_done(struct canvas *c)
{
	free(c->cells);
	*c = (struct canvas){ .ascii = c->ascii, .cursor_row = -1 };
}

void canvas_clear(struct canvas *c)
{
	const struct cell blank = { .chars = { ' ' }, .width = 1 };
	size_t nr = (size_t)c->rows * (size_t)c->columns;

	for (size_t i = 0; i < nr; i++)
		c->cells[i] = blank;
	c->cursor_row = c->cursor_column = -1;
}

static void cell_blank(struct cell *cell)
{
	memset(cell->chars, 0, sizeof(cell->chars));
	cell->chars[0] = ' ';
	cell->width = 1;
}

/* Writes one character of @width columns that is known to fit; what it half covers becomes blank.
 */
static void put(struct canvas *c, int row, int column, int width, enum role role, uint32_t ch)
{
	struct cell *line = c->cells + (size_t)row * (size_t)c->columns;
	struct cell *cell = line + column;
	int after = column + width;

	if (cell->width == 0 && column > 0)
		cell_blank(cell - 1);
	if (after < c->columns && line[after].width == 0)
		cell_blank(line + after);
	memset(cell->chars, 0, sizeof(cell->chars));
	cell->chars[0] = ch;
	cell->width = (uint8_t)width;
	cell->role = (uint8_t)role;
	if (width == 2)
		cell[1] = (struct cell){ .role = (uint8_t)role, .cursor = cell->cursor };
}

static void combine(struct cell *cell, uint32_t ch)
{
	for (int i = 1; i < CELL_CHARS; i++) {
		if (!cell->chars[i]) {
			cell->chars[i] = ch;
			return;
		}
	}
}

static uint32_t allowed(const struct canvas *c, uint32_t ch)
{
	if (ch < 0x20 || (ch >= 0x7f && ch < 0xa0) || (c->ascii && ch > 0x7e))
		return '?';
	return ch;
}

int canvas_text(struct canvas *c, int row, int column, int width, enum role role, const char *text)
{
	size_t left = strlen(text);
	int used = 0, last = -1;

	if (row < 0 || row >= c->rows || column < 0 || column >= c->columns)
		return 0;
	if (width > c->columns - column)
		width = c->columns - column;
	while (left > 0) {
		uint32_t ch;
		size_t n = text_char(text, left, &ch);
		int w;

		text += n;
		left -= n;
		ch = allowed(c, ch);
		w = text_char_width(ch);
		if (w == 0) {
			if (last >= 0)
				combine(c->cells + (size_t)row * (size_t)c->columns + last, ch);
			continue;
		}
		if (w > width - used)
			break;
		last = column + used;
		put(c, row, last, w, role, ch);
		used += w;
	}
	return used;
}

int canvas_printf(struct canvas *c, int row, int column, int width, enum role role,
		  const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return canvas_text(c, row, column, width, role, text);
}

void canvas_fill(struct canvas *c, int row, int column, int width, enum role role, uint32_t ch)
{
	if (row < 0 || row >= c->rows)
		return;
	ch = allowed(c, ch);
	for (int i = column < 0 ? 0 : column; i < c->columns && i - column < width; i++)
		put(c, row, i, 1, role, ch);
}

void canvas_mark(struct canvas *c, int row)
{
	if (row < 0 || row >= c->rows)
		return;
	for (int i = 0; i < c->columns; i++)
		c->cells[(size_t)row * (size_t)c->columns + (size_t)i].cursor = true;
}

bool cell_same(const struct cell *a, const struct cell *b)
{
	return a->width == b->width && a->role == b->role && a->cursor == b->cursor &&
	       !memcmp(a->chars, b->chars, sizeof(a->chars));
}

static size_t encode(uint32_t ch, char *out)
{
	if (ch < 0x80) {
		out[0] = (char)ch;
		return 1;
	}
	if (ch < 0x800) {
		out[0] = (char)(0xc0 | ch >> 6);
		out[1] = (char)(0x80 | (ch & 0x3f));
		return 2;
	}
	if (ch < 0x10000) {
		out[0] = (char)(0xe0 | ch >> 12);
		out[1] = (char)(0x80 | (ch >> 6 & 0x3f));
		out[2] = (char)(0x80 | (ch & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (ch >> 18 & 7));
	out[1] = (char)(0x80 | (ch >> 12 & 0x3f));
	out[2] = (char)(0x80 | (ch >> 6 & 0x3f));
	out[3] = (char)(0x80 | (ch & 0x3f));
	return 4;
}

size_t cell_bytes(const struct cell *cell, char *out)
{
	size_t len = 0;

	for (int i = 0; i < CELL_CHARS && cell->chars[i]; i++)
		len += encode(cell->chars[i], out + len);
	out[len] = '\0';
	return len;
}

char *canvas_dump(const struct canvas *c)
{
	size_t room = (size_t)c->rows * ((size_t)c->columns * CELL_CHARS * 4 + 1) + 1;
	char *text = malloc(room);
	size_t len = 0;

	if (!text)
		return NULL;
	for (int row = 0; row < c->rows; row++) {
		const struct cell *line = c->cells + (size_t)row * (size_t)c->columns;
		int end = c->columns;

		while (end > 0 && line[end - 1].chars[0] == ' ' && !line[end - 1].chars[1])
			end--;
		for (int i = 0; i < end; i++) {
			char bytes[CELL_CHARS * 4 + 1];
			size_t n = cell_bytes(&line[i], bytes);

			memcpy(text + len, bytes, n);
			len += n;
		}
		text[len++] = '\n';
	}
	text[len] = '\0';
	return text;
}
