/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first two lines.  Each is a list of facts, left and right, with a rank; where they do not
 * fit, the highest rank goes first, and at last the left ones are cut.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profile/store.h"
#include "view/model.h"

#define SEGMENTS 12
#define SPARK_MIN 12
#define NARROW 56 /* below, the second line is short of words */

struct segment {
	char text[FACT_ROOM * 2];
	enum role role;
	int rank;
	bool right;
};

struct line {
	struct segment at[SEGMENTS];
	int nr;
};

__attribute__((format(printf, 5, 6))) static void say(struct line *l, int rank, bool right,
						      enum role role, const char *format, ...)
{
	struct segment *s;
	va_list args;

	if (l->nr == SEGMENTS)
		return;
	s = &l->at[l->nr++];
	*s = (struct segment){ .role = role, .rank = rank, .right = right };
	va_start(args, format);
	vsnprintf(s->text, sizeof(s->text), format, args);
	va_end(args);
}

static int width_of(const struct line *l, bool right)
{
	int sum = 0;

	for (int i = 0; i < l->nr; i++)
		sum += l->at[i].right == right ? (int)text_width(l->at[i].text) + 2 : 0;
	return sum ? sum - 2 : 0;
}

static int needed(const struct line *l)
{
	int left = width_of(l, false), right = width_of(l, true);

	return left + (right ? right + 2 : 0);
}

static void drop(struct line *l, int columns, int spare)
{
	while (l->nr > 1) {
		int worst = 0;

		for (int i = 1; i < l->nr; i++) {
			if (l->at[i].rank > l->at[worst].rank)
				worst = i;
		}
		if (l->at[worst].rank == 0 ||
		    needed(l) + (l->at[worst].rank >= 6 ? spare : 0) <= columns)
			return;
		memmove(&l->at[worst], &l->at[worst + 1],
			(size_t)(l->nr - worst - 1) * sizeof(l->at[0]));
		l->nr--;
	}
}

/* Draws the line; *ret_from and *ret_to bound the free room between left and right. */
static void draw(struct canvas *c, int row, const struct line *l, int *ret_from, int *ret_to)
{
	int right = c->columns - width_of(l, true), left = 0;

	canvas_fill(c, row, 0, c->columns, ROLE_HEADER, ' ');
	*ret_to = right;
	if (right < 0)
		right = 0;
	for (int i = 0; i < l->nr; i++) {
		const struct segment *s = &l->at[i];
		int *at = s->right ? &right : &left;
		int room = s->right ? c->columns - right : *ret_to - left;

		*at += canvas_text(c, row, *at, room, s->role, s->text) + 2;
	}
	*ret_from = left;
}

void duration_text(double seconds, char *out, size_t size)
{
	unsigned long s = seconds > 0.0 ? (unsigned long)(seconds + 0.5) : 0;

	if (seconds < 9.95 && fabs(seconds - (double)s) > 0.05)
		snprintf(out, size, "%.1fs", seconds);
	else if (s < 100)
		snprintf(out, size, "%lus", s);
	else if (s < 6000)
		snprintf(out, size, "%lum%02lus", s / 60, s % 60);
	else
		snprintf(out, size, "%luh%02lum", s / 3600, s / 60 % 60);
}

static const char *modes(const struct ui *ui)
{
	bool kernel = ui->facts.st.kernel && !(ui->hide & SAMPLE_KERNEL);
	bool user = ui->facts.st.user && !(ui->hide & SAMPLE_USER);

	if (kernel && user)
		return "user+kernel";
	return user ? "user only" : kernel ? "kernel only" : "nothing";
}

static void say_losses(struct line *l, const struct ui_status *st)
{
	char n[8];

	text_count(n, st->lost);
	say(l, 2, true, st->lost ? ROLE_WARNING : ROLE_HEADER, "lost %s", n);
	if (st->dropped) {
		text_count(n, st->dropped);
		say(l, 3, true, ROLE_WARNING, "dropped %s", n);
	}
	if (st->throttled) {
		text_count(n, st->throttled);
		say(l, 4, true, ROLE_WARNING, "throttled %s", n);
	}
	if (st->late) {
		text_count(n, st->late);
		say(l, 7, true, ROLE_HEADER, "late %s", n);
	}
}

