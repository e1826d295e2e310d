/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two halves of the perf.data writer share; private to them. */
#ifndef PTOP_OUTPUT_PERFDATA_WRITE_IMPL_H
#define PTOP_OUTPUT_PERFDATA_WRITE_IMPL_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "base/map.h"
#include "output/blob.h"
#include "output/perfdata_write.h"

struct out_event {
	struct perf_event_attr attr;
	char name[128];
	VEC(uint64_t) ids;
	bool changed; /* since it was last written */
};

struct out_build_id {
	char *path;
	uint8_t id[20], size; /* size 0: two files of that path differ */
	bool kernel;
};

struct out_feature {
	uint32_t id;
	size_t at, size; /* in struct features.content */
};

/* Feature sections, of which the format wants rising numbers. */
struct features {
	VEC(struct out_feature) list;
	struct blob content;
};

struct perfdata_writer {
	int fd;
	size_t ids_room;  /* of each event */
	uint64_t data_at; /* where the data begins */
	uint64_t end;     /* bytes of data that the file's header tells of */
	bool featured;    /* and that it tells of features behind them */
	bool changed;     /* something is not in the file yet */
	VEC(struct out_event) events;
	struct map ids;           /* id -> event */
	struct blob buffer;       /* whole records that wait to be written */
	struct features about;    /* known from the beginning */
	struct features features; /* put together at each flush */
	struct blob trailer;
	VEC(struct out_build_id) build_ids;
	struct map paths; /* hash of a path -> place in .build_ids + 1 */
	uint64_t first_ns, last_ns;
	uint64_t size, dropped;
	int err;
};

/* perfdata_write_features.c */
void features_done(struct features *f);
/* What is known from the beginning.  0 or -ENOMEM. */
int features_about(struct features *f, const struct perfdata_about *about);
/*
 * The table of sections and their contents as they stand from @offset of the file on, into
 * w->trailer; sets the bits of those that are there.  0 or -ENOMEM.
 */
int features_build(struct perfdata_writer *w, uint64_t offset, uint64_t ret_bits[4]);

#endif
