/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that is known of the module under the cursor: below the list where there is room, else as a
 * page.  Both show the same labelled lines, wrapped.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/column.h"
#include "view/model.h"

#define BELOW_LINES 10 /* the rule included */
#define BELOW_MOST 13  /* where there is much room */
#define LIST_LINES 8   /* the list has at least so many, or nothing is below it */
#define LABEL_COLUMNS 8
#define TEXT_ROOM 512

/* Where lines go: what falls in [skip, skip + lines) is drawn. */
struct sheet {
	struct canvas *c;
	int row, column, columns, lines;
	size_t skip, nr;
};

static void put(struct sheet *s, enum role role, const char *label, const char *text)
{
	int room = s->columns - LABEL_COLUMNS;
	char part[TEXT_ROOM];

	while (*text) {
		size_t n = line_fit(text, room);

		snprintf(part, sizeof(part), "%.*s", (int)n, text);
		if (s->c && s->nr >= s->skip && s->nr - s->skip < (size_t)s->lines) {
			int row = s->row + (int)(s->nr - s->skip);

			canvas_text(s->c, row, s->column, LABEL_COLUMNS - 1, ROLE_DIM, label);
			canvas_text(s->c, row, s->column + LABEL_COLUMNS, room, role, part);
		}
		s->nr++;
		label = "";
		text += n + strspn(text + n, " ");
	}
}

static void share(char *out, size_t size, uint64_t part, uint64_t whole, const char *what)
{
	size_t len = strlen(out);
	char percent[16];

	if (!part)
		return;
	column_percent(part, whole, percent, sizeof(percent));
	snprintf(out + len, size - len, "%s%s %s", len ? ", " : "", percent, what);
}

static void shares(char *out, size_t size, const uint64_t *ends, uint64_t whole, bool complete)
{
	static const char *const names[NR_STACK_ENDS] = {
		[STACK_COMPLETE] = "complete",
		[STACK_CUT] = "cut",
		[STACK_BROKEN] = "broken",
		[STACK_DEEP] = "deep",
	};

	out[0] = '\0';
	for (int i = complete ? 0 : 1; i < NR_STACK_ENDS; i++)
		share(out, size, ends[i], whole, names[i]);
}

/* What would show the rest of the stacks that end here. */
static void put_remedies(struct sheet *s, const struct ui_module *about, const struct module_row *m,
			 uint64_t stacks)
{
	if (m->ends[STACK_CUT] * 100 >= stacks)
		put(s, ROLE_PLAIN, "", "cut: --call-graph dwarf,65528 copies more of each stack");
	if (m->ends[STACK_BROKEN] * 100 < stacks || about->kernel)
		return;
	if (!strncmp(about->name, "[jit]", 5))
		put(s, ROLE_PLAIN, "",
		    "broken: code made without frame pointers; java keeps them with -XX:+PreserveFramePointer");
	else if (!*about->path)
		return;
	else if (!strcmp(about->rows, "-"))
		put(s, ROLE_PLAIN, "",
		    "broken: code built without -fno-omit-frame-pointer; --call-graph dwarf needs none");
	else if (strcmp(about->rows, "wait") != 0)
		put(s, ROLE_PLAIN, "",
		    "broken: code without unwind tables; -fasynchronous-unwind-tables makes them");
}

static void put_stacks(struct sheet *s, const struct ui *ui, const struct row *row,
		       const struct module_row *m, const struct ui_module *about)
{
	char text[TEXT_ROOM], taken[128], ended[128];
	uint64_t stacks = 0;

	for (int i = 0; i < NR_STACK_ENDS; i++)
		stacks += ui->answer.ends[i];
	if (!stacks)
		return;
	shares(taken, sizeof(taken), m->self_ends, row->self_samples, true);
	if (taken[0]) {
		snprintf(text, sizeof(text), "of samples taken here: %s", taken);
		put(s, ROLE_PLAIN, "stacks", text);
	}
	shares(ended, sizeof(ended), m->ends, stacks, false);
	if (ended[0]) {
		snprintf(text, sizeof(text), "of all stacks, known up to here only: %s", ended);
		put(s, ROLE_WARNING, taken[0] ? "" : "stacks", text);
	}
	put_remedies(s, about, m, stacks);
}

