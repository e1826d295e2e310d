/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers: the hot functions, below each who called it.  A row's total is the part of the hot
 * function's own time that came through this chain of callers.
 */
#include "view/model.h"

const struct view view_callers = {
	.title = "callers below",
	.by_self = false,
};
