/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list on the canvas: titles, numbers, fold marks, names.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "view/column.h"
#include "view/model.h"

static bool is_group(const struct row *row)
{
	return row->function == UINT32_MAX;
}

static void name_group(struct ui *ui, const struct row *row, char *out, size_t size)
{
	if (row->group == QUERY_NO_GROUP)
		snprintf(out, size, "[unknown]");
	else
		ui->names.group(ui->names.ctx, ui->grouping, row->group, out, size);
}

bool row_matches(struct ui *ui, const struct row *row)
{
	struct ui_function f = { .name = "" };
	struct ui_module m;
	char group[256];

	if (!ui->search[0])
		return false;
	if (is_group(row)) {
		name_group(ui, row, group, sizeof(group));
		return strcasestr(group, ui->search) != NULL;
	}
	if (ui->view == QUERY_MODULES) {
		ui->names.module(ui->names.module_ctx, row->function, &m);
		return strcasestr(m.name, ui->search) || strcasestr(m.path, ui->search);
	}
	ui->names.function(ui->names.ctx, row->function, &f);
	return f.name && strcasestr(f.name, ui->search) != NULL;
}

static struct column_base base_of(struct ui *ui, const struct row *row)
{
	const struct answer *a = &ui->answer;

	return (struct column_base){
		.weight = a->weight,
		.samples = a->samples,
		.cpus = ui->measure.cpus,
		.by_self = ui_list(ui)->by_self,
		.is_module = a->modules && !is_group(row),
		.unnamed = list_count_of(COUNT_UNNAMED, a, (uint32_t)(row - a->rows)),
		.broken = list_count_of(COUNT_BROKEN, a, (uint32_t)(row - a->rows)),
	};
}

static void layout_of(struct ui *ui, const struct canvas *c, struct column_layout *ret)
{
	column_layout(ui->view, c->columns, !isnan(ui->measure.cpus), ret);
}

/* "FUNCTION: call tree by process", "▾SELF" */
static void title_of(struct ui *ui, enum column_id id, char *out, size_t size)
{
	static const char *const by[NR_UI_GROUPINGS] = { "", " by command", " by process",
							 " by thread" };
	const struct list *list = ui_list(ui);
	enum column_id sorted = list->by == COUNT_UNNAMED  ? COLUMN_unnamed
				: list->by == COUNT_BROKEN ? COLUMN_broken
				: list->by_self            ? COLUMN_self
							   : COLUMN_total;

	if (id == COLUMN_function && ui->view == QUERY_MODULES)
		snprintf(out, size, "%s%s", columns[COLUMN_module].title, by[ui->grouping]);
	else if (id == COLUMN_function && (ui->view != QUERY_FUNCTIONS || ui->grouping))
		snprintf(out, size, "%s: %s%s", columns[id].title, view_of(ui->view)->title,
			 by[ui->grouping]);
	else if (id == sorted)
		snprintf(out, size, "%s%s", ui->ascii ? "*" : "▾", columns[id].title);
	else
		snprintf(out, size, "%s", columns[id].title);
}

void rows_draw_titles(struct ui *ui, struct canvas *c, int row)
{
	struct column_layout l;

	layout_of(ui, c, &l);
	canvas_fill(c, row, 0, c->columns, ROLE_TITLE, ' ');
	for (int i = 0; i < NR_COLUMNS; i++) {
		char title[64];
		int width;

		if (!l.width[i])
			continue;
		title_of(ui, (enum column_id)i, title, sizeof(title));
		width = (int)text_width(title);
		/* the mark may stand in the blank before the column */
		if (columns[i].align == COLUMN_RIGHT && width <= l.width[i] + (l.at[i] > 0))
			canvas_text(c, row, l.at[i] + l.width[i] - width, width, ROLE_TITLE, title);
		else
			canvas_text(c, row, l.at[i], l.width[i], ROLE_TITLE, title);
	}
}

static enum role heat(uint64_t part, uint64_t whole)
{
	double share = whole ? (double)part / (double)whole : 0.0;

	return share >= 0.10 ? ROLE_HOT : share >= 0.02 ? ROLE_WARM : ROLE_COOL;
}

static void draw_bar(struct ui *ui, struct canvas *c, int row, int at, int width, double share)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	int parts = (int)(share * width * 8.0 + 0.5);

	if (ui->ascii) {
		canvas_fill(c, row, at, (parts + 4) / 8, ROLE_BAR, '#');
		return;
	}
	canvas_fill(c, row, at, parts / 8, ROLE_BAR, 0x2588);
	if (parts / 8 < width)
		canvas_text(c, row, at + parts / 8, 1, ROLE_BAR, eighths[parts % 8]);
}

static enum role function_role(struct ui *ui, const struct row *row, const struct ui_function *f)
{
	if (row_matches(ui, row))
		return ROLE_MATCH;
	if (is_group(row))
		return ROLE_GROUP;
	if (f->pseudo)
		return ROLE_WARNING;
	if (!f->named)
		return ROLE_DIM;
	return f->kernel ? ROLE_KERNEL : ROLE_USER;
}

