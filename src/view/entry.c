/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Typing on the bottom line: numbers and search.  The list above stays live.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/text.h"
#include "view/model.h"

#define RATE_MAX 1000000000000000ull
#define REFRESH_MIN 0.1
#define REFRESH_MAX 3600.0
#define WINDOW_MAX 864000.0

static int take_search(struct ui *ui)
{
	snprintf(ui->search, sizeof(ui->search), "%s", ui->entry.text);
	if (!ui->search[0])
		return UI_REDRAW;
	ui->search_step = 0;
	ui->want |= WANT_SEARCH;
	return ui_ask(ui);
}

static int take_rate(struct ui *ui, enum ui_control_kind kind)
{
	struct ui_control control = { .kind = kind };

	if (parse_u64(ui->entry.text, &control.value) || control.value == 0 ||
	    control.value > RATE_MAX) {
		snprintf(ui->entry.error, sizeof(ui->entry.error), "a whole number from 1 on");
		return -EINVAL;
	}
	return ui_push_control(ui, &control);
}

static int take_frequency(struct ui *ui)
{
	return take_rate(ui, UI_RATE_FREQUENCY);
}

static int take_period(struct ui *ui)
{
	return take_rate(ui, UI_RATE_PERIOD);
}

static int take_refresh(struct ui *ui)
{
	struct ui_control control = { .kind = UI_REFRESH };

	if (parse_seconds(ui->entry.text, &control.seconds) || control.seconds < REFRESH_MIN ||
	    control.seconds > REFRESH_MAX) {
		snprintf(ui->entry.error, sizeof(ui->entry.error), "seconds from 0.1 to 3600");
		return -EINVAL;
	}
	return ui_push_control(ui, &control);
}

static int take_window(struct ui *ui)
{
	double seconds;

	if (!strcmp(ui->entry.text, "all")) {
		ui->window_ns = 0;
	} else if (!parse_seconds(ui->entry.text, &seconds) && seconds >= REFRESH_MIN &&
		   seconds <= WINDOW_MAX) {
		ui->window_ns = (uint64_t)(seconds * 1e9 + 0.5);
	} else {
		snprintf(ui->entry.error, sizeof(ui->entry.error),
			 "seconds from 0.1 on, or \"all\"");
		return -EINVAL;
	}
	list_resort(ui_list(ui));
	return ui_ask(ui);
}

static const struct {
	const char *prompt, *brief; /* brief: where a line is short */
	int (*take)(struct ui *ui); /* flags, or -EINVAL with .error set */
} kinds[] = {
	[ENTRY_SEARCH] = { "/", "/", take_search },
	[ENTRY_FREQUENCY] = { "Frequency, samples a second on each CPU: ", "Frequency, Hz: ",
			      take_frequency },
	[ENTRY_PERIOD] = { "Period, events a sample: ", "Period: ", take_period },
	[ENTRY_REFRESH] = { "Seconds between refreshes: ", "Refresh, s: ", take_refresh },
	[ENTRY_WINDOW] = { "Window, seconds or \"all\": ", "Window, s: ", take_window },
};

/* What is typed matters more: the prompt leaves it half of the line, or is not there. */
static const char *prompt_for(enum entry_kind kind, int columns)
{
	int most = columns / 2 + 10;

	if ((int)text_width(kinds[kind].prompt) <= most)
		return kinds[kind].prompt;
	return (int)text_width(kinds[kind].brief) <= most ? kinds[kind].brief : "";
}

void entry_begin(struct ui *ui, enum entry_kind kind)
{
	ui->entry = (struct entry){ .kind = kind };
}

static void erase(struct entry *e)
{
	while (e->len > 0 && ((unsigned char)e->text[--e->len] & 0xc0) == 0x80)
		;
	e->text[e->len] = '\0';
}

static void append(struct entry *e, uint32_t ch)
{
	struct cell cell = { .chars = { ch }, .width = 1 };
	char bytes[CELL_CHARS * 4 + 1];
	size_t n = cell_bytes(&cell, bytes);

	if (e->len + n >= sizeof(e->text))
		return;
	memcpy(e->text + e->len, bytes, n + 1);
	e->len += n;
}

int entry_key(struct ui *ui, uint32_t key)
{
	struct entry *e = &ui->entry;
	int flags;

	if (key == UIKEY_ESCAPE || (key == UIKEY_BACKSPACE && !e->len)) {
		e->kind = ENTRY_NONE;
		return UI_REDRAW;
	}
	if (key == UIKEY_ENTER) {
		if (!e->len) {
			e->kind = ENTRY_NONE;
			return UI_REDRAW;
		}
		flags = kinds[e->kind].take(ui);
		if (flags < 0)
			return UI_REDRAW;
		e->kind = ENTRY_NONE;
		return flags;
	}
	e->error[0] = '\0';
	if (key == UIKEY_BACKSPACE || key == UIKEY_CTRL('H'))
		erase(e);
	else if (key == UIKEY_CTRL('U'))
		entry_begin(ui, e->kind);
	else if (key >= 0x20 && key < 0x110000 && (key < 0x7f || key >= 0xa0))
		append(e, key);
	else
		return 0;
	return UI_REDRAW;
}

void entry_draw(struct ui *ui, struct canvas *c, int row)
{
	struct entry *e = &ui->entry;
	const char *text = e->text;
	int at = 0, room;

	canvas_fill(c, row, 0, c->columns, ROLE_LABEL, ' ');
	at += canvas_text(c, row, at, c->columns, ROLE_KEY, prompt_for(e->kind, c->columns));
	room = c->columns - at - 1;
	while (*text && (int)text_width(text) > room) { /* the end is where one types */
		uint32_t ch;

		text += text_char(text, strlen(text), &ch);
	}
	canvas_fill(c, row, at, c->columns - at, ROLE_LABEL, ' ');
	at += canvas_text(c, row, at, c->columns - at, ROLE_STRONG, text);
	c->cursor_row = row;
	c->cursor_column = at < c->columns ? at : c->columns - 1;
	if (e->error[0])
		canvas_text(c, row, at + 2, c->columns - at - 2, ROLE_WARNING, e->error);
	else if (c->columns - at > 32)
		canvas_text(c, row, c->columns - 25, 25, ROLE_LABEL, "Enter: take it Esc: leave");
}
