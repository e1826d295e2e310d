/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * struct screen, shared by the files of screen/ only.
 */
#ifndef PTOP_SCREEN_TERMINAL_H
#define PTOP_SCREEN_TERMINAL_H

#include <termios.h>

#include "screen/screen.h"
#include "screen/terminfo.h"
#include "screen/theme.h"

struct keys {
	unsigned char at[256];
	size_t nr;
	uint64_t deadline_ns; /* when what is unfinished at .at becomes a key; 0: nothing is */
	bool hung_up;
};

struct screen {
	struct terminfo info;
	struct termios saved;
	int in_fd;
	int out_fd; /* own description of the terminal, not blocking; or the caller's */
	bool own_out;
	bool ascii, utf8;
	int colours;
	bool taken; /* the terminal is ours now */
	int rows, columns;

	struct canvas front; /* what is on the terminal */
	bool whole;          /* paint everything */
	int row, column;     /* where the terminal's cursor is; row -1: not known */
	bool cursor_shown;
	struct look look; /* what it writes with */
	bool look_known;
	struct bytes out; /* being written: .out.nr - .sent bytes are left */
	size_t sent;
	uint64_t bytes;

	struct keys keys;
};

/* screen_paint.c: writes as much as the terminal takes now.  0 (maybe with bytes left) or -EIO. */
int screen_flush(struct screen *s);

/*
 * screen_keys.c: the key at the front of the bytes; UIKEY_NONE: none, or (with *ret_more)
 * unfinished.
 */
uint32_t keys_decode(struct keys *k, const struct terminfo *info, bool utf8, bool *ret_more);

#endif
