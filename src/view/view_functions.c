/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, flat: which functions the time goes to, whoever calls them.
 */
#include "view/model.h"

const struct view view_functions = {
	.title = "functions",
	.by_self = true,
};
