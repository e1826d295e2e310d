/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the main process, the keeper and the worker say to each other: fixed-size messages over
 * SOCK_SEQPACKET, with descriptors (unix(7), SCM_RIGHTS).  Both ends are the same program, so the
 * host's layout will do; whoever receives trusts nothing but the size.  Internal to the loader.
 */
#ifndef PTOP_IMAGE_LOADER_PROTOCOL_H
#define PTOP_IMAGE_LOADER_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "image/debugfile.h"
#include "image/loader.h"

/* Main process to keeper, with the worker's end of a new pair of sockets. */
struct keeper_order {
	uint32_t magic;
};

/* Keeper to main process, once: the protections that failed, as bits of enum sandbox_part. */
struct keeper_hello {
	uint32_t magic;
	uint32_t missing;
};

/* Main process to worker, with 1 to LOADER_FDS_MAX descriptors. */
struct worker_request {
	uint32_t magic;
	uint32_t what; /* enum loader_what */
	uint64_t serial;
	uint64_t places[LOADER_PLACES_MAX];
	uint32_t nr_places;
	uint32_t unused;
	struct loader_order order; /* OPENER_, else zero */
};

enum worker_says { WORKER_READY, WORKER_BEGINS, WORKER_ANSWER };

/* Worker to main process; with the memfd where a table was made. */
struct worker_message {
	uint32_t magic;
	uint32_t says;   /* enum worker_says */
	uint64_t serial; /* of the request; of WORKER_READY: its process id */
	uint64_t size;   /* of the table */
	int32_t err;
	uint32_t what;
	struct debug_clue clue;
	uint32_t which; /* LOADER_FIND_DWARF */
	struct debug_alt alt;
	struct reason why;
	struct cache_file files[LOADER_FDS_MAX]; /* OPENER_: of each descriptor */
	uint32_t our_root;
};

#define LOADER_MAGIC 0x6c6f6164u

/* Bytes of one table. */
#define LOADER_TABLE_MAX ((uint64_t)512 << 20)

/*
 * One message whole, or none.  loader_put(): 0 or -errno.  loader_get(): 1; 0 at the end; -errno,
 * -EBADMSG for any other size than @size or more than @fds_max descriptors.  Descriptors that came
 * are in @ret_fds only where 1 is returned; else they are closed.
 */
int loader_put(int socket, const void *message, size_t size, const int *fds, unsigned nr_fds);
int loader_get(int socket, void *message, size_t size, int *ret_fds, unsigned fds_max,
	       unsigned *ret_nr_fds);

void loader_close_fds(const int *fds, unsigned nr_fds);

#endif
