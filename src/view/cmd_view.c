/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that change what is shown of what was collected, and the pages.
 */
#include <string.h>

#include "profile/store.h"
#include "view/commands.h"
#include "view/model.h"

#define SECOND 1000000000ull

static int go(struct ui *ui, enum orientation view)
{
	if (view == ui->view)
		return 0;
	ui_drop_answer(ui);
	ui->view = view;
	return ui_ask(ui);
}

int cmd_next_view(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return go(ui, (enum orientation)((ui->view + 1) % NR_VIEWS));
}

int cmd_previous_view(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return go(ui, (enum orientation)((ui->view + NR_VIEWS - 1) % NR_VIEWS));
}

int cmd_view_functions(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return go(ui, QUERY_FUNCTIONS);
}

int cmd_view_tree(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return go(ui, QUERY_TREE);
}

int cmd_view_callers(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return go(ui, QUERY_CALLERS);
}

int cmd_view_modules(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return go(ui, QUERY_MODULES);
}

int cmd_group(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	ui_drop_answer(ui);
	ui->grouping = (enum ui_grouping)((ui->grouping + 1) % NR_UI_GROUPINGS);
	for (int i = 0; i < NR_VIEWS; i++) {
		ui->lists[i].pinned = false;
		ui->lists[i].top = 0;
	}
	return ui_ask(ui);
}

int cmd_sort(struct ui *ui, uint64_t now_ns)
{
	struct list *list = ui_list(ui);

	(void)now_ns;
	if (ui->view == QUERY_MODULES && !list->by_self) {
		list->by_self = true;
	} else if (ui->view == QUERY_MODULES && list->by != COUNT_BROKEN) {
		list->by++;
	} else {
		list->by = COUNT_NONE;
		list->by_self = !list->by_self;
	}
	list_resort(list);
	return ui_ask(ui);
}

static const uint64_t windows[] = { 1 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, 60 * SECOND };

#define NR_WINDOWS (sizeof(windows) / sizeof(windows[0]))

static int set_window(struct ui *ui, uint64_t window_ns)
{
	if (window_ns == ui->window_ns)
		return 0;
	ui->window_ns = window_ns;
	list_resort(ui_list(ui));
	return ui_ask(ui);
}

int cmd_window_longer(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	if (!ui->window_ns)
		return 0;
	for (size_t i = 0; i < NR_WINDOWS; i++) {
		if (windows[i] > ui->window_ns)
			return set_window(ui, windows[i]);
	}
	return set_window(ui, 0);
}

int cmd_window_shorter(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	for (size_t i = NR_WINDOWS; i-- > 0;) {
		if (!ui->window_ns || windows[i] < ui->window_ns)
			return set_window(ui, windows[i]);
	}
	return 0;
}

int cmd_window_typed(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	entry_begin(ui, ENTRY_WINDOW);
	return UI_REDRAW;
}

int cmd_zero(struct ui *ui, uint64_t now_ns)
{
	ui->zero_ns = ui->paused ? ui->asked_to_ns : now_ns;
	list_resort(ui_list(ui));
	return ui_ask(ui);
}

int cmd_unzero(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	if (!ui->zero_ns)
		return 0;
	ui->zero_ns = 0;
	list_resort(ui_list(ui));
	return ui_ask(ui);
}

/* Pausing keeps what is on the screen: nothing is asked until another key wants another view of it.
 */
int cmd_pause(struct ui *ui, uint64_t now_ns)
{
	ui->paused = !ui->paused;
	if (!ui->paused)
		return ui_ask(ui);
	if (!ui->asked_to_ns)
		ui->asked_to_ns = now_ns;
	return UI_REDRAW;
}

/* What is hidden at once is no longer sampled either. */
static int exclude(struct ui *ui, uint8_t bit, uint8_t other, enum ui_control_kind kind)
{
	struct ui_control control = { .kind = kind };

	if (!(ui->hide & bit) && (ui->hide & other)) {
		ui_message(
			ui,
			bit == SAMPLE_KERNEL
				? "User space is left out already: press U to have it back first."
				: "The kernel is left out already: press K to have it back first.",
			ui->now_ns);
		return UI_REDRAW;
	}
	ui->hide ^= bit;
	control.value = !(ui->hide & bit);
	return ui_push_control(ui, &control) | ui_ask(ui);
}

int cmd_kernel(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return exclude(ui, SAMPLE_KERNEL, SAMPLE_USER, UI_SAMPLE_KERNEL);
}

int cmd_user(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return exclude(ui, SAMPLE_USER, SAMPLE_KERNEL, UI_SAMPLE_USER);
}

int cmd_idle(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	ui->hide ^= SAMPLE_IDLE;
	return ui_ask(ui);
}

static void notes_read(struct ui *ui)
{
	if (ui->page == PAGE_NOTES && ui->facts.nr_notes)
		memcpy(ui->seen, ui->facts.notes[0], sizeof(ui->seen));
}

static int open_page(struct ui *ui, enum page page)
{
	notes_read(ui);
	ui->page = ui->page == page ? PAGE_NONE : page;
	return UI_REDRAW;
}

int cmd_help(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return open_page(ui, PAGE_HELP);
}

int cmd_help_top(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return open_page(ui, PAGE_HELP);
}

int cmd_notes(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return open_page(ui, PAGE_NOTES);
}

int cmd_event_menu(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return open_page(ui, PAGE_EVENTS) | UI_NEED_EVENTS;
}

int cmd_close_detail(struct ui *ui, uint64_t now_ns)
{
	return cmd_close(ui, now_ns);
}

int cmd_close(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	notes_read(ui);
	ui->page = PAGE_NONE;
	return UI_REDRAW;
}
