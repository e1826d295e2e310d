/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface as a model that can draw itself: keys, answers and facts go in; questions, wishes
 * and a canvas of cells come out.  Pure: no curses, no descriptors, no clock (time is passed in),
 * one thread.
 *
 * The wiring's loop:
 *	flags = ui_key(ui, key, now)		for each key
 *	UI_CONTROL -> ui_control() until false	a change of sampling, a file to write, ...
 *	UI_NEED_EVENTS -> ui_set_events()	the event menu was opened
 *	UI_REQUERY (before the next key, which may act on the new rows), or each refresh:
 *		ui_wanted(ui, now, &question); query; ui_answer(ui, &answer, &measure)
 *	each refresh: ui_status(ui, &status)
 *	UI_REDRAW, or after any of the above: ui_draw(ui, canvas), which costs the visible rows only
 *
 * While paused, ui_wanted() keeps asking for the frozen window and answers that no key has asked
 * for are dropped: what is on screen stays as it is, byte by byte.
 */
#ifndef PTOP_VIEW_UI_H
#define PTOP_VIEW_UI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "profile/query.h"
#include "view/canvas.h"
#include "view/key.h"

enum ui_grouping {
	UI_GROUP_NONE,
	UI_GROUP_COMMAND,
	UI_GROUP_PROCESS,
	UI_GROUP_THREAD,
	NR_UI_GROUPINGS
};

/* Strings are scrubbed UTF-8, never NULL, and live until the next call. */
struct ui_module {
	const char *name;     /* "libc.so.6", "[kernel]", "[jit] node[4242]" */
	const char *path;     /* "" where there is none */
	const char *build_id; /* in hex; "" */
	const char *names; /* where its names are from: "symtab", "dynsym", …, "none", "wait" */
	const char *names_why;
	const char *rows; /* "yes", "no", "wait", "-": nobody asked */
	const char *rows_why;
	const char *inlined; /* whether functions inlined in it are known; the same words */
	const char *inlined_why;
	const char
		*advice; /* what mends missing names, with the command; "" where nothing is to be */
	bool kernel;
	bool weak; /* names are missing for want of symbols */
};

struct ui_function {
	const char *name;   /* scrubbed UTF-8; lives until the next call */
	const char *module; /* "" where there is none */
	bool named;         /* false: an address, not a name */
	bool kernel;
	bool pseudo; /* ptop's own row, such as "[broken stack]" */
};

/* Where names come from; called while drawing and searching, for few rows each time. */
struct ui_names {
	void *ctx;
	void (*function)(void *ctx, uint32_t function, struct ui_function *ret);
	/* Of a row of QUERY_MODULES. */
	void (*module)(void *module_ctx, uint32_t image, struct ui_module *ret);
	void *module_ctx;
	/* "mysqld", "mysqld[4242]", "mysqld/4243" of a group id under @grouping; scrubbed. */
	void (*group)(void *ctx, enum ui_grouping grouping, uint32_t group, char *out, size_t size);
};

struct ui_options {
	bool ascii;                   /* no character beyond 0x7e on the canvas */
	enum orientation orientation; /* the first view */
	enum ui_grouping grouping;
	uint64_t window_ns; /* 0: all */
	/* SAMPLE_* bits hidden at first (SAMPLE_IDLE, SAMPLE_OWN) */
	uint8_t hide;
	double refresh_s;
};

struct ui;

/* Copies what it needs of @names and @options.  NULL without memory. */
struct ui *ui_new(const struct ui_names *names, const struct ui_options *options);
void ui_free(struct ui *ui);

enum ui_flags {
	UI_REDRAW = 1 << 0,
	/* another question: ask it now, do not wait for the refresh */
	UI_REQUERY = 1 << 1,
	UI_CONTROL = 1 << 2,     /* ui_control() has something to do */
	UI_NEED_EVENTS = 1 << 3, /* call ui_set_events() */
	UI_QUIT = 1 << 4,
	UI_SUSPEND = 1 << 5, /* Ctrl-Z: stop as a job */
	UI_REPAINT = 1 << 6, /* the terminal may be garbled: paint every cell */
};

/*
 * One key (enum ui_key or a code point); returns enum ui_flags, 0 for a key that does nothing
 * here.
 */
int ui_key(struct ui *ui, uint32_t key, uint64_t now_ns);

