/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/ui.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "view/carry.h"
#include "view/commands.h"
#include "view/model.h"

#define MESSAGE_NS 8000000000ull

const struct view *view_of(enum orientation o)
{
	static const struct view *const views[NR_VIEWS] = {
		[QUERY_FUNCTIONS] = &view_functions,
		[QUERY_TREE] = &view_tree,
		[QUERY_CALLERS] = &view_callers,
		[QUERY_MODULES] = &view_modules,
	};

	return views[o];
}

struct ui *ui_new(const struct ui_names *names, const struct ui_options *options)
{
	struct ui *ui = calloc(1, sizeof(*ui));

	if (!ui)
		return NULL;
	ui->names = *names;
	ui->ascii = options->ascii;
	ui->view = options->orientation;
	ui->grouping = options->grouping;
	ui->window_ns = options->window_ns;
	ui->hide = options->hide;
	ui->due = true;
	ui->answer.first = UINT32_MAX;
	ui->measure.cpus = ui->measure.idle_cpus = NAN;
	ui->facts.st.own_cpu_percent = NAN;
	ui->facts.st.event = ui->facts.st.target = ui->facts.st.ended_how = "";
	ui->facts.st.when = ui->facts.st.reading = "";
	ui->facts.st.kernel = ui->facts.st.user = true;
	ui->facts.st.refresh_s = options->refresh_s;
	for (int i = 0; i < NR_VIEWS; i++) {
		ui->lists[i].by_self = view_of((enum orientation)i)->by_self;
		ui->auto_left[i] = view_of((enum orientation)i)->auto_open;
	}
	return ui;
}

static void events_clear(struct ui *ui)
{
	for (size_t i = 0; i < ui->events.nr; i++) {
		free(ui->events.at[i].name);
		free(ui->events.at[i].group);
		free(ui->events.at[i].help);
		free(ui->events.at[i].why);
	}
	vec_clear(&ui->events);
}

void ui_free(struct ui *ui)
{
	if (!ui)
		return;
	answer_done(&ui->answer);
	for (int i = 0; i < NR_VIEWS; i++)
		list_done(&ui->lists[i]);
	events_clear(ui);
	vec_done(&ui->events);
	free(ui);
}

unsigned ui_context(const struct ui *ui)
{
	static const unsigned pages[NR_PAGES] = {
		[PAGE_HELP] = IN_HELP,
		[PAGE_EVENTS] = IN_EVENTS,
		[PAGE_NOTES] = IN_NOTES,
		[PAGE_DETAIL] = IN_DETAIL,
	};

	return ui->page == PAGE_NONE ? 1u << ui->view : pages[ui->page];
}

bool ui_is_flat(const struct ui *ui)
{
	return ui->grouping == UI_GROUP_NONE &&
	       (ui->view == QUERY_FUNCTIONS || ui->view == QUERY_MODULES);
}

int ui_key(struct ui *ui, uint32_t key, uint64_t now_ns)
{
	const struct command *command;
	int flags = ui->message[0] ? UI_REDRAW : 0;

	ui->now_ns = now_ns;
	if (key == UIKEY_NONE)
		return 0;
	if (key == UIKEY_HANGUP)
		return UI_QUIT;
	if (key == UIKEY_RESIZE)
		return UI_REDRAW;
	ui->message[0] = '\0';
	if (ui->entry.kind != ENTRY_NONE && key != UIKEY_CTRL('C') && key != UIKEY_CTRL('Z') &&
	    key != UIKEY_CTRL('L'))
		return flags | entry_key(ui, key);
	command = command_find(key, ui_context(ui));
	return command ? flags | command->run(ui, now_ns) : flags;
}

int ui_push_control(struct ui *ui, const struct ui_control *control)
{
	if (ui->nr_controls < UI_CONTROLS)
		ui->controls[(ui->control_first + ui->nr_controls++) % UI_CONTROLS] = *control;
	return UI_CONTROL | UI_REDRAW;
}

