/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of records that are not copied: who has them counts the records that others still need, and
 * is told when there are none left.  One thread's.
 */
#ifndef PTOP_RECORD_LEASE_H
#define PTOP_RECORD_LEASE_H

#include <stdint.h>

struct lease {
	uint32_t live;                     /* records needed */
	void (*ended)(struct lease *self); /* .live is 0 again */
};

static inline void lease_take(struct lease *l)
{
	l->live++;
}

static inline void lease_end(struct lease *l)
{
	if (!--l->live)
		l->ended(l);
}

#endif
