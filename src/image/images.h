/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that hold code, and what is known of their symbols.  An image's id is the caller's (from
 * the space). images_see() keeps a descriptor of the mapped file from the moment it is seen;
 * images_work() builds tables from those, newest wanted first.  A failure is kept like a result and
 * is not tried again. Tables are flat and checked (table.h); building is a pure function from
 * descriptors to a table (build.h), so that a separate process does it where there is one
 * (loader.h).
 */
#ifndef PTOP_IMAGE_IMAGES_H
#define PTOP_IMAGE_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "image/inlines.h"

struct images;

struct images *images_new(void);
void images_free(struct images *im);

/*
 * From now on files are read by the loader (borrowed; outlives @im), none in this process:
 * images_work() sends requests and takes answers without ever waiting, and images_fd() becomes
 * readable when it should be called; -1 without a loader.
 */
struct loader;
void images_use_loader(struct images *im, struct loader *l);
int images_fd(const struct images *im);

/*
 * Besides, files are opened by the opener (opener.h; borrowed, outlives @im), none in this process:
 * images_see() then waits for no file system.  After images_use_loader().  0 or -errno.
 */
int images_use_opener(struct images *im, struct loader *opener);

/*
 * Debug files of images with few names come from servers (debuginfod.h; borrowed, outlives @im).
 * An image then gets another table some time: images_replaced() tells which, each once; its names
 * and indices are other ones from the images_work() on that found it. 0 or -errno.
 */
struct debuginfod;
int images_use_debuginfod(struct images *im, struct debuginfod *d);
bool images_replaced(struct images *im, uint32_t *ret);

/* Tables that took long to read are kept there and taken from there (borrowed; outlives @im);
 * only what a loader reads. */
struct cache;
void images_use_cache(struct images *im, struct cache *c);

/* Where the file of an image was seen.  Strings are borrowed during the call. */
struct image_sight {
	pid_t pid;
	uint64_t start, end; /* the mapping, for /proc/PID/map_files; 0 where unknown */
	const char *path;    /* as mapped, in the process's root */
	uint32_t maj, min;   /* must match the opened file where ino != 0 */
	uint64_t ino;
	const uint8_t *build_id; /* must match where build_id_size != 0 */
	uint8_t build_id_size;
	bool vdso;    /* read from the process's memory (ours is the same) */
	bool foreign; /* recorded on another machine: the file here may be any other */
};

/*
 * From now on sights are of a recording, and files are looked for there (places.h; borrowed,
 * outlives @im).
 */
struct image_places;
void images_recorded(struct images *im, const struct image_places *places);

/*
 * The file of @image is mapped there now.  Opens it (map_files, else the process's root, else the
 * plain path; each accepted only if it is the mapped file) and keeps the descriptor, unless the
 * image is already open or loaded. Descriptors held are bounded (least recently seen ones are
 * closed; a later sight opens again).
 */
void images_see(struct images *im, uint32_t image, const struct image_sight *sight);

/*
 * A file is being mapped there, as a record tells that is not to be applied yet: takes hold of it
 * at once, for the process may be gone when images_see() comes.  Where the file is known already it
 * costs a look-up. Does nothing where files are opened in this process.
 */
void images_glimpse(struct images *im, const struct image_sight *sight);

/* Marks an image as wanted: a sample fell into it. Cheap; idempotent. */
void images_want(struct images *im, uint32_t image);

/* Builds wanted tables and rows, rows first, for at most about @budget_ns, or has the loader do so;
 * returns how many states changed. images_wanting(): how many still wait, here or for an answer of
 * the loader (where images_work() changed nothing, wait for images_fd()). */
size_t images_work(struct images *im, uint64_t budget_ns);
size_t images_wanting(const struct images *im);

enum image_state { IMAGE_UNSEEN, IMAGE_OPEN, IMAGE_LOADED, IMAGE_FAILED };
enum image_state images_state(const struct images *im, uint32_t image);
const char *images_why(const struct images *im,
		       uint32_t image); /* why it failed or has few names; "" */
/*
 * Of a recording: a few words on why the file of a failed image was not taken ("another build
 * here"); "" else.
 */
const char *images_refused(const struct images *im, uint32_t image);
/* Where its names are from: table_source_name(). */
const char *images_source(const struct images *im, uint32_t image);

/*
 * The symbol at a file offset.  Returns false where none covers it.  *ret_index is dense within the
 * image (stable while loaded); *ret_name is demangled, borrowed until images_forget().
 */
struct image_symbol {
	uint32_t index;
	const char *name;
	uint64_t start, size;
};
bool images_symbol(const struct images *im, uint32_t image, uint64_t offset,
		   struct image_symbol *ret);

/*
 * The rule to unwind a frame at a file offset (rows.h).  0 and *@ret (rule 0 where nothing covers
 * the place); -EAGAIN while the image waits to be read or its rows do (marks them as wanted);
 * -ENODATA where it has none or could not be read. Rows are read only for images asked here.  *@ret
 * is borrowed until images_forget().
 */
struct unwind_rule;
int images_rule(struct images *im, uint32_t image, uint64_t offset, const struct unwind_rule **ret);

/* Why an image has no rows, or none yet; "". */
const char *images_rows_why(const struct images *im, uint32_t image);

/* Whether an image has rows; only those are read that somebody asked for. */
enum image_rows { IMAGE_ROWS_UNASKED, IMAGE_ROWS_WAITING, IMAGE_ROWS_READY, IMAGE_ROWS_FAILED };
enum image_rows images_rows(const struct images *im, uint32_t image);

/*
 * The build-id, by the file that was read, else as it was told when seen.  Returns its bytes, 0
 * for none; *@ret is borrowed until images_forget().
 */
size_t images_build_id(const struct images *im, uint32_t image, const uint8_t **ret);

/*
 * From now on, or no more, images_inlines() answers and has files read for it; only with a loader.
 */
void images_use_inlines(struct images *im, bool use);

/*
 * The functions that were inlined at a file offset, the outermost first: readable names, *@ret_nr
 * of them (inlines.h), borrowed until the next call of images_work() or images_forget().  They are
 * inside of the function that images_symbol() tells.
 *
 * 0; -EAGAIN while they or the image are still to be read (a place then counts as wanted:
 * compilation units are read for places asked about only); -ENODATA where there is no debug
 * information, or it cannot be read.  What is kept is bounded, so a place may have to be asked
 * about again.
 */
int images_inlines(struct images *im, uint32_t image, uint64_t offset,
		   const char *ret[INLINES_DEPTH_MAX], uint32_t *ret_nr);

/*
 * The same without names: *@ret_key is a number for what is inlined there, which equal lists of one
 * table share, and which never means anything else; 0: nothing is.
 */
int images_inlines_key(struct images *im, uint32_t image, uint64_t offset, uint64_t *ret_key);

/* Rises when answers may have changed from -EAGAIN to others. */
uint32_t images_inlines_generation(const struct images *im);

/* Whether any places wait; images_wanting() does not count these. */
bool images_inlines_waiting(const struct images *im);

/* Whether an image has debug information to tell inlined functions by, and why not; "". */
enum image_rows images_inlines_state(const struct images *im, uint32_t image);
const char *images_inlines_why(const struct images *im, uint32_t image);

/* Drops everything of an image. */
void images_forget(struct images *im, uint32_t image);
size_t images_bytes(const struct images *im);

#endif
