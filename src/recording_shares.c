/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PERF_SAMPLE_READ: a sample carries the counts of its event, or of all events of its group, and
 * stands for a sample of each whose count has grown since, by as much.  So perf counts and prints
 * them; the period in the sample itself is of the leader only.
 */
#include <linux/perf_event.h>

#include "record/decode.h"
#include "recording_shares.h"

static bool reads(const struct perfdata *pd, int event)
{
	const struct layout *l = &perfdata_event(pd, (size_t)event)->layout;

	return (l->sample_type & PERF_SAMPLE_READ) && (l->read_format & PERF_FORMAT_ID);
}

bool shares_differ(const struct perfdata *pd, int event)
{
	return event >= 0 && reads(pd, event);
}

size_t shares_of(struct map *counts, const struct perfdata *pd, const struct record *r, int event,
		 struct share *ret, size_t most)
{
	const struct read_values *v = &r->sample.read;
	size_t nr = 0;

	if (!shares_differ(pd, event)) {
		ret[0] = (struct share){ event, r->sample.period };
		return 1;
	}
	for (uint32_t i = 0; i < v->nr && nr < most; i++) {
		struct read_value value = read_values_get(v, i);
		int of = perfdata_event_of(pd, value.id);
		const uint64_t *before = map_find(counts, value.id);
		uint64_t grown = value.value - (before ? *before : 0);

		if (of < 0 || map_set(counts, value.id, value.value) || !grown)
			continue;
		ret[nr++] = (struct share){ of, grown };
	}
	return nr;
}
