/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the interface knows: shared by the files of view/ only.  ui.c owns it; cmd_*() and drawing
 * borrow it.
 */
#ifndef PTOP_VIEW_MODEL_H
#define PTOP_VIEW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "view/list.h"
#include "view/ui.h"

#define NR_VIEWS (QUERY_MODULES + 1)
#define UI_CONTROLS 16
#define UI_NOTES 16
#define NOTE_ROOM 384
#define FACT_ROOM 128
#define SEARCH_ROOM 128

/* A list view: what differs between them. */
struct view {
	const char *title;
	bool by_self;  /* how it is sorted at first */
	int auto_open; /* so many first answers open the hottest path by themselves */
};
extern const struct view view_functions, view_tree, view_callers, view_modules;
const struct view *view_of(enum orientation o);

enum page { PAGE_NONE, PAGE_HELP, PAGE_EVENTS, PAGE_NOTES, PAGE_DETAIL, NR_PAGES };

struct scroll {
	size_t cursor, top;
	size_t nr;    /* lines there are */
	size_t lines; /* lines that fit, as of the last drawing */
};

enum entry_kind {
	ENTRY_NONE,
	ENTRY_SEARCH,
	ENTRY_FREQUENCY,
	ENTRY_PERIOD,
	ENTRY_REFRESH,
	ENTRY_WINDOW
};

struct entry {
	enum entry_kind kind;
	char text[SEARCH_ROOM];
	size_t len;
	char error[FACT_ROOM];
};

struct event_row {
	char *name, *group, *help, *why;
	bool usable;
};

struct facts {
	struct ui_status st; /* its strings point to the rooms below */
	char event[FACT_ROOM], target[FACT_ROOM], how[FACT_ROOM], when[FACT_ROOM];
	char reading[FACT_ROOM];
	char notes[UI_NOTES][NOTE_ROOM];
	size_t nr_notes;
};

/* What the next answer is waited for, besides being shown. */
enum want { WANT_HOTTEST = 1 << 0, WANT_SEARCH = 1 << 1, WANT_FUNCTION = 1 << 2 };

struct ui {
	struct ui_names names;
	bool ascii;
	uint64_t now_ns;

	enum orientation view;
	enum ui_grouping grouping;
	uint64_t window_ns; /* 0: all */
	uint64_t zero_ns;   /* nothing before is shown; 0: all is */
	uint8_t hide;
	bool paused;
	uint64_t asked_to_ns; /* end of the window last asked for */
	bool due;             /* a key asked for an answer: take it even while paused */

	struct list lists[NR_VIEWS];
	int auto_left[NR_VIEWS];
	struct answer answer;
	struct ui_measure measure;
	uint64_t timeline[UI_TIMELINE];
	struct facts facts;

	unsigned want;
	int search_step; /* 1 next, -1 previous, 0 this one or the next */
	uint32_t seek_function;
	char search[SEARCH_ROOM];

	enum page page;
	struct scroll scrolls[NR_PAGES];
	struct entry entry;
	VEC(struct event_row) events;

	/* the newest note when the page of notes was closed: it needs no line any more */
	char seen[NOTE_ROOM];
	char message[NOTE_ROOM];
	uint64_t message_until_ns;
	size_t lines; /* rows of the list that fit, as of the last drawing */

	struct ui_control controls[UI_CONTROLS];
	size_t control_first, nr_controls;
};

/* ui.c */
int ui_push_control(struct ui *ui, const struct ui_control *control); /* UI_CONTROL | UI_REDRAW */
/* the view or the grouping changes: its rows are another thing */
void ui_drop_answer(struct ui *ui);
int ui_ask(struct ui *ui); /* a key wants another answer: UI_REQUERY | UI_REDRAW */
static inline struct list *ui_list(struct ui *ui)
{
	return &ui->lists[ui->view];
}

/* rows_draw.c */
void rows_draw_titles(struct ui *ui, struct canvas *c, int row);
void rows_draw(struct ui *ui, struct canvas *c, int row, int lines);
bool row_matches(struct ui *ui, const struct row *row);

/* Rows below none, other than groups. */
bool ui_is_flat(const struct ui *ui);

/* detail.c: the module under the cursor, in so many lines below the list, or as a page. */
int detail_lines(const struct ui *ui, int lines);
void detail_draw_below(struct ui *ui, struct canvas *c, int row, int lines);
void detail_draw(struct ui *ui, struct canvas *c, int row, int lines);

/* finding.c: what a key asked for and only an answer with all rows can give */
void finding_apply(struct ui *ui);

/* entry.c */
void entry_begin(struct ui *ui, enum entry_kind kind);
int entry_key(struct ui *ui, uint32_t key);
void entry_draw(struct ui *ui, struct canvas *c, int row);

/* header_draw.c, footer_draw.c */
int header_draw(struct ui *ui, struct canvas *c); /* returns the lines used */
void footer_draw(struct ui *ui, struct canvas *c, int row);

/* help_page.c, events_page.c, notes_page.c */
void help_draw(struct ui *ui, struct canvas *c, int row, int lines);
void events_draw(struct ui *ui, struct canvas *c, int row, int lines);
void notes_draw(struct ui *ui, struct canvas *c, int row, int lines);
void scroll_fit(struct scroll *s, size_t nr, size_t lines, bool has_cursor);

/*
 * box.c: a framed box over the lower part of @lines lines from @row on; the list above it stays
 * visible.
 */
struct box {
	int row, column, lines, columns; /* the inside */
};
void box_draw(struct ui *ui, struct canvas *c, int row, int lines, int wanted, const char *title,
	      struct box *ret);

/* notes_page.c: the bytes of the next line of @text, cut at a blank, that fits @columns. */
size_t line_fit(const char *text, int columns);

unsigned ui_context(const struct ui *ui);

/* text of durations: "10s", "1m30s", "2h05m" */
void duration_text(double seconds, char *out, size_t size);

#endif
