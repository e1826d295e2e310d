/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building the tables of the C library and of the largest programs around, and look-ups in the
 * latter. */
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/build.h"
#include "image/table.h"

#define LOOKUPS 2000000u
#define CANDIDATES 12u
#define BOUND_MS 300.0
#define BOUND_LOOKUP_NS 300.0

/* CPU time: a busy machine does not change the figures. */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct candidate {
	char path[512];
	off_t size;
};

/* Keeps the largest files of a pattern, in falling size. */
static void offer_files(const char *pattern, struct candidate *best)
{
	glob_t g;

	if (glob(pattern, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct candidate c = { 0 };
		struct stat st;

		if (stat(g.gl_pathv[i], &st) != 0 || !S_ISREG(st.st_mode) ||
		    strlen(g.gl_pathv[i]) >= sizeof(c.path))
			continue;
		strcpy(c.path, g.gl_pathv[i]);
		c.size = st.st_size;
		for (size_t j = 0; j < CANDIDATES; j++) {
			if (c.size > best[j].size) {
				struct candidate swap = best[j];

				best[j] = c;
				c = swap;
			}
		}
	}
	globfree(&g);
}

/* Of the largest programs and libraries, the one whose table is largest (some are stripped of all
 * names). */
static int find_largest(char path[512])
{
	struct candidate best[CANDIDATES] = { 0 };
	size_t largest = 0;

	offer_files("/usr/bin/*", best);
	offer_files("/usr/local/bin/*", best);
	offer_files("/usr/lib/*/lib*.so.*", best);
	offer_files("/usr/lib64/lib*.so.*", best);
	for (size_t i = 0; i < CANDIDATES && best[i].size > 0; i++) {
		int fd = open(best[i].path, O_RDONLY | O_CLOEXEC);
		struct table_bytes bytes;

		if (fd >= 0 && build_table(fd, -1, &build_defaults, &bytes, NULL) == 0) {
			if (bytes.size > largest)
				memcpy(path, best[i].path, sizeof(best[i].path));
			largest = bytes.size > largest ? bytes.size : largest;
			free(bytes.at);
		}
		if (fd >= 0)
			close(fd);
	}
	return largest > 0;
}

/* Builds three times and takes the quickest: the file is then in the page cache. */
static double build_ms(const char *path, struct table_bytes *ret)
{
	double best = -1;

	for (int i = 0; i < 3; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		uint64_t start = now_ns();
		double ms;

		free(ret->at);
		ret->at = NULL;
		if (fd < 0 || build_table(fd, -1, &build_defaults, ret, NULL) != 0) {
			if (fd >= 0)
				close(fd);
			return -1;
		}
		ms = (double)(now_ns() - start) / 1e6;
		if (best < 0 || ms < best)
			best = ms;
		close(fd);
	}
	return best;
}

static double lookup_ns(const struct table_bytes *bytes)
{
	uint64_t random = 1, start, span;
	uint64_t sum = 0;
	struct table t;

	if (table_check(bytes->at, bytes->size, &t) != 0)
		return -1;
	span = t.segments[0].filesz;
	start = now_ns();
	for (uint32_t i = 0; i < LOOKUPS; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		sum += table_symbol(&t, t.segments[0].offset + (random >> 20) % span);
	}
	start = now_ns() - start;
	/* Using the sum keeps the look-ups from being optimised away. */
	return sum == 0 ? -1 : (double)start / LOOKUPS;
}

static double report(const char *what, const char *path, struct table_bytes *bytes)
{
	double ms = build_ms(path, bytes);
	struct table t;

	if (ms >= 0 && table_check(bytes->at, bytes->size, &t) == 0)
		printf("%s\t%.1f\t<= %.0f\t%s: %u symbols, %zu bytes\n", what, ms, BOUND_MS, path,
		       t.header->nr_symbols, bytes->size);
	else
		printf("%s\t-\t\t%s cannot be built\n", what, path);
	return ms;
}

int main(void)
{
	struct table_bytes bytes = { 0 };
	double libc_ms, large_ms, ns;
	char path[512];
	Dl_info info;

	if (dladdr((void *)printf, &info) == 0 || !find_largest(path))
		return 77;
	libc_ms = report("image_build_libc_ms", info.dli_fname, &bytes);
	large_ms = report("image_build_largest_ms", path, &bytes);
	if (libc_ms < 0 || large_ms < 0)
		return 1;
	ns = lookup_ns(&bytes);
	printf("image_lookup_ns\t%.1f\t<= %.0f\trandom offsets\n", ns, BOUND_LOOKUP_NS);
	free(bytes.at);
	return libc_ms > BOUND_MS || large_ms > BOUND_MS || ns < 0 || ns > BOUND_LOOKUP_NS;
}
