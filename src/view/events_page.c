/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event menu: every event, whether this machine can sample it now, and why not where it cannot.
 */
#include <stdio.h>
#include <string.h>

#include "view/model.h"

#define NAME_COLUMNS 26
#define DETAIL_LINES 3
#define LIST_LINES 4 /* shorter lists give no room to the detail */

static void draw_event(struct ui *ui, struct canvas *c, const struct box *box, int line, size_t i)
{
	const struct event_row *e = &ui->events.at[i];
	bool now = !strcmp(e->name, ui->facts.event);
	int row = box->row + line, at = box->column + 1, end = box->column + box->columns;
	int width = box->columns > 60 ? NAME_COLUMNS : box->columns / 2;

	canvas_text(c, row, at, 1, ROLE_STRONG, now ? "*" : " ");
	at += 2;
	canvas_text(c, row, at, width - 1, e->usable ? ROLE_PLAIN : ROLE_DIM, e->name);
	at += width;
	if (e->usable)
		canvas_text(c, row, at, end - at, ROLE_PLAIN, e->help);
	else
		canvas_text(c, row, at, end - at, ROLE_DIM, e->why);
	if (i == ui->scrolls[PAGE_EVENTS].cursor) {
		for (int k = box->column; k < end && k < c->columns; k++)
			c->cells[(size_t)row * (size_t)c->columns + (size_t)k].cursor = true;
	}
}

/* All about the event under the cursor, below a rule: a line of the list is too short for it. */
static void draw_detail(struct ui *ui, struct canvas *c, const struct box *box)
{
	const struct event_row *e = &ui->events.at[ui->scrolls[PAGE_EVENTS].cursor];
	const char *text = e->usable ? e->help : e->why;
	int row = box->row + box->lines - DETAIL_LINES;

	canvas_fill(c, row++, box->column, box->columns, ROLE_BOX, ui->ascii ? '-' : 0x2500);
	for (int i = 0; i < DETAIL_LINES - 1 && *text; i++) {
		char part[NOTE_ROOM];
		size_t n = line_fit(text, box->columns - 2);

		snprintf(part, sizeof(part), "%.*s", (int)n, text);
		canvas_text(c, row++, box->column + 1, box->columns - 2, ROLE_PLAIN, part);
		text += n + strspn(text + n, " ");
	}
}

void events_draw(struct ui *ui, struct canvas *c, int row, int lines)
{
	struct scroll *s = &ui->scrolls[PAGE_EVENTS];
	size_t usable = 0;
	char title[96];
	struct box box;
	int lines_of_list;

	for (size_t i = 0; i < ui->events.nr; i++)
		usable += ui->events.at[i].usable;
	snprintf(title, sizeof(title), "Events: %zu of %zu can be sampled here", usable,
		 ui->events.nr);
	box_draw(ui, c, row, lines, (int)ui->events.nr + DETAIL_LINES, title, &box);
	lines_of_list = box.lines - DETAIL_LINES;
	if (lines_of_list < LIST_LINES && lines_of_list < (int)ui->events.nr)
		lines_of_list = box.lines;
	if (lines_of_list < 1)
		return;
	scroll_fit(s, ui->events.nr, (size_t)lines_of_list, true);
	if (lines_of_list < box.lines && ui->events.nr)
		draw_detail(ui, c, &box);
	for (int i = 0; i < lines_of_list && s->top + (size_t)i < ui->events.nr; i++)
		draw_event(ui, c, &box, i, s->top + (size_t)i);
}
