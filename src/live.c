/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "history_save.h"
#include "loop.h"
#include "output/text.h"
#include "progress.h"
#include "report_fill.h"
#include "screen/screen.h"
#include "settle.h"

/* The first refresh comes early, so that there is something to see at once. */
#define FIRST_REFRESH_NS (60 * NS_PER_MS)

/* How long packages are searched for at a time, and how often. */
#define SEARCH_NS (3 * NS_PER_MS)
#define SEARCH_EACH_NS (10 * NS_PER_MS)

struct live {
	struct session *session;
	struct screen *screen;
	struct ui *ui;
	struct canvas canvas;
	struct asker asker;
	struct control control;
	struct history_job history;
	struct own_cost cost;
	struct loop loop;
	bool redraw, stop;
	uint64_t shown_ns; /* up to when the last refresh showed; 0: there was none */
	uint64_t counted_ns, counted_samples; /* for samples a second */
	double samples_per_s;
	double delay_s;
	bool told; /* how the reading of a recording ended */
};

static struct ui *make_ui(const struct session *s, struct modules *modules, bool ascii)
{
	const struct options *o = s->options;
	struct ui_names names = {
		.ctx = s->pipeline->names,
		.function = names_function,
		.group = names_group,
		.module = modules_get,
		.module_ctx = modules,
	};
	struct ui_options options = {
		.ascii = ascii,
		.orientation = o->view,
		.grouping = (enum ui_grouping)o->group,
		.window_ns = isinf(o->window_s) ? 0 : (uint64_t)(o->window_s * 1e9),
		.hide = asker_hide(o),
		.refresh_s = o->delay_s,
	};

	return ui_new(&names, &options);
}

/* Asks what the view wants to know, about the time up to @now_ns. */
static void query(struct live *v, uint64_t now_ns)
{
	struct ui_question q;
	struct ui_measure m;
	struct answer a;

	ui_wanted(v->ui, now_ns, &q);
	if (ask(&v->asker, &q, &a, &m) == 0)
		ui_answer(v->ui, &a, &m);
	else
		ui_message(v->ui, "out of memory: this refresh is left out", now_ns);
	v->redraw = true;
}

static void count_rate(struct live *v, uint64_t now_ns)
{
	uint64_t samples = session_counts(v->session).samples;

	if (session_recorded(v->session)) /* of its own time */
		v->samples_per_s =
			now_ns > v->session->start_ns
				? (double)samples * 1e9 / (double)(now_ns - v->session->start_ns)
				: 0;
	else if (now_ns > v->counted_ns)
		v->samples_per_s = (double)(samples - v->counted_samples) * 1e9 /
				   (double)(now_ns - v->counted_ns);
	v->counted_samples = samples;
	v->counted_ns = now_ns;
}

static void tell_status(struct live *v, uint64_t now_ns)
{
	const struct session *s = v->session;
	const struct sampling *sampling = session_sampling(s);
	struct session_counts c = session_counts(s);
	const char *notes[NOTES_MAX];
	const struct note *note;
	struct session_progress progress;
	char how[64] = "", reading[64] = "";
	size_t nr_notes = 0;
	uint64_t oldest = store_oldest_ns(s->pipeline->store);
	struct ui_status st = {
		.event = sampling->event.name,
		.by_frequency = sampling->by_frequency,
		.rate = sampling->rate,
		.target = s->target,
		.kernel = !sampling->exclude_kernel && !sampling->event.exclude_kernel,
		.user = !sampling->exclude_user && !sampling->event.exclude_user,
		.samples_per_s = v->samples_per_s,
		.lost = c.lost,
		.dropped = c.dropped,
		.late = c.late,
		.throttled = c.throttled,
		.own_cpu_percent = v->shown_ns ? v->cost.percent : NAN,
		.own_rss_bytes = session_own_rss_bytes(),
		.history_bounded = store_dropped(s->pipeline->store) != 0,
		.history_s = oldest && now_ns > oldest ? (double)(now_ns - oldest) / 1e9 : 0,
		.ended = s->ended_ns != 0 && !session_recorded(s),
		.ended_how = how,
		.when = session_when(s),
		.reading = reading,
		.notes = notes,
		.refresh_s = v->delay_s,
	};

	if (session_progress(s, &progress)) {
		progress_text(&progress, reading, sizeof(reading));
		st.read_share = progress.size ? (double)progress.bytes / (double)progress.size : 0;
	}
	while (nr_notes < NOTES_MAX && (note = notes_get(&s->notes, nr_notes)))
		notes[nr_notes++] = note->text;
	st.nr_notes = nr_notes;
	if (s->command.ended)
		command_how(&s->command, how, sizeof(how));
	ui_status(v->ui, &st);
	v->redraw = true;
}

