/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "clock.h"

void control_done(struct control *c)
{
	free(c->events);
	c->events = NULL;
}

static int probe(struct control *c)
{
	if (c->events)
		return 0;
	return probe_all(c->session->options->target.kind, &c->events, &c->nr_events);
}

/* The events of a recording, with their samples. */
static int recorded_menu(struct control *c, struct ui *ui)
{
	VEC(struct ui_event) rows = { 0 };
	VEC(char *) texts = { 0 };
	const struct event *e;
	char *name, *help;
	uint64_t samples;
	int err = 0;

	for (size_t i = 0; !err && (e = session_event(c->session, i, &samples)); i++) {
		/* Room first: what is copied then has its place. */
		if (vec_reserve(&texts, texts.nr + 2) || vec_reserve(&rows, rows.nr + 1)) {
			err = -ENOMEM;
			break;
		}
		name = strdup(e->name);
		if (asprintf(&help, "%" PRIu64 " samples", samples) < 0)
			help = NULL;
		texts.at[texts.nr++] = name;
		texts.at[texts.nr++] = help;
		err = name && help ? 0 : -ENOMEM;
		rows.at[rows.nr++] = (struct ui_event){
			.name = name,
			.group = "recorded",
			.help = help,
			.usable = samples != 0,
			.why = samples ? "" : "no samples",
		};
	}
	if (!err)
		err = ui_set_events(ui, rows.at, rows.nr);
	for (size_t i = 0; i < texts.nr; i++)
		free(texts.at[i]);
	vec_done(&texts);
	vec_done(&rows);
	return err;
}

int control_menu(struct control *c, struct ui *ui)
{
	VEC(struct ui_event) rows = { 0 };
	int err;

	if (session_recorded(c->session))
		return recorded_menu(c, ui);
	err = probe(c);
	if (!err)
		err = vec_reserve(&rows, c->nr_events);
	for (size_t i = 0; !err && i < c->nr_events; i++) {
		const struct probed *p = &c->events[i];

		err = vec_push(&rows,
			       ((struct ui_event){
				       .name = p->row->name,
				       .group = p->row->group,
				       .help = p->row->help,
				       .usable = p->result != PROBE_REFUSED,
				       .why = p->result == PROBE_REFUSED ? probe_brief(p->err)
									 : p->why.text,
			       }));
	}
	if (!err)
		err = ui_set_events(ui, rows.at, rows.nr);
	vec_done(&rows);
	return err;
}

/* The event's name without its modifiers names its row. */
static bool same_event(const char *row, const char *name)
{
	size_t len = strlen(row);

	return strncmp(row, name, len) == 0 && (name[len] == 0 || name[len] == ':');
}

/* The next (@step 1) or previous (-1) event of a recording that has samples. */
static int step_recorded(struct control *c, int step, struct sampling *s, struct reason *why)
{
	const struct event *e;
	uint64_t samples;
	size_t nr = 0, at = 0;

	for (; (e = session_event(c->session, nr, &samples)); nr++)
		if (strcmp(e->name, s->event.name) == 0)
			at = nr;
	for (size_t i = 1; i < nr; i++) {
		e = session_event(c->session, (at + (step > 0 ? i : nr - i)) % nr, &samples);
		if (samples) {
			s->event = *e;
			return 0;
		}
	}
	return reason_set(why, -ENOENT, "the recording has no samples of another event");
}

/* The next (@step 1) or previous (-1) event that can be opened, round the table. */
static int step_event(struct control *c, int step, struct sampling *s, struct reason *why)
{
	size_t at = 0;

	if (session_recorded(c->session))
		return step_recorded(c, step, s, why);
	if (probe(c))
		return reason_set(why, -ENOMEM, "out of memory");
	while (at < c->nr_events && !same_event(c->events[at].row->name, s->event.name))
		at++;
	for (size_t i = 1; i <= c->nr_events; i++) {
		size_t k = (at + c->nr_events + (step > 0 ? i : c->nr_events - i)) % c->nr_events;

		if (c->events[k].result != PROBE_REFUSED)
			return event_parse(c->events[k].row->name, &s->event, why);
	}
	return reason_set(why, -ENOENT, "no event can be sampled here: see ptop --doctor");
}

