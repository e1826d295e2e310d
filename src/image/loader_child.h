/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper's and the worker's side of the loader (loader.h).  Internal to it, and for tests that
 * put another worker in its place.
 */
#ifndef PTOP_IMAGE_LOADER_CHILD_H
#define PTOP_IMAGE_LOADER_CHILD_H

#include <stdbool.h>

#include "image/loader_protocol.h"

struct inlines_kept;

/* What a worker does with its end of the socket, until that ends. */
typedef void loader_serve_fn(int socket);

/* The keeper: never returns.  @socket is the only descriptor kept open. */
_Noreturn void loader_keeper(int socket, bool sandbox, loader_serve_fn *serve);

/* The usual worker. */
void loader_serve(int socket);

/* Its first word, and the one before each request.  0 or -errno. */
int loader_ready(int socket);
int loader_begin(int socket, const struct worker_request *r);

/*
 * Does one request and fills @ret with the answer.  Returns the memfd with the table, or -1 where
 * there is none.  Borrows the descriptors.  @kept: what it may keep for the next one.
 */
int loader_do(const struct worker_request *r, const int *fds, unsigned nr_fds,
	      struct worker_message *ret, struct inlines_kept *kept);

pid_t loader_keeper_pid(const struct loader *l);

/* As loader_start(), with another worker. */
int loader_start_serving(struct loader **ret, bool sandbox, loader_serve_fn *serve,
			 struct reason *why);

#endif
