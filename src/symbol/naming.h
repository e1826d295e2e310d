/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What symbols.c and its parts share; private to this folder. */
#ifndef PTOP_SYMBOL_NAMING_H
#define PTOP_SYMBOL_NAMING_H

#include "base/map.h"
#include "base/vec.h"
#include "symbol/functions.h"
#include "symbol/jitdump.h"
#include "symbol/kallsyms.h"
#include "symbol/ksymbols.h"
#include "symbol/perfmap.h"
#include "symbol/symbols.h"

enum {
	PLACES_MAX = 4096, /* functions "libfoo.so+0xoff" an image */
	JIT_READ_MAX =
		16 << 20, /* bytes of perf maps read, and gone over, from one refresh to the next */
	JIT_READ_LEAST = 1 << 16,   /* less is not begun with: it could cut a line */
	JIT_LOOKS_MAX = 64,         /* perf maps looked at in one refresh */
	JIT_BYTES_MAX = 256 << 20,  /* of all perf maps: then none is read further */
	DUMPS_MAX = 64,             /* dumps open at a time */
	DUMP_BYTES_MAX = 256 << 20, /* of all dumps: then none is read further */
	DUMP_KNOWN_MAX = 1 << 16    /* addresses of one that were named after their sample */
};

/* A process's jitdump, as far as it was looked for. */
struct naming_dump {
	struct jitdump_file *file; /* NULL: none */
	uint32_t image;            /* of the file; 0: none */
	bool listed;               /* in symbols.dumps, once */
	uint32_t maps;             /* the generation of the mappings it was looked for in */
	uint64_t due_ns;           /* not looked for again before */
	bool missed;               /* an address was asked for that has no name yet */
	struct map known;          /* address -> function: named after its sample */
};

/* What is known of one image's names. */
struct naming {
	uint32_t image;
	uint32_t module, path; /* texts */
	uint32_t flags;        /* of its functions: FUNCTION_KERNEL */
	uint32_t whole,
		others;  /* functions "libfoo.so" and "libfoo.so+?"; FUNCTION_NONE: not made yet */
	uint32_t unread; /* "libfoo.so [another build here]" */
	bool pending;    /* answers were given before it was loaded */
	bool jit_like;   /* a file that JIT compilers put code into (memfd) */
	struct map symbols; /* symbol index, or a perf map's name -> function */
	struct map places;  /* offset without a symbol -> function */
	struct perfmap_file *jit;
	struct naming_dump *dump; /* NULL: never looked for */
};

struct symbols {
	const struct space *space;
	struct images *images;
	struct functions functions;
	VEC(struct naming *) namings;       /* by image; NULL: never asked */
	VEC(uint32_t) pending, jits, dumps; /* images */
	struct kallsyms kallsyms;
	struct ksymbols ksymbols;
	bool kernel_known; /* kallsyms holds names */
	bool kernel_missed;
	uint64_t kernel_loaded_ns, kernel_wait_ns; /* symbols_reload_kernel() */
	bool recorded, foreign;                    /* symbols_recorded() */
	bool full_names;                           /* symbols_full_names() */
	bool timeless;                             /* symbols_timeless() */
	char kernel_why[160];
	uint32_t generation, names_moved;
	uint32_t pseudo[NR_PSEUDO_FRAMES], unknown;
	size_t next_jit;   /* where the next refresh goes on */
	size_t jit_left;   /* of JIT_READ_MAX, up to the next refresh */
	size_t jit_bytes;  /* of all perf maps */
	size_t dump_bytes; /* of all jitdumps */
};

/* symbols.c: symbols_load_kernel() and symbols_reload_kernel() from any such file. */
int symbols_load_kernel_from(struct symbols *sy, const char *path);
bool symbols_reload_kernel_from(struct symbols *sy, const char *path, uint64_t now_ns);

/* naming.c: made when new; NULL without memory or for an image the space does not know. */
struct naming *naming_get(struct symbols *sy, uint32_t image);
void naming_free(struct naming *n);
size_t naming_bytes(const struct naming *n);

/* A function of the image by name, of @len bytes; FUNCTION_NONE without memory. */
uint32_t naming_function(struct symbols *sy, struct naming *n, uint32_t module, const char *name,
			 size_t len);
/* The same, kept under @index; what a compiler appended to the name is left out. */
uint32_t naming_symbol(struct symbols *sy, struct naming *n, uint64_t index, uint32_t module,
		       const char *name);
uint32_t naming_whole(struct symbols *sy, struct naming *n); /* "libfoo.so" */
/* "libfoo.so [another build here]"; without @why the same as naming_whole(). */
uint32_t naming_unread(struct symbols *sy, struct naming *n, const char *why);
uint32_t naming_place(struct symbols *sy, struct naming *n,
		      uint64_t offset); /* "libfoo.so+0xoff" */

/*
 * fold.c: a JIT compiler's name without its mark of how well it compiled: the same function at
 * another tier.  Returns the bytes written, at most @room: a longer name is cut.
 *
 *   V8      "LazyCompile:*spin a.js:3", "JS:~spin a.js:3", also ^ + and ' behind them
 *   .NET    "int32 [a] Program::Spin()[OptimizedTier1]"
 */
size_t fold_tier(char *out, size_t room, const char *name, size_t len);

/*
 * jit.c: the function of @addr in the dump or the perf map of process @pid, read at the first call;
 * FUNCTION_NONE where it has no name.
 */
uint32_t jit_function(struct symbols *sy, struct naming *n, pid_t pid, uint64_t addr);
/* Where the code at @addr begins, by what was read last. */
bool jit_begins(const struct naming *n, uint64_t addr, uint64_t *ret);
/* The function of a compiler's name, kept under @index. */
uint32_t jit_named(struct symbols *sy, struct naming *n, uint64_t index, const char *name);
/* Re-reads what is due; true when names may have changed. */
bool jit_refresh(struct symbols *sy, uint64_t now_ns);

/*
 * dumped.c: what ran at @addr of process @pid at @time_ns, by its dump; FUNCTION_NONE where that
 * does not tell, or not yet.  Asked in the order of time.
 */
uint32_t dumped_at(struct symbols *sy, struct naming *n, pid_t pid, uint64_t addr,
		   uint64_t time_ns);
/*
 * What was at @addr when dumped_at() did not know: the code that was told of next.  The answer
 * stays, whatever comes there later.
 */
uint32_t dumped_since(struct symbols *sy, struct naming *n, uint64_t addr);
/* Reads on where names are missed; true when they may have changed. */
bool dumped_refresh(struct symbols *sy, uint64_t now_ns);
void dumped_free(struct naming_dump *d);
void dumped_forget(struct symbols *sy, struct naming *n);
size_t dumped_bytes(const struct naming_dump *d);

#endif
