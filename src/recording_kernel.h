/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a recording's kernel.  The recording tells where the kernel's symbol _text (or _stext)
 * and its modules were; a list of symbols comes, moved to there, from the first of
 *
 *	--kallsyms FILE
 *	RECORDING/kcore_dir/kallsyms		of perf record --kcore
 *	/proc/kallsyms				where this is the recorded boot, or by its build-id
 *						the recorded kernel
 *	~/.debug				what perf record kept, by the kernel's build-id
 *	SYSROOT/boot/System.map-RELEASE
 *
 * One thread.
 */
#ifndef PTOP_RECORDING_KERNEL_H
#define PTOP_RECORDING_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/places.h"
#include "record/record.h"
#include "symbol/symbols.h"

struct rkernel;
struct rkernel *rkernel_new(void); /* NULL without memory */
void rkernel_free(struct rkernel *k);

/* Takes in where a mapping says the kernel or a module was; other mappings are passed over. */
void rkernel_saw(struct rkernel *k, const struct record *r);

/* Each of those mappings, as they came; false past the last.  @pos begins at 0. */
struct rkernel_map {
	uint64_t start, len, pgoff;
	char *name; /* owned by the rkernel */
};
bool rkernel_next_map(const struct rkernel *k, size_t *pos, struct rkernel_map *ret);

/* What else is known; NULL, 0 or false where it is not.  Borrowed for the call. */
struct rkernel_clue {
	const char *osrelease;
	bool same_host; /* recorded here, under this release of the kernel */
	const uint8_t *build_id;
	uint8_t build_id_size;
	const char *file;      /* --kallsyms */
	const char *recording; /* its path */
	const struct image_places *places;
};

/* Looks for names and loads them; once. */
void rkernel_name(struct rkernel *k, const struct rkernel_clue *clue, struct symbols *sy);
bool rkernel_waits(const struct rkernel *k); /* rkernel_name() was not called */

/* A sentence: why there are no names, or what is doubtful about them; "". */
const char *rkernel_why(const struct rkernel *k);

#endif
