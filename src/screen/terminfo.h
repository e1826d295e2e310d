/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the terminal can do, by terminfo.  Curses' headers define words such as "columns" and
 * "lines" as macros, so they are included by terminfo.c alone.  One terminal a process, as
 * terminfo has it.
 */
#ifndef PTOP_SCREEN_TERMINFO_H
#define PTOP_SCREEN_TERMINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "base/vec.h"

enum cap {
	CAP_CLEAR,
	CAP_ERASE_LINE,
	CAP_GOTO,
	CAP_GOTO_COLUMN,
	CAP_RIGHT,
	CAP_PLAIN,
	CAP_BOLD,
	CAP_DIM,
	CAP_UNDERLINE,
	CAP_REVERSE,
	CAP_FG,
	CAP_BG,
	CAP_ENTER,
	CAP_LEAVE,
	CAP_HIDE_CURSOR,
	CAP_SHOW_CURSOR,
	CAP_KEYS_ON,
	CAP_KEYS_OFF,
	NR_CAPS,
};

struct terminfo_key {
	const char *bytes;
	uint32_t key;
};

#define TERMINFO_KEYS 16

struct terminfo {
	const char *caps[NR_CAPS]; /* NULL: it cannot */
	struct terminfo_key keys[TERMINFO_KEYS];
	size_t nr_keys;
	int colours; /* 0, 8, 16, 256, ... */
	/* the last column of the last row can be written without scrolling */
	bool last_cell;
	int rows, columns; /* its own idea of its size, or 0 */
};

struct bytes {
	char *at;
	size_t nr, cap;
}; /* a VEC with a name */

/* Looks $TERM up.  -ENODEV with @why: unknown, or it cannot even move the cursor. */
int terminfo_init(struct terminfo *t, int fd, struct reason *why);
void terminfo_done(struct terminfo *t);

int bytes_add(struct bytes *out, const char *text, size_t len); /* 0 or -ENOMEM */

/* Appends a capability without its padding; nothing where the terminal cannot.  0 or -ENOMEM. */
int terminfo_put(const struct terminfo *t, struct bytes *out, enum cap cap);
int terminfo_put2(const struct terminfo *t, struct bytes *out, enum cap cap, int a, int b);

/* Bytes that terminfo_put2() would append; SIZE_MAX where the terminal cannot. */
size_t terminfo_cost(const struct terminfo *t, enum cap cap, int a, int b);

#endif
