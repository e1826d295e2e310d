/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that move and fold, in lists and in pages.
 */
#include "view/commands.h"
#include "view/model.h"

static int move(struct ui *ui, long lines)
{
	struct scroll *s = &ui->scrolls[ui->page];

	if (ui->page == PAGE_NONE) {
		list_move(ui_list(ui), &ui->answer, lines);
		return UI_REDRAW;
	}
	if (lines < 0)
		s->cursor = s->cursor > (size_t)-lines ? s->cursor - (size_t)-lines : 0;
	else
		s->cursor = s->nr && s->cursor + (size_t)lines < s->nr ? s->cursor + (size_t)lines
								       : s->nr - (s->nr > 0);
	return UI_REDRAW;
}

static long page(const struct ui *ui)
{
	size_t lines = ui->page == PAGE_NONE ? ui->lines : ui->scrolls[ui->page].lines;

	return lines > 1 ? (long)lines - 1 : 1;
}

int cmd_up(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return move(ui, -1);
}

int cmd_down(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return move(ui, 1);
}

int cmd_page_up(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return move(ui, -page(ui));
}

int cmd_page_down(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return move(ui, page(ui));
}

int cmd_first(struct ui *ui, uint64_t now_ns)
{
	struct list *list = ui_list(ui);

	(void)now_ns;
	if (ui->page != PAGE_NONE) {
		ui->scrolls[ui->page].cursor = 0;
		return UI_REDRAW;
	}
	list->pinned = false;
	list->cursor = list->top = 0;
	return UI_REDRAW;
}

int cmd_last(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	if (ui->page != PAGE_NONE)
		ui->scrolls[ui->page].cursor =
			ui->scrolls[ui->page].nr - (ui->scrolls[ui->page].nr > 0);
	else
		list_go(ui_list(ui), &ui->answer, SIZE_MAX);
	return UI_REDRAW;
}

/* Opens or closes the row under the cursor; rows that are not here yet are asked for. */
static int set_open(struct ui *ui, const struct row *row, bool open)
{
	struct list *list = ui_list(ui);
	bool missing = open && row->first_child == UINT32_MAX;

	ui->auto_left[ui->view] = 0;
	list_go(list, &ui->answer, list->cursor);
	if (list_set_open(list, row->path, open) || list_refold(list, &ui->answer)) {
		ui_message(ui, "Out of memory: the row stays as it is.", ui->now_ns);
		return UI_REDRAW;
	}
	return missing ? ui_ask(ui) : UI_REDRAW;
}

int cmd_toggle(struct ui *ui, uint64_t now_ns)
{
	struct list *list = ui_list(ui);
	const struct row *row = list_row(list, &ui->answer);

	if (!row)
		return 0;
	if (row->has_children)
		return set_open(ui, row, !list_open(list, row));
	if (ui->view == QUERY_MODULES && row->function != UINT32_MAX) {
		list_go(list, &ui->answer, list->cursor); /* what is open stays the same module */
		ui->scrolls[PAGE_DETAIL] = (struct scroll){ 0 };
		ui->page = PAGE_DETAIL;
		return UI_REDRAW;
	}
	if (ui->view != QUERY_FUNCTIONS || row->function == UINT32_MAX)
		return 0;
	ui->seek_function = row->function;
	cmd_view_callers(ui, now_ns);
	ui->want |= WANT_FUNCTION;
	return ui_ask(ui);
}

int cmd_right(struct ui *ui, uint64_t now_ns)
{
	struct list *list = ui_list(ui);
	const struct row *row = list_row(list, &ui->answer);

	(void)now_ns;
	if (!row || !row->has_children)
		return 0;
	if (!list_open(list, row))
		return set_open(ui, row, true);
	list_move(list, &ui->answer, 1);
	return UI_REDRAW;
}

int cmd_left(struct ui *ui, uint64_t now_ns)
{
	struct list *list = ui_list(ui);
	const struct row *row = list_row(list, &ui->answer);

	(void)now_ns;
	if (!row)
		return 0;
	if (row->has_children && list_open(list, row))
		return set_open(ui, row, false);
	if (row->parent == UINT32_MAX)
		return 0;
	list_seek(list, &ui->answer, ui->answer.rows[row->parent].path);
	return UI_REDRAW;
}

int cmd_left_vi(struct ui *ui, uint64_t now_ns)
{
	return cmd_left(ui, now_ns);
}

int cmd_hottest(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	ui->auto_left[ui->view] = 0;
	ui->want |= WANT_HOTTEST;
	return ui_ask(ui);
}

int cmd_expand_all(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	ui->auto_left[ui->view] = 0;
	list_set_all(ui_list(ui), true);
	if (list_refold(ui_list(ui), &ui->answer))
		ui_drop_answer(ui);
	return ui_ask(ui);
}

int cmd_collapse_all(struct ui *ui, uint64_t now_ns)
{
	struct list *list = ui_list(ui);
	const struct row *row = list_row(list, &ui->answer);

	(void)now_ns;
	ui->auto_left[ui->view] = 0;
	while (row && row->parent != UINT32_MAX)
		row = &ui->answer.rows[row->parent];
	list_set_all(list, false);
	if (list_refold(list, &ui->answer))
		ui_drop_answer(ui);
	else if (row && list->pinned)
		list_seek(list, &ui->answer, row->path);
	return UI_REDRAW;
}

int cmd_search(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	entry_begin(ui, ENTRY_SEARCH);
	return UI_REDRAW;
}

static int search(struct ui *ui, int step)
{
	if (!ui->search[0]) {
		ui_message(ui, "Nothing was searched for yet: press / first.", ui->now_ns);
		return UI_REDRAW;
	}
	ui->search_step = step;
	ui->want |= WANT_SEARCH;
	return ui_ask(ui);
}

int cmd_search_next(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return search(ui, 1);
}

int cmd_search_previous(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	return search(ui, -1);
}

int cmd_clear(struct ui *ui, uint64_t now_ns)
{
	(void)now_ns;
	if (!ui->search[0])
		return 0;
	ui->search[0] = '\0';
	return UI_REDRAW;
}
