// SPDX-License-Identifier: GPL-2.0-or-later
/* /tmp/perf-PID.map, which any program writes: in two parts, as if it grew in between. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct perfmap *map)
{
	for (size_t i = 0; i < map->at.nr; i++) {
		const struct perfmap_entry *e = &map->at.at[i];

		if (e->start >= e->end || (i && map->at.at[i - 1].end > e->start) ||
		    e->name >= map->names.nr || perfmap_find(map, e->start) != e ||
		    perfmap_find(map, e->end - 1) != e ||
		    strlen(&map->names.at[e->name]) >= map->names.nr)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct perfmap map = { 0 };
	size_t half = size / 2, used, rest;

	if (perfmap_parse(&map, text, half, false, &used) || used > half)
		abort();
	check(&map);
	if (perfmap_parse(&map, text + used, size - used, true, &rest) || used + rest != size)
		abort();
	check(&map);
	perfmap_done(&map);
	return 0;
}
