/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes to the terminal a refresh, and what a refresh costs to draw: 40 functions under a tree,
 * sampled at random at 999 Hz on two CPUs, a window of 10 s, one refresh a second, through a pseudo
 * terminal of 80x24 and 120x40.
 */
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "profile/query.h"
#include "profile/stacks.h"
#include "profile/store.h"
#include "screen/screen.h"
#include "view/ui.h"

enum { FUNCTIONS = 40, STACKS = 120, REFRESHES = 61, RATE = 1998, BOUND_BYTES = 1024 };

#define SECOND 1000000000ull

struct bench {
	struct store *store;
	struct stacks *stacks;
	struct query_cache *cache;
	uint32_t stack[STACKS];
	double weight[STACKS];
	double line[UI_TIMELINE / 2];
	uint64_t seed, now_ns;
};

static void function_name(void *ctx, uint32_t function, struct ui_function *ret)
{
	static char name[64];

	(void)ctx;
	snprintf(name, sizeof(name), "subsystem_%u_do_something_%u", function % 7, function * 37);
	*ret = (struct ui_function){ .name = name,
				     .module = function % 3 ? "mysqld" : "libc.so.6",
				     .named = true,
				     .kernel = function % 5 == 0 };
}

static double uniform(struct bench *b)
{
	b->seed = b->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(b->seed >> 11) / 9007199254740992.0;
}

static void make_stacks(struct bench *b)
{
	for (int i = 0; i < STACKS; i++) {
		struct frame frames[12];
		size_t depth = 3 + (size_t)(uniform(b) * 9);

		for (size_t k = 0; k < depth; k++) {
			uint64_t spread = 1 + (depth - 1 - k) * 3; /* few entries, many leaves */

			frames[k] = (struct frame){
				.image = 1,
				.offset =
					(depth - 1 - k) * 3 +
					(uint64_t)(uniform(b) * (double)(spread > 4 ? 4 : spread)),
			};
			frames[k].offset %= FUNCTIONS;
		}
		b->stack[i] = stacks_add(b->stacks, frames, depth);
		b->weight[i] = pow(uniform(b), 4.0); /* some hot, most not */
	}
}

static void sample_second(struct bench *b)
{
	double sum = 0.0, load = 0.6 + 0.4 * uniform(b);

	for (int i = 0; i < STACKS; i++)
		sum += b->weight[i];
	for (int k = 0; k < (int)(RATE * load); k++) {
		struct stored s = { .time_ns = b->now_ns + SECOND * (uint64_t)k / RATE,
				    .weight = SECOND / (RATE / 2),
				    .flags = SAMPLE_USER };
		double at = uniform(b) * sum;
		int i = 0;

		for (; i < STACKS - 1 && at >= b->weight[i]; i++)
			at -= b->weight[i];
		s.stack = b->stack[i];
		if (store_add(b->store, &s))
			exit(1);
	}
	memmove(b->line, b->line + 6, sizeof(b->line) - 6 * sizeof(b->line[0]));
	for (size_t i = 0; i < 6; i++)
		b->line[sizeof(b->line) / sizeof(b->line[0]) - 6 + i] =
			load * (0.8 + 0.4 * uniform(b));
	b->now_ns += SECOND;
}

static void answer(struct bench *b, struct ui *ui)
{
	size_t nr = stacks_count(b->stacks);
	uint32_t *function_of = calloc(nr, sizeof(*function_of));
	struct naming naming = { .function_of = function_of, .nr_functions = FUNCTIONS };
	uint64_t line[UI_TIMELINE / 2];
	struct ui_measure m = { .idle_cpus = NAN,
				.seconds = 10.0,
				.timeline = line,
				.nr_timeline = UI_TIMELINE / 2,
				.timeline_full = 1200 };
	struct ui_question w;
	struct query q;
	struct answer a;

	if (!function_of)
		exit(1);
	for (size_t i = 1; i < nr; i++)
		function_of[i] = (uint32_t)stacks_nodes(b->stacks)[i].offset;
	for (size_t i = 0; i < UI_TIMELINE / 2; i++)
		line[i] = (uint64_t)(b->line[i] * 1000.0);
	ui_wanted(ui, b->now_ns, &w);
	q = (struct query){ .from_ns = w.from_ns,
			    .to_ns = w.to_ns,
			    .event = QUERY_ANY_EVENT,
			    .hide = w.hide,
			    .orientation = w.orientation,
			    .expanded = w.expanded };
	if (query_run(b->cache, b->store, b->stacks, &naming, &q, &a))
		exit(1);
	m.cpus = (double)a.weight / 1e9 / 10.0;
	ui_answer(ui, &a, &m);
	free(function_of);
}