/* Who is watched; a long list is cut, so that losses keep their place. */
static void say_target(struct ui *ui, struct line *l, int columns)
{
	const char *target = ui->facts.target;
	size_t room = columns > 80 ? (size_t)columns / 3 : 20;

	if (text_width(target) <= room)
		say(l, 2, false, ROLE_STRONG, "%s", target);
	else
		say(l, 2, false, ROLE_STRONG, "%.*s%s", (int)text_prefix(target, room - 1), target,
		    ui->ascii ? "~" : "…");
}

static void facts_line(struct ui *ui, struct line *l, int columns)
{
	const struct ui_status *st = &ui->facts.st;
	char n[16];

	say(l, 0, false, ROLE_STRONG, "ptop");
	if (st->by_frequency) {
		say(l, 1, false, ROLE_STRONG, "%s %lluHz", st->event, (unsigned long long)st->rate);
	} else {
		text_count(n, st->rate);
		say(l, 1, false, ROLE_STRONG, "%s every %s", st->event, n);
	}
	say(l, 4, false, ROLE_HEADER, "%s", modes(ui));
	say_target(ui, l, columns);
	if (st->ended)
		say(l, 3, false, ROLE_WARNING, "ended%s%s%s", st->ended_how[0] ? " (" : "",
		    st->ended_how, st->ended_how[0] ? ")" : "");
	text_count(n, (uint64_t)(st->samples_per_s > 0.0 ? st->samples_per_s + 0.5 : 0.0));
	say(l, 5, true, ROLE_HEADER, "%s smp/s", n);
	say_losses(l, st);
	if (!isnan(st->own_cpu_percent))
		say(l, 6, true, ROLE_HEADER, "ptop %.1f%%", st->own_cpu_percent);
	if (st->own_rss_bytes) {
		text_bytes(n, st->own_rss_bytes);
		say(l, 8, true, ROLE_HEADER, "%s", n);
	}
}

static void say_window(struct ui *ui, struct line *l, bool narrow)
{
	char text[32];

	duration_text(ui->window_ns ? (double)ui->window_ns / 1e9 : ui->measure.seconds, text,
		      sizeof(text));
	if (ui->zero_ns && ui->zero_ns < ui->asked_to_ns &&
	    (!ui->window_ns || ui->zero_ns + ui->window_ns > ui->asked_to_ns)) {
		duration_text((double)(ui->asked_to_ns - ui->zero_ns) / 1e9, text, sizeof(text));
		say(l, 1, false, ROLE_HEADER, " %s since z", text);
	} else if (ui->window_ns) {
		say(l, 1, false, ROLE_HEADER, narrow ? " %s" : " %s window", text);
	} else {
		say(l, 1, false, ROLE_HEADER, " all %s", text);
	}
}

/* What 100 % is: CPUs for time, else the event's own count. */
static void say_whole(struct ui *ui, struct line *l)
{
	const struct ui_measure *m = &ui->measure;
	char event[FACT_ROOM], n[8];

	if (!isnan(m->cpus)) {
		say(l, 2, false, ROLE_STRONG, "%% of %.2f CPUs", m->cpus);
		return;
	}
	snprintf(event, sizeof(event), "%s", ui->facts.event);
	event[strcspn(event, ":")] = '\0';
	text_count(n, ui->answer.weight);
	say(l, 2, false, ROLE_STRONG, "%% of %s %s", n, event[0] ? event : "events");
}

/* A share that is worth a word: from half a percent on.  A large one is worth more: @large. */
static void say_share(struct line *l, int large, int small, uint64_t part, uint64_t whole,
		      const char *what)
{
	uint64_t percent = whole ? (part * 100 + whole / 2) / whole : 0;
	bool much = percent >= 10;

	if (percent)
		say(l, much ? large : small, false, much ? ROLE_WARNING : ROLE_HEADER, "%llu%% %s",
		    (unsigned long long)percent, what);
}

/* How far stacks and names can be trusted: first how many are whole, then what the others lack. */
static void say_trust(struct ui *ui, struct line *l, bool narrow)
{
	const struct answer *a = &ui->answer;
	uint64_t stacks = 0;

	for (int i = 0; i < NR_STACK_ENDS; i++)
		stacks += a->ends[i];
	if (stacks) {
		unsigned percent = (unsigned)(a->ends[STACK_COMPLETE] * 100 / stacks);

		say(l, 3, false, percent < 90 ? ROLE_WARNING : ROLE_HEADER,
		    narrow ? "stacks %u%%" : "stacks %u%% complete", percent);
		say_share(l, 4, 6, a->ends[STACK_BROKEN], stacks, "broken");
		say_share(l, 4, 6, a->ends[STACK_CUT], stacks, "cut");
		say_share(l, 4, 6, a->ends[STACK_DEEP], stacks, "deep");
	}
	say_share(l, 5, 7, a->unnamed_samples, a->samples, "unnamed");
}

