/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's answer, which may be written by whoever made the file it read: verified before
 * anything of it is used.  Internal to the loader.
 */
#ifndef PTOP_IMAGE_LOADER_REPLY_H
#define PTOP_IMAGE_LOADER_REPLY_H

#include <stdbool.h>

#include "image/loader_protocol.h"

/* A request on its way. */
struct flight {
	struct loader_request request;
	struct loader_order order; /* OPENER_ */
	uint64_t serial;
	bool sent, begun; /* the worker has it; is at it */
	bool clean;       /* the worker had read no foreign file before */
	int err;          /* it failed: why */
	struct reason why;
};

/*
 * Verifies the answer to @f that came with @nr_fds descriptors and fills @ret, which has them then.
 * 0; -EBADMSG, with them left to the caller, where anything is not as it must be.
 */
int loader_reply(const struct flight *f, const struct worker_message *m, const int *fds,
		 unsigned nr_fds, struct loader_answer *ret);

#endif
