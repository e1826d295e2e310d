/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The feature sections of a recording: a table of (offset, size) directly behind the data, one
 * entry for each bit of the header in rising order, and what they hold behind the table.  Strings
 * are their padded length, then the bytes.
 */
#include <errno.h>
#include <stdlib.h>

#include "output/perfdata_write_impl.h"

enum feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_TOTAL_MEM = 10,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCKID = 23,
	FEATURE_CLOCK_DATA = 29,
};

enum {
	SECTION_BYTES = 16,
	NAME_ALIGN = 64,
	TEXT_MAX = 4096,
	WORDS_MAX = 4096,
	BUILD_ID_ROOM = 24, /* 20 bytes of id, its size, padding */
	MISC_BUILD_ID_SIZE = 1 << 15,
	ANY_PROCESS = -1,
};

void features_done(struct features *f)
{
	vec_done(&f->list);
	blob_done(&f->content);
}

static void put_string(struct blob *b, const char *text)
{
	size_t len = strnlen(text, TEXT_MAX);

	blob_u32(b, (uint32_t)((len + NAME_ALIGN) / NAME_ALIGN * NAME_ALIGN));
	blob_text(b, text, TEXT_MAX, NAME_ALIGN);
}

/* What was put behind the last feature is feature @id; nothing is none. */
static void end_feature(struct features *f, uint32_t id)
{
	struct out_feature made = { .id = id };

	if (f->list.nr)
		made.at = f->list.at[f->list.nr - 1].at + f->list.at[f->list.nr - 1].size;
	made.size = f->content.nr - made.at;
	if (made.size && vec_push(&f->list, made))
		f->content.failed = true;
}

static void add_string(struct features *f, uint32_t id, const char *text)
{
	if (!text)
		return;
	put_string(&f->content, text);
	end_feature(f, id);
}

static void add_cmdline(struct features *f, char *const *words)
{
	uint32_t nr = 0;

	while (words && words[nr] && nr < WORDS_MAX)
		nr++;
	if (!nr)
		return;
	blob_u32(&f->content, nr);
	for (uint32_t i = 0; i < nr; i++)
		put_string(&f->content, words[i]);
	end_feature(f, FEATURE_CMDLINE);
}

int features_about(struct features *f, const struct perfdata_about *about)
{
	add_string(f, FEATURE_HOSTNAME, about->hostname);
	add_string(f, FEATURE_OSRELEASE, about->osrelease);
	add_string(f, FEATURE_VERSION, about->version);
	add_string(f, FEATURE_ARCH, about->arch);
	if (about->nr_cpus) {
		blob_u32(&f->content, about->nr_cpus);
		blob_u32(&f->content, about->nr_cpus_online);
		end_feature(f, FEATURE_NRCPUS);
	}
	add_string(f, FEATURE_CPUDESC, about->cpudesc);
	if (about->memory_kb) {
		blob_u64(&f->content, about->memory_kb);
		end_feature(f, FEATURE_TOTAL_MEM);
	}
	add_cmdline(f, about->cmdline);
	if (about->resolution_ns) {
		blob_u64(&f->content, about->resolution_ns);
		end_feature(f, FEATURE_CLOCKID);
	}
	if (about->wall_ns) {
		blob_u32(&f->content, 1); /* of this section's form */
		blob_u32(&f->content, about->clockid);
		blob_u64(&f->content, about->wall_ns);
		blob_u64(&f->content, about->clock_ns);
		end_feature(f, FEATURE_CLOCK_DATA);
	}
	return blob_failed(&f->content) ? -ENOMEM : 0;
}

static void add_build_ids(struct features *f, const struct perfdata_writer *w)
{
	for (size_t i = 0; i < w->build_ids.nr; i++) {
		const struct out_build_id *b = &w->build_ids.at[i];
		size_t len = strnlen(b->path, TEXT_MAX);
		size_t room = (len + NAME_ALIGN) / NAME_ALIGN * NAME_ALIGN;

		if (!b->size)
			continue;
		blob_u32(&f->content, 0);
		blob_u16(&f->content,
			 (uint16_t)(MISC_BUILD_ID_SIZE |
				    (b->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER)));
		blob_u16(&f->content, (uint16_t)(8 + 4 + BUILD_ID_ROOM + room));
		blob_u32(&f->content, (uint32_t)ANY_PROCESS);
		blob_put(&f->content, b->id, sizeof(b->id));
		blob_put(&f->content, &b->size, 1);
		blob_zero(&f->content, BUILD_ID_ROOM - sizeof(b->id) - 1);
		blob_text(&f->content, b->path, TEXT_MAX, NAME_ALIGN);
	}
	end_feature(f, FEATURE_BUILD_ID);
}

static void add_events(struct features *f, const struct perfdata_writer *w)
{
	if (!w->events.nr)
		return;
	blob_u32(&f->content, (uint32_t)w->events.nr);
	blob_u32(&f->content, sizeof(struct perf_event_attr));
	for (size_t i = 0; i < w->events.nr; i++) {
		const struct out_event *e = &w->events.at[i];

		blob_put(&f->content, &e->attr, sizeof(e->attr));
		blob_u32(&f->content, (uint32_t)e->ids.nr);
		put_string(&f->content, e->name);
		blob_put(&f->content, e->ids.at, e->ids.nr * sizeof(e->ids.at[0]));
	}
	end_feature(f, FEATURE_EVENT_DESC);
}

static void add_times(struct features *f, const struct perfdata_writer *w)
{
	if (!w->last_ns)
		return;
	blob_u64(&f->content, w->first_ns);
	blob_u64(&f->content, w->last_ns);
	end_feature(f, FEATURE_SAMPLE_TIME);
}

/* A feature and the bytes that it is a part of. */
struct placed {
	struct out_feature feature;
	const struct blob *in;
};

static int by_id(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return (int)x->feature.id - (int)y->feature.id;
}

enum { FEATURES_MOST = 32 };

static size_t place_all(const struct features *f, struct placed *all, size_t nr)
{
	for (size_t i = 0; i < f->list.nr && nr < FEATURES_MOST; i++)
		all[nr++] = (struct placed){ f->list.at[i], &f->content };
	return nr;
}

int features_build(struct perfdata_writer *w, uint64_t offset, uint64_t ret_bits[4])
{
	struct placed all[FEATURES_MOST];
	size_t nr;

	vec_clear(&w->features.list);
	blob_clear(&w->features.content);
	add_build_ids(&w->features, w);
	add_events(&w->features, w);
	add_times(&w->features, w);
	nr = place_all(&w->features, all, place_all(&w->about, all, 0));
	qsort(all, nr, sizeof(all[0]), by_id);
	memset(ret_bits, 0, 4 * sizeof(ret_bits[0]));
	blob_clear(&w->trailer);
	offset += nr * SECTION_BYTES;
	for (size_t i = 0; i < nr; i++) {
		const struct out_feature *f = &all[i].feature;

		ret_bits[f->id / 64] |= UINT64_C(1) << (f->id % 64);
		blob_u64(&w->trailer, offset);
		blob_u64(&w->trailer, f->size);
		offset += f->size;
	}
	for (size_t i = 0; i < nr; i++)
		blob_put(&w->trailer, all[i].in->at + all[i].feature.at, all[i].feature.size);
	return blob_failed(&w->trailer) || blob_failed(&w->features.content) ? -ENOMEM : 0;
}
