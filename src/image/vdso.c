/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Section headers lie past the end of the program headers' segments, so the size is that of the
 * mapping, as /proc/self/maps tells it: nothing beyond is touched, whatever the headers say.
 */
#include "image/vdso.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/parse.h"

#define MAPS_MAX ((size_t)32 << 20)

/* The end of the mapping that starts at @start; 0 where there is none. */
static uint64_t mapping_end(const char *maps, size_t len, uint64_t start)
{
	const char *line = maps, *stop = maps + len;

	while (line < stop) {
		const char *next = memchr(line, '\n', (size_t)(stop - line));
		size_t left = (size_t)((next != NULL ? next : stop) - line), used, more;
		uint64_t from, to;

		if (parse_hex(line, left, &from, &used) == 0 && from == start && used < left &&
		    line[used] == '-' &&
		    parse_hex(line + used + 1, left - used - 1, &to, &more) == 0)
			return to;
		if (next == NULL)
			break;
		line = next + 1;
	}
	return 0;
}

int vdso_bytes(const void **ret_bytes, size_t *ret_size, struct reason *why)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR), end;
	size_t len;
	char *maps;
	int err;

	if (start == 0)
		return reason_set(why, -ENOENT, "the kernel gives no vdso");
	err = parse_file("/proc/self/maps", MAPS_MAX, &maps, &len);
	if (err != 0)
		return reason_set(why, err, "/proc/self/maps cannot be read: %s", strerror(-err));
	end = mapping_end(maps, len, start);
	free(maps);
	if (end <= start)
		return reason_set(why, -ENOENT, "the vdso is not mapped");
	*ret_bytes = (const void *)(uintptr_t)start;
	*ret_size = (size_t)(end - start);
	return 0;
}