static int scale_rate(struct sampling *s, bool more, struct reason *why)
{
	bool multiply = s->by_frequency == more;

	if (!multiply && s->rate < 2)
		return reason_set(why, -ERANGE, "it cannot go further");
	if (multiply && s->rate > UINT64_MAX / 4)
		return reason_set(why, -ERANGE, "it cannot go further");
	s->rate = multiply ? s->rate * 2 : s->rate / 2;
	return 0;
}

/* What is left out, changed; at least one of kernel and user stays. */
static int set_sides(struct sampling *s, const struct ui_control *wish, struct reason *why)
{
	if (wish->kind == UI_SAMPLE_KERNEL)
		s->exclude_kernel = !wish->value;
	else
		s->exclude_user = !wish->value;
	if (s->exclude_kernel && s->exclude_user)
		return reason_set(why, -EINVAL,
				  "kernel and user are both hidden: sampling goes on as before");
	return 0;
}

static int wanted_sampling(struct control *c, const struct ui_control *wish, struct sampling *s,
			   struct reason *why)
{
	switch (wish->kind) {
	case UI_EVENT_NEXT:
		return step_event(c, 1, s, why);
	case UI_EVENT_PREVIOUS:
		return step_event(c, -1, s, why);
	case UI_EVENT_SET:
		if (session_recorded(c->session)) {
			snprintf(s->event.name, sizeof(s->event.name), "%.63s", wish->name);
			return 0;
		}
		return event_parse(wish->name, &s->event, why);
	case UI_RATE_HALVE:
		return scale_rate(s, false, why);
	case UI_RATE_DOUBLE:
		return scale_rate(s, true, why);
	case UI_RATE_FREQUENCY:
	case UI_RATE_PERIOD:
		s->by_frequency = wish->kind == UI_RATE_FREQUENCY;
		s->rate = wish->value;
		return 0;
	case UI_SAMPLE_KERNEL:
	case UI_SAMPLE_USER:
		return set_sides(s, wish, why);
	default:
		return -ENOTSUP;
	}
}

/* The next way to find stacks that can be had here, and says which it is. */
static int next_call_graph(struct control *c, struct reason *why)
{
	static const struct {
		enum call_graph mode;
		const char *name;
	} ways[] = {
		{ CALL_GRAPH_DWARF, "by unwind tables (dwarf)" },
		{ CALL_GRAPH_FP, "by frame pointers (fp)" },
		{ CALL_GRAPH_LBR, "as the processor recorded calls (lbr)" },
		{ CALL_GRAPH_NONE, "not at all (none)" },
	};
	const size_t nr = sizeof(ways) / sizeof(ways[0]);
	struct sampling s = *session_sampling(c->session);
	size_t at = 0;
	int err = -ENOTSUP;

	while (at < nr - 1 && ways[at].mode != s.call_graph)
		at++;
	for (size_t i = 1; i < nr && err; i++) {
		s = *session_sampling(c->session);
		s.call_graph = ways[(at + i) % nr].mode;
		err = session_change(c->session, &s, why);
		if (!err)
			notes_add(&c->session->notes, "call graph", clock_ns(),
				  "from now on stacks are found %s", ways[(at + i) % nr].name);
	}
	return err;
}

int control_apply(struct control *c, const struct ui_control *wish, struct reason *why)
{
	struct sampling s = *session_sampling(c->session);
	int err = wish->kind == UI_CALL_GRAPH_NEXT ? 0 : wanted_sampling(c, wish, &s, why);

	if (err)
		return err;
	if (c->session->ended_ns && !session_recorded(c->session)) {
		if (wish->kind == UI_SAMPLE_KERNEL || wish->kind == UI_SAMPLE_USER)
			return 0;
		return reason_set(why, -ESRCH, "the target has ended: nothing is sampled any more");
	}
	return wish->kind == UI_CALL_GRAPH_NEXT ? next_call_graph(c, why)
						: session_change(c->session, &s, why);
}
