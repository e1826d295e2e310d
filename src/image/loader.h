/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loader: ELF and DWARF of files that any user may have made are read in a process that can do
 * nothing else.  The main process opens files and sends descriptors; it gets back flat tables
 * (table.h, rows.h) in sealed memory, checks them once and maps them read-only.
 *
 * Three processes.  loader_start() forks the *keeper* before the first thread exists and while
 * memory is small; it gives up all rights (user nobody where started as root, no capabilities) and
 * reads nothing but orders of the main process: to replace the *worker*, its child, which inherits
 * that, adds bounds on memory and a list of allowed system calls, and reads the files.  A worker is
 * always forked from the keeper, for by the time one has to be replaced the main process has
 * threads and secrets: a copy of it would be neither safe nor small.
 *
 * The worker answers one request after the other, so the oldest that is unanswered is the one it is
 * at.  When it dies, answers nonsense or is at one file for more than the deadline, that request
 * alone fails, for a stated reason; a new worker gets the others.  Workers are replaced at a
 * bounded rate.
 *
 * The caller is one thread, which never waits here: loader_fd() becomes readable when
 * loader_take() has something to do.
 */
#ifndef PTOP_IMAGE_LOADER_H
#define PTOP_IMAGE_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/reason.h"
#include "image/cache.h"
#include "image/debugfile.h"
#include "image/inlines.h"
#include "image/rows.h"
#include "image/table.h"

#define LOADER_IN_FLIGHT_MAX 8u
#define LOADER_FDS_MAX (1u + DEBUG_CANDIDATES_MAX)
#define LOADER_PLACES_MAX 16u

struct loader;

/*
 * Forks the keeper and waits until it has given up its rights.  @sandbox false (debugging only):
 * it keeps rights and system calls, not memory.  0 or -errno.
 */
int loader_start(struct loader **ret, bool sandbox, struct reason *why);
void loader_free(struct loader *l);

/* What protection could not be had ("" where all of it is), as a sentence; borrowed. */
const char *loader_weakness(const struct loader *l);

/* How long a worker may be at one request, times not counted that it waits for a CPU; 2 s at first.
 */
void loader_set_deadline(struct loader *l, uint64_t deadline_ns);

/* Readable when loader_take() should be called.  Stays the same while the loader lives. */
int loader_fd(const struct loader *l);

enum loader_what {
	LOADER_IDENTIFY, /* build-id and name of the debug file */
	LOADER_SYMBOLS,  /* the symbol table */
	LOADER_ROWS,     /* the rows to unwind by */
	/* A table that was kept: of a cache file (cache_copy.h). */
	LOADER_KEPT_SYMBOLS,
	LOADER_KEPT_ROWS,
	LOADER_KEEP,       /* copies a table, fds[0], into a cache file, fds[1] */
	LOADER_FIND_DWARF, /* which of the files has debug information, and what it is to be read
			      with */
	LOADER_INLINES,    /* inlined functions of the units that places are in */
	/* Of the opener (opener.h): the file of a sight for reading, fds[0] being a hold of it or
	 * missing; what may be the debug file of fds[0]; the former and, whether or not it has
	 * symbols, the latter; what may have common parts of the debug information of fds[0]. */
	OPENER_FILE,
	OPENER_DEBUG,
	OPENER_WHERE,
	OPENER_ALT,
	NR_LOADER_WHATS,
};

/* What the opener has to know.  Flat: sent as it is. */
struct loader_order {
	int32_t pid;
	uint32_t maj, min, by_link; /* the pin came from map_files */
	uint64_t start, end, ino;
	struct debug_clue clue; /* OPENER_DEBUG, OPENER_WHERE */
	struct debug_alt alt;   /* OPENER_ALT */
	char path[4096];
};

/*
 * fds[0] is the file, the others are what may be its debug file: the worker takes the first that
 * belongs to it (debugfile_matches()).  For LOADER_INLINES fds[0] is the file that has the debug
 * information, the others are what may hold common parts of it (debugfile_alt_matches()).
 */
struct loader_request {
	enum loader_what what;
	uint32_t image; /* comes back with the answer */
	int fds[LOADER_FDS_MAX];
	unsigned nr_fds;
	/* Somebody who is neither root nor this user may have written it. What a worker says that
	 * has read such a file may be that file's word. */
	bool foreign;
	/* The table is to outlive this session: it should come from a worker that has read no
	 * foreign file before (one that has is replaced where nothing else is in flight), and where
	 * it does, with its descriptor. */
	bool keep;
	uint64_t places[LOADER_PLACES_MAX]; /* LOADER_INLINES: vaddrs; the first is answered for
					       certainly */
	unsigned nr_places;
	const struct loader_order *order; /* OPENER_; copied */
};

/* Whether loader_send() would not have to say -EAGAIN now. */
bool loader_has_room(const struct loader *l);

/*
 * Sends a request and takes its descriptors, whatever happens.  0 and *@ret_serial, unique for ever
 * and never 0; -EAGAIN: no room; -EPIPE: the loader is gone for good; -ENOMEM.
 */
int loader_send(struct loader *l, const struct loader_request *r, uint64_t *ret_serial);

/* What was asked for, checked.  The receiver frees .bytes with loader_bytes_free(). */
struct loader_answer {
	enum loader_what what;
	uint32_t image;
	uint64_t serial;
	int err;     /* 0 or -errno, then .why tells */
	bool harmed; /* the worker had to be replaced for it: -EFAULT, -ETIMEDOUT, -EBADMSG */
	struct reason why;
	struct debug_clue clue; /* LOADER_IDENTIFY */
	unsigned which;         /* LOADER_FIND_DWARF: of the descriptors */
	struct debug_alt alt;   /* the same */
	void *bytes;            /* else: read-only, of .size, passed its check */
	size_t size;
	int fd;             /* of .bytes, the receiver's to close; -1: not .clean, or not .keep */
	bool clean;         /* the worker had read no foreign file before */
	uint64_t took_ns;   /* the worker was at it */
	struct table table; /* LOADER_SYMBOLS, within .bytes */
	struct rows rows;   /* LOADER_ROWS, within .bytes */
	struct inlines inlines; /* LOADER_INLINES, within .bytes */
	/* OPENER_: the descriptors, the receiver's to close, and what each is of. */
	int fds[LOADER_FDS_MAX];
	unsigned nr_fds;
	struct cache_file files[LOADER_FDS_MAX];
	bool our_root; /* OPENER_FILE: the process sees the files that we see */
};

/* The next answer; false where there is none.  To be called until then: that is also where
 * deadlines are watched. */
bool loader_take(struct loader *l, struct loader_answer *ret);
void loader_bytes_free(void *bytes, size_t size);

/* Whether a process is one of the loader's, and the CPU time of those that run now. */
bool loader_is(const struct loader *l, pid_t pid);
uint64_t loader_cpu_ns(const struct loader *l);

/* Requests without answer, and workers that had to be replaced for what they did. */
size_t loader_in_flight(const struct loader *l);
uint64_t loader_replaced(const struct loader *l);

#endif
