/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the first sample in a large program or library to its names and unwind rows: read by the
 * loader, and taken from the disk where they were kept. */
#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/cache.h"
#include "image/images.h"
#include "image/loader.h"
#include "image/opener.h"

#define TURNS 3
/* Of what is read in that time not much is to be won. */
#define SMALL_MS 20.0
#define BOUND_RATIO 0.5

struct helpers {
	struct loader *loader, *opener;
	char directory[64];
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Works until the image has names and rows, or cannot have them; then on until all is kept. */
static double read_file(const struct helpers *h, const char *path, struct cache *cache,
			const char **ret_source)
{
	struct images *im = images_new();
	const struct image_sight sight = { .path = path };
	const struct unwind_rule *rule;
	double start, taken;

	images_use_loader(im, h->loader);
	images_use_opener(im, h->opener);
	images_use_cache(im, cache);
	images_see(im, 1, &sight);
	start = now_ms();
	images_want(im, 1);
	images_rule(im, 1, 0, &rule);
	images_work(im, UINT64_MAX);
	while (images_wanting(im) > 0) {
		struct pollfd p = { .fd = images_fd(im), .events = POLLIN };

		poll(&p, 1, 1000);
		images_work(im, UINT64_MAX);
	}
	taken = images_state(im, 1) == IMAGE_LOADED ? now_ms() - start : -1;
	*ret_source = taken >= 0 ? "names and rows" : "cannot be read";
	while (loader_in_flight(h->loader) > 0) {
		struct pollfd p = { .fd = images_fd(im), .events = POLLIN };

		poll(&p, 1, 1000);
		images_work(im, UINT64_MAX);
	}
	images_free(im);
	return taken;
}

static double best_of(const struct helpers *h, const char *path, struct cache *cache,
		      const char **ret_source)
{
	double best = -1;

	for (int i = 0; i < TURNS; i++) {
		double ms = read_file(h, path, cache, ret_source);

		if (ms < 0)
			return ms;
		if (best < 0 || ms < best)
			best = ms;
	}
	return best;
}

static bool measure(const struct helpers *h, const char *name, const char *path)
{
	struct cache *cache = NULL;
	struct cache_use use = { 0 };
	const char *source;
	double cold = best_of(h, path, NULL, &source), kept;

	if (cold < 0) {
		printf("names_%s_cold_ms\t-\t\t%s: %s\n", name, path, source);
		return true;
	}
	if (cache_open(&cache, h->directory, &cache_defaults, NULL) != 0)
		return false;
	read_file(h, path, cache, &source);
	kept = best_of(h, path, cache, &source);
	(void)cache_measure(cache, &use);
	cache_free(cache);
	printf("names_%s_cold_ms\t%.1f\t\t%s: %s\n", name, cold, path, source);
	if (use.files == 0) {
		printf("names_%s_kept_ms\t-\t\tnothing of it is kept\n", name);
		return true;
	}
	printf("names_%s_kept_ms\t%.1f\t<= %.2f of cold\t%.1f MB on disk in all\n", name, kept,
	       BOUND_RATIO, (double)use.bytes / 1e6);
	return cold < SMALL_MS || kept <= BOUND_RATIO * cold;
}

static const struct {
	const char *name, *patterns[3];
} files[] = {
	{ "libc", { "/usr/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6" } },
	{ "node", { "/usr/bin/node", "/usr/local/bin/node" } },
	{ "libLLVM",
	  { "/usr/lib/*-linux-gnu/libLLVM-*.so.1", "/usr/lib/*-linux-gnu/libLLVM.so.*",
	    "/usr/lib64/libLLVM*.so.*" } },
	{ "rustc",
	  { "/usr/lib/*-linux-gnu/librustc_driver-*.so",
	    "/root/.rustup/toolchains/*/lib/librustc_driver-*.so",
	    "/usr/local/rustup/toolchains/*/lib/librustc_driver-*.so" } },
};

int main(void)
{
	struct helpers h = { .directory = "/tmp/ptop-bench-names-XXXXXX" };
	char command[96], path[4096];
	bool good = true, any = false;

	if (loader_start(&h.loader, true, NULL) != 0 || opener_start(&h.opener, NULL) != 0 ||
	    mkdtemp(h.directory) == NULL)
		return 1;
	/* A slow machine's worker may take its time: how long is what is measured. */
	loader_set_deadline(h.loader, UINT64_C(60000000000));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		glob_t g = { 0 };

		for (size_t j = 0; j < 3 && files[i].patterns[j] != NULL; j++)
			glob(files[i].patterns[j], j == 0 ? 0 : GLOB_APPEND, NULL, &g);
		if (g.gl_pathc > 0 && realpath(g.gl_pathv[0], path) != NULL) {
			good &= measure(&h, files[i].name, path);
			any = true;
		}
		globfree(&g);
	}
	loader_free(h.opener);
	loader_free(h.loader);
	snprintf(command, sizeof(command), "rm -rf %s", h.directory);
	if (system(command) != 0)
		return 1;
	return !any ? 77 : !good;
}