bool ui_control(struct ui *ui, struct ui_control *ret)
{
	if (!ui->nr_controls)
		return false;
	*ret = ui->controls[ui->control_first];
	ui->control_first = (ui->control_first + 1) % UI_CONTROLS;
	ui->nr_controls--;
	return true;
}

int ui_ask(struct ui *ui)
{
	ui->due = true;
	return UI_REQUERY | UI_REDRAW;
}

void ui_wanted(struct ui *ui, uint64_t now_ns, struct ui_question *ret)
{
	struct list *list = ui_list(ui);
	uint64_t to = ui->paused ? ui->asked_to_ns : now_ns;
	uint64_t from = 0;

	ui->now_ns = now_ns;
	if (ui->window_ns)
		from = to > ui->window_ns ? to - ui->window_ns : 0;
	if (from < ui->zero_ns)
		from = ui->zero_ns;
	ui->asked_to_ns = to;
	*ret = (struct ui_question){
		.orientation = ui->view,
		.from_ns = from < to ? from : to,
		.to_ns = to,
		.window_ns = ui->window_ns,
		.hide = ui->hide,
		.grouping = ui->grouping,
		.all = list->all || ui->want || ui->auto_left[ui->view] > 0,
		.expanded = &list->flipped,
		.frozen = ui->paused,
	};
	if (ret->all)
		ret->expanded = NULL;
}

void ui_drop_answer(struct ui *ui)
{
	answer_done(&ui->answer);
	ui->answer = (struct answer){ .first = UINT32_MAX };
	for (int i = 0; i < NR_VIEWS; i++) {
		vec_clear(&ui->lists[i].order);
		vec_clear(&ui->lists[i].shown);
	}
}

void ui_answer(struct ui *ui, struct answer *a, const struct ui_measure *m)
{
	size_t nr = m->nr_timeline < UI_TIMELINE ? m->nr_timeline : UI_TIMELINE;

	if ((ui->paused && !ui->due) || a->orientation != ui->view) {
		answer_done(a);
		*a = (struct answer){ .first = UINT32_MAX };
		return;
	}
	ui->due = false;
	carry_folds(ui_list(ui), &ui->answer, a, &ui->names);
	answer_done(&ui->answer);
	ui->answer = *a;
	*a = (struct answer){ .first = UINT32_MAX };
	ui->measure = *m;
	if (nr)
		memcpy(ui->timeline, m->timeline + (m->nr_timeline - nr),
		       nr * sizeof(*ui->timeline));
	ui->measure.timeline = ui->timeline;
	ui->measure.nr_timeline = nr;
	if (list_update(ui_list(ui), &ui->answer)) {
		ui_drop_answer(ui);
		ui_message(ui, "Out of memory: nothing is shown until there is more.", ui->now_ns);
		return;
	}
	finding_apply(ui);
}

static const char *fact(char *room, size_t size, const char *text)
{
	snprintf(room, size, "%s", text ? text : "");
	return room;
}

void ui_status(struct ui *ui, const struct ui_status *st)
{
	struct facts *f = &ui->facts;
	struct ui_status old = f->st;

	f->st = *st;
	f->st.event = fact(f->event, sizeof(f->event), st->event);
	f->st.target = fact(f->target, sizeof(f->target), st->target);
	f->st.ended_how = fact(f->how, sizeof(f->how), st->ended_how);
	f->st.when = fact(f->when, sizeof(f->when), st->when);
	f->st.reading = fact(f->reading, sizeof(f->reading), st->reading);
	if (!ui->paused) /* a new note would move the rows down */
		f->nr_notes = st->nr_notes < UI_NOTES ? st->nr_notes : UI_NOTES;
	for (size_t i = 0; !ui->paused && i < f->nr_notes; i++)
		fact(f->notes[i], sizeof(f->notes[i]), st->notes[i]);
	f->st.notes = NULL;
	f->st.nr_notes = f->nr_notes;
	if (ui->paused) { /* what would tick stands still; losses do not */
		f->st.samples_per_s = old.samples_per_s;
		f->st.own_cpu_percent = old.own_cpu_percent;
		f->st.own_rss_bytes = old.own_rss_bytes;
		f->st.history_s = old.history_s;
	}
}

