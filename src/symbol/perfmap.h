/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that JIT compilers write to /tmp/perf-PID.map: lines "START SIZE name", hex, appended
 * while the program runs (Linux tools/perf/Documentation/jit-interface.txt).  A later line
 * overrides what it overlaps.
 *
 * Bounded: a million entries, 64 MB of names, 512 bytes a name, 256 MB of file; what lies beyond is
 * left out.
 */
#ifndef PTOP_SYMBOL_PERFMAP_H
#define PTOP_SYMBOL_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct perfmap_entry {
	uint64_t start, end;
	uint32_t name; /* byte in `names`: the same for all pieces of one line */
	uint32_t line; /* while lines are merged: the later wins */
};

struct perfmap {
	VEC(struct perfmap_entry) at; /* sorted, not overlapping */
	VEC(char) names;
	bool full;
};

void perfmap_done(struct perfmap *m);

/*
 * Adds whole lines of @bytes; *@ret_used is where the last whole one ended (@all: a last line
 * without newline counts too).  Bad lines are passed over.  0 or -ENOMEM with lines left out.
 */
int perfmap_parse(struct perfmap *m, const char *bytes, size_t size, bool all, size_t *ret_used);

/* The entry that holds @addr; NULL. */
const struct perfmap_entry *perfmap_find(const struct perfmap *m, uint64_t addr);

size_t perfmap_bytes(const struct perfmap *m);

/* The map of one process, and how far its file has been read. */
enum { PERFMAP_TAIL = 64 };
struct perfmap_file {
	pid_t pid, ns_pid; /* ns_pid 0: not known yet */
	uint32_t uid;      /* whose process; valid with ns_pid */
	uint64_t dev, ino;
	uint64_t read_bytes;
	uint64_t due_ns; /* not looked at again before */
	unsigned absent; /* times in a row that no file was found */
	bool missed;     /* an address was asked for that has no name */
	bool restarted;  /* the last read began anew: entries' names moved */
	uint32_t nr_tail;
	char tail[PERFMAP_TAIL]; /* the bytes before read_bytes: a rewritten file differs there */
	struct perfmap map;
};

/*
 * Looks at the file: found under the process's own root, a regular file of the process's user or
 * root; reads at most @max_bytes more of it.  Anew where it was replaced or rewritten.  Returns
 * bytes read, 0 when nothing is new. Sets due_ns: a second on, up to 16 where there is no file.
 */
size_t perfmap_file_read(struct perfmap_file *f, size_t max_bytes, uint64_t now_ns);

/* The same from an open descriptor: the part that is the same for any file. */
size_t perfmap_fd_read(struct perfmap_file *f, int fd, size_t max_bytes);

#endif
