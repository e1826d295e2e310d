/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "screen/terminfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <curses.h>
#include <term.h>
#undef columns /* the members of that name below */
#undef lines

#include "view/key.h"

/* Capability names: terminfo(5). */
static const char *const cap_names[NR_CAPS] = {
	[CAP_CLEAR] = "clear",       [CAP_ERASE_LINE] = "el", [CAP_GOTO] = "cup",
	[CAP_GOTO_COLUMN] = "hpa",   [CAP_RIGHT] = "cuf",     [CAP_PLAIN] = "sgr0",
	[CAP_BOLD] = "bold",         [CAP_DIM] = "dim",       [CAP_UNDERLINE] = "smul",
	[CAP_REVERSE] = "rev",       [CAP_FG] = "setaf",      [CAP_BG] = "setab",
	[CAP_ENTER] = "smcup",       [CAP_LEAVE] = "rmcup",   [CAP_HIDE_CURSOR] = "civis",
	[CAP_SHOW_CURSOR] = "cnorm", [CAP_KEYS_ON] = "smkx",  [CAP_KEYS_OFF] = "rmkx",
};

static const struct {
	const char *name;
	uint32_t key;
} key_names[] = {
	{ "kcuu1", UIKEY_UP },     { "kcud1", UIKEY_DOWN },  { "kcub1", UIKEY_LEFT },
	{ "kcuf1", UIKEY_RIGHT },  { "kpp", UIKEY_PAGE_UP }, { "knp", UIKEY_PAGE_DOWN },
	{ "khome", UIKEY_HOME },   { "kend", UIKEY_END },    { "kcbt", UIKEY_BACK_TAB },
	{ "kdch1", UIKEY_DELETE }, { "kf1", UIKEY_F1 },      { "kent", UIKEY_ENTER },
};

static const char *string_of(const char *name)
{
	const char *text = tigetstr(name);

	return text == (char *)-1 || !text || !*text ? NULL : text;
}

static int number_of(const char *name)
{
	int n = tigetnum(name);

	return n > 0 ? n : 0;
}

static void load(struct terminfo *t)
{
	for (int i = 0; i < NR_CAPS; i++)
		t->caps[i] = string_of(cap_names[i]);
	for (size_t i = 0; i < sizeof(key_names) / sizeof(key_names[0]); i++) {
		const char *bytes = string_of(key_names[i].name);

		/* Longer than one byte: a terminal whose Up is a control key keeps the control key.
		 */
		if (bytes && bytes[1])
			t->keys[t->nr_keys++] =
				(struct terminfo_key){ .bytes = bytes, .key = key_names[i].key };
	}
	t->colours = t->caps[CAP_FG] && t->caps[CAP_BG] ? number_of("colors") : 0;
	t->last_cell = tigetflag("am") <= 0 || tigetflag("xenl") > 0;
	t->rows = number_of("lines");
	t->columns = number_of("cols");
}

int terminfo_init(struct terminfo *t, int fd, struct reason *why)
{
	const char *term = getenv("TERM");
	int status = 0;

	*t = (struct terminfo){ 0 };
	if (!term || !*term)
		return reason_set(
			why, -ENODEV,
			"TERM is not set: set it (export TERM=xterm-256color) or use -b.");
	if (setupterm(term, fd, &status) != OK)
		return reason_set(
			why, -ENODEV,
			status < 0
				? "No terminfo database: install ncurses-base, or use -b."
				: "The terminal type \"%.40s\" is unknown here: set TERM (export TERM=xterm) or use -b.",
			term);
	load(t);
	if (!t->caps[CAP_GOTO] || !t->caps[CAP_CLEAR]) {
		terminfo_done(t);
		return reason_set(
			why, -ENODEV,
			"The terminal type \"%.40s\" cannot move its cursor: set TERM (export TERM=xterm) or use -b.",
			term);
	}
	return 0;
}

void terminfo_done(struct terminfo *t)
{
	if (cur_term)
		del_curterm(cur_term);
	*t = (struct terminfo){ 0 };
}

int bytes_add(struct bytes *out, const char *text, size_t len)
{
	if (vec_reserve(out, out->nr + len))
		return -ENOMEM;
	memcpy(out->at + out->nr, text, len);
	out->nr += len;
	return 0;
}

/* Copies without "$<5/>": no terminal of today needs to be waited for. */
static int add_unpadded(struct bytes *out, const char *text)
{
	int err = 0;

	while (!err && *text) {
		const char *end = text[0] == '$' && text[1] == '<' ? strchr(text, '>') : NULL;

		if (end) {
			text = end + 1;
			continue;
		}
		err = bytes_add(out, text++, 1);
	}
	return err;
}

int terminfo_put(const struct terminfo *t, struct bytes *out, enum cap cap)
{
	return t->caps[cap] ? add_unpadded(out, t->caps[cap]) : 0;
}

int terminfo_put2(const struct terminfo *t, struct bytes *out, enum cap cap, int a, int b)
{
	const char *text = t->caps[cap];

	if (text)
		text = tparm(text, (long)a, (long)b, 0l, 0l, 0l, 0l, 0l, 0l, 0l);
	return text ? add_unpadded(out, text) : 0;
}

size_t terminfo_cost(const struct terminfo *t, enum cap cap, int a, int b)
{
	const char *text = t->caps[cap];

	if (text)
		text = tparm(text, (long)a, (long)b, 0l, 0l, 0l, 0l, 0l, 0l, 0l);
	return text ? strlen(text) : SIZE_MAX;
}
