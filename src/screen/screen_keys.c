/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys from bytes.  Sequences: the terminal's own by terminfo, and those of ECMA-48 and xterm (CSI,
 * SS3), which most terminals send whatever their entry says.  A sequence that is complete but
 * unknown is swallowed whole, so that its rest never acts as commands.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "screen/terminal.h"

/* Over SSH the parts of one sequence may come in packets 30 ms apart and more; a person does not
 * notice 100. */
#define ESCAPE_WAIT_NS 100000000ull
#define SEQUENCE_MAX 32

static void drop(struct keys *k, size_t n)
{
	k->nr -= n;
	memmove(k->at, k->at + n, k->nr);
}

static uint32_t by_final(unsigned char final)
{
	switch (final) {
	case 'A':
		return UIKEY_UP;
	case 'B':
		return UIKEY_DOWN;
	case 'C':
		return UIKEY_RIGHT;
	case 'D':
		return UIKEY_LEFT;
	case 'H':
		return UIKEY_HOME;
	case 'F':
		return UIKEY_END;
	case 'Z':
		return UIKEY_BACK_TAB;
	case 'M':
		return UIKEY_ENTER;
	case 'P':
		return UIKEY_F1;
	default:
		return UIKEY_NONE;
	}
}

static uint32_t by_number(unsigned n)
{
	switch (n) {
	case 1:
	case 7:
		return UIKEY_HOME;
	case 3:
		return UIKEY_DELETE;
	case 4:
	case 8:
		return UIKEY_END;
	case 5:
		return UIKEY_PAGE_UP;
	case 6:
		return UIKEY_PAGE_DOWN;
	case 11:
		return UIKEY_F1;
	default:
		return UIKEY_NONE;
	}
}

/* "ESC [ parameters final"; *ret_used 0: more is to come. */
static uint32_t decode_csi(const struct keys *k, size_t *ret_used)
{
	unsigned number = 0;
	size_t i = 2;

	*ret_used = 0;
	if (k->nr > 2 && k->at[2] == '[') { /* the Linux console's F1: ESC [ [ A */
		if (k->nr < 4)
			return UIKEY_NONE;
		*ret_used = 4;
		return k->at[3] == 'A' ? UIKEY_F1 : UIKEY_NONE;
	}
	for (; i < k->nr && k->at[i] >= '0' && k->at[i] <= '9' && number < 1000; i++)
		number = number * 10 + (k->at[i] - '0');
	while (i < k->nr && k->at[i] >= 0x20 && k->at[i] < 0x40 && i < SEQUENCE_MAX)
		i++;
	if (i == k->nr)
		return UIKEY_NONE;
	*ret_used = i + 1;
	if (k->at[i] < 0x40 || k->at[i] > 0x7e) { /* no sequence after all */
		*ret_used = i;
		return UIKEY_NONE;
	}
	if (k->at[i] == '~')
		return by_number(number);
	return k->at[i] == 'M' ? UIKEY_NONE : by_final(k->at[i]);
}

/* A sequence of the terminal's own; *ret_used 0 with *ret_more: the bytes so far begin one. */
static uint32_t decode_terminfo(const struct keys *k, const struct terminfo *info, size_t *ret_used,
				bool *ret_more)
{
	for (size_t i = 0; i < info->nr_keys; i++) {
		size_t len = strlen(info->keys[i].bytes);

		if (k->nr >= len && !memcmp(k->at, info->keys[i].bytes, len)) {
			*ret_used = len;
			return info->keys[i].key;
		}
		if (k->nr < len && !memcmp(k->at, info->keys[i].bytes, k->nr))
			*ret_more = true;
	}
	return UIKEY_NONE;
}

