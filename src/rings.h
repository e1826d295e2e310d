/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of a session's CPUs, their lanes and the readers between: as large as the machine
 * allows.
 */
#ifndef PTOP_RINGS_H
#define PTOP_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/notes.h"
#include "base/reason.h"
#include "event/sampler.h"
#include "ring/lane.h"
#include "ring/reader.h"
#include "ring/ring.h"
#include "ring/trim.h"

struct ring_slot {
	struct ring ring;
	struct lane *lane;
	uint64_t reached; /* the session's: all up to here is in the order */
};

struct rings {
	struct readers *readers;
	struct ring_slot *at; /* CPU by CPU: by enum ring_use */
	size_t nr;
	struct trim *trim; /* told by who unwinds; used by the readers */
};

/* Before rings_map().  0 or -ENOMEM. */
int rings_init(struct rings *r, const struct sampler *sp);

/*
 * Maps the rings of @sp, smaller where the quota of locked memory does not allow more (told in
 * @notes).  0, or -errno with a sentence.  All zeroes before; rings_close() also after a failure.
 */
int rings_map(struct rings *r, struct sampler *sp, struct notes *notes, uint64_t now_ns,
	      struct reason *why);

/* Makes the lanes and starts the readers. */
int rings_start(struct rings *r, const struct sampler *sp, struct reason *why);

void rings_close(struct rings *r);

static inline enum ring_use ring_use_of(size_t slot)
{
	return (enum ring_use)(slot % NR_RING_USES);
}

#endif
