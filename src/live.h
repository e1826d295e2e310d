/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front end on a terminal: the loop between session, view and screen.
 */
#ifndef PTOP_LIVE_H
#define PTOP_LIVE_H

#include "session.h"

/*
 * Takes the terminal over and runs until quit, a signal, or the terminal's end, then gives it back.
 * Keys come from standard input, or from /dev/tty where that is no terminal.  0, or -errno with a
 * sentence.
 */
int live_run(struct session *s, struct reason *why);

#endif
