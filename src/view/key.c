/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/key.h"

#include <stdio.h>

static const struct {
	uint32_t key;
	const char *name;
} names[] = {
	{ UIKEY_TAB, "Tab" },
	{ UIKEY_ENTER, "Enter" },
	{ UIKEY_ESCAPE, "Esc" },
	{ UIKEY_BACKSPACE, "Backspace" },
	{ ' ', "Space" },
	{ UIKEY_UP, "Up" },
	{ UIKEY_DOWN, "Down" },
	{ UIKEY_LEFT, "Left" },
	{ UIKEY_RIGHT, "Right" },
	{ UIKEY_PAGE_UP, "PgUp" },
	{ UIKEY_PAGE_DOWN, "PgDn" },
	{ UIKEY_HOME, "Home" },
	{ UIKEY_END, "End" },
	{ UIKEY_BACK_TAB, "Shift-Tab" },
	{ UIKEY_DELETE, "Delete" },
	{ UIKEY_F1, "F1" },
	{ UIKEY_RESIZE, "" },
	{ UIKEY_HANGUP, "" },
};

const char *ui_key_name(uint32_t key, char *out, size_t size)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].key == key) {
			snprintf(out, size, "%s", names[i].name);
			return out;
		}
	}
	if (key > 0 && key < 0x20)
		snprintf(out, size, "Ctrl-%c", (char)(key | 0x40));
	else if (key > 0x20 && key < 0x7f)
		snprintf(out, size, "%c", (char)key);
	else
		snprintf(out, size, "%s", "");
	return out;
}
