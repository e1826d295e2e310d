/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of samples that wait for an image: whole copies, since they are unwound once it is there.
 * Bounded: a full hold refuses, and the caller decides.  All zeroes is an empty one.
 */
#ifndef PTOP_HOLD_H
#define PTOP_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "shares.h"

#define HOLD_BYTES_MOST (8u << 20)

struct held {
	size_t at; /* of its bytes */
	uint32_t size;
	uint32_t kind;    /* of the pipeline */
	uint32_t waiting; /* the image */
	pid_t pid;        /* whose sample it is */
};

struct hold {
	VEC(struct held) entries;
	VEC(uint8_t) bytes;
};

void hold_done(struct hold *h);

/* Copies; @what but for .at.  0, -ENOSPC when full, -ENOMEM. */
int hold_add(struct hold *h, const void *bytes, const struct held *what,
	     const struct sample_shares *shares);
void hold_shares_of(const struct hold *h, const struct held *e, struct sample_shares *ret);

/* Whether a sample of a process is in it. */
bool hold_has(const struct hold *h, pid_t pid);

/*
 * Empties @h into @ret, which must be empty, for a round of new attempts; what must wait again is
 * added to @h again. hold_bytes_of() reads an entry of either.
 */
void hold_take(struct hold *h, struct hold *ret);

static inline const uint8_t *hold_bytes_of(const struct hold *h, const struct held *e)
{
	return h->bytes.at + e->at;
}

#endif
