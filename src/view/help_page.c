/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The help page, made from the tables of keys and columns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/column.h"
#include "view/commands.h"
#include "view/model.h"

/* Where lines go: to the canvas from line .skip on, or to a stream. */
struct sheet {
	struct canvas *c;
	FILE *f;
	bool ascii;
	int row, lines, columns;
	size_t skip, nr;
};

static void put(struct sheet *s, enum role key_role, const char *key, const char *text)
{
	int indent = key ? 24 : 0;
	size_t at = s->nr++;

	if (s->f) {
		fprintf(s->f, key ? "  %-21s %s\n" : "%s%s\n", key ? key : "", text);
		return;
	}
	if (at < s->skip || at >= s->skip + (size_t)s->lines)
		return;
	if (key)
		canvas_text(s->c, s->row + (int)(at - s->skip), 2, indent - 3, key_role, key);
	canvas_text(s->c, s->row + (int)(at - s->skip), indent, s->columns - indent,
		    key ? ROLE_PLAIN : key_role, text);
}

/* A line, wrapped at blanks to the sheet's width. */
static void wrap(struct sheet *s, const char *key, const char *text)
{
	size_t room = s->columns > 44 ? (size_t)s->columns - 24 : 20;
	char part[256];

	if (s->f)
		room = 200;
	do {
		size_t n = strlen(text) <= room ? strlen(text) : room, cut = n;

		while (text[n] && cut > 0 && text[cut] != ' ')
			cut--;
		cut = cut ? cut : n;
		snprintf(part, sizeof(part), "%.*s", (int)cut, text);
		put(s, ROLE_STRONG, key, part);
		text += cut + strspn(text + cut, " ");
		key = "";
	} while (*text);
}

static void keys_text(const struct command *command, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (int i = 0; i < COMMAND_KEYS && len < size; i++) {
		char name[16];

		if (command->keys[i])
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? " " : "",
						ui_key_name(command->keys[i], name, sizeof(name)));
	}
}

static void fill(struct sheet *s)
{
	char keys[64];

	put(s, ROLE_STRONG, NULL, "Keys");
	for (int group = 0; group < NR_COMMAND_GROUPS; group++) {
		put(s, ROLE_PLAIN, NULL, "");
		put(s, ROLE_GROUP, NULL, command_groups[group]);
		for (size_t i = 0; i < nr_commands; i++) {
			if ((int)commands[i].group != group)
				continue;
			keys_text(&commands[i], keys, sizeof(keys));
			wrap(s, keys, commands[i].help);
		}
	}
	put(s, ROLE_PLAIN, NULL, "");
	put(s, ROLE_GROUP, NULL, "Columns");
	for (int i = 0; i < NR_COLUMNS; i++)
		wrap(s, columns[i].title[0] ? columns[i].title : "(bar)", columns[i].help);
	put(s, ROLE_PLAIN, NULL, "");
	put(s, ROLE_GROUP, NULL, "The header");
	wrap(s, "smp/s", "samples taken each second");
	wrap(s, "lost", "samples the kernel had to throw away: the ring was full");
	wrap(s, "dropped", "samples ptop could not carry");
	wrap(s, "throttled",
	     "times the kernel stopped sampling: the rate is too high for this machine");
	wrap(s, "late", "records that came after their time had been shown");
	wrap(s, "ptop", "what ptop itself costs, in percent of one CPU");
	wrap(s, "% of", "what 100 % is: all samples in the window that are not hidden");
	wrap(s, "complete",
	     "share of stacks that reach the thread's entry; the rest are cut or broken");
}

void scroll_fit(struct scroll *s, size_t nr, size_t lines, bool has_cursor)
{
	s->nr = nr;
	s->lines = lines;
	if (!has_cursor) { /* the cursor is the first line shown */
		if (s->cursor + lines > nr)
			s->cursor = nr > lines ? nr - lines : 0;
		s->top = s->cursor;
		return;
	}
	if (s->cursor >= nr)
		s->cursor = nr ? nr - 1 : 0;
	if (s->cursor < s->top)
		s->top = s->cursor;
	else if (s->cursor >= s->top + lines)
		s->top = s->cursor - lines + 1;
}

void help_draw(struct ui *ui, struct canvas *c, int row, int lines)
{
	struct scroll *scroll = &ui->scrolls[PAGE_HELP];
	struct sheet s = { .c = c, .ascii = ui->ascii, .row = row, .columns = c->columns };

	for (int i = 0; i < lines; i++) {
		canvas_fill(c, row + i, 0, c->columns, ROLE_PLAIN, ' ');
		for (int k = 0; k < c->columns; k++)
			c->cells[(size_t)(row + i) * (size_t)c->columns + (size_t)k].cursor = false;
	}
	fill(&s); /* counts */
	scroll_fit(scroll, s.nr, (size_t)lines, false);
	s.nr = 0;
	s.skip = scroll->top;
	s.lines = lines;
	fill(&s);
}

char *ui_help_text(bool ascii)
{
	char *text = NULL;
	size_t size = 0;
	struct sheet s = { .ascii = ascii };

	s.f = open_memstream(&text, &size);
	if (!s.f)
		return NULL;
	fill(&s);
	if (fclose(s.f)) {
		free(text);
		return NULL;
	}
	return text;
}
