/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/reason.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

int reason_set(struct reason *why, int err, const char *format, ...)
{
	va_list args;

	if (!why)
		return err;
	va_start(args, format);
	text_sentence(why->text, sizeof(why->text), format, args);
	va_end(args);
	return err;
}
