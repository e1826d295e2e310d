/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bed for tests of the interface: a store with known samples, real queries, a ui driven by keys,
 * screens as text.  Include after cmocka.h.
 */
#ifndef PTOP_TESTS_VIEW_BED_H
#define PTOP_TESTS_VIEW_BED_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/query.h"
#include "profile/stacks.h"
#include "profile/store.h"
#include "view/ui.h"

#define SECOND 1000000000ull
#define BED_FUNCTIONS 64
#define BED_DEPTH 80

struct bed_function {
	const char *name, *module;
	bool kernel, unnamed;
};

static const struct bed_function bed_functions[BED_FUNCTIONS] = {
	{ "start_thread", "libc.so.6", false, false },
	{ "handle_connection", "mysqld", false, false },
	{ "dispatch_command", "mysqld", false, false },
	{ "Protocol::send_result_set_row(List<Item>*)", "mysqld", false, false },
	{ "entry_SYSCALL_64_after_hwframe", "[kernel]", true, false },
	{ "tcp_sendmsg", "[kernel]", true, false },
	{ "mysqld+0x12f0", "mysqld", false, true },
	{ "行ロックを待つ", "mysqld", false, false },
	{ "memcpy", "libc.so.6", false, false },
	{ "do_idle", "[kernel]", true, false },
	[BED_FUNCTIONS - 1] = { "int Work.sum(int)", "[jit]", false, false },
};

enum {
	START,
	HANDLE,
	DISPATCH,
	SEND,
	ENTRY,
	TCP,
	RAW,
	WIDE,
	MEMCPY,
	IDLE,
	DEEP,
	JIT = BED_FUNCTIONS - 1
};

struct bed {
	struct ui *ui;
	struct store *store;
	struct stacks *stacks;
	struct query_cache *cache;
	struct canvas canvas;
	uint64_t now_ns;
	double cpu_seconds; /* weight of a CPU second; 0: the event is no time */
	int flags;          /* of all keys since the last bed_flags() */
	unsigned requeries;
};

enum { BED_KERNEL = 1, BED_LIBC = 3, BED_MYSQLD, BED_DEEP, BED_JIT };

static inline uint32_t bed_image(uint32_t function)
{
	const char *module = bed_functions[function].module;

	if (!module)
		return BED_DEEP;
	return !strcmp(module, "[kernel]") ? BED_KERNEL
	       : !strcmp(module, "mysqld") ? BED_MYSQLD
	       : !strcmp(module, "[jit]")  ? BED_JIT
					   : BED_LIBC;
}

static inline void bed_module(void *ctx, uint32_t image, struct ui_module *ret)
{
	static const struct ui_module modules[] = {
		[BED_KERNEL] = { "[kernel]", "", "", "kallsyms", "", "-",
				 "the kernel walks its own stacks", "-", "", "", true, false },
		[BED_LIBC] = { "libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6",
			       "5a6b3c2d1e0f5a6b3c2d1e0f5a6b3c2d1e0f5a6b", "dynsym",
			       "only exported functions have names; install its debug package",
			       "yes", "", "-", "", "sudo apt install libc6-dbg", false, true },
		[BED_MYSQLD] = { "mysqld", "/usr/sbin/mysqld",
				 "00112233445566778899aabbccddeeff00112233", "symtab", "", "no",
				 "it has no .eh_frame", "yes", "", "", false, false },
		[BED_DEEP] = { "deep.so", "/opt/deep/deep.so", "", "wait", "the file is being read",
			       "wait", "", "-", "", "", false, false },
		[BED_JIT] = { "[jit] java[4242]", "", "", "perf map", "", "-", "", "-", "", "",
			      false, false },
	};

	(void)ctx;
	assert_in_range(image, 0, sizeof(modules) / sizeof(modules[0]) - 1);
	assert_non_null(modules[image].name);
	*ret = modules[image];
}

static inline void bed_function(void *ctx, uint32_t function, struct ui_function *ret)
{
	const struct bed_function *f = &bed_functions[function % BED_FUNCTIONS];

	(void)ctx;
	*ret = (struct ui_function){ .name = f->name ? f->name : "deep_function",
				     .module = f->module ? f->module : "deep.so",
				     .named = !f->unnamed,
				     .kernel = f->kernel };
}