static const char *fold_mark(struct ui *ui, const struct row *row)
{
	if (!row->has_children)
		return " ";
	if (list_open(ui_list(ui), row))
		return ui->ascii ? "-" : "▾";
	return ui->ascii ? "+" : "▸";
}

/*
 * One column a level.  Where a deep row has no room for that, the indentation stops at half of the
 * column and the level is written out in front.
 */
static void draw_function(struct ui *ui, struct canvas *c, int line, int at, int width,
			  const struct row *row, const char *name, enum role role)
{
	bool marks = !ui_is_flat(ui);
	int indent = (int)row->depth, limit = width / 2;
	int used;

	if (!marks) {
		canvas_text(c, line, at, width, role, name);
		return;
	}
	if (indent > limit) {
		canvas_printf(c, line, at, limit, ROLE_DIM, "%d", indent);
		indent = limit;
	}
	used = indent;
	used += canvas_text(c, line, at + used, width - used, ROLE_PLAIN, fold_mark(ui, row));
	canvas_text(c, line, at + used + 1, width - used - 1, role, name);
}

static void draw_numbers(struct ui *ui, struct canvas *c, int line, const struct column_layout *l,
			 const struct row *row)
{
	struct column_base base = base_of(ui, row);
	uint64_t sorted = base.by_self ? row->self : row->total;
	enum role role = heat(sorted, base.weight);
	char text[32];

	for (int i = 0; i < COLUMN_bar; i++) {
		int width;

		if (!l->width[i])
			continue;
		column_number((enum column_id)i, row, &base, text, sizeof(text));
		width = (int)strlen(text);
		canvas_text(c, line, l->at[i] + (width < l->width[i] ? l->width[i] - width : 0),
			    l->width[i], role, text);
	}
	if (l->width[COLUMN_bar] && base.weight)
		draw_bar(ui, c, line, l->at[COLUMN_bar], l->width[COLUMN_bar],
			 (double)sorted / (double)base.weight);
}

static void draw_module(struct ui *ui, struct canvas *c, int line, const struct column_layout *l,
			const struct row *row)
{
	struct ui_function f = { .named = true };
	struct ui_module m;
	enum role role;

	ui->names.module(ui->names.module_ctx, row->function, &m);
	f.kernel = m.kernel;
	role = m.weak ? ROLE_WARNING : ROLE_DIM;
	if (l->width[COLUMN_names])
		canvas_text(c, line, l->at[COLUMN_names], l->width[COLUMN_names], role, m.names);
	if (l->width[COLUMN_rows])
		canvas_text(c, line, l->at[COLUMN_rows], l->width[COLUMN_rows],
			    strcmp(m.rows, "no") ? ROLE_DIM : ROLE_WARNING, m.rows);
	if (l->width[COLUMN_build_id])
		canvas_text(c, line, l->at[COLUMN_build_id], l->width[COLUMN_build_id], ROLE_DIM,
			    m.build_id);
	draw_function(ui, c, line, l->at[COLUMN_function], l->width[COLUMN_function], row, m.name,
		      function_role(ui, row, &f));
}

static void draw_row(struct ui *ui, struct canvas *c, int line, const struct column_layout *l,
		     const struct row *row)
{
	struct ui_function f = { .name = "", .module = "", .named = true };
	char group[256];

	draw_numbers(ui, c, line, l, row);
	if (is_group(row)) {
		name_group(ui, row, group, sizeof(group));
		f.name = group;
	} else if (ui->view == QUERY_MODULES) {
		draw_module(ui, c, line, l, row);
		return;
	} else {
		ui->names.function(ui->names.ctx, row->function, &f);
	}
	if (l->width[COLUMN_module] && f.module)
		canvas_text(c, line, l->at[COLUMN_module], l->width[COLUMN_module], ROLE_DIM,
			    f.module);
	draw_function(ui, c, line, l->at[COLUMN_function], l->width[COLUMN_function], row,
		      f.name ? f.name : "", function_role(ui, row, &f));
}

static void draw_nothing(struct ui *ui, struct canvas *c, int row)
{
	char window[32];

	if (ui->facts.st.ended) {
		canvas_text(c, row, 2, c->columns - 2, ROLE_DIM,
			    "No samples in this window; the target has ended. w: longer window");
	} else if (ui->window_ns) {
		duration_text((double)ui->window_ns / 1e9, window, sizeof(window));
		canvas_printf(c, row, 2, c->columns - 2, ROLE_DIM, "No samples in the last %s yet",
			      window);
	} else {
		canvas_text(c, row, 2, c->columns - 2, ROLE_DIM, "No samples yet");
	}
}

void rows_draw(struct ui *ui, struct canvas *c, int row, int lines)
{
	struct list *list = ui_list(ui);
	struct column_layout l;

	if (!list->shown.nr) {
		draw_nothing(ui, c, row);
		return;
	}
	layout_of(ui, c, &l);
	list_scroll(list, (size_t)lines);
	for (int i = 0; i < lines && list->top + (size_t)i < list->shown.nr; i++) {
		size_t at = list->top + (size_t)i;

		draw_row(ui, c, row + i, &l, &ui->answer.rows[list->shown.at[at]]);
		if (at == list->cursor && ui->page == PAGE_NONE)
			canvas_mark(c, row + i);
	}
}
