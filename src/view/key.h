/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Key codes, independent of any terminal library.  A key that types a character is that character's
 * code point (control keys included: Ctrl-L is 12); every other key is one of these, beyond
 * Unicode.
 */
#ifndef PTOP_VIEW_KEY_H
#define PTOP_VIEW_KEY_H

#include <stddef.h>
#include <stdint.h>

enum ui_key {
	UIKEY_NONE = 0,
	UIKEY_TAB = 9,
	UIKEY_ENTER = 13,
	UIKEY_ESCAPE = 27,
	UIKEY_BACKSPACE = 127,
	UIKEY_UP = 0x110000,
	UIKEY_DOWN,
	UIKEY_LEFT,
	UIKEY_RIGHT,
	UIKEY_PAGE_UP,
	UIKEY_PAGE_DOWN,
	UIKEY_HOME,
	UIKEY_END,
	UIKEY_BACK_TAB,
	UIKEY_DELETE,
	UIKEY_F1,
	UIKEY_RESIZE, /* the terminal has another size */
	UIKEY_HANGUP, /* the terminal is gone */
};

#define UIKEY_CTRL(letter) ((letter)&0x1f)

/* "Up", "Space", "Ctrl-L", "x", "Shift-Tab": as help and manual write it.  Returns @out. */
const char *ui_key_name(uint32_t key, char *out, size_t size);

#endif