static inline void bed_group(void *ctx, enum ui_grouping grouping, uint32_t group, char *out,
			     size_t size)
{
	(void)ctx;
	snprintf(out, size, grouping == UI_GROUP_COMMAND ? "command%u" : "mysqld[%u]", group);
}

static inline struct bed *bed_new(const struct ui_options *options)
{
	static const struct ui_names names = { .function = bed_function,
					       .group = bed_group,
					       .module = bed_module };
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->ui = ui_new(&names, options);
	b->store = store_new(1 << 24);
	b->stacks = stacks_new();
	b->cache = query_cache_new();
	assert_non_null(b->ui);
	assert_non_null(b->store);
	assert_non_null(b->stacks);
	assert_non_null(b->cache);
	assert_int_equal(canvas_resize(&b->canvas, 24, 80), 0);
	b->now_ns = 100 * SECOND;
	b->cpu_seconds = 1e9;
	return b;
}

static inline void bed_free(struct bed *b)
{
	ui_free(b->ui);
	store_free(b->store);
	stacks_free(b->stacks);
	query_cache_free(b->cache);
	canvas_done(&b->canvas);
	free(b);
}

/* @nr samples of 1 ms at @time_ns; the stack outermost first. */
static inline void bed_sample(struct bed *b, uint64_t time_ns, uint32_t task, uint8_t flags,
			      unsigned nr, const uint32_t *functions, size_t depth)
{
	struct frame frames[BED_DEPTH];
	struct stored s = { .time_ns = time_ns, .weight = 1000000, .task = task, .flags = flags };

	assert_true(depth <= BED_DEPTH);
	for (size_t i = 0; i < depth; i++)
		frames[i] = (struct frame){ .image = bed_image(functions[depth - 1 - i]),
					    .offset = functions[depth - 1 - i] };
	s.stack = stacks_add(b->stacks, frames, depth);
	for (unsigned i = 0; i < nr; i++)
		assert_int_equal(store_add(b->store, &s), 0);
}

