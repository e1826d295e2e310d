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
#define BOUND_MS 300.0
#define BOUND_LOOKUP_NS 300.0

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The largest file that the patterns name; its length in bytes. */
static off_t find_largest(char *path, size_t room)
{
	static const char *const patterns[] = {
		"/usr/bin/*",
		"/usr/lib/*/lib*.so.*",
		"/usr/lib64/lib*.so.*",
	};
	off_t largest = 0;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob_t g;

		if (glob(patterns[i], 0, NULL, &g) != 0)
			continue;
		for (size_t j = 0; j < g.gl_pathc; j++) {
			struct stat st;

			if (stat(g.gl_pathv[j], &st) == 0 && S_ISREG(st.st_mode) &&
			    st.st_size > largest && strlen(g.gl_pathv[j]) < room) {
				largest = st.st_size;
				strcpy(path, g.gl_pathv[j]);
			}
		}
		globfree(&g);
	}
	return largest;
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
	volatile uint64_t sum = 0;
	struct table t;

	if (table_check(bytes->at, bytes->size, &t) != 0)
		return -1;
	span = t.segments[0].filesz;
	start = now_ns();
	for (uint32_t i = 0; i < LOOKUPS; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		sum += table_symbol(&t, t.segments[0].offset + (random >> 20) % span);
	}
	return (double)(now_ns() - start) / LOOKUPS;
}

static double report(const char *what, const char *path, struct table_bytes *bytes)
{
	double ms = build_ms(path, bytes);
	struct table t;

	if (ms >= 0 && table_check(bytes->at, bytes->size, &t) == 0)
		printf("%s\t%.1f\t<= %.0f\t%s: %u symbols, %zu bytes\n", what, ms, BOUND_MS, path,
		       t.header->nr_symbols, bytes->size);
	else
		printf("%s\t-\t\t%s is not built\n", what, path);
	return ms;
}

int main(void)
{
	struct table_bytes bytes = { 0 };
	char path[4096] = "";
	double libc_ms = 0, large_ms, ns = 0;
	Dl_info info;

	if (dladdr((void *)printf, &info) != 0)
		libc_ms = report("image_build_libc_ms", info.dli_fname, &bytes);
	if (find_largest(path, sizeof(path)) == 0)
		return 77;
	large_ms = report("image_build_largest_ms", path, &bytes);
	if (access("/usr/bin/node", R_OK) == 0 && strcmp(path, "/usr/bin/node") != 0) {
		double node_ms = report("image_build_node_ms", "/usr/bin/node", &bytes);

		large_ms = node_ms > large_ms ? node_ms : large_ms;
	}
	if (bytes.at != NULL) {
		ns = lookup_ns(&bytes);
		printf("image_lookup_ns\t%.1f\t<= %.0f\trandom offsets\n", ns, BOUND_LOOKUP_NS);
	}
	free(bytes.at);
	return libc_ms > BOUND_MS || large_ms > BOUND_MS || ns > BOUND_LOOKUP_NS;
}
