/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_MAX = 8192 };

/* Leading decimal digits of *@text, which moves behind them. */
static int digits_u64(const char **text, uint64_t *ret)
{
	const char *s = *text;
	uint64_t n = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return -ERANGE;
	}
	*text = s;
	*ret = n;
	return 0;
}

int parse_u64(const char *text, uint64_t *ret)
{
	uint64_t n;
	int err;

	if (text[strspn(text, "0123456789")])
		return -EINVAL;
	err = digits_u64(&text, &n);
	if (err)
		return err;
	*ret = n;
	return 0;
}

int parse_u32(const char *text, uint32_t *ret)
{
	uint64_t n;
	int err = parse_u64(text, &n);

	if (err)
		return err;
	if (n > UINT32_MAX)
		return -ERANGE;
	*ret = (uint32_t)n;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int parse_hex(const char *text, size_t len, uint64_t *ret, size_t *ret_used)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			break;
		if (n >> 60)
			return -ERANGE;
		n = n << 4 | (unsigned)digit;
	}
	if (!i)
		return -EINVAL;
	*ret = n;
	*ret_used = i;
	return 0;
}

/*
 * By hand, since strtod() follows the locale and takes "inf" and "0x1p3".  Up to 15 digits and a
 * power of ten below 10^16 are exact in a double, so the quotient is the nearest one; later digits
 * of a fraction are only checked.
 */
int parse_seconds(const char *text, double *ret)
{
	double mantissa = 0, scale = 1;
	bool fraction = false;
	unsigned digits = 0, seen = 0;

	for (; *text; text++) {
		if (*text == '.' && !fraction) {
			fraction = true;
			continue;
		}
		if (*text < '0' || *text > '9')
			return -EINVAL;
		seen++;
		if (digits >= 15) {
			if (!fraction)
				return -ERANGE;
			continue;
		}
		mantissa = mantissa * 10 + (*text - '0');
		digits += mantissa > 0;
		if (fraction)
			scale *= 10;
		if (scale > 1e15)
			digits = 15;
	}
	if (!seen)
		return -EINVAL;
	*ret = mantissa / scale;
	return 0;
}

int parse_ids(const char *text, struct u32_list *ret)
{
	size_t nr = ret->nr;
	uint64_t id;
	int err;

	for (;; text++) {
		err = digits_u64(&text, &id);
		if (err)
			break;
		if (*text && *text != ',') {
			err = -EINVAL;
			break;
		}
		if (!id || id > UINT32_MAX) {
			err = id ? -ERANGE : -EINVAL;
			break;
		}
		err = vec_push(ret, (uint32_t)id);
		if (err || !*text)
			break;
	}
	if (err)
		ret->nr = nr;
	return err;
}

/* One "3" or "0-3" into @set; *@text moves behind it. */
static int cpu_range(const char **text, bool *set)
{
	uint64_t first, last;
	int err = digits_u64(text, &first);

	last = first;
	if (!err && **text == '-') {
		(*text)++;
		err = digits_u64(text, &last);
	}
	if (err)
		return err;
	if (last < first)
		return -EINVAL;
	if (last >= CPUS_MAX)
		return -ERANGE;
	while (first <= last)
		set[first++] = true;
	return 0;
}

int parse_cpulist(const char *text, struct u32_list *ret)
{
	bool set[CPUS_MAX] = { false };
	size_t nr = 0;
	int err;

	for (;; text++) {
		err = cpu_range(&text, set);
		if (err)
			return err;
		if (*text != ',')
			break;
	}
	if (*text == '\n') /* as files in /sys end */
		text++;
	if (*text)
		return -EINVAL;
	for (uint32_t i = 0; i < CPUS_MAX; i++)
		nr += set[i];
	if (vec_reserve(ret, nr))
		return -ENOMEM;
	vec_clear(ret);
	for (uint32_t i = 0; i < CPUS_MAX; i++) {
		if (set[i])
			ret->at[ret->nr++] = i;
	}
	return 0;
}

int parse_file(const char *path, size_t max, char **ret_bytes, size_t *ret_len)
{
	struct {
		char *at;
		size_t nr, cap;
	} text = { 0 };
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		/* Large reads: seq_file gives a consistent part of /proc only within one read. */
		err = vec_reserve(&text, text.nr + 4096);
		if (err)
			goto out;
		n = read(fd, text.at + text.nr, text.cap - text.nr - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			goto out;
		}
		if (!n)
			break;
		text.nr += (size_t)n;
		if (text.nr > max) {
			err = -EFBIG;
			goto out;
		}
	}
	text.at[text.nr] = '\0';
	*ret_bytes = text.at;
	*ret_len = text.nr;
	text.at = NULL;
out:
	free(text.at);
	close(fd);
	return err;
}

int parse_file_long(const char *path, long *ret)
{
	uint64_t n;
	size_t len;
	char *bytes;
	const char *text;
	bool minus;
	int err = parse_file(path, 256, &bytes, &len);

	if (err)
		return err;
	while (len && (bytes[len - 1] == '\n' || bytes[len - 1] == ' '))
		bytes[--len] = '\0';
	minus = bytes[0] == '-';
	text = bytes + minus;
	err = strlen(bytes) == len ? parse_u64(text, &n) : -EINVAL;
	if (!err && n > (uint64_t)LONG_MAX)
		err = -ERANGE;
	if (!err)
		*ret = minus ? -(long)n : (long)n;
	free(bytes);
	return err;
}
