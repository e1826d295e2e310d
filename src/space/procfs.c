/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "space/procfs.h"

#include <errno.h>
#include <string.h>

/* What is left of a line. */
struct text {
	const char *at, *end;
};

static bool take_number(struct text *t, unsigned base, uint64_t max, uint64_t *ret)
{
	const char *from = t->at;
	uint64_t n = 0;

	for (; t->at < t->end; t->at++) {
		unsigned char c = (unsigned char)*t->at;
		unsigned digit = c - '0';

		if (digit > 9)
			digit = (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10u
								       : 99;
		if (digit >= base)
			break;
		if (n > (max - digit) / base)
			return false;
		n = n * base + digit;
	}
	*ret = n;
	return t->at > from;
}

static bool take_char(struct text *t, char c)
{
	if (t->at >= t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

static void skip_blanks(struct text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
		t->at++;
}

/* The line at *@pos without its newline; *@pos goes behind it. */
static struct text take_line(const char *bytes, size_t size, size_t *pos)
{
	struct text line = { bytes + *pos, bytes + size };
	const char *newline = memchr(line.at, '\n', size - *pos);

	if (newline)
		line.end = newline;
	*pos = (size_t)(line.end - bytes) + (newline ? 1 : 0);
	return line;
}

/* "7f3c8a000000-7f3c8a195000 r-xp 00026000 fe:01 1835026    /usr/lib/libc.so.6" */
static bool parse_map(struct text line, struct procfs_map *ret)
{
	uint64_t maj, min;

	if (!take_number(&line, 16, UINT64_MAX, &ret->start) || !take_char(&line, '-') ||
	    !take_number(&line, 16, UINT64_MAX, &ret->end) || !take_char(&line, ' '))
		return false;
	if (line.end - line.at < 5 || ret->start >= ret->end)
		return false;
	ret->exec = line.at[2] == 'x';
	line.at += 4;
	if (!take_char(&line, ' ') || !take_number(&line, 16, UINT64_MAX, &ret->pgoff) ||
	    !take_char(&line, ' ') || !take_number(&line, 16, UINT32_MAX, &maj) ||
	    !take_char(&line, ':') || !take_number(&line, 16, UINT32_MAX, &min) ||
	    !take_char(&line, ' ') || !take_number(&line, 10, UINT64_MAX, &ret->ino))
		return false;
	skip_blanks(&line);
	ret->maj = (uint32_t)maj;
	ret->min = (uint32_t)min;
	ret->path = line.at;
	ret->path_size = (size_t)(line.end - line.at);
	return true;
}

bool procfs_next_map(const char *bytes, size_t size, size_t *pos, struct procfs_map *ret)
{
	while (*pos < size) {
		if (parse_map(take_line(bytes, size, pos), ret))
			return true;
	}
	return false;
}

size_t procfs_unescape(char *out, size_t room, const char *path, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size && n + 1 < room; i++) {
		if (size - i >= 4 && !memcmp(path + i, "\\012", 4)) {
			out[n++] = '\n';
			i += 3;
		} else {
			out[n++] = path[i];
		}
	}
	out[n] = '\0';
	return n;
}

static bool take_key(struct text *line, const char *key)
{
	size_t len = strlen(key);

	if ((size_t)(line->end - line->at) < len || memcmp(line->at, key, len))
		return false;
	line->at += len;
	skip_blanks(line);
	return true;
}

int procfs_status(const char *bytes, size_t size, struct procfs_status *ret)
{
	struct procfs_status st = { 0 };
	bool has_uid = false;
	uint64_t n;

	for (size_t pos = 0; pos < size;) {
		struct text line = take_line(bytes, size, &pos);

		if (take_key(&line, "Tgid:") && take_number(&line, 10, INT32_MAX, &n)) {
			st.tgid = (pid_t)n;
		} else if (take_key(&line, "Threads:") && take_number(&line, 10, UINT32_MAX, &n)) {
			st.threads = (uint32_t)n;
		} else if (take_key(&line, "NSpid:")) {
			for (; take_number(&line, 10, INT32_MAX, &n); skip_blanks(&line))
				st.ns_pid = (pid_t)n;
		} else if (take_key(&line, "Uid:") && take_number(&line, 10, UINT32_MAX, &n)) {
			st.uid = (uint32_t)n;
			skip_blanks(&line);
			has_uid = take_number(&line, 10, UINT32_MAX, &n);
			st.euid = (uint32_t)n;
		}
	}
	if (!st.tgid || !has_uid)
		return -EINVAL;
	if (!st.ns_pid)
		st.ns_pid = st.tgid;
	*ret = st;
	return 0;
}
