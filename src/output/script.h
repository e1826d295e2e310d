/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample as a line of `perf script` with its default fields, and its callchain below it: comm,
 * tid, CPU, time, period, event, and each address with symbol+offset and module.
 */
#ifndef PTOP_OUTPUT_SCRIPT_H
#define PTOP_OUTPUT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct script_frame {
	uint64_t addr;      /* as printed: in the file for user code, in memory for the kernel */
	const char *symbol; /* NULL: not known */
	uint64_t offset;    /* in the symbol */
	const char *module; /* NULL: not known */
};

/* What the events of a processor's own say about memory. */
struct script_memory {
	bool has_addr, has_source, has_weight, has_latency, has_physical;
	bool has_data_page, has_code_page;
	uint64_t addr, source, weight, latency, physical, data_page, code_page;
};

/* Strings may hold any bytes; all borrowed for the call. */
struct script_sample {
	const char *comm;
	int32_t tid;
	const char *event;
	int event_width; /* of the longest event's name */
	uint32_t cpu;
	uint64_t time_ns, period;
	bool has_tid, has_cpu, has_time, has_period;
	bool has_chain;    /* frames are a callchain, below the line; else one address at its end */
	const char *trace; /* what a tracepoint traced; NULL: nothing */
	struct script_memory memory;
	int *source_width; /* of the widest data source that was written; is kept here */
	const struct script_frame *frames;
	size_t nr_frames;
};

/* PERF_SAMPLE_DATA_SRC as perf prints it, its number first; cut to @size. */
void script_data_source(uint64_t source, char *out, size_t size);

/* 0, -ENOMEM, or -errno of the write. */
int script_write(FILE *out, const struct script_sample *s);

#endif
