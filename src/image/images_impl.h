/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the registry share: images.c keeps it, images_build.c reads files in process,
 * images_loader.c has them read.  Internal to images.
 */
#ifndef PTOP_IMAGE_IMAGES_IMPL_H
#define PTOP_IMAGE_IMAGES_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/reason.h"
#include "base/vec.h"
#include "image/cache.h"
#include "image/debugfile.h"
#include "image/images.h"
#include "image/key.h"
#include "image/loader.h"
#include "image/rows.h"
#include "image/table.h"

#define IMAGE_TRIES_MAX 4u
#define INLINES_BYTES_MAX ((size_t)32 << 20)

struct image_inlines;
struct inlines_table;

/* A table or rows, from malloc or mapped. */
struct image_bytes {
	void *at;
	size_t size;
	bool mapped;
};

enum rows_state { ROWS_UNASKED, ROWS_WANTED, ROWS_READY, ROWS_FAILED };

struct image {
	struct image_sight sight; /* the last; its strings are owned: .path, build_id below */
	char *path;
	uint8_t build_id[20];
	enum image_state state;
	int fd;
	uint64_t seen; /* stamp of the last sight */
	unsigned tries;
	bool known, wanted, queued;
	struct image_bytes bytes;
	struct table table;
	char *why; /* NULL: nothing to say */
	enum rows_state rows_state;
	bool rows_queued;
	unsigned rows_tries;
	struct image_bytes rows_bytes;
	struct rows rows;
	char *rows_why;
	/* By the loader: requests without answer (0: none), and what the first one told. */
	uint64_t clue_serial, serial, rows_serial;
	struct debug_clue *clue;
	struct image_inlines *inlines; /* images_inlines.c; NULL: never asked for */
	/* Of a recording: the next place to look at, and the build-id that was refused last. */
	unsigned place;
	uint8_t other_id[20], other_id_size;
	int place_err; /* of the last search */
	/* By the opener.  A descriptor that only holds the file (pinned), requests without answer,
	 * and what it told. */
	bool pinned, our_root;
	bool no_debug; /* looking for a debug file failed */
	bool fetched;  /* a debug file was asked for */
	enum file_via via;
	uint64_t open_serial, debug_serial;
	struct cache_file file;
	struct image_debug *debug; /* NULL: not there */
	/* Kept tables that were no good: not to be asked for again. */
	bool no_kept[NR_CACHE_KINDS];
};

/* A file held since before it was known as what image. */
struct image_glimpse {
	int fd;
	pid_t pid;
	uint64_t start, file; /* as in .by_file */
	enum file_via via;
};
#define IMAGE_GLIMPSES 64u

/* What may be an image's debug file, open. */
struct image_debug {
	int fds[DEBUG_CANDIDATES_MAX];
	struct cache_file files[DEBUG_CANDIDATES_MAX];
	unsigned nr;
};

/* Its debug file is being downloaded, was, or is being read. */
struct image_fetched {
	uint32_t image;
	int fd, debug_fd; /* the program; what came, -1: not here or not any more */
	int inlines_fd;   /* what came once more, for inlined functions; -1: not here */
	uint64_t serial;  /* of the request to read it; 0: none */
};

/* A file system, device 0:min, that let an opening hang. */
struct image_hung {
	uint32_t min;
	unsigned times;
	uint64_t until_ns; /* it is not asked before */
};

/* A table on its way that may be kept, and one that is there and waits for it. */
struct image_asked {
	uint64_t serial; /* of the request; 0: none */
	struct cache_key key;
};
struct image_keeping {
	int fd;
	size_t size;
	struct cache_key key;
};

struct images {
	VEC(struct image *) at; /* by id; NULL: never heard of */
	VEC(uint32_t) queue;    /* last in, first built */
	VEC(uint32_t) rows_queue;
	VEC(uint32_t) open;                /* ids that hold a descriptor */
	struct loader *loader;             /* NULL: files are read here */
	const struct image_places *places; /* NULL: sights are of running processes */
	struct cache *cache;               /* NULL: nothing is kept */
	struct loader *opener;             /* NULL: files are opened here */
	int watch_fd;                      /* readable when any of theirs is; -1: none */
	struct debuginfod *debuginfod;     /* NULL: nothing is downloaded */
	VEC(struct image_fetched) fetched; /* images whose debug file is downloaded */
	VEC(uint32_t) replaced;            /* images that got another table, not told yet */
	struct map by_file;                /* a number for device and inode -> id */
	VEC(struct image_glimpse) glimpses;
	size_t next_glimpse; /* the oldest, once there are IMAGE_GLIMPSES */
	unsigned nr_debug;   /* sets of debug files held */
	VEC(struct image_hung) hung;
	struct image_asked asked[LOADER_IN_FLIGHT_MAX];
	VEC(struct image_keeping) keeping; /* the first is being kept where keep_serial != 0 */
	uint64_t keep_serial;
	bool by_rows;    /* somebody asked for rows */
	bool by_inlines; /* inlined functions are read */
	VEC(uint32_t) inlines_queue;
	VEC(struct inlines_table *) inlines_tables;
	size_t inlines_bytes, inlines_bytes_max; /* of those */
	unsigned nr_inlines_open, inlines_in_flight;
	uint32_t inlines_generation, inlines_made;
	uint64_t stamp;
	size_t changed; /* states, since the last images_work() */
	size_t bytes;
};

void image_bytes_free(struct image_bytes *b);

/* NULL where the id was never heard of. */
struct image *image_get(const struct images *im, uint32_t id);
void image_set_state(struct images *im, struct image *image, enum image_state state);

