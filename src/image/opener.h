/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opener: a process that opens files for the main process, since open(2) itself may never come
 * back: on a file system whose server is another machine or another user's process (NFS, FUSE).
 * Whoever waits so cannot even be killed before the server answers; therefore it is no thread.
 *
 * It is a keeper and a worker as the loader's are (loader.h), with the rights of the main process:
 * it reads no file, only who they are.  An opening that takes longer than the deadline costs that
 * file its names, and the worker is left behind.
 *
 * The main process itself opens nothing that another process names but by open_pin() (open.h),
 * which asks no file system anything.
 */
#ifndef PTOP_IMAGE_OPENER_H
#define PTOP_IMAGE_OPENER_H

#include "image/loader.h"
#include "image/loader_protocol.h"

/* What may have common parts of debug information: so many at most. */
#define OPENER_ALTS_MAX 2u

int opener_start(struct loader **ret, struct reason *why);

/* The worker; and one request of it: the descriptors of the answer, for the caller to close, into
 * @ret_fds (LOADER_FDS_MAX), returning how many. */
void opener_serve(int socket);
unsigned opener_do(const struct worker_request *r, const int *fds, unsigned nr_fds,
		   struct worker_message *ret, int *ret_fds);

#endif
