/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events this machine and this user can open: each row of the event table is tried on ptop's
 * own process (whole system where @kind says so) and closed at once; kernel mode first, then user
 * only.  A few microseconds an event.
 */
#ifndef PTOP_EVENT_PROBE_H
#define PTOP_EVENT_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/reason.h"
#include "event/diagnose.h"
#include "event/event.h"
#include "event/sampler.h"

enum probe_result { PROBE_REFUSED, PROBE_USER_ONLY, PROBE_USABLE };

struct probed {
	const struct event_row *row; /* borrowed from the table */
	enum probe_result result;
	int err;           /* PROBE_REFUSED: the kernel's errno, positive */
	struct reason why; /* REFUSED and USER_ONLY: the sentence; else "" */
};

/*
 * Tries all rows of the table.  The array is the caller's to free().  0 or -ENOMEM.
 * TARGET_SYSTEM asks with pid -1; all other kinds ask for ptop's own process.
 */
int probe_all(enum target_kind kind, struct probed **ret, size_t *ret_nr);

/* "not on this machine": a refusal in few words, for lists. @err is probed.err. */
const char *probe_brief(int err);

/* One event of any name; ret->row is NULL. */
void probe_one(enum target_kind kind, const struct facts *f, const struct event *e,
	       struct probed *ret);

#endif
