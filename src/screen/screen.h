/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal: takes it over, paints the difference between two canvases in one write, reads
 * keys without ever blocking, and always gives it back.  The only user of curses; one thread; one
 * screen a process.
 *
 * An escape sequence may come in pieces over a slow link: a lone ESC waits
 * (screen_key_deadline()) for its rest before it is a key, and the caller's loop goes on
 * meanwhile.
 */
#ifndef PTOP_SCREEN_SCREEN_H
#define PTOP_SCREEN_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "view/canvas.h"
#include "view/key.h"

enum screen_colour { SCREEN_COLOUR_AUTO, SCREEN_COLOUR_NONE, SCREEN_COLOUR_8, SCREEN_COLOUR_256 };

struct screen_options {
	int in_fd, out_fd; /* a terminal, usually 0 and 1 */
	/* AUTO: none if NO_COLOR is set and not empty, else what the terminal can */
	enum screen_colour colour;
	bool ascii; /* ASCII even where UTF-8 would do */
};

struct screen;

/*
 * Takes the terminal over.  -ENOTTY, -ENODEV (TERM unknown or too dumb), -ENOMEM; @why says it.
 * setlocale() must have been called.
 */
int screen_open(const struct screen_options *o, struct screen **ret, struct reason *why);

/* Gives it back as it was.  NULL is fine; called twice for one screen is not. */
void screen_close(struct screen *s);

/*
 * Gives the terminal back with write() and tcsetattr() only: for a handler of a fatal signal.
 * Does nothing when no screen is open.
 */
void screen_restore_in_signal(void);

bool screen_ascii(const struct screen *s); /* draw no character beyond 0x7e */
void screen_size(const struct screen *s, int *ret_rows, int *ret_columns);

/*
 * The next key (view/key.h), UIKEY_NONE when there is none now, UIKEY_HANGUP when the terminal is
 * gone.  Never blocks.  Call it when in_fd is readable and when the time of screen_key_deadline()
 * has come.  @now_ns is CLOCK_MONOTONIC.
 */
uint32_t screen_key(struct screen *s, uint64_t now_ns);

/* When an unfinished escape sequence becomes a key by itself; 0: nothing is unfinished. */
uint64_t screen_key_deadline(const struct screen *s);

/* After SIGWINCH: takes the new size; true when it differs. */
bool screen_resize(struct screen *s);

/* Paints what differs from what was painted last.  -EIO when the terminal is gone. */
int screen_paint(struct screen *s, const struct canvas *c);
void screen_repaint(struct screen *s); /* the next paint starts from nothing */

/* before stopping as a job: the terminal as it was */
void screen_suspend(struct screen *s);
/* after SIGCONT: takes it again; the next paint is whole */
void screen_resume(struct screen *s);

uint64_t screen_bytes(const struct screen *s); /* bytes of all paints, as counted by write */

#endif