static uint32_t decode_escape(const struct keys *k, const struct terminfo *info, size_t *ret_used,
			      bool *ret_more)
{
	uint32_t key = decode_terminfo(k, info, ret_used, ret_more);

	if (key != UIKEY_NONE || *ret_more)
		return key;
	if (k->nr == 1) {
		*ret_more = true;
		return UIKEY_NONE;
	}
	if (k->at[1] == '[') {
		key = decode_csi(k, ret_used);
		*ret_more = *ret_used == 0;
		return key;
	}
	if (k->at[1] == 'O') {
		*ret_more = k->nr < 3;
		*ret_used = 3;
		return k->nr < 3 ? UIKEY_NONE : by_final(k->at[2]);
	}
	*ret_used = 1;
	return UIKEY_ESCAPE;
}

static uint32_t decode_utf8(const struct keys *k, bool utf8, size_t *ret_used, bool *ret_more)
{
	unsigned char lead = k->at[0];
	size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	uint32_t ch = lead & (0xffu >> (len + 1));

	*ret_used = 1;
	if (!utf8 || lead < 0xc2 || lead > 0xf4)
		return UIKEY_NONE;
	for (size_t i = 1; i < len; i++) {
		if (i == k->nr) {
			*ret_more = true;
			return UIKEY_NONE;
		}
		if ((k->at[i] & 0xc0) != 0x80)
			return UIKEY_NONE;
		ch = ch << 6 | (k->at[i] & 0x3f);
	}
	*ret_used = len;
	return ch < 0x110000 ? ch : UIKEY_NONE;
}

uint32_t keys_decode(struct keys *k, const struct terminfo *info, bool utf8, bool *ret_more)
{
	*ret_more = false;
	while (k->nr > 0) {
		unsigned char first = k->at[0];
		uint32_t key = first;
		size_t used = 1;

		if (first == UIKEY_ESCAPE)
			key = decode_escape(k, info, &used, ret_more);
		else if (first >= 0x80)
			key = decode_utf8(k, utf8, &used, ret_more);
		else if (first == '\n')
			key = UIKEY_ENTER;
		else if (first == 8)
			key = UIKEY_BACKSPACE;
		if (*ret_more)
			return UIKEY_NONE;
		drop(k, used);
		if (key != UIKEY_NONE)
			return key;
	}
	return UIKEY_NONE;
}

/* Reads what is there; false when nothing was. */
static bool fill(struct screen *s)
{
	struct pollfd p = { .fd = s->in_fd, .events = POLLIN };
	struct keys *k = &s->keys;
	ssize_t n;

	if (k->nr == sizeof(k->at) || poll(&p, 1, 0) <= 0)
		return false;
	n = read(s->in_fd, k->at + k->nr, sizeof(k->at) - k->nr);
	if (n > 0) {
		k->nr += (size_t)n;
		return true;
	}
	if (n == 0 || (errno != EINTR && errno != EAGAIN))
		k->hung_up = true;
	return false;
}

uint32_t screen_key(struct screen *s, uint64_t now_ns)
{
	struct keys *k = &s->keys;

	for (;;) {
		bool more;
		uint32_t key = keys_decode(k, &s->info, s->utf8, &more);

		if (key != UIKEY_NONE) {
			k->deadline_ns = 0;
			return key;
		}
		if (fill(s)) {
			k->deadline_ns = now_ns + ESCAPE_WAIT_NS;
			continue;
		}
		if (k->hung_up)
			return UIKEY_HANGUP;
		if (!more) {
			k->deadline_ns = 0;
			return UIKEY_NONE;
		}
		if (!k->deadline_ns)
			k->deadline_ns = now_ns + ESCAPE_WAIT_NS;
		if (now_ns < k->deadline_ns)
			return UIKEY_NONE;
		/* Nothing followed: an Escape by itself; what came of a sequence goes with it. */
		key = k->at[0] == UIKEY_ESCAPE ? UIKEY_ESCAPE : UIKEY_NONE;
		k->nr = 0;
		k->deadline_ns = 0;
		return key;
	}
}

uint64_t screen_key_deadline(const struct screen *s)
{
	return s->keys.deadline_ns;
}