static void set_delay(struct live *v, double seconds)
{
	v->delay_s = seconds;
	loop_set_delay(&v->loop, session_pace(v->session, (uint64_t)(seconds * 1e9)));
}

/* What is to be said of a recording itself, once it is read; the first line has its name. */
static void tell_end(struct live *v)
{
	struct session *s = v->session;
	const char *name = s->options->input;
	size_t named = name ? strlen(name) : 0;
	struct reason why;
	const char *text = why.text;

	if (v->told || !s->ended_ns)
		return;
	v->told = true;
	set_delay(v, v->delay_s); /* nothing is played any more */
	(void)session_verdict(s, &why);
	if (named && !strncmp(text, name, named) && !strncmp(text + named, ": ", 2))
		text += named + 2;
	if (text[0])
		notes_add(&s->notes, "verdict", s->ended_ns, "%s", text);
}

static void refresh(struct live *v)
{
	struct session *s = v->session;
	uint64_t now = s->ended_ns && s->ended_ns < v->loop.asked_ns ? s->ended_ns
								     : v->loop.asked_ns;

	if (!v->shown_ns)
		settle_names(s, clock_ns() + SETTLE_NS, false);
	own_cost_look(&v->cost, s, clock_ns());
	count_rate(v, now);
	query(v, now);
	tell_end(v);
	tell_status(v, now);
	v->shown_ns = now;
}

static void draw(struct live *v)
{
	int rows, columns;

	screen_size(v->screen, &rows, &columns);
	if (canvas_resize(&v->canvas, rows, columns))
		return;
	v->canvas.ascii = screen_ascii(v->screen);
	ui_draw(v->ui, &v->canvas);
	if (screen_paint(v->screen, &v->canvas))
		v->stop = true;
	v->redraw = false;
}

/* Writes what is shown as text to a new file in the working directory; the sentence tells where. */
static void save(struct live *v, uint64_t now_ns)
{
	char path[64], sentence[160];
	time_t wall = time(NULL);
	struct ui_question q;
	struct filled f;
	struct tm tm;
	FILE *out = NULL;
	int fd, err;

	localtime_r(&wall, &tm);
	strftime(path, sizeof(path), "ptop-%Y%m%d-%H%M%S.txt", &tm);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		out = fdopen(fd, "w");
	err = out ? 0 : -errno;
	if (fd >= 0 && !out)
		close(fd);
	ui_wanted(v->ui, now_ns, &q);
	if (!err)
		err = fill_report(&f, &v->asker, &q, &v->cost, false);
	if (!err) {
		err = text_write(out, &f.report, v->session->options->ascii);
		filled_done(&f);
	}
	if (out && fclose(out) && !err)
		err = -errno;
	if (err)
		snprintf(sentence, sizeof(sentence), "cannot write %s: %s", path, strerror(-err));
	else
		snprintf(sentence, sizeof(sentence), "what is shown is written to %s", path);
	ui_message(v->ui, sentence, now_ns);
}

/* Writes the samples held to a new recording in the working directory, beside all else. */
static void record(struct live *v, uint64_t now_ns)
{
	struct reason why;

	if (history_begin(&v->history, v->session, &why) == 0)
		reason_set(&why, 0, "writing the samples held to %s", v->history.path);
	ui_message(v->ui, why.text, now_ns);
}

static void end_record(struct live *v)
{
	struct reason how;

	if (!history_ended(&v->history, &how))
		return;
	ui_message(v->ui, how.text, clock_ns());
	v->redraw = true;
}

static void carry_out(struct live *v, uint64_t now_ns)
{
	struct ui_control wish;
	struct reason why;

	while (ui_control(v->ui, &wish)) {
		if (wish.kind == UI_REFRESH)
			set_delay(v, wish.seconds);
		else if (wish.kind == UI_SAVE)
			save(v, now_ns);
		else if (wish.kind == UI_RECORD)
			record(v, now_ns);
		else if (control_apply(&v->control, &wish, &why))
			ui_message(v->ui, why.text, now_ns);
	}
	tell_status(v, now_ns);
}

