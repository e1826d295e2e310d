/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places -> functions.  Routes to image tables, kallsyms, BPF symbols, perf-PID.map files and the
 * vdso; gives each function (name, module) a dense id.  Places without a name share one function
 * an image while it loads or when it has no symbols at all ("libfoo.so"), else each is
 * "libfoo.so+0xoff" (4096 an image, then "libfoo.so+?"): a place is never given to the symbol
 * before it.
 *
 * One thread.  Answers are not cached by place: a look-up costs about 50-100 ns, so callers keep
 * function ids and ask again when the generation rose and symbols_final() was false.
 */
#ifndef PTOP_SYMBOL_SYMBOLS_H
#define PTOP_SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/images.h"
#include "record/record.h"
#include "space/space.h"
#include "symbol/kallsyms.h"

enum pseudo_frame { /* offsets in IMAGE_PSEUDO */
		    PSEUDO_BROKEN,
		    PSEUDO_CUT,
		    PSEUDO_DEEP,
		    PSEUDO_NO_STACK,
		    NR_PSEUDO_FRAMES,
};

struct symbols;

/* Borrows both; reads /proc/kallsyms at symbols_load_kernel(). */
struct symbols *symbols_new(const struct space *space, struct images *images);
void symbols_free(struct symbols *sy);

/*
 * Loads or reloads kernel and module names.  0; -EACCES where kptr_restrict hides them
 * (symbols_kernel_why() says it plainly).
 */
int symbols_load_kernel(struct symbols *sy);
/*
 * The same for a recording, from a file such as its /proc/kallsyms, moved to where the recording
 * had the kernel.  0; -EACCES: every address in it is hidden; -ESRCH: it has no such anchor;
 * -ENODATA: no symbols; -EFBIG; -ENOMEM; -errno of reading.
 */
int symbols_load_recorded_kernel(struct symbols *sy, int fd, const struct kallsyms_places *places);
/*
 * Loads them again where an address had no name, for modules and programs that came since: 5 s
 * after the last time at the earliest, and twice as long each time it is needed again.  It takes
 * about as long as the first time, 0.1 s.  True where it was done.
 */
bool symbols_reload_kernel(struct symbols *sy, uint64_t now_ns);
const char *symbols_kernel_why(const struct symbols *sy); /* "" when names are there */

/*
 * The processes are those of a recording: perf maps count only where it is of this boot, and never
 * those of memory files, for what else maps them now says nothing of then.
 */
void symbols_recorded(struct symbols *sy, bool same_boot);

/*
 * The times of samples are not of CLOCK_MONOTONIC: they tell nothing of when JIT code was there, so
 * the last of it counts.
 */
void symbols_timeless(struct symbols *sy);

/*
 * From now on foo.cold, foo.part.0 and JIT code's tiers are functions of their own; else they count
 * as foo.  Before the first question.
 */
void symbols_full_names(struct symbols *sy);

/* Applies KSYMBOL (BPF and ftrace names) records. */
void symbols_apply(struct symbols *sy, const struct record *r);

/*
 * Whether what symbols_place() gives for an image depends on more than the offset, or may.  Stays
 * as it is while symbols_generation() does.
 */
bool symbols_place_moves(struct symbols *sy, uint32_t image);

/*
 * The offset to keep for a place where process @pid was seen at @time_ns: where JIT code is told of
 * with its times (jitdump), it names that moment's function for good; else it is @offset.  Call it
 * in the order of time.
 */
uint64_t symbols_place(struct symbols *sy, pid_t pid, uint32_t image, uint64_t offset,
		       uint64_t time_ns);

/*
 * The function at a place; dense ids from 0.  Marks its image as wanted.  UINT32_MAX without
 * memory.
 */
uint32_t symbols_function(struct symbols *sy, uint32_t image, uint64_t offset);

/*
 * The functions that were inlined at a place, inside of symbols_function(), the outermost first.
 * Returns how many; -EAGAIN while that is not known yet (asked for then).  Its generation rises
 * when that may have changed.
 */
int symbols_inlined(struct symbols *sy, uint32_t image, uint64_t offset,
		    uint32_t ret[INLINES_DEPTH_MAX]);
/* A number for what symbols_inlined() gives there, as images_inlines_key(): 0 or -EAGAIN. */
int symbols_inlined_key(struct symbols *sy, uint32_t image, uint64_t offset, uint64_t *ret);
uint32_t symbols_inlined_generation(const struct symbols *sy);

/*
 * Where the symbol that covers a place begins, as an offset in the same image; false where none
 * is known to.
 */
bool symbols_start(const struct symbols *sy, uint32_t image, uint64_t offset, uint64_t *ret);

/*
 * False while asking again may give a better answer: image still loading, JIT code, kernel
 * addresses without a name.
 */
bool symbols_final(const struct symbols *sy, uint32_t image);
/* The same for one place, which symbols_place() may have given its function for good. */
bool symbols_place_final(const struct symbols *sy, uint32_t image, uint64_t offset);
/*
 * Whether the image's own symbols are known, or there are none: all that may still come are names
 * that a JIT compiler writes.
 */
bool symbols_read(const struct symbols *sy, uint32_t image);
/*
 * Rises when answers may have changed: in symbols_refresh() (images loaded, maps reread),
 * symbols_load_kernel() and symbols_apply().  symbols_names_moved() counts the times when final
 * answers changed too (kernel reloaded, BPF code replaced).
 */
uint32_t symbols_generation(const struct symbols *sy);
uint32_t symbols_names_moved(const struct symbols *sy);
/*
 * The image is forgotten by the space and its id may come again: drops what is kept under it.
 * Function ids stay.
 */
void symbols_forget(struct symbols *sy, uint32_t image);
/*
 * Sees which images asked for have loaded since, and re-reads perf maps that grew and had misses
 * (each at most once a second, a bounded amount of work a call).  True when names may have
 * changed.  Call it before each query.
 */
bool symbols_refresh(struct symbols *sy, uint64_t now_ns);

/*
 * Where the names of an image are from: as images_source(), or "kallsyms", "perf map"; "none".
 * symbols_jit(): whether it is code without a file of its own.
 */
const char *symbols_source(const struct symbols *sy, uint32_t image);
bool symbols_jit(const struct symbols *sy, uint32_t image);

/*
 * Walks the kernel's code that is in no file, from *@pos 0 on: BPF programs and trampolines that
 * /proc/kallsyms told of.  False at the end.
 */
struct kernel_code {
	uint64_t addr;
	uint32_t size;
	const char *name;
	bool bpf;
};
bool symbols_next_code(const struct symbols *sy, size_t *pos, struct kernel_code *ret);

struct function_info {
	const char *name;   /* scrubbed UTF-8, demangled */
	const char *module; /* "libc.so.6", "[kernel]", "[nf_tables]", "[bpf]", "[jit]", "" for
			       pseudo */
	const char *module_path;
	bool named; /* false: "module+0x12f" or "[unknown]" */
	bool kernel;
	bool entry; /* a thread's outermost function by name: _start, clone3, … */
	bool pseudo;
};
bool symbols_info(const struct symbols *sy, uint32_t function, struct function_info *ret);
size_t symbols_nr_functions(const struct symbols *sy);
size_t symbols_bytes(const struct symbols *sy);

#endif
