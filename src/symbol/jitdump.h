/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that a runtime tells of in a jit-PID.dump (Linux tools/perf/Documentation/
 * jitdump-specification.txt), as it is at one moment: records are applied in their order up to a
 * time, so who asks in the order of samples gets the code that ran then, though addresses are used
 * again and code moves.
 *
 * Bounded: 256 Ki pieces of code at a time, 4 Mi records, 64 MB of names, 512 bytes a name.
 */
#ifndef PTOP_SYMBOL_JITDUMP_H
#define PTOP_SYMBOL_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strpool.h"
#include "image/images.h"
#include "symbol/jitmap.h"

struct jitdump {
	struct jitmap code;    /* by names in `names` */
	struct strpool *names; /* NULL: none yet */
	size_t name_bytes;
	uint32_t records;
	bool begun;    /* the header was read */
	bool timeless; /* its clock is no CLOCK_MONOTONIC: all records apply at once */
	bool ended;    /* nothing more is read: closed, damaged or past a bound */
};

void jitdump_done(struct jitdump *d);

/*
 * Applies records that begin in @bytes, @file_left bytes being left of the file from there on, and
 * not later than @until_ns.  Returns how far to go on in the file, which may be beyond @bytes: code
 * is passed over.  0: nothing can be applied now, for the next record is not whole yet or later.
 * *@ret_later: when that one is, else 0.  A copy of one record's head is JITDUMP_HEAD bytes at
 * most: with as many, or with all that is left, some progress is made if any can be.
 */
enum { JITDUMP_HEAD = 1024 };
uint64_t jitdump_apply(struct jitdump *d, const uint8_t *bytes, size_t size, uint64_t file_left,
		       uint64_t until_ns, uint64_t *ret_later);

/* The code that holds @addr; NULL. */
const struct jitdump_code *jitdump_find(const struct jitdump *d, uint64_t addr);

size_t jitdump_bytes(const struct jitdump *d);

/* The dump of one process, and how far its file has been read. */
struct jitdump_file {
	int fd;
	uint64_t at;       /* how far it was applied */
	uint64_t size;     /* when last looked at */
	uint64_t later_ns; /* the next record's time; 0: not known */
	uint64_t due_ns;   /* the file is not looked at again before */
	uint64_t until_ns; /* asked for up to then */
	bool stuck;        /* the next record is not whole yet */
	bool restarted;    /* it began anew: names' numbers mean others; the reader's to clear */
	struct jitdump dump;
};

/* Whether a mapped file is called as a dump is: "jit-123.dump". */
bool jitdump_is_path(const char *path);

/*
 * Opens the file that a sight tells of, as images are opened (image/open.h), if it is of the
 * process's user or root; for pid 0, of a recording, whosesoever it is.  NULL where there is none,
 * or without memory.
 */
struct jitdump_file *jitdump_open(const struct image_sight *sight);
void jitdump_close(struct jitdump_file *f);

/*
 * Applies what the file holds up to @until_ns, a bounded amount a call; whether it grew is looked
 * at no more often than each 20 ms of @now_ns.  True where it got on.
 */
bool jitdump_advance(struct jitdump_file *f, uint64_t until_ns, uint64_t now_ns);

#endif