/* Copies @text; "" becomes NULL. */
void image_set_text(char **to, const char *text);
void image_fail(struct images *im, struct image *image, const struct reason *why);

/* Opens the file of the last sight as the image's descriptor.  On failure the image has failed. */
void image_open(struct images *im, uint32_t id);
void image_close(struct images *im, uint32_t id);

/* The same as a descriptor of the caller's, or -errno. */
int image_open_again(const struct images *im, struct image *image, struct reason *why);

/* The files that may be the debug file of @fd, the image's file; or the one that is, or -errno. */
unsigned image_debug_candidates(const struct images *im, const struct image *image,
				const struct debug_clue *clue, int fd, int *ret_fds);
unsigned image_alt_candidates(const struct images *im, const struct image *image,
			      const struct debug_alt *alt, int fd, int *ret_fds, unsigned max);
int image_debug_open(const struct images *im, const struct image *image, int fd);

/* Puts an image in the queue of what is to be read, once it is wanted and can be. */
void image_enqueue(struct images *im, uint32_t id);
void image_enqueue_rows(struct images *im, uint32_t id);

/* Takes bytes that passed their check; image->table or ->rows is set already. */
void image_take_table(struct images *im, uint32_t id, struct image_bytes bytes);
void image_take_rows(struct images *im, uint32_t id, struct image_bytes bytes);

/* No table, no rows, for good. */
void image_fail_table(struct images *im, uint32_t id, const struct reason *why);
void image_fail_rows(struct images *im, uint32_t id, const struct reason *why);

/* images_build.c: read now. */
void image_load(struct images *im, uint32_t id);
void image_load_rows(struct images *im, uint32_t id);

/* images_loader.c: ask for what an image waits for; false: not now, it waits on.  Takes all answers
 * that are there. */
bool image_ask(struct images *im, uint32_t id);
bool image_ask_rows(struct images *im, uint32_t id);
void images_take_answers(struct images *im);

/*
 * images_inlines.c: asks for the next ones, where nothing of that kind is on its way; takes an
 * answer, true where its bytes are; drops what is kept of an image.
 */
void images_ask_inlines(struct images *im);
bool image_take_inlines(struct images *im, const struct loader_answer *a);
void image_forget_inlines(struct images *im, uint32_t id);
/* Its file and a debug file that came later, for what was not found before; takes both. */
void image_give_inlines(struct images *im, uint32_t id, int fd, int debug_fd);

/* Whether a request that would give rows is on its way. */
bool image_rows_asked(const struct image *image);
/* The facts of a request's files, where they are opened here. */
void image_read_facts(const struct images *im, const struct loader_request *r,
		      struct cache_file *ret);

uint64_t images_now_ns(void);
/* Sees to it that another descriptor may be held. */
void images_make_room(struct images *im);

void image_forget_file(struct images *im, uint32_t id);
void images_glimpses_done(struct images *im);

/*
 * images_open.c.  Takes hold of the file of the last sight.
 */
void image_pin(struct images *im, uint32_t id);
/* 1: the file is open for reading, and what may be its debug file where the clue is there; 0: that
 * is on its way (the image is put in its queue then) or has failed; -EAGAIN: not now. */
int image_prepare(struct images *im, uint32_t id);
bool image_is_asked(const struct image *image);
bool images_by_opener(const struct images *im);
/*
 * Sends an order of the last sight, with @fd (borrowed; -1: none).  0; -EAGAIN: not now; or -errno
 * with the reason.
 */
int image_order(struct images *im, uint32_t id, enum loader_what what, int fd,
		const struct debug_alt *alt, uint64_t *ret_serial, struct reason *why);
/* Hands over what may be the debug file. */
unsigned image_take_debug(struct images *im, struct image *image, int *ret_fds,
			  struct cache_file *ret_files);
void image_drop_debug(struct images *im, struct image *image);
void images_take_opened(struct images *im);

/* Makes images_fd() readable when @fd is.  0 or -errno. */
int images_watch(struct images *im, int fd);

/* In the place of the table that an image has; @bytes are taken. */
void image_replace_table(struct images *im, uint32_t id, const struct table *table,
			 struct image_bytes bytes);

/*
 * images_fetch.c.  Asks for the debug file of an image whose table is new and has few names, while
 * its descriptor is there.
 */
void image_fetch(struct images *im, uint32_t id);
void images_fetch(struct images *im);
/* Whether an answer is of that, and whether its bytes were taken. */
bool image_take_fetched(struct images *im, const struct loader_answer *a, bool *ret_bytes_taken);
void image_forget_fetched(struct images *im, uint32_t id);
void images_fetch_done(struct images *im);

/*
 * images_cache.c.  Makes a request for a table one for the kept one, where there is; else, where it
 * is to be kept, marks it, and *@ret_key says as what.  Tells whether *@ret_key counts.  @files:
 * the facts of the request's descriptors.
 */
bool image_look_kept(struct images *im, const struct image *image, struct loader_request *r,
		     const struct cache_file *files, struct cache_key *ret_key);
/* The request was sent. */
void images_remember(struct images *im, uint64_t serial, const struct cache_key *key);
/* An answer to a request for symbols or rows: takes its descriptor. Whether it was a kept table
 * that was no good, so that the image has to be asked for anew. */
bool image_take_kept(struct images *im, struct image *image, struct loader_answer *a);
/* An answer that is of no image; whether it was. */
bool images_take_keeping(struct images *im, const struct loader_answer *a);
/* Keeps what waits for it, when the loader has nothing better to do. */
void images_keep(struct images *im);
void images_cache_done(struct images *im);

#endif
