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
#include "report_fill.h"
#include "settle.h"

/* How often to look whether the target is still there. */
#define TARGET_LOOK_NS (250 * NS_PER_MS)

struct batch {
	struct session *session;
	struct asker asker;
	struct own_cost cost;
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

/* A reader that does not read blocks the write: signals then end ptop, since nobody waits for them.
 */
static int write_report(const struct options *o, const struct report *r)
{
	sigset_t set, old;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_UNBLOCK, &set, &old);
	err = write_format(o, r);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* Prints the refresh that ends at @to_ns. */
static int print(struct batch *b, uint64_t to_ns)
{
	const struct options *o = b->session->options;
	struct ui_question q = {
		.from_ns = b->shown_ns,
		.to_ns = to_ns,
		.all = true,
		.grouping = (enum ui_grouping)o->group,
		.hide = (uint8_t)((o->show_idle ? 0 : SAMPLE_IDLE) |
				  (o->show_own ? 0 : SAMPLE_OWN)),
	};
	struct filled f;
	int err;

	if (o->window_given) {
		q.window_ns = isinf(o->window_s) ? 0 : (uint64_t)(o->window_s * 1e9);
		q.from_ns = q.window_ns && q.window_ns < to_ns ? to_ns - q.window_ns : 0;
	} else {
		q.window_ns = to_ns - b->shown_ns;
	}
	settle_names(b->session, clock_ns() + SETTLE_NS);
	own_cost_look(&b->cost, b->session, to_ns);
	err = fill_report(&f, &b->asker, &q, &b->cost, o->format != FORMAT_TEXT);
	if (err)
		return err;
	err = write_report(o, &f.report);
	filled_done(&f);
	b->shown_ns = to_ns;
	b->nr++;
	return err;
}

static int run(struct batch *b, struct loop *l)
{
	const struct options *o = b->session->options;
	bool may_end = o->target.kind == TARGET_PIDS || o->target.kind == TARGET_TIDS;
	int err = 0, events;

	while (!err) {
		events = loop_wait(l, may_end ? clock_ns() + TARGET_LOOK_NS : 0);
		if ((events & LOOP_STOP) || session_ended(b->session, clock_ns())) {
			settle_records(b->session);
			return print(b, clock_ns());
		}
		if (!(events & LOOP_REFRESH))
			continue;
		session_tidy(b->session, l->asked_ns);
		err = print(b, l->asked_ns);
		if (o->count && b->nr >= o->count)
			break;
	}
	return err;
}

int batch_run(struct session *s, struct reason *why)
{
	struct batch b = { .session = s, .shown_ns = s->start_ns };
	uint64_t delay_ns = (uint64_t)(s->options->delay_s * 1e9);
	struct loop loop;
	int err;

	if (asker_init(&b.asker, s))
		return reason_set(why, -ENOMEM, "out of memory");
	own_cost_look(&b.cost, s, s->start_ns);
	err = loop_init(&loop, s, -1, s->start_ns + delay_ns, delay_ns, why);
	if (!err) {
		err = run(&b, &loop);
		if (err == -EPIPE)
			err = 0; /* the reader had enough */
		else if (err)
			reason_set(why, err, "cannot write the refresh: %s", strerror(-err));
		loop_done(&loop);
	}
	asker_done(&b.asker);
	return err;
}
