/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small parsers: each takes (bytes, length) or a string, allocates nothing it
 * does not say, and returns 0, -EINVAL (not of that form) or -ERANGE (too large).
 */
#ifndef PTOP_BASE_PARSE_H
#define PTOP_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct u32_list {
	uint32_t *at;
	size_t nr, cap;
}; /* a VEC with a name */

int parse_u64(const char *text, uint64_t *ret); /* decimal, whole string */
int parse_u32(const char *text, uint32_t *ret);
int parse_hex(const char *text, size_t len, uint64_t *ret,
	      size_t *ret_used); /* leading hex digits, no 0x; -EINVAL without any */
int parse_seconds(const char *text, double *ret); /* "0.5", "2"; >= 0, finite, C locale */

/* "1,5,7" into @ret (appends); each 1..UINT32_MAX. */
int parse_ids(const char *text, struct u32_list *ret);

/* "0-3,8" as in cpuset(7) into sorted @ret without repeats; each < 8192. */
int parse_cpulist(const char *text, struct u32_list *ret);

/*
 * A whole small file (of /proc or /sys; size unknown) into a malloc'd, NUL-terminated buffer.
 * -errno; -EFBIG beyond @max bytes.
 */
int parse_file(const char *path, size_t max, char **ret_bytes, size_t *ret_len);

/* One number in a file such as /proc/sys/kernel/perf_event_paranoid. */
int parse_file_long(const char *path, long *ret);

/*
 * The names nearest to a mistyped one.  nearest_begin(); nearest_offer() for each candidate;
 * nearest_end() writes "a, b or c" (at most three, closest first) or "" when none is near.
 */
struct nearest {
	const char *word;
	struct {
		const char *name;
		unsigned distance;
	} best[3];
};
void nearest_begin(struct nearest *n, const char *word);
void nearest_offer(struct nearest *n, const char *candidate); /* borrows until nearest_end() */
void nearest_end(const struct nearest *n, char *out, size_t size);

#endif