static void put_fact(struct sheet *s, enum role role, const char *label, const char *fact,
		     const char *why)
{
	char text[TEXT_ROOM];

	snprintf(text, sizeof(text), "%s%s%s", fact, *why ? ": " : "", why);
	put(s, role, label, text);
}

static void put_names(struct sheet *s, const struct row *row, const struct module_row *counts,
		      const struct ui_module *m)
{
	char text[TEXT_ROOM], unnamed[16];

	put_fact(s, m->weak ? ROLE_WARNING : ROLE_PLAIN, "names", m->names, m->names_why);
	if (!counts->unnamed)
		return;
	column_percent(counts->unnamed, row->self_samples, unnamed, sizeof(unnamed));
	snprintf(text, sizeof(text), "%s of the samples taken here have none", unnamed);
	put(s, ROLE_PLAIN, "", text);
}

static void put_rows(struct sheet *s, const struct ui_module *m)
{
	if (!strcmp(m->rows, "-") && *m->rows_why)
		put(s, ROLE_PLAIN, "rows", m->rows_why);
	else
		put_fact(s, ROLE_PLAIN, "rows", m->rows, m->rows_why);
	if (m->inlined && strcmp(m->inlined, "-") != 0)
		put_fact(s, ROLE_PLAIN, "inlined", m->inlined, m->inlined_why);
}

static void fill(struct sheet *s, struct ui *ui, const struct row *row, const struct ui_module *m)
{
	const struct module_row *counts = &ui->answer.modules[row - ui->answer.rows];

	put(s, ROLE_STRONG, "file", *m->path ? m->path : m->name);
	put_names(s, row, counts, m);
	put(s, ROLE_STRONG, "to mend", m->advice);
	put_stacks(s, ui, row, counts, m);
	put_rows(s, m);
	put(s, ROLE_PLAIN, "build", m->build_id);
}

/* The module's row under the cursor; NULL on a group's and where there is none. */
static const struct row *cursor_row(struct ui *ui)
{
	const struct row *row = list_row(ui_list(ui), &ui->answer);

	return ui->answer.modules && row && row->function != UINT32_MAX ? row : NULL;
}

int detail_lines(const struct ui *ui, int lines)
{
	int below = lines / 3 < BELOW_LINES ? BELOW_LINES : lines / 3;

	if (ui->view != QUERY_MODULES || lines < BELOW_LINES + LIST_LINES)
		return 0;
	return below < BELOW_MOST ? below : BELOW_MOST;
}

void detail_draw_below(struct ui *ui, struct canvas *c, int row, int lines)
{
	const struct row *at = cursor_row(ui);
	struct sheet s = {
		.c = c, .row = row + 1, .column = 1, .columns = c->columns - 2, .lines = lines - 1
	};
	struct ui_module m;

	canvas_fill(c, row, 0, c->columns, ROLE_BOX, ui->ascii ? '-' : 0x2500);
	if (!at)
		return;
	ui->names.module(ui->names.module_ctx, at->function, &m);
	canvas_printf(c, row, 2, c->columns - 4, ROLE_BOX, " %s ", m.name);
	fill(&s, ui, at, &m);
}

void detail_draw(struct ui *ui, struct canvas *c, int row, int lines)
{
	struct scroll *scroll = &ui->scrolls[PAGE_DETAIL];
	const struct row *at = cursor_row(ui);
	struct sheet s = { .columns = c->columns > 102 ? 96 : c->columns - 4 };
	struct ui_module m;
	struct box box;
	size_t nr;

	if (!at || at->path != ui_list(ui)->path) {
		box_draw(ui, c, row, lines, 1, "Module", &box);
		canvas_text(c, box.row, box.column + 1, box.columns - 2, ROLE_PLAIN,
			    "It has no samples in this window any more.");
		return;
	}
	ui->names.module(ui->names.module_ctx, at->function, &m);
	fill(&s, ui, at, &m); /* counts */
	box_draw(ui, c, row, lines, (int)s.nr, m.name, &box);
	if (box.lines < 1)
		return;
	s = (struct sheet){ .columns = box.columns - 2 };
	fill(&s, ui, at, &m);
	nr = s.nr;
	scroll_fit(scroll, nr, (size_t)box.lines, false);
	s = (struct sheet){ .c = c,
			    .row = box.row,
			    .column = box.column + 1,
			    .columns = box.columns - 2,
			    .lines = box.lines,
			    .skip = scroll->top };
	fill(&s, ui, at, &m);
}
