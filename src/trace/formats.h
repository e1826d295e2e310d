/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tracepoints traced, as text: the formats that a recording brings along (/sys/kernel/tracing/
 * events/.../format of its machine), and samples' raw bytes printed by them.
 *
 * Formats are small programs, and libtraceevent, which runs them, is not made for those of an
 * enemy: only a process that can do no harm may call this (recording_trace.c).  A ptop that was
 * built without the library has none.
 */
#ifndef PTOP_TRACE_FORMATS_H
#define PTOP_TRACE_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct formats;

/* The function at a kernel's address: its name (borrowed) and start; NULL where none is known. */
typedef const char *formats_function_fn(void *ctx, uint64_t addr, uint64_t *ret_start);

bool formats_built_in(void);

/*
 * Reads the contents of a recording's tracing data; what makes no sense ends it, and the formats so
 * far are good.  NULL: no memory, or nothing to be read at all.
 */
struct formats *formats_new(const void *bytes, size_t size, formats_function_fn *function,
			    void *ctx);
void formats_free(struct formats *f);

/*
 * The text of a sample's raw bytes, cut to @room; its length, without the NUL.  -ENOENT: no format
 * for it.
 */
int formats_text(struct formats *f, uint32_t cpu, const void *raw, size_t size, char *out,
		 size_t room);

#endif