#define BED_SAMPLE(b, time, task, flags, nr, ...)                               \
	bed_sample(b, time, task, flags, nr, (const uint32_t[]){ __VA_ARGS__ }, \
		   sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

/* The load that the golden screens show: the 10 seconds before now. */
static inline void bed_load(struct bed *b)
{
	for (uint64_t s = 1; s <= 10; s++) {
		uint64_t t = b->now_ns - s * SECOND + SECOND / 2;

		BED_SAMPLE(b, t, 1, SAMPLE_USER, 400, START, HANDLE, DISPATCH);
		BED_SAMPLE(b, t, 1, SAMPLE_USER, 300, START, HANDLE, DISPATCH, SEND);
		BED_SAMPLE(b, t, 2, SAMPLE_KERNEL, 200, START, HANDLE, DISPATCH, SEND, ENTRY, TCP);
		BED_SAMPLE(b, t, 2, SAMPLE_USER, 60, START, HANDLE, MEMCPY);
		BED_SAMPLE(b, t, 2, SAMPLE_USER, 30, RAW);
		BED_SAMPLE(b, t, 2, SAMPLE_USER | STACK_BROKEN << SAMPLE_END_SHIFT, 20, HANDLE,
			   WIDE);
		BED_SAMPLE(b, t, 3, SAMPLE_KERNEL | SAMPLE_IDLE, 700, IDLE);
	}
}

static inline void bed_answer(struct bed *b, const struct ui_question *w)
{
	size_t nr = stacks_count(b->stacks);
	uint32_t *function_of = calloc(nr, sizeof(*function_of));
	static const uint32_t groups[] = { 0, 1, 1, 2 };
	uint64_t line[40];
	uint8_t unnamed[BED_FUNCTIONS] = { 0 };
	struct naming naming = { .function_of = function_of,
				 .nr_functions = BED_FUNCTIONS,
				 .unnamed = unnamed };
	struct query q = { .from_ns = w->from_ns,
			   .to_ns = w->to_ns,
			   .event = QUERY_ANY_EVENT,
			   .hide = w->hide,
			   .orientation = w->orientation,
			   .expanded = w->expanded };
	struct ui_measure m = { .cpus = NAN, .idle_cpus = NAN, .seconds = 10.0 };
	struct answer a;

	assert_non_null(function_of);
	for (size_t i = 0; i < BED_FUNCTIONS; i++)
		unnamed[i] = bed_functions[i].unnamed;
	for (size_t i = 1; i < nr; i++)
		function_of[i] = (uint32_t)stacks_nodes(b->stacks)[i].offset;
	if (w->grouping != UI_GROUP_NONE) {
		q.group_of = groups;
		q.nr_tasks = 4;
		q.nr_groups = 3;
	}
	assert_int_equal(query_run(b->cache, b->store, b->stacks, &naming, &q, &a), 0);
	assert_null(answer_check(&a));
	if (b->cpu_seconds > 0.0) {
		m.cpus = (double)a.weight / b->cpu_seconds / 10.0;
		m.idle_cpus = (double)a.hidden_idle / b->cpu_seconds / 10.0;
	}
	for (size_t i = 0; i < 40; i++)
		line[i] = i * i;
	m.timeline = line;
	m.nr_timeline = 40;
	ui_answer(b->ui, &a, &m);
	assert_null(a.rows);
	free(function_of);
}

/* What the wiring does each second, and after a key that asks for it. */
static inline void bed_refresh(struct bed *b)
{
	struct ui_question w;

	ui_wanted(b->ui, b->now_ns, &w);
	bed_answer(b, &w);
	ui_draw(b->ui, &b->canvas);
}

static inline void bed_key(struct bed *b, uint32_t key)
{
	int flags = ui_key(b->ui, key, b->now_ns);

	b->flags |= flags;
	if (flags & UI_REQUERY) {
		b->requeries++;
		bed_refresh(b);
	} else if (flags & UI_REDRAW) {
		ui_draw(b->ui, &b->canvas);
	}
}

static inline void bed_type(struct bed *b, const char *keys)
{
	for (; *keys; keys++)
		bed_key(b, (unsigned char)*keys == '\r' ? UIKEY_ENTER : (unsigned char)*keys);
}

static inline int bed_flags(struct bed *b)
{
	int flags = b->flags;

	b->flags = 0;
	return flags;
}

static inline void bed_status(struct bed *b)
{
	static const char *const notes[] = {
		"The kernel cannot be sampled by this user: sysctl kernel.perf_event_paranoid=1",
		"Fell back to cpu-clock: this machine offers no cycles.",
	};
	const struct ui_status st = {
		.event = "cpu-clock",
		.by_frequency = true,
		.rate = 999,
		.target = "mysqld[4242]",
		.kernel = true,
		.user = true,
		.samples_per_s = 1910,
		.own_cpu_percent = 0.6,
		.own_rss_bytes = 23000000,
		.ended_how = "",
		.when = "live",
		.notes = notes,
		.nr_notes = 0,
		.refresh_s = 1.0,
	};

	ui_status(b->ui, &st);
}

static inline struct ui_options bed_options(void)
{
	return (struct ui_options){ .orientation = QUERY_TREE,
				    .window_ns = 10 * SECOND,
				    .hide = SAMPLE_IDLE,
				    .refresh_s = 1.0 };
}

/* The line of the canvas, malloc'd by canvas_dump(); valid until the next call. */
static inline const char *bed_line(struct bed *b, int row)
{
	static char text[4096];
	char *dump = canvas_dump(&b->canvas), *at = dump;

	assert_non_null(dump);
	while (row-- > 0) {
		at = strchr(at, '\n');
		assert_non_null(at);
		at++;
	}
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "\n"), at);
	free(dump);
	return text;
}

/* The line the cursor is on; "" when none. */
static inline const char *bed_cursor_line(struct bed *b)
{
	for (int i = 0; i < b->canvas.rows; i++) {
		const struct cell *line = b->canvas.cells + (size_t)i * (size_t)b->canvas.columns;

		if (line[b->canvas.columns / 2].cursor || line[0].cursor)
			return bed_line(b, i);
	}
	return "";
}

static inline bool bed_shows(struct bed *b, const char *text)
{
	char *dump = canvas_dump(&b->canvas);
	bool found;

	assert_non_null(dump);
	found = strstr(dump, text) != NULL;
	free(dump);
	return found;
}

#endif
