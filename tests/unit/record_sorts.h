/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One record of each type but SAMPLE (and one of a type nobody knows): how to build it, and
 * what it must decode to.
 */
#ifndef PTOP_TESTS_RECORD_SORTS_H
#define PTOP_TESTS_RECORD_SORTS_H

#include <linux/perf_event.h>

#include "record/decode.h"
#include "unit/record_build.h"

#define ID_FIELDS                                                                      \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* A body to build and what it must decode to. */
struct sort {
	const char *name;
	uint32_t type;
	uint16_t misc;
	void (*body)(struct build *b);
	void (*check)(const struct record *r);
};

enum { NR_SORTS = 26 };
extern const struct sort sorts[NR_SORTS]; /* the last one is the unknown type */

/* The record, with the sample_id of build_sample_id() behind it or not. */
struct build sort_build(const struct sort *sort, bool swap, bool with_id);
void sort_is(const struct sort *sort, const struct record *r, size_t size);

struct layout layout_with_id(bool swap);
void build_sample_id(struct build *b);
void sample_id_is_whole(const struct sample_id *sid);
void bytes_are(struct bytes b, const char *want);

/* Bodies and checks that single tests use too. */
void task_body(struct build *b);
void task_check(const struct record *r);
void lost_body(struct build *b);
void lost_check(const struct record *r);
void comm_body(struct build *b);
void comm_check(const struct record *r);
void namespaces_body(struct build *b);
void deferred_body(struct build *b);

#endif
