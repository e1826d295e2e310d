/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of descriptors: one event on many threads, each on each CPU, all feeding the same rings.
 * Inside event/ only.
 */
#ifndef PTOP_EVENT_SET_H
#define PTOP_EVENT_SET_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/parse.h"
#include "event/targets.h"

/* What an event's id stands for, packed into a map's value. */
struct id_meaning {
	uint32_t serial; /* of the sampling, 24 bits; 0: side-band or owner */
	uint8_t layout;  /* index into sampler.layouts */
	pid_t tid;       /* the thread it was opened on; -1: all */
};
uint64_t id_pack(struct id_meaning m);
struct id_meaning id_unpack(uint64_t value);

struct slot {           /* one thread */
	pid_t tid;      /* 0: free for another */
	bool ambiguous; /* may be watched by inheritance as well */
	bool ended;
	uint32_t freed_at; /* the round in which it became free: its ids may still be in flight */
};

struct event_set {
	struct perf_event_attr attr;
	uint32_t serial;
	uint8_t layout;
	const struct u32_list *cpus; /* borrowed */
	struct map *ids;             /* borrowed: where ids are made known */
	const int *rings; /* borrowed: cpus->nr descriptors to redirect into, once running; else
			     NULL */
	struct {
		struct slot *at;
		size_t nr, cap;
	} slots;
	int *fds;            /* slots.cap x cpus */
	uint64_t *event_ids; /* the same */
	size_t fds_cap;
	size_t nr_open;       /* descriptors */
	size_t nr_free;       /* slots */
	uint64_t lost_closed; /* PERF_FORMAT_LOST of what is closed */
};

void set_init(struct event_set *s, const struct perf_event_attr *attr, uint32_t serial,
	      uint8_t layout, const struct u32_list *cpus, struct map *ids);
/* Closes all and frees; the ids stay in the map. */
void set_done(struct event_set *s);

/*
 * Opens the event on a thread, on each CPU, into the rings where the set has them.  It runs at once
 * unless attr.disabled. 0 or -errno with none open.  @round: for reuse of slots.
 */
int set_add(struct event_set *s, pid_t tid, bool ambiguous, uint32_t round);

/* Redirects all into @rings (borrowed from then on); set_add() does the same from then on.  0 or
 * -errno. */
int set_start(struct event_set *s, const int *rings);

/*
 * Enables all of a set that was opened disabled, thread by thread, and disables @old (may be NULL)
 * on the same thread at once after: hardly a sample is taken by both.  Threads that @old watches by
 * inheritance change hands with their parent.  0, or -errno with @old enabled again.
 */
int set_take_over(struct event_set *s, struct event_set *old);

/* PERF_EVENT_IOC_PERIOD on all; threads that ended are passed over.  Inherited events keep the old
 * period: the kernel changes the parent's only. */
int set_period(struct event_set *s, uint64_t value);

struct slot *set_find(const struct event_set *s, pid_t tid);
void set_close_slot(struct event_set *s, struct slot *slot, uint32_t round);

/* Closes slots marked as ended that have no inherited children left (the kernel tells by POLLHUP).
 */
void set_close_ended(struct event_set *s, uint32_t round);

/* Whether any event of the set can still fire: its thread lives or a child that inherited it. */
bool set_alive(const struct event_set *s);

/* PERF_FORMAT_LOST over all, closed ones included; one read(2) a descriptor. */
uint64_t set_lost(const struct event_set *s);

/* Removes its ids from the map. */
void set_forget_ids(const uint64_t *ids, size_t nr, struct map *map);

#endif
