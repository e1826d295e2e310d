/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How each role looks with 256 (or 16), 8 or no colours.  Colours are indices of the terminal's
 * own palette, so that dark and light terminals both stay readable; without colours bold, dim,
 * underline and reverse carry the meaning.
 */
#ifndef PTOP_SCREEN_THEME_H
#define PTOP_SCREEN_THEME_H

#include <stdbool.h>

#include "view/canvas.h"

#define COLOUR_DEFAULT (-1)

struct look {
	int fg, bg; /* palette index or COLOUR_DEFAULT */
	bool bold, dim, underline, reverse;
};

/* @colours: 0 (none), 8, 16 or more. */
struct look theme_look(int colours, const struct cell *cell);

bool look_same(const struct look *a, const struct look *b);
bool look_shows_on_blank(const struct look *look); /* a blank with it is visible */

#endif