void ui_message(struct ui *ui, const char *text, uint64_t now_ns)
{
	snprintf(ui->message, sizeof(ui->message), "%s", text);
	ui->message_until_ns = now_ns + MESSAGE_NS;
}

static int event_copy(struct event_row *row, const struct ui_event *e)
{
	*row = (struct event_row){
		.name = strdup(e->name),
		.group = strdup(e->group ? e->group : ""),
		.help = strdup(e->help ? e->help : ""),
		.why = strdup(e->why ? e->why : ""),
		.usable = e->usable,
	};
	return row->name && row->group && row->help && row->why ? 0 : -ENOMEM;
}

int ui_set_events(struct ui *ui, const struct ui_event *events, size_t nr)
{
	bool first = !ui->events.nr;

	events_clear(ui);
	if (vec_reserve(&ui->events, nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		int err = event_copy(&ui->events.at[ui->events.nr++], &events[i]);

		if (err) {
			events_clear(ui);
			return err;
		}
		if (first && !strcmp(events[i].name, ui->facts.event))
			ui->scrolls[PAGE_EVENTS].cursor = i;
	}
	return 0;
}

/* The notes line is there when there is something to say and room to say it. */
static int note_draw(struct ui *ui, struct canvas *c, int row)
{
	const char *text = ui->message;
	size_t more;

	if (ui->message[0] && ui->now_ns > ui->message_until_ns && !ui->paused)
		ui->message[0] = '\0';
	if (!ui->message[0]) {
		if (!ui->facts.nr_notes || !strcmp(ui->facts.notes[0], ui->seen))
			return 0;
		text = ui->facts.notes[0];
	}
	if (c->rows < 8)
		return 0;
	more = ui->facts.nr_notes - (text == ui->message || !ui->facts.nr_notes ? 0 : 1);
	canvas_fill(c, row, 0, c->columns, ROLE_WARNING, ' ');
	if (more && c->columns >= 60) {
		canvas_text(c, row, 0, c->columns - 12, ROLE_WARNING, text);
		canvas_printf(c, row, c->columns - 10, 10, ROLE_WARNING, "! +%zu more", more);
	} else {
		canvas_text(c, row, 0, c->columns, ROLE_WARNING, text);
	}
	return 1;
}

void ui_draw(struct ui *ui, struct canvas *c)
{
	static void (*const draw[NR_PAGES])(struct ui *, struct canvas *, int, int) = {
		[PAGE_HELP] = help_draw,
		[PAGE_EVENTS] = events_draw,
		[PAGE_NOTES] = notes_draw,
		[PAGE_DETAIL] = detail_draw,
	};
	int row, lines, below;

	c->ascii = ui->ascii;
	canvas_clear(c);
	row = header_draw(ui, c);
	row += note_draw(ui, c, row);
	lines = c->rows - row - (c->rows >= 3);
	if (lines >= 2) {
		rows_draw_titles(ui, c, row++);
		lines--;
	}
	if (lines > 0) {
		below = detail_lines(ui, lines);
		ui->lines = (size_t)(lines - below);
		rows_draw(ui, c, row, lines - below);
		if (below)
			detail_draw_below(ui, c, row + lines - below, below);
		if (draw[ui->page])
			draw[ui->page](ui, c, row - (lines > 1), lines + (lines > 1));
	}
	if (c->rows < 3 && ui->entry.kind == ENTRY_NONE)
		return;
	if (ui->entry.kind != ENTRY_NONE)
		entry_draw(ui, c, c->rows - 1);
	else
		footer_draw(ui, c, c->rows - 1);
}