static void suspend(struct live *v)
{
	sigset_t set, old;

	screen_suspend(v->screen);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, &old);
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP); /* returns once continued */
	sigprocmask(SIG_SETMASK, &old, NULL);
	screen_resume(v->screen);
	v->redraw = true;
}

/* What one key asks of the program; the next key already sees its effect. */
static void take_key(struct live *v, uint32_t key, uint64_t now_ns)
{
	int flags = ui_key(v->ui, key, now_ns);

	if (flags & UI_NEED_EVENTS)
		control_menu(&v->control, v->ui);
	if (flags & UI_CONTROL)
		carry_out(v, now_ns);
	if (flags & UI_SUSPEND)
		suspend(v);
	if (flags & UI_REPAINT)
		screen_repaint(v->screen);
	if (flags & UI_REQUERY)
		query(v, v->shown_ns ? v->shown_ns : now_ns);
	if (flags & UI_QUIT)
		v->stop = true;
	if (flags)
		v->redraw = true;
}

static void take_keys(struct live *v)
{
	uint64_t now = clock_ns();
	uint32_t key;

	while (!v->stop && (key = screen_key(v->screen, now)) != UIKEY_NONE) {
		if (key == UIKEY_HANGUP)
			v->stop = true;
		else
			take_key(v, key, now);
	}
}

/* When to wake up for a key or, with packages to be searched for, soon. */
static uint64_t deadline(const struct live *v)
{
	uint64_t key = screen_key_deadline(v->screen), soon = clock_ns() + SEARCH_EACH_NS;

	if (!modules_searching(v->asker.modules) || (key && key < soon))
		return key;
	return soon;
}

static void run(struct live *v)
{
	int events;

	draw(v);
	while (!v->stop) {
		events = loop_wait(&v->loop, deadline(v));
		if (events & LOOP_STOP)
			return;
		if ((events & LOOP_RESIZED) && screen_resize(v->screen))
			v->redraw = true;
		if (events & LOOP_SUSPEND)
			suspend(v);
		end_record(v);
		if (events & (LOOP_INPUT | LOOP_DEADLINE))
			take_keys(v);
		if (events & LOOP_REFRESH)
			refresh(v);
		if (modules_searching(v->asker.modules))
			v->redraw |= !modules_work(v->asker.modules, SEARCH_NS);
		if (v->redraw && !v->stop)
			draw(v);
	}
}

static int start(struct live *v, int input_fd, struct reason *why)
{
	const struct session *s = v->session;
	struct screen_options so = { .in_fd = input_fd,
				     .out_fd = STDOUT_FILENO,
				     .ascii = s->options->ascii };
	int err = screen_open(&so, &v->screen, why);

	if (err)
		return err;
	if (asker_init(&v->asker, v->session) == 0)
		v->ui = make_ui(s, v->asker.modules, screen_ascii(v->screen));
	if (!v->ui)
		return reason_set(why, -ENOMEM, "out of memory");
	v->delay_s = s->options->delay_s;
	return loop_init(&v->loop, v->session, input_fd, clock_ns() + FIRST_REFRESH_NS,
			 session_pace(v->session, (uint64_t)(v->delay_s * 1e9)), why);
}

int live_run(struct session *s, struct reason *why)
{
	struct live v = { .session = s,
			  .control = { .session = s },
			  .loop = { .epoll_fd = -1, .signal_fd = -1 } };
	int tty_fd = -1, err;

	if (!isatty(STDIN_FILENO)) {
		tty_fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
		if (tty_fd < 0)
			return reason_set(
				why, -ENOTTY,
				"there is no terminal to read keys from: try ptop --batch");
	}
	err = start(&v, tty_fd < 0 ? STDIN_FILENO : tty_fd, why);
	if (!err) {
		own_cost_look(&v.cost, s, clock_ns());
		v.counted_ns = s->start_ns;
		tell_status(&v, s->start_ns);
		run(&v);
	}
	loop_done(&v.loop);
	control_done(&v.control);
	asker_done(&v.asker);
	canvas_done(&v.canvas);
	ui_free(v.ui);
	screen_close(v.screen);
	if (tty_fd >= 0)
		close(tty_fd);
	/* A damaged recording fails here as in batch. */
	return !err && s->ended_ns ? session_verdict(s, why) : err;
}
