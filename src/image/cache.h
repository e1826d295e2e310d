/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables kept on disk, so that large files are read once and not at every start:
 * $XDG_CACHE_HOME/ptop, one file a table, bounded in bytes and number, least recently used first
 * out.  What comes from there is checked like what a worker gives.
 *
 * A table is found by all that it was made of (struct cache_key): the build-id, which anybody may
 * write into a file, and beside it what nobody can choose, the identity of every file that was read
 * for it (device, inode, size, time of change), the debug file among them.  So a program that bears
 * the C library's build-id has a table of its own; and a debug package installed since makes a
 * table that was made without it unfindable.
 *
 * Owner-only: the directory is the user's and closed to others, every directory above it is out of
 * others' hands, files are the user's alone.  Whatever else is found there is not used.  No table
 * is kept of a file whose identity another user can forge or whose contents he can still change
 * (cache_file_read()).
 *
 * Nothing here waits for anybody but the disk that holds the directory, and little is read: whole
 * tables are copied by the loader's worker (cache_copy.h).
 */
#ifndef PTOP_IMAGE_CACHE_H
#define PTOP_IMAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "image/debugfile.h"
#include "image/table.h"

/* The file itself and what may be its debug file. */
#define CACHE_FILES_MAX (1u + DEBUG_CANDIDATES_MAX)

enum cache_kind { CACHE_SYMBOLS, CACHE_ROWS, NR_CACHE_KINDS };

/* Changes whenever the file does, and cannot be set to what another file has. */
struct cache_identity {
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
	uint32_t uid, unused;
};

struct cache_file {
	struct cache_identity identity;
	/* It is root's or our own, no other may write to it, and its file system is one that keeps
	 * true times and owners: local, not mounted nosuid (which says that its owners mean
	 * nothing), and no overlay but those that we see ourselves. */
	bool trusted;
	/* It changed so long ago that another change would show. */
	bool settled;
};

/* Asks for the facts of an open file; @settled_ns: how long ago counts.  False where it has none.
 */
bool cache_file_read(int fd, uint64_t settled_ns, struct cache_file *ret);

/* The identity of this program: another version of it may make tables otherwise. */
bool cache_maker_read(struct cache_identity *ret);

/* All bytes count, those between fields are zero. */
struct cache_key {
	uint8_t build_id[TABLE_BUILD_ID_MAX];
	uint8_t build_id_size, kind, nr_files, unused;
	uint32_t version; /* of the table's layout */
	uint32_t unused_too;
	struct cache_identity maker;
	struct cache_identity files[CACHE_FILES_MAX];
};

struct cache_limits {
	uint64_t bytes;      /* of all files */
	size_t files;        /* so many */
	uint64_t least_ns;   /* what took less to make is not kept */
	uint64_t settled_ns; /* see struct cache_file */
};

/* 256 MiB, 4096 files, 1 ms, 2 s. */
extern const struct cache_limits cache_defaults;

struct cache;

/*
 * Opens the directory, making it and those above that are missing.  0; -EPERM where it or one above
 * is in others' hands, or -errno, with the reason.
 */
int cache_open(struct cache **ret, const char *directory, const struct cache_limits *limits,
	       struct reason *why);

/* The usual directory into @ret, by $XDG_CACHE_HOME or $HOME; -ENOENT where neither is set. */
int cache_directory(char *ret, size_t size, struct reason *why);
void cache_free(struct cache *c);

const struct cache_limits *cache_limits(const struct cache *c);

/* The key of a table made of @files (the first is the program); false: it is not to be kept. */
bool cache_key_make(const struct cache *c, enum cache_kind kind, const uint8_t *build_id,
		    size_t build_id_size, const struct cache_file *files, unsigned nr,
		    struct cache_key *ret);

/*
 * The file that holds the table: a descriptor for cache_copy_in(), the caller's.  -ENOENT: none.
 * One that is not as it should be is removed.
 */
int cache_find(struct cache *c, const struct cache_key *key);

/* It was no good: removed, and told by cache_damaged(). */
void cache_reject(struct cache *c, const struct cache_key *key, const char *why);

/*
 * Writing: begin gives a descriptor (the caller's) for cache_copy_out(); commit, when that is done,
 * makes the table findable; abort forgets it.  One at a time.  -errno of begin and commit: there is
 * no room for it, or nothing will be written any more (cache_why()).
 */
int cache_begin(struct cache *c, const struct cache_key *key, uint64_t size);
int cache_commit(struct cache *c);
void cache_abort(struct cache *c);

/* Uses the directory no more, for the reason. */
void cache_stop(struct cache *c, const char *why);

/* Why nothing more is written or read; "". */
const char *cache_why(const struct cache *c);

/* The sentence on the first file that had to be removed; "" where all were good. */
const char *cache_damaged(const struct cache *c);

struct cache_use {
	uint64_t bytes;
	size_t files;
};

/* What is there now. */
int cache_measure(struct cache *c, struct cache_use *ret);

#endif
