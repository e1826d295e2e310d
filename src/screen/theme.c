/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "screen/theme.h"

#define FG(colour) .fg = (colour), .bg = COLOUR_DEFAULT
#define ON(colour) .fg = 0, .bg = (colour)
#define NO_COLOUR .fg = COLOUR_DEFAULT, .bg = COLOUR_DEFAULT

enum depth { DEPTH_NONE, DEPTH_8, DEPTH_16, NR_DEPTHS };

static const struct look looks[NR_ROLES][NR_DEPTHS] = {
	[ROLE_PLAIN] = { { NO_COLOUR }, { NO_COLOUR }, { NO_COLOUR } },
	[ROLE_HEADER] = { { NO_COLOUR }, { NO_COLOUR }, { NO_COLOUR } },
	[ROLE_STRONG] = { { NO_COLOUR, .bold = true },
			  { NO_COLOUR, .bold = true },
			  { NO_COLOUR, .bold = true } },
	[ROLE_TITLE] = { { NO_COLOUR, .underline = true }, { ON(2) }, { ON(2) } },
	[ROLE_HOT] = { { NO_COLOUR, .bold = true }, { FG(1), .bold = true }, { FG(9) } },
	[ROLE_WARM] = { { NO_COLOUR }, { FG(3) }, { FG(3) } },
	[ROLE_COOL] = { { NO_COLOUR }, { NO_COLOUR }, { NO_COLOUR } },
	[ROLE_KERNEL] = { { NO_COLOUR }, { FG(5) }, { FG(5) } },
	[ROLE_USER] = { { NO_COLOUR }, { NO_COLOUR }, { NO_COLOUR } },
	[ROLE_GROUP] = { { NO_COLOUR, .bold = true },
			 { FG(6), .bold = true },
			 { FG(6), .bold = true } },
	[ROLE_DIM] = { { NO_COLOUR, .dim = true }, { NO_COLOUR, .dim = true }, { FG(8) } },
	[ROLE_MATCH] = { { NO_COLOUR, .bold = true, .underline = true }, { ON(3) }, { ON(3) } },
	[ROLE_KEY] = { { NO_COLOUR, .bold = true },
		       { NO_COLOUR, .bold = true },
		       { NO_COLOUR, .bold = true } },
	[ROLE_LABEL] = { { NO_COLOUR }, { FG(6) }, { FG(6) } },
	[ROLE_WARNING] = { { NO_COLOUR, .bold = true }, { FG(3), .bold = true }, { FG(11) } },
	[ROLE_PAUSED] = { { NO_COLOUR, .reverse = true }, { ON(3) }, { ON(3) } },
	[ROLE_BAR] = { { NO_COLOUR }, { FG(2) }, { FG(2) } },
	[ROLE_BOX] = { { NO_COLOUR }, { FG(6) }, { FG(6) } },
};

struct look theme_look(int colours, const struct cell *cell)
{
	enum depth depth = colours >= 16 ? DEPTH_16 : colours >= 8 ? DEPTH_8 : DEPTH_NONE;

	if (cell->cursor)
		return depth == DEPTH_NONE ? (struct look){ NO_COLOUR, .reverse = true }
					   : (struct look){ ON(6) };
	return looks[cell->role < NR_ROLES ? cell->role : ROLE_PLAIN][depth];
}

bool look_same(const struct look *a, const struct look *b)
{
	return a->fg == b->fg && a->bg == b->bg && a->bold == b->bold && a->dim == b->dim &&
	       a->underline == b->underline && a->reverse == b->reverse;
}

bool look_shows_on_blank(const struct look *look)
{
	return look->bg != COLOUR_DEFAULT || look->underline || look->reverse;
}
