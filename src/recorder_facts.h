/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording made here tells of this machine, and of what was there before its first record.
 */
#ifndef PTOP_RECORDER_FACTS_H
#define PTOP_RECORDER_FACTS_H

#include "options.h"
#include "output/perfdata_write.h"
#include "output/synth.h"
#include "pipeline.h"

/* Begins a recording in @fd (taken once that succeeds).  0 or -errno. */
int facts_begin(struct perfdata_writer **ret, int fd, const struct options *o, size_t nr_ids);

/* Kernel code that has names of its own, such as BPF programs, as records without a time. */
int facts_code(struct perfdata_writer *w, const struct layout *l, const struct symbols *symbols);

/* The same, and where this machine's kernel and modules are. */
int facts_kernel(struct perfdata_writer *w, const struct layout *l, const struct symbols *symbols);

/*
 * A process: its name and its threads', its mappings, with @data also those that are not code; and
 * all that live, but for @command: its exec, still to come, replaces all that.
 */
int facts_process(struct perfdata_writer *w, const struct layout *l, const struct pipeline *pl,
		  uint32_t process, bool data);
int facts_processes(struct perfdata_writer *w, const struct layout *l, const struct pipeline *pl,
		    bool data, pid_t command);

/* Build-ids of the kernel and its modules. */
int facts_kernel_ids(struct perfdata_writer *w);

/* And of the files that samples fell into and that were read until now. */
int facts_build_ids(struct perfdata_writer *w, const struct pipeline *pl);

/* The mapping @m of @pid as an MMAP2 of the image's file, by its build-id where that was read. */
void facts_map(struct blob *b, const struct layout *l, const struct pipeline *pl, uint32_t pid,
	       const struct mapping *m);

#endif
