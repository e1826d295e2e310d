/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that change what is sampled, and the program's own.
 */
#include <stdio.h>

#include "view/commands.h"
#include "view/model.h"

static int push(struct ui *ui, enum ui_control_kind kind)
{
	const struct ui_control control = { .kind = kind };

	return ui_push_control(ui, &control);
}

int cmd_event_next(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return push(ui, UI_EVENT_NEXT);
}

int cmd_event_previous(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return push(ui, UI_EVENT_PREVIOUS);
}

int cmd_choose(struct ui *ui, uint64_t now_ns)
{
	struct ui_control control = { .kind = UI_EVENT_SET };
	size_t i = ui->scrolls[PAGE_EVENTS].cursor;
	char text[NOTE_ROOM];

	if (i >= ui->events.nr)
		return 0;
	if (!ui->events.at[i].usable) {
		snprintf(text, sizeof(text), "%s: %s", ui->events.at[i].name, ui->events.at[i].why);
		ui_message(ui, text, now_ns);
		return UI_REDRAW;
	}
	snprintf(control.name, sizeof(control.name), "%s", ui->events.at[i].name);
	ui->page = PAGE_NONE;
	return ui_push_control(ui, &control);
}

int cmd_rate_double(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return push(ui, UI_RATE_DOUBLE);
}

int cmd_rate_halve(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return push(ui, UI_RATE_HALVE);
}

int cmd_call_graph(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return push(ui, UI_CALL_GRAPH_NEXT);
}

int cmd_frequency(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	entry_begin(ui, ENTRY_FREQUENCY);
	return UI_REDRAW;
}

int cmd_period(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	entry_begin(ui, ENTRY_PERIOD);
	return UI_REDRAW;
}

int cmd_refresh(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	entry_begin(ui, ENTRY_REFRESH);
	return UI_REDRAW;
}

int cmd_save(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return push(ui, UI_SAVE);
}

int cmd_record(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return push(ui, UI_RECORD);
}

int cmd_repaint(struct ui *ui, uint64_t now_ns)
{
	(void)ui;
	(void)now_ns;
	return UI_REPAINT | UI_REDRAW;
}

int cmd_suspend(struct ui *ui, uint64_t now_ns)
{
	(void)ui;
	(void)now_ns;
	return UI_SUSPEND;
}

int cmd_quit(struct ui *ui, uint64_t now_ns)
{
	(void)ui;
	(void)now_ns;
	return UI_QUIT;
}

int cmd_quit_now(struct ui *ui, uint64_t now_ns)
{
	(void)ui;
	(void)now_ns;
	return UI_QUIT;
}
