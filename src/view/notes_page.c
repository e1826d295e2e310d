/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything ptop has to say, newest first, wrapped.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/model.h"

size_t line_fit(const char *text, int columns)
{
	size_t n = text_prefix(text, columns > 1 ? (size_t)columns : 1), cut = n;

	if (!text[n])
		return n;
	while (cut > 0 && text[cut] != ' ')
		cut--;
	return cut ? cut : n ? n : strlen(text);
}

/* Draws from line @skip on; returns how many lines there are. */
static size_t draw(struct ui *ui, struct canvas *c, const struct box *box, size_t skip)
{
	char part[NOTE_ROOM];
	size_t nr = 0;

	for (size_t i = 0; i < ui->facts.nr_notes; i++) {
		const char *text = ui->facts.notes[i];
		const char *mark = "*";

		while (*text) {
			size_t n = line_fit(text, box->columns - 4);

			snprintf(part, sizeof(part), "%.*s", (int)n, text);
			if (nr >= skip && nr - skip < (size_t)box->lines) {
				int row = box->row + (int)(nr - skip);

				canvas_text(c, row, box->column + 1, 1, ROLE_WARNING, mark);
				canvas_text(c, row, box->column + 3, box->columns - 4, ROLE_PLAIN,
					    part);
			}
			nr++;
			mark = " ";
			text += n + strspn(text + n, " ");
		}
	}
	return nr;
}

void notes_draw(struct ui *ui, struct canvas *c, int row, int lines)
{
	struct scroll *s = &ui->scrolls[PAGE_NOTES];
	struct box box = { .columns = c->columns > 102 ? 98 : c->columns - 4 };
	size_t nr = draw(ui, c, &box, 0);

	box_draw(ui, c, row, lines, nr ? (int)nr : 1, "Notes", &box);
	if (box.lines < 1)
		return;
	if (!nr)
		canvas_text(c, box.row, box.column + 1, box.columns - 2, ROLE_PLAIN,
			    "Nothing to say: all that was asked for is sampled.");
	nr = draw(ui, c, &(struct box){ .columns = box.columns }, 0);
	scroll_fit(s, nr, (size_t)box.lines, false);
	draw(ui, c, &box, s->top);
}
