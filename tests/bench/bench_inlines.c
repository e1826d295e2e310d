/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What inlined functions cost: the index of a file's units, the table of a unit, a look-up in it
 * beside libdw's own (dwarf_getscopes), which is what the table saves.  Of this program, which is
 * built with -g, or of the file given.
 */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "image/inlines_impl.h"

enum { LOOKUPS = 2000000, UNITS = 200, SCOPES = 300 };

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

static uint64_t place(const struct inlines_file *f, uint64_t *seed)
{
	const struct unit_range *r = &f->ranges.at[draw(seed) % f->ranges.nr];

	return r->start + draw(seed) % (r->end - r->start);
}

static struct inlines_file *open_file(int fd)
{
	struct reason why = { 0 };
	struct inlines_file *f;
	struct debug_info info;
	double from = now(), opened;

	if (debug_info_open(&info, fd, &why) != 0) {
		printf("inlines                skipped: %s\n", why.text);
		return NULL;
	}
	opened = now();
	if (inlines_open(&info, &f, &why) != 0) {
		printf("inlines                skipped: %s\n", why.text);
		return NULL;
	}
	printf("open, index            %8.2f ms      %.2f ms of it the index of %zu ranges\n",
	       (now() - from) * 1e3, (now() - opened) * 1e3, f->ranges.nr);
	return f;
}

static int bench_units(struct inlines_file *f)
{
	uint64_t seed = 88172645463325252ull, bytes = 0, steps = 0;
	struct reason why = { 0 };
	double from = now(), each;

	for (int i = 0; i < UNITS; i++) {
		uint64_t at = place(f, &seed);
		struct inlines_bytes b;

		if (inlines_build(f, &at, 1, 0, &b, &why) != 0)
			return 1;
		bytes += b.size;
		steps += ((const struct inlines_header *)b.at)->nr_steps;
		free(b.at);
	}
	each = (now() - from) / UNITS;
	printf("table of a unit        %8.1f us      %llu steps, %llu bytes at the mean  (bound 5000 us)\n",
	       each * 1e6, (unsigned long long)(steps / UNITS),
	       (unsigned long long)(bytes / UNITS));
	return each > 5e-3;
}

/* All units that places fall into, as one table. */
static int bench_lookups(struct inlines_file *f)
{
	uint64_t seed = 2463534242, at[64], found = 0;
	const char *names[INLINES_DEPTH_MAX];
	struct reason why = { 0 };
	struct inlines_bytes b;
	struct inlines in;
	double from, each;

	for (size_t i = 0; i < 64; i++)
		at[i] = place(f, &seed);
	if (inlines_build(f, at, 64, UINT64_MAX / 2, &b, &why) != 0 ||
	    inlines_check(b.at, b.size, &in) != 0)
		return 1;
	from = now();
	for (int i = 0; i < LOOKUPS; i++)
		found += inlines_at(&in, at[i % 64] + draw(&seed) % 64, names);
	each = (now() - from) / LOOKUPS;
	printf("inlined at an address  %8.1f ns      random of %u steps, %.2f found at the mean  (bound 200 ns)\n",
	       each * 1e9, in.header->nr_steps, (double)found / LOOKUPS);
	free(b.at);
	return each > 200e-9;
}

static void bench_libdw(struct inlines_file *f)
{
	uint64_t seed = 2463534242;
	double from = now();

	for (int i = 0; i < SCOPES; i++) {
		uint64_t at = place(f, &seed);
		Dwarf_Die unit, *scopes = NULL;

		if (dwarf_offdie(f->info.dwarf, f->ranges.at[units_find(f, at)].unit, &unit) !=
			    NULL &&
		    dwarf_getscopes(&unit, at, &scopes) > 0)
			free(scopes);
	}
	printf("libdw, the same        %8.1f us      dwarf_getscopes of one address\n",
	       (now() - from) * 1e6 / SCOPES);
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct inlines_file *f = fd >= 0 ? open_file(fd) : NULL;
	int failed;

	if (f == NULL)
		return 77;
	failed = bench_units(f) + bench_lookups(f);
	bench_libdw(f);
	inlines_close(f);
	close(fd);
	return failed > 0;
}
