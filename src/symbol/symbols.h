/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places -> functions.  Routes to image tables, kallsyms, BPF symbols, perf-PID.map files and the
 * vdso; gives each function (name, module) a dense id.  Places without a name share one function an
 * image while it loads or when it has no symbols at all ("[libfoo.so]"), else "libfoo.so+0xoff" page-less exact offsets are
 * never guessed from the previous symbol.
 */
#ifndef PTOP_SYMBOL_SYMBOLS_H
#define PTOP_SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/images.h"
#include "record/record.h"
#include "space/space.h"

enum pseudo_frame {	/* offsets in IMAGE_PSEUDO */
	PSEUDO_BROKEN, PSEUDO_CUT, PSEUDO_DEEP, PSEUDO_NO_STACK, NR_PSEUDO_FRAMES,
};

struct symbols;

/* Borrows both; reads /proc/kallsyms at symbols_load_kernel(). */
struct symbols *symbols_new(const struct space *space, struct images *images);
void symbols_free(struct symbols *sy);

/* Loads or reloads kernel and module names.  0; -EACCES where kptr_restrict hides them (symbols_kernel_why() says it plainly). */
int symbols_load_kernel(struct symbols *sy);
const char *symbols_kernel_why(const struct symbols *sy);	/* "" when names are there */

/* Applies KSYMBOL (BPF and ftrace names) records. */
void symbols_apply(struct symbols *sy, const struct record *r);

/* The function at a place; dense ids from 0.  Marks its image as wanted.  UINT32_MAX without memory. */
uint32_t symbols_function(struct symbols *sy, uint32_t image, uint64_t offset);

/* Whether asking again may give a better answer (image still loading, perf map changed). */
bool symbols_final(const struct symbols *sy, uint32_t image);
/* Rises whenever answers of some image may have changed since (images loaded, maps reread, kernel reloaded). */
uint32_t symbols_generation(const struct symbols *sy);
/* Re-reads perf maps that grew and had misses; at most a bounded amount of work.  True when names may have changed. */
bool symbols_refresh(struct symbols *sy, uint64_t now_ns);

struct function_info {
	const char *name;	/* scrubbed UTF-8, demangled */
	const char *module;	/* "libc.so.6", "[kernel]", "[nf_tables]", "[bpf]", "[jit]", "" for pseudo */
	const char *module_path;
	bool named;		/* false: "module+0x12f" or "[unknown]" */
	bool kernel;
	bool entry;		/* a thread's or process's outermost function by name: _start, clone, clone3, start_thread, ret_from_fork, … */
	bool pseudo;
};
bool symbols_info(const struct symbols *sy, uint32_t function, struct function_info *ret);
size_t symbols_nr_functions(const struct symbols *sy);
size_t symbols_bytes(const struct symbols *sy);

#endif
