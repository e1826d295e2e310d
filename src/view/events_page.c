/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event menu: every event, whether this machine can sample it now, and why not where it cannot.
 */
#include <stdio.h>
#include <string.h>

#include "view/model.h"

#define NAME_COLUMNS 26

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

void events_draw(struct ui *ui, struct canvas *c, int row, int lines)
{
	struct scroll *s = &ui->scrolls[PAGE_EVENTS];
	size_t usable = 0;
	char title[96];
	struct box box;

	for (size_t i = 0; i < ui->events.nr; i++)
		usable += ui->events.at[i].usable;
	snprintf(title, sizeof(title), "Events: %zu of %zu can be sampled here", usable,
		 ui->events.nr);
	box_draw(ui, c, row, lines, ui->events.nr ? (int)ui->events.nr : 1, title, &box);
	if (box.lines < 1)
		return;
	scroll_fit(s, ui->events.nr, (size_t)box.lines, true);
	for (int i = 0; i < box.lines && s->top + (size_t)i < ui->events.nr; i++)
		draw_event(ui, c, &box, i, s->top + (size_t)i);
}
