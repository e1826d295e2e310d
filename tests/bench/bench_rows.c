/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building the unwind rows of the C library and of large programs where they are, and look-ups. */
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "image/rows.h"

#define LOOKUPS 2000000u
#define ROUNDS 5
#define BOUND_LIBC_MS 6.0
#define BOUND_LARGE_MS 150.0
#define BOUND_LOOKUP_NS 200.0

/* CPU time: a busy machine does not change the figures. */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Builds a few times and takes the quickest: the file is then in the page cache. */
static double build_ms(const char *path, struct rows_bytes *ret)
{
	double best = -1;

	for (int i = 0; i < ROUNDS; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC), err;
		uint64_t start = now_ns();
		double ms;

		free(ret->at);
		ret->at = NULL;
		err = fd < 0 ? -1 : rows_build(fd, -1, ret, NULL);
		ms = (double)(now_ns() - start) / 1e6;
		if (fd >= 0)
			close(fd);
		if (err != 0)
			return -1;
		best = best < 0 || ms < best ? ms : best;
	}
	return best;
}

/* Random places between the first and the last row. */
static double lookup_ns(const struct rows *r)
{
	uint64_t random = 1, start, sum = 0, span = r->starts[r->header->nr_rows - 1] + 1u;

	start = now_ns();
	for (uint32_t i = 0; i < LOOKUPS; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		sum += rows_find(r, r->header->base + (random >> 20) % span)->cfa;
	}
	start = now_ns() - start;
	/* Using the sum keeps the look-ups from being optimised away. */
	return sum == 0 ? -1 : (double)start / LOOKUPS;
}

/* Returns whether a bound was passed. */
static int report(const char *what, const char *path, double bound)
{
	struct rows_bytes bytes = { 0 };
	double ms = build_ms(path, &bytes), ns;
	struct rows r;

	if (ms < 0 || rows_check(bytes.at, bytes.size, &r) != 0 || r.header->nr_rows == 0) {
		printf("rows_build_%s_ms\t-\t\t%s cannot be built\n", what, path);
		free(bytes.at);
		return 1;
	}
	ns = lookup_ns(&r);
	printf("rows_build_%s_ms\t%.2f\t<= %.0f\t%s: %u rows, %u rules\n", what, ms, bound, path,
	       r.header->nr_rows, r.header->nr_rules);
	printf("rows_%s_bytes_a_row\t%.2f\t\tof %zu bytes\n", what,
	       (double)bytes.size / r.header->nr_rows, bytes.size);
	printf("rows_find_%s_ns\t%.1f\t<= %.0f\trandom addresses\n", what, ns, BOUND_LOOKUP_NS);
	free(bytes.at);
	return ms > bound || ns < 0 || ns > BOUND_LOOKUP_NS;
}

/* The first file of a pattern, where there is one. */
static int report_glob(const char *what, const char *pattern)
{
	int failed = 0;
	glob_t g;

	if (glob(pattern, 0, NULL, &g) != 0)
		return 0;
	failed = report(what, g.gl_pathv[0], BOUND_LARGE_MS);
	globfree(&g);
	return failed;
}

int main(void)
{
	Dl_info info;
	int failed;

	if (dladdr((void *)gnu_get_libc_version, &info) == 0)
		return 77;
	failed = report("libc", info.dli_fname, BOUND_LIBC_MS);
	failed |= report_glob("cc1plus", "/usr/lib/gcc/*/*/cc1plus");
	failed |= report_glob("libllvm", "/usr/lib/*/libLLVM-*.so.1");
	return failed;
}