static void window_line(struct ui *ui, struct line *l, bool narrow)
{
	const struct ui_status *st = &ui->facts.st;
	char text[32];

	say_window(ui, l, narrow);
	say_whole(ui, l);
	say_trust(ui, l, narrow);
	if (ui->hide & SAMPLE_IDLE && ui->measure.idle_cpus > 0.0)
		say(l, 8, false, ROLE_HEADER, "%.2f idle hidden", ui->measure.idle_cpus);
	if (st->history_bounded) {
		duration_text(st->history_s, text, sizeof(text));
		say(l, 4, false, ROLE_HEADER, "history %s", text);
	}
	if (st->refresh_s > 0.0 && fabs(st->refresh_s - 1.0) > 0.001) {
		duration_text(st->refresh_s, text, sizeof(text));
		say(l, 9, true, ROLE_HEADER, "each %s", text);
	}
	if (st->reading[0])
		say(l, 1, true, ROLE_WARNING, "%s", st->reading);
	if (ui->paused)
		say(l, 0, true, ROLE_PAUSED, "paused");
	else
		say(l, 0, true, ROLE_HEADER, "%s", st->when);
}

static void draw_spark(struct ui *ui, struct canvas *c, int row, int at, int width)
{
	static const char *const utf8[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
	const struct ui_measure *m = &ui->measure;
	const char *const *glyphs = ui->ascii ? plain : utf8;
	int nr = (int)m->nr_timeline, inner = width - 2 < nr ? width - 2 : nr;
	uint64_t full = m->timeline_full;

	for (int i = 0; !m->timeline_full && i < nr; i++)
		full = m->timeline[i] > full ? m->timeline[i] : full;
	at += width - 2 - inner;
	canvas_text(c, row, at, 1, ROLE_HEADER, ui->ascii ? "|" : "│");
	canvas_text(c, row, at + inner + 1, 1, ROLE_HEADER, ui->ascii ? "|" : "│");
	for (int i = 0; i < inner; i++) {
		int from = i * nr / inner, to = (i + 1) * nr / inner, level;
		double sum = 0.0, share;

		for (int k = from; k < to; k++)
			sum += (double)m->timeline[k];
		share = full ? sum / (to - from) / (double)full : 0.0;
		level = share <= 0.0 ? 0 : (int)(share * 8.0 + 0.999);
		canvas_text(c, row, at + 1 + i, 1, ROLE_BAR, glyphs[level > 8 ? 8 : level]);
	}
}

/* How far a recording was read, where the timeline will be. */
static void draw_progress(struct ui *ui, struct canvas *c, int row, int at, int width)
{
	int inner = width - 2, full = (int)(ui->facts.st.read_share * inner);

	canvas_text(c, row, at, 1, ROLE_HEADER, ui->ascii ? "|" : "│");
	canvas_text(c, row, at + inner + 1, 1, ROLE_HEADER, ui->ascii ? "|" : "│");
	for (int i = 0; i < inner && i < full; i++)
		canvas_text(c, row, at + 1 + i, 1, ROLE_BAR, ui->ascii ? "#" : "█");
}

int header_draw(struct ui *ui, struct canvas *c)
{
	struct line l = { .nr = 0 };
	int from, to;

	if (c->rows < 2)
		return 0;
	facts_line(ui, &l, c->columns);
	drop(&l, c->columns, 0);
	draw(c, 0, &l, &from, &to);
	if (c->rows < 6)
		return 1;
	l.nr = 0;
	window_line(ui, &l, c->columns < NARROW);
	drop(&l, c->columns, ui->measure.nr_timeline ? SPARK_MIN + 2 : 0);
	draw(c, 1, &l, &from, &to);
	if (ui->facts.st.reading[0] && to - 2 - from >= SPARK_MIN)
		draw_progress(ui, c, 1, from, to - 2 - from);
	else if (ui->measure.nr_timeline && to - 2 - from >= SPARK_MIN)
		draw_spark(ui, c, 1, from, to - 2 - from);
	return 2;
}
