/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "batch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "loop.h"
#include "output/folded.h"
#include "output/json.h"
#include "output/text.h"
#include "progress.h"
#include "report_fill.h"
#include "settle.h"

/* How often to look whether the target is still there, and how far a recording was read. */
#define TARGET_LOOK_NS (250 * NS_PER_MS)
/* Nobody waits for a refresh of a recording: it gets the names it needs. */
#define SETTLE_RECORDED_NS (60 * NS_PER_S)
#define SETTLE_FIRST_NS NS_PER_S /* what is inlined takes longer than names */

struct batch {
	struct session *session;
	struct asker asker;
	struct own_cost cost;
	struct progress_line progress;
	uint64_t shown_ns; /* end of the last refresh's window */
	uint64_t nr;       /* refreshes printed */
};

static int write_format(const struct options *o, const struct report *r)
{
	switch (o->format) {
	case FORMAT_JSON:
		return json_write(stdout, r);
	case FORMAT_FOLDED:
		return folded_write(stdout, r);
	default:
		return text_write(stdout, r, o->ascii);
	}
}

/* Those that end ptop, and of these those that have not come yet. */
static void ending_signals(sigset_t *ret)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending;

	sigpending(&pending);
	sigemptyset(ret);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigismember(&pending, signals[i]) == 0)
			sigaddset(ret, signals[i]);
}

/*
 * A reader that does not read blocks the write: signals then end ptop, since nobody waits for them.
 * One that came before ends it in order, after this refresh.
 */
static int write_report(const struct options *o, const struct report *r)
{
	sigset_t set, old;
	int err;

	ending_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, &old);
	err = write_format(o, r);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* Prints the current event's part of the refresh that ends at @to_ns. */
static int print_event(struct batch *b, uint64_t to_ns)
{
	const struct options *o = b->session->options;
	struct ui_question q = {
		.from_ns = b->shown_ns,
		.to_ns = to_ns,
		.all = true,
		.orientation = o->view_given ? o->view : QUERY_FUNCTIONS,
		.grouping = (enum ui_grouping)o->group,
		.hide = asker_hide(o),
	};
	struct filled f;
	int err;

	if (o->window_given) {
		q.window_ns = isinf(o->window_s) ? 0 : (uint64_t)(o->window_s * 1e9);
		q.from_ns = q.window_ns && q.window_ns < to_ns ? to_ns - q.window_ns : 0;
	} else {
		q.window_ns = to_ns - b->shown_ns;
	}
	err = fill_report(&f, &b->asker, &q, &b->cost, o->format != FORMAT_TEXT);
	if (err)
		return err;
	err = write_report(o, &f.report);
	filled_done(&f);
	return err;
}

/* The events of a recording one after the other; folded stacks have no place for an event's name.
 */
static int print_events(struct batch *b, uint64_t to_ns)
{
	struct session *s = b->session;
	const struct event *e;
	struct sampling next;
	uint64_t samples;
	bool any = false;
	int err = 0;

	for (size_t i = 0; !err && (e = session_event(s, i, &samples)); i++) {
		if (!samples)
			continue;
		next = *session_sampling(s);
		next.event = *e;
		any = true;
		(void)session_change(s, &next, NULL);
		err = print_event(b, to_ns);
	}
	return any ? err : print_event(b, to_ns);
}

/* Prints the refresh that ends at @to_ns. */
static int print(struct batch *b, uint64_t to_ns)
{
	struct session *s = b->session;
	bool recorded = session_recorded(s);
	int err;

	progress_end(&b->progress);
	settle_names(s,
		     clock_ns() + (recorded ? SETTLE_RECORDED_NS
				   : b->nr  ? SETTLE_NS
					    : SETTLE_FIRST_NS),
		     recorded || !b->nr);
	own_cost_look(&b->cost, s, clock_ns());
	err = recorded && s->options->format != FORMAT_FOLDED ? print_events(b, to_ns)
							      : print_event(b, to_ns);
	b->shown_ns = to_ns;
	b->nr++;
	return err;
}

/* The last one: what waits for images is known as well as it will ever be. */
static int print_last(struct batch *b)
{
	uint64_t to_ns = settle_records(b->session);

	settle_names(b->session, clock_ns() + SETTLE_NS, true);
	pipeline_flush(b->session->pipeline);
	if (b->nr && to_ns <= b->shown_ns)
		return 0; /* played to where other records than samples were the last */
	return print(b, to_ns);
}

static int run(struct batch *b, struct loop *l)
{
	const struct options *o = b->session->options;
	bool look = session_recorded(b->session) || o->target.kind == TARGET_PIDS ||
		    o->target.kind == TARGET_TIDS;
	int err = 0, events;

	while (!err) {
		events = loop_wait(l, look ? clock_ns() + TARGET_LOOK_NS : 0);
		progress_show(&b->progress, b->session);
		if ((events & LOOP_STOP) || session_ended(b->session))
			return print_last(b);
		if (!(events & LOOP_REFRESH))
			continue;
		if (session_recorded(b->session) && !o->speed)
			continue; /* it is printed whole */
		err = print(b, l->asked_ns);
		if (o->count && b->nr >= o->count)
			break;
	}
	return err;
}

/* What is to be said of the recording itself, once its results are out. */
static int tell_verdict(const struct session *s, struct reason *why)
{
	int err = session_verdict(s, why);

	if (!err && why->text[0])
		fprintf(stderr, "ptop: %s\n", why->text);
	return err;
}

int batch_run(struct session *s, struct reason *why)
{
	struct batch b = { .session = s, .shown_ns = s->start_ns };
	uint64_t delay_ns = session_pace(s, (uint64_t)(s->options->delay_s * 1e9));
	struct loop loop;
	int err;

	if (asker_init(&b.asker, s))
		return reason_set(why, -ENOMEM, "out of memory");
	own_cost_look(&b.cost, s, clock_ns());
	progress_begin(&b.progress);
	err = loop_init(&loop, s, -1, clock_ns() + delay_ns, delay_ns, why);
	if (!err) {
		err = run(&b, &loop);
		if (err == -EPIPE)
			err = 0; /* the reader had enough */
		else if (err)
			reason_set(why, err, "cannot write the refresh: %s", strerror(-err));
		else
			err = tell_verdict(s, why);
		loop_done(&loop);
	}
	asker_done(&b.asker);
	return err;
}
