/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/model.h"

#define BOX_COLUMNS 100
#define BOX_LINES 8

static void clear(struct canvas *c, int row, int column, int width)
{
	canvas_fill(c, row, column, width, ROLE_PLAIN, ' ');
	for (int i = column; i < column + width && i < c->columns; i++)
		c->cells[(size_t)row * (size_t)c->columns + (size_t)i].cursor = false;
}

void box_draw(struct ui *ui, struct canvas *c, int row, int lines, int wanted, const char *title,
	      struct box *ret)
{
	int height = lines * 2 / 3 < BOX_LINES ? BOX_LINES : lines * 2 / 3;
	int width = c->columns - 2 < BOX_COLUMNS ? c->columns - 2 : BOX_COLUMNS;
	int left, top;

	if (height > wanted + 2)
		height = wanted + 2;
	if (height > lines)
		height = lines;
	if (width < 20)
		width = c->columns;
	left = c->columns - width;
	top = row + lines - height;
	for (int i = 0; i < height; i++) {
		clear(c, top + i, left, width);
		canvas_fill(c, top + i, left, 1, ROLE_BOX, ui->ascii ? '|' : 0x2502);
		canvas_fill(c, top + i, left + width - 1, 1, ROLE_BOX, ui->ascii ? '|' : 0x2502);
	}
	canvas_fill(c, top, left, width, ROLE_BOX, ui->ascii ? '-' : 0x2500);
	canvas_fill(c, top + height - 1, left, width, ROLE_BOX, ui->ascii ? '-' : 0x2500);
	canvas_fill(c, top, left, 1, ROLE_BOX, ui->ascii ? '+' : 0x250c);
	canvas_fill(c, top, left + width - 1, 1, ROLE_BOX, ui->ascii ? '+' : 0x2510);
	canvas_fill(c, top + height - 1, left, 1, ROLE_BOX, ui->ascii ? '+' : 0x2514);
	canvas_fill(c, top + height - 1, left + width - 1, 1, ROLE_BOX, ui->ascii ? '+' : 0x2518);
	canvas_printf(c, top, left + 2, width - 4, ROLE_BOX, " %s ", title);
	*ret = (struct box){ .row = top + 1,
			     .column = left + 1,
			     .lines = height > 2 ? height - 2 : 0,
			     .columns = width - 2 };
}