static void status(struct bench *b, struct ui *ui)
{
	const struct ui_status st = { .event = "cpu-clock",
				      .by_frequency = true,
				      .rate = 999,
				      .target = "all CPUs",
				      .kernel = true,
				      .user = true,
				      .samples_per_s = RATE * (0.6 + 0.4 * uniform(b)),
				      .own_cpu_percent = 0.5 + uniform(b),
				      .own_rss_bytes = 23000000 + (uint64_t)(uniform(b) * 1e6),
				      .refresh_s = 1.0 };

	ui_status(ui, &st);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void drain(int master)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	char buffer[65536];

	while (poll(&p, 1, 5) > 0 && read(master, buffer, sizeof(buffer)) > 0)
		;
}

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Median bytes a refresh, the first apart; 0 on failure. */
static uint64_t run(int rows, int columns, const char *view)
{
	struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };
	const struct ui_names names = { .function = function_name };
	const struct ui_options options = { .orientation = QUERY_TREE, .window_ns = 10 * SECOND };
	struct bench b = { .store = store_new(1 << 24),
			   .stacks = stacks_new(),
			   .cache = query_cache_new(),
			   .seed = 42,
			   .now_ns = 1000 * SECOND };
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	uint64_t bytes[REFRESHES], before, first;
	struct canvas c = { 0 };
	struct reason why;
	struct screen *s;
	struct ui *ui = ui_new(&names, &options);
	double us = 0.0;

	if (master < 0 || grantpt(master) || unlockpt(master) || !ui || !b.store || !b.stacks ||
	    !b.cache)
		return 0;
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0 || ioctl(slave, TIOCSWINSZ, &size) ||
	    screen_open(&(struct screen_options){ .in_fd = slave, .out_fd = slave }, &s, &why) ||
	    canvas_resize(&c, rows, columns))
		return 0;
	make_stacks(&b);
	for (int i = 0; i < 10; i++)
		sample_second(&b);
	for (const char *key = view; *key; key++) {
		ui_key(ui, (uint32_t)*key, b.now_ns);
		answer(&b, ui);
	}
	for (int i = 0; i < REFRESHES; i++) {
		double start;

		sample_second(&b);
		status(&b, ui);
		answer(&b, ui);
		before = screen_bytes(s);
		start = cpu_us();
		ui_draw(ui, &c);
		screen_paint(s, &c);
		us += cpu_us() - start;
		bytes[i] = screen_bytes(s) - before;
		drain(master);
	}
	first = bytes[0];
	qsort(bytes + 1, REFRESHES - 1, sizeof(bytes[0]), by_size);
	printf("screen %dx%d, keys \"%s\": %llu bytes a refresh (median; p90 %llu, first %llu), %.0f us to draw and paint\n",
	       columns, rows, view, (unsigned long long)bytes[1 + (REFRESHES - 1) / 2],
	       (unsigned long long)bytes[1 + (REFRESHES - 1) * 9 / 10], (unsigned long long)first,
	       us / REFRESHES);
	screen_close(s);
	close(slave);
	close(master);
	canvas_done(&c);
	ui_free(ui);
	store_free(b.store);
	stacks_free(b.stacks);
	query_cache_free(b.cache);
	return bytes[1 + (REFRESHES - 1) / 2];
}

int main(void)
{
	uint64_t worst = 0;

	if (!setlocale(LC_ALL, "C.UTF-8"))
		fputs("no locale C.UTF-8: ASCII\n", stderr);
	setenv("TERM", "xterm-256color", 1);
	for (const char *const *view = (const char *const[]){ "2E", "1", "3E", NULL }; *view;
	     view++) {
		uint64_t bytes = run(24, 80, *view);

		if (!bytes)
			return 1;
		worst = bytes > worst ? bytes : worst;
		run(40, 120, *view);
	}
	printf("bound: 80x24 median <= %d bytes: %s\n", BOUND_BYTES,
	       worst <= BOUND_BYTES ? "held" : "BROKEN");
	return worst > BOUND_BYTES;
}
