/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of the kernel's form that no kernel wrote: what was there before a recording began, and
 * samples out of the store.  Each replaces what is in @b (blob_failed() tells of memory), has its
 * header's size right, and ends as records of @l do with @who (samples begin with it).
 *
 * Texts that are too long are cut; sizes are multiples of 8.
 */
#ifndef PTOP_OUTPUT_SYNTH_H
#define PTOP_OUTPUT_SYNTH_H

#include "output/blob.h"
#include "record/layout.h"
#include "record/record.h"

/* A thread's name. */
void synth_comm(struct blob *b, const struct layout *l, const struct sample_id *who, uint32_t pid,
		uint32_t tid, const char *comm);

/* A mapping of a process, of code unless it says otherwise. */
struct synth_map {
	bool data;
	uint32_t pid;
	uint64_t start, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	const uint8_t *build_id; /* in place of the inode where build_id_size != 0 */
	uint8_t build_id_size;
	const char *path;
};
void synth_mmap2(struct blob *b, const struct layout *l, const struct sample_id *who,
		 const struct synth_map *m);

/* Where the kernel, or a module of it, is: an MMAP of no process. */
void synth_kernel_map(struct blob *b, const struct layout *l, const struct sample_id *who,
		      uint64_t start, uint64_t len, uint64_t pgoff, const char *name);

/* Kernel code that has a name of its own; @type: 1 BPF, 2 out of line. */
void synth_ksymbol(struct blob *b, const struct layout *l, const struct sample_id *who,
		   uint64_t addr, uint32_t len, uint16_t type, const char *name);

/* A sample: fields as @l has them, of IDENTIFIER, IP, TID, TIME, CPU, PERIOD and CALLCHAIN. */
struct synth_sample {
	bool kernel; /* taken there */
	uint64_t ip, period;
	const uint64_t *chain; /* with PERF_CONTEXT_ markers */
	uint32_t nr_chain;
};
void synth_sample(struct blob *b, const struct layout *l, const struct sample_id *who,
		  const struct synth_sample *s);

#endif
