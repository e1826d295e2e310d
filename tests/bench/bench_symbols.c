/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first look at a machine (/proc, kallsyms), and what a place and its name cost from then on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "space/space.h"
#include "symbol/kallsyms.h"
#include "unit/space_records.h"

enum { LOOKUPS = 2000000, FORKS = 20000 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void bench_scan(void)
{
	struct space *s = space_new();
	double from = now();
	size_t nr = space_scan_all(s, 1);

	printf("scan /proc             %8.2f ms      %zu processes, %zu images, %zu KB  (bound 40 ms)\n",
	       (now() - from) * 1e3, nr, space_nr_images(s), space_bytes(s) / 1000);
	space_free(s);
}

static void bench_resolve(void)
{
	struct space *s = space_new();
	uint64_t seed = 88172645463325252ull, sum = 0;
	double from;

	for (uint32_t pid = 100; pid < 110; pid++) {
		for (uint64_t i = 0; i < 60; i++)
			do_mmap(s, pid, (i + 1) << 24, 1 << 20, 0, i + 1, "/lib/x.so", 1);
	}
	from = now();
	for (int i = 0; i < LOOKUPS; i++) {
		/* stacks of ten frames in one process */
		pid_t pid = 100 + i / 10 % 10;

		sum += space_resolve(s, pid, (1 + draw(&seed) % 60) << 24).image;
	}
	printf("resolve an address     %8.1f ns      random of 60 mappings (sum %llu)  (bound 60 ns)\n",
	       (now() - from) * 1e9 / LOOKUPS, (unsigned long long)sum);
	from = now();
	for (uint32_t i = 0; i < FORKS; i++) {
		do_fork(s, 1000 + i, 100, 1000 + i, 100, i + 1);
		do_exit(s, 1000 + i, 1000 + i, i + 1);
	}
	printf("fork and exit          %8.1f ns      of a process with 60 mappings\n",
	       (now() - from) * 1e9 / FORKS);
	space_free(s);
}

static void bench_kallsyms(void)
{
	struct kallsyms k;
	uint64_t seed = 2463534242, first, last, sum = 0;
	double from = now();
	int err = kallsyms_read("/proc/kallsyms", &k);

	if (err) {
		printf("kallsyms               skipped: %s\n",
		       err == -13 ? "addresses are hidden" : "cannot be read");
		return;
	}
	printf("load kallsyms          %8.2f ms      %zu symbols, %zu KB\n", (now() - from) * 1e3,
	       k.at.nr, kallsyms_bytes(&k) / 1000);
	first = k.at.at[0].addr;
	last = k.at.at[k.at.nr / 2].addr;
	from = now();
	for (int i = 0; i < LOOKUPS; i++)
		sum += kallsyms_find(&k, first + draw(&seed) % (last - first));
	printf("kernel symbol          %8.1f ns      random (sum %llu)  (bound 150 ns)\n",
	       (now() - from) * 1e9 / LOOKUPS, (unsigned long long)sum);
	kallsyms_done(&k);
}

int main(void)
{
	bench_scan();
	bench_resolve();
	bench_kallsyms();
	return 0;
}
