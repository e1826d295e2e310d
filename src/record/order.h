/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of many sources (rings, or CPUs of a recording) in one time order.
 *
 * Each source pushes its records, nearly sorted (a record out of place is moved to its place within
 * its source); each source says up to what time nothing more can come (order_bound), and until
 * every source has, nothing leaves.  order_pop() gives the earliest record whose time is not beyond
 * the least bound.  Equal times: lower source first, then the order of pushing.  A record pushed
 * with a time below what was already popped is given out at once and counted late.  Records are
 * copied once, or stay where they are under a lease.  Memory: chunks recycled, given back when
 * idle.
 */
#ifndef PTOP_RECORD_ORDER_H
#define PTOP_RECORD_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/lease.h"

struct order;

struct ordered {
	uint64_t time_ns;
	const void *bytes; /* borrowed until the next order_ call */
	uint32_t size;
	uint32_t source;
	uint32_t tag; /* the pusher's own */
};

struct order *order_new(uint32_t nr_sources); /* NULL without memory */
void order_free(struct order *o);

/*
 * Equal times leave in the order of pushing, whatever the source: for sources that are no more than
 * a way to sort.  Before the first push.
 */
void order_ties_by_arrival(struct order *o);

/*
 * Takes the record in: where it is, with a @lease (held until it has left and the borrowing is
 * over), or a copy of it, without (NULL).  0, -ENOMEM (counted as dropped by the caller), or
 * -EINVAL: no such source.
 */
int order_push(struct order *o, uint32_t source, uint64_t time_ns, const void *bytes, uint32_t size,
	       uint32_t tag, struct lease *lease);

/*
 * Nothing of @source will come at or below @time_ns any more.  Only ever rises.  UINT64_MAX: the
 * source has ended.
 */
void order_bound(struct order *o, uint32_t source, uint64_t time_ns);

bool order_pop(struct order *o, struct ordered *ret); /* false: nothing may leave yet */
/* The same, but the bytes stay until lease_end(*@ret_lease), which the caller owes. */
bool order_pop_leased(struct order *o, struct ordered *ret, struct lease **ret_lease);

/* The time of what leaves next, were it bounded; false: there is nothing. */
bool order_next_ns(const struct order *o, uint64_t *ret_ns);

uint64_t order_late(const struct order *o);  /* records that came too late to be in order */
size_t order_pending(const struct order *o); /* records inside */
size_t order_pending_bytes(const struct order *o);

#endif
