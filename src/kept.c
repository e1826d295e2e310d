/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kept.h"

#include <limits.h>
#include <string.h>

#include "base/text.h"

static int open_directory(struct cache **ret, const struct options *o, char path[PATH_MAX],
			  struct reason *why)
{
	int err;

	if (o->cache)
		snprintf(path, PATH_MAX, "%s", o->cache);
	else if ((err = cache_directory(path, PATH_MAX, why)) != 0)
		return err;
	return cache_open(ret, path, &cache_defaults, why);
}

int kept_open(struct cache **ret, const struct options *o, struct reason *why)
{
	char path[PATH_MAX];
	struct reason detail = { 0 };
	int err;

	*ret = NULL;
	if (o->no_cache)
		return 0;
	err = open_directory(ret, o, path, &detail);
	if (err && o->cache)
		return reason_set(why, err, "--cache %s: %s", o->cache, detail.text);
	return 0;
}

void kept_report(FILE *out, const struct options *o)
{
	struct cache_use use = { 0 };
	struct reason why = { 0 };
	struct cache *c = NULL;
	char path[PATH_MAX], shown[PATH_MAX];

	fprintf(out, "tables of read files                ");
	if (o->no_cache) {
		fprintf(out, "not kept: --no-cache\n");
		return;
	}
	if (open_directory(&c, o, path, &why) == 0 && cache_measure(c, &use) == 0) {
		text_scrub(shown, sizeof(shown), path, strlen(path), false);
		fprintf(out, "%.1f of %.0f MB in %s\n", (double)use.bytes / 1e6,
			(double)cache_limits(c)->bytes / 1e6, shown);
	} else {
		text_scrub(shown, sizeof(shown), why.text, strlen(why.text), false);
		fprintf(out, "not kept: %s\n", shown);
	}
	cache_free(c);
}
