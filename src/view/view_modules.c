/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: in which programs, libraries and JIT code samples were taken, and how far names and
 * stacks can be trusted there.  The module under the cursor is told in full below the list
 * (detail.c).
 */
#include "view/model.h"

const struct view view_modules = {
	.title = "modules",
	.by_self = true,
};