enum ui_control_kind {
	UI_EVENT_NEXT, /* the next event that this machine can open, in the menu's order */
	UI_EVENT_PREVIOUS,
	UI_EVENT_SET,  /* .name */
	UI_RATE_HALVE, /* half the samples: half the frequency, or twice the period */
	UI_RATE_DOUBLE,
	UI_CALL_GRAPH_NEXT, /* the next way to find stacks that works here */
	UI_RATE_FREQUENCY,  /* .value Hz, >= 1 */
	UI_RATE_PERIOD,     /* .value events a sample, >= 1 */
	/* .value: 1 sample the kernel, 0 leave it out; what is shown has changed already */
	UI_SAMPLE_KERNEL,
	UI_SAMPLE_USER,
	UI_REFRESH, /* .seconds between refreshes, 0.1 .. 3600 */
	/* write what the last answer shows to a file; say where by ui_message() */
	UI_SAVE,
	UI_RECORD, /* write all samples held to a recording, likewise */
};

struct ui_control {
	enum ui_control_kind kind;
	uint64_t value;
	double seconds;
	char name[128];
};

/* Takes the oldest wish; false when there is none. */
bool ui_control(struct ui *ui, struct ui_control *ret);

struct ui_question {
	enum orientation orientation;
	uint64_t from_ns, to_ns; /* from 0: since the beginning */
	uint64_t window_ns;      /* what was chosen; 0: all */
	uint8_t hide;            /* SAMPLE_* bits */
	enum ui_grouping grouping;
	bool all; /* children of every row are wanted; else */
	/* of the rows whose path is a key here; borrowed until the next ui_key() */
	const struct map *expanded;
	bool frozen; /* paused */
};

/* What to ask the store now.  The next ui_answer() is taken as the answer to this question. */
void ui_wanted(struct ui *ui, uint64_t now_ns, struct ui_question *ret);

/* What the wiring measured over the question's window, apart from rows. */
#define UI_TIMELINE 120
struct ui_measure {
	double seconds;   /* how much of the window has been sampled; 0: not known */
	double cpus;      /* all of .weight as CPUs; NAN: the event is no time */
	double idle_cpus; /* hidden idle; NAN or 0: none */
	/* CPUs sampled, for the timeline's scale; 0: scale to its peak */
	uint32_t nr_cpus;
	/* weight in equal buckets, oldest first, at most UI_TIMELINE; copied */
	const uint64_t *timeline;
	size_t nr_timeline;
	uint64_t timeline_full; /* weight of a bucket that is full; 0: scale to the peak */
};

/* Takes the rows of @a (which is then as after answer_done()).  Copies @m. */
void ui_answer(struct ui *ui, struct answer *a, const struct ui_measure *m);

/* The facts of the header.  Everything is copied. */
struct ui_status {
	const char *event; /* "cycles:P" */
	bool by_frequency;
	uint64_t rate;      /* Hz, or events a sample */
	const char *target; /* "all CPUs", "mysqld[4242]" */
	bool kernel, user;  /* sampled at all (rights and wishes) */
	double samples_per_s;
	uint64_t lost, dropped, late, throttled;
	double own_cpu_percent; /* of one CPU; NAN: not known */
	uint64_t own_rss_bytes;
	bool history_bounded;  /* older samples than asked for are gone */
	double history_s;      /* what is held */
	bool ended;            /* the target ended */
	const char *ended_how; /* "exit status 1", "killed by SIGSEGV", "" */
	const char *when;      /* the present: "live", "ended", "recording" */
	const char *reading;   /* how far a recording was read; "": it is no recording, or whole */
	double read_share;     /* the same, 0 .. 1 */
	const char *const *notes; /* sentences, newest first */
	size_t nr_notes;
	double refresh_s;
};
void ui_status(struct ui *ui, const struct ui_status *st);

/* A sentence that shows on the notes line until the next key or for a few seconds of @now_ns. */
void ui_message(struct ui *ui, const char *text, uint64_t now_ns);

struct ui_event {
	const char *name, *group, *help;
	bool usable;
	const char *why; /* not usable: why not */
};

/*
 * The event menu's rows, in order; copied.  0 or -ENOMEM.  May be called again while the menu is
 * open.
 */
int ui_set_events(struct ui *ui, const struct ui_event *events, size_t nr);

/* Draws everything onto @c, which has the terminal's size.  Any size is safe. */
void ui_draw(struct ui *ui, struct canvas *c);

/*
 * The help page as plain text, made from the key table; for the manual's check.  malloc'd, or
 * NULL.
 */
char *ui_help_text(bool ascii);

#endif
