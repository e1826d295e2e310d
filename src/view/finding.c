/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys whose effect needs rows that are closed: the hottest path, search, a function in another
 * view.  The key asks for every row once; when that answer is here, the path is opened and later
 * questions are small again.
 */
#include <stdio.h>

#include "view/model.h"

#define NONE UINT32_MAX

/*
 * Opens rows from @index down along the heaviest.  Ends where there is nothing below, or, for
 * @fork, where no child holds half of its parent.  Returns the last row.
 */
static uint32_t open_path(struct ui *ui, uint32_t index, bool fork)
{
	struct list *list = ui_list(ui);
	const struct row *rows = ui->answer.rows;

	while (rows[index].first_child != NONE) {
		uint32_t child = rows[index].first_child, best = child;

		if (list_set_open(list, rows[index].path, true))
			break;
		for (; child != NONE; child = rows[child].next) {
			if (rows[child].total > rows[best].total)
				best = child;
		}
		if (rows[index].self > rows[best].total ||
		    (fork && rows[best].total < rows[index].total / 2))
			break;
		index = best;
	}
	return index;
}

static uint32_t first_shown(const struct list *list, size_t line)
{
	return line < list->shown.nr ? list->shown.at[line] : NONE;
}

static void open_hottest(struct ui *ui)
{
	struct list *list = ui_list(ui);
	uint32_t from = first_shown(list, list->cursor), end;
	uint64_t path;

	if (from == NONE)
		return;
	end = open_path(ui, from, false);
	path = ui->answer.rows[end].path;
	if (!list_refold(list, &ui->answer))
		list_seek(list, &ui->answer, path);
	if (end == from && ui->answer.rows[from].first_child == NONE)
		ui_message(ui, "Nothing is called below this row.", ui->now_ns);
}

static void open_first(struct ui *ui)
{
	struct list *list = ui_list(ui);
	uint32_t from = first_shown(list, 0);

	if (from == NONE)
		return;
	ui->auto_left[ui->view]--;
	open_path(ui, from, true);
	(void)list_refold(list, &ui->answer); /* without memory: no rows, as list.h says */
}

/* Where the cursor's row is among all rows, open or not. */
static size_t place_of_cursor(const struct list *list)
{
	uint32_t row = first_shown(list, list->cursor);

	for (size_t i = 0; i < list->order.nr; i++) {
		if (list->order.at[i] == row)
			return i;
	}
	return 0;
}

static void search(struct ui *ui)
{
	struct list *list = ui_list(ui);
	const struct answer *a = &ui->answer;
	size_t nr = list->order.nr, at = place_of_cursor(list);
	char text[SEARCH_ROOM + 32];

	for (size_t k = ui->search_step ? 1 : 0; k <= nr && nr; k++) {
		size_t i = ui->search_step < 0 ? (at + nr - k % nr) % nr : (at + k) % nr;
		uint32_t row = list->order.at[i];

		if (row_matches(ui, &a->rows[row])) {
			if (!list_reveal(list, a, row))
				list_seek(list, a, a->rows[row].path);
			return;
		}
	}
	snprintf(text, sizeof(text), "No %s here matches \"%s\".",
		 ui->view == QUERY_MODULES ? "module" : "function", ui->search);
	ui_message(ui, text, ui->now_ns);
}

static void seek_function(struct ui *ui)
{
	struct list *list = ui_list(ui);
	const struct answer *a = &ui->answer;

	for (size_t i = 0; i < list->order.nr; i++) {
		const struct row *row = &a->rows[list->order.at[i]];

		if (row->function != ui->seek_function)
			continue;
		(void)list_set_open(list, row->path, true); /* without memory it stays closed */
		if (!list_reveal(list, a, list->order.at[i]))
			list_seek(list, a, row->path);
		return;
	}
	ui_message(ui, "That function has no samples of its own in this window.", ui->now_ns);
}

void finding_apply(struct ui *ui)
{
	unsigned want = ui->want;

	ui->want = 0;
	if (!ui->answer.nr_rows && !want)
		return;
	if (ui->auto_left[ui->view] > 0)
		open_first(ui);
	if (want & WANT_FUNCTION)
		seek_function(ui);
	if (want & WANT_SEARCH)
		search(ui);
	if (want & WANT_HOTTEST)
		open_hottest(ui);
}
