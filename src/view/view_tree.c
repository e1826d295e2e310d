/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree, from each thread's entry down.  The first answers open the hottest path, so that
 * the first screen shows where the time goes and not only that it begins at the beginning.
 */
#include "view/model.h"

const struct view view_tree = {
	.title = "call tree",
	.by_self = false,
	.auto_open = 3,
};
