/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A grid of cells with roles.  Views draw on it, screen/ paints it, tests read it as text.  A
 * cell holds one character of width 1 or 2 with its combining marks; the column right of a wide
 * character is its tail. Text is scrubbed on the way in: no control character can stand in a
 * cell.  Drawing outside is cut.
 */
#ifndef PTOP_VIEW_CANVAS_H
#define PTOP_VIEW_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a cell means; screen/theme gives it a look. */
enum role {
	ROLE_PLAIN,
	ROLE_HEADER, /* the first lines */
	ROLE_STRONG, /* a fact in the header */
	ROLE_TITLE,  /* column titles */
	ROLE_HOT,    /* >= 10 % */
	ROLE_WARM,   /* >= 2 % */
	ROLE_COOL,
	ROLE_KERNEL, /* a kernel function */
	ROLE_USER,
	ROLE_GROUP,   /* a command, process or thread */
	ROLE_DIM,     /* modules, addresses without names, what cannot be chosen */
	ROLE_MATCH,   /* found by search */
	ROLE_KEY,     /* a key on the bottom line */
	ROLE_LABEL,   /* what that key does */
	ROLE_WARNING, /* losses, broken stacks, notes */
	ROLE_PAUSED,
	ROLE_BAR, /* timeline and bars */
	ROLE_BOX, /* frame of a dialog */
	NR_ROLES,
};

#define CELL_CHARS 4

struct cell {
	/* the character, its combining marks, zero-filled; [0] == 0: tail of a wide one */
	uint32_t chars[CELL_CHARS];
	uint8_t width; /* 1, 2, or 0 for a tail */
	uint8_t role;
	bool cursor; /* on the cursor's row */
};

struct canvas {
	struct cell *cells; /* rows * columns */
	int rows, columns;
	bool ascii;                    /* characters beyond 0x7e are drawn as '?' */
	int cursor_row, cursor_column; /* where text is being typed; -1: no visible cursor */
};

/* All zeroes is an empty canvas.  Clears it; 0 or -ENOMEM (then it is empty). */
int canvas_resize(struct canvas *c, int rows, int columns);
void canvas_done(struct canvas *c);
void canvas_clear(struct canvas *c);

/*
 * Draws UTF-8 text in at most @width columns (a cut text ends in the last whole character).
 * Returns the columns used.
 */
int canvas_text(struct canvas *c, int row, int column, int width, enum role role, const char *text);

/* The same, printf-like. */
__attribute__((format(printf, 6, 7))) int canvas_printf(struct canvas *c, int row, int column,
							int width, enum role role,
							const char *format, ...);

/* Fills a stretch with one character of width 1. */
void canvas_fill(struct canvas *c, int row, int column, int width, enum role role, uint32_t ch);

/* Marks a whole row as the cursor's. */
void canvas_mark(struct canvas *c, int row);

bool cell_same(const struct cell *a, const struct cell *b);

/*
 * The UTF-8 bytes of a cell; "" for a tail.  @out holds CELL_CHARS * 4 + 1 bytes.  Returns the
 * length.
 */
size_t cell_bytes(const struct cell *cell, char *out);

/* Text of the canvas, one line a row, trailing blanks cut; malloc'd, or NULL without memory. */
char *canvas_dump(const struct canvas *c);

#endif
