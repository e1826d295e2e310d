/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/set.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/vec.h"
#include "event/attr.h"

/* A slot is given to another thread only after this many rounds: by then no record with its ids is
 * in flight. */
enum { ROUNDS_IN_FLIGHT = 8 };

uint64_t id_pack(struct id_meaning m)
{
	return (uint64_t)(m.serial & 0xffffff) << 40 | (uint64_t)m.layout << 32 | (uint32_t)m.tid;
}

struct id_meaning id_unpack(uint64_t value)
{
	struct id_meaning m = {
		.serial = (uint32_t)(value >> 40),
		.layout = (uint8_t)(value >> 32),
		.tid = (pid_t)(uint32_t)value,
	};

	return m;
}

void set_init(struct event_set *s, const struct perf_event_attr *attr, uint32_t serial,
	      uint8_t layout, const struct u32_list *cpus, struct map *ids)
{
	*s = (struct event_set){
		.attr = *attr,
		.serial = serial,
		.layout = layout,
		.cpus = cpus,
		.ids = ids,
	};
}

static int *slot_fds(const struct event_set *s, const struct slot *slot)
{
	return s->fds + (size_t)(slot - s->slots.at) * s->cpus->nr;
}

static uint64_t *slot_ids(const struct event_set *s, const struct slot *slot)
{
	return s->event_ids + (size_t)(slot - s->slots.at) * s->cpus->nr;
}

/* value, id, lost: the order of PERF_FORMAT_ID and PERF_FORMAT_LOST without the rest. */
static uint64_t fd_lost(const struct event_set *s, int fd)
{
	uint64_t values[3] = { 0 };

	if (fd < 0 || !(s->attr.read_format & ~(uint64_t)PERF_FORMAT_ID))
		return 0;
	return read(fd, values, sizeof(values)) == (ssize_t)sizeof(values) ? values[2] : 0;
}

static void close_fds(struct event_set *s, const struct slot *slot)
{
	int *fds = slot_fds(s, slot);

	for (size_t i = 0; i < s->cpus->nr; i++) {
		if (fds[i] < 0)
			continue;
		s->lost_closed += fd_lost(s, fds[i]);
		close(fds[i]);
		fds[i] = -1;
		s->nr_open--;
	}
}

void set_done(struct event_set *s)
{
	if (!s->cpus)
		return;
	for (size_t i = 0; i < s->slots.nr; i++)
		close_fds(s, &s->slots.at[i]);
	vec_done(&s->slots);
	free(s->fds);
	free(s->event_ids);
	s->fds = NULL;
	s->event_ids = NULL;
	s->fds_cap = 0;
}

static int grow_fds(struct event_set *s, size_t nr_slots)
{
	size_t wanted = nr_slots * s->cpus->nr, cap = s->fds_cap ? s->fds_cap : 16;
	uint64_t *ids;
	int *fds;

	if (wanted <= s->fds_cap)
		return 0;
	while (cap < wanted)
		cap *= 2;
	fds = reallocarray(s->fds, cap, sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	s->fds = fds;
	ids = reallocarray(s->event_ids, cap, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	s->event_ids = ids;
	memset(fds + s->fds_cap, 0xff, (cap - s->fds_cap) * sizeof(*fds));
	memset(ids + s->fds_cap, 0, (cap - s->fds_cap) * sizeof(*ids));
	s->fds_cap = cap;
	return 0;
}

void set_forget_ids(const uint64_t *ids, size_t nr, struct map *map)
{
	for (size_t i = 0; i < nr; i++)
		if (ids[i])
			map_remove(map, ids[i]);
}

static struct slot *take_slot(struct event_set *s, uint32_t round)
{
	struct slot new = { 0 };

	for (size_t i = 0; s->nr_free && i < s->slots.nr; i++) {
		struct slot *slot = &s->slots.at[i];

		if (slot->tid || round - slot->freed_at < ROUNDS_IN_FLIGHT)
			continue;
		set_forget_ids(slot_ids(s, slot), s->cpus->nr, s->ids);
		memset(slot_ids(s, slot), 0, s->cpus->nr * sizeof(uint64_t));
		*slot = new;
		s->nr_free--;
		return slot;
	}
	new.freed_at = round;
	if (grow_fds(s, s->slots.nr + 1) || vec_push(&s->slots, new))
		return NULL;
	return &s->slots.at[s->slots.nr - 1];
}

static int redirect(const struct event_set *s, int fd, size_t cpu)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->rings[cpu]) ? -errno : 0;
}

static int open_one(struct event_set *s, const struct slot *slot, size_t cpu)
{
	struct id_meaning meaning = { .serial = s->serial, .layout = s->layout, .tid = slot->tid };
	int fd = perf_open(&s->attr, slot->tid, (int)s->cpus->at[cpu]), err;
	uint64_t *id = &slot_ids(s, slot)[cpu];

	if (fd < 0)
		return fd;
	slot_fds(s, slot)[cpu] = fd;
	s->nr_open++;
	if (ioctl(fd, PERF_EVENT_IOC_ID, id))
		return -errno;
	err = map_set(s->ids, *id, id_pack(meaning));
	if (err)
		return err;
	return s->rings ? redirect(s, fd, cpu) : 0;
}

int set_add(struct event_set *s, pid_t tid, bool ambiguous, uint32_t round)
{
	struct slot *slot = take_slot(s, round);
	int err = 0;

	if (!slot)
		return -ENOMEM;
	slot->tid = tid;
	slot->ambiguous = ambiguous;
	for (size_t i = 0; !err && i < s->cpus->nr; i++)
		err = open_one(s, slot, i);
	if (err)
		set_close_slot(s, slot, round);
	return err;
}

int set_start(struct event_set *s, const int *rings)
{
	int err;

	s->rings = rings;
	for (size_t i = 0; i < s->slots.nr; i++) {
		const int *fds = slot_fds(s, &s->slots.at[i]);

		for (size_t cpu = 0; cpu < s->cpus->nr; cpu++) {
			if (fds[cpu] < 0)
				continue;
			err = redirect(s, fds[cpu], cpu);
			if (err) {
				s->rings = NULL;
				return err;
			}
		}
	}
	return 0;
}

static int slot_ioctl(const struct event_set *s, const struct slot *slot, unsigned long request)
{
	const int *fds = slot_fds(s, slot);

	for (size_t cpu = 0; cpu < s->cpus->nr; cpu++)
		if (fds[cpu] >= 0 && ioctl(fds[cpu], request, 0))
			return -errno;
	return 0;
}

int set_take_over(struct event_set *s, struct event_set *old)
{
	struct map old_slots = { 0 };
	int err = 0;

	for (size_t i = 0; !err && old && i < old->slots.nr; i++)
		if (old->slots.at[i].tid)
			err = map_set(&old_slots, (uint32_t)old->slots.at[i].tid, i);
	for (size_t i = 0; !err && i < s->slots.nr; i++) {
		const uint64_t *at = map_find(&old_slots, (uint32_t)s->slots.at[i].tid);

		if (s->slots.at[i].tid)
			err = slot_ioctl(s, &s->slots.at[i], PERF_EVENT_IOC_ENABLE);
		if (!err && at)
			(void)slot_ioctl(old, &old->slots.at[*at], PERF_EVENT_IOC_DISABLE);
	}
	for (size_t i = 0; err && old && i < old->slots.nr; i++)
		(void)slot_ioctl(old, &old->slots.at[i], PERF_EVENT_IOC_ENABLE);
	if (!err)
		s->attr.disabled = 0;
	map_done(&old_slots);
	return err;
}

int set_period(struct event_set *s, uint64_t value)
{
	for (size_t i = 0; i < s->slots.nr; i++) {
		const int *fds = slot_fds(s, &s->slots.at[i]);

		for (size_t cpu = 0; cpu < s->cpus->nr; cpu++)
			if (fds[cpu] >= 0 && ioctl(fds[cpu], PERF_EVENT_IOC_PERIOD, &value) &&
			    errno != ESRCH)
				return -errno;
	}
	return 0;
}

struct slot *set_find(const struct event_set *s, pid_t tid)
{
	for (size_t i = 0; i < s->slots.nr; i++)
		if (s->slots.at[i].tid == tid)
			return &s->slots.at[i];
	return NULL;
}

void set_close_slot(struct event_set *s, struct slot *slot, uint32_t round)
{
	close_fds(s, slot);
	slot->tid = 0;
	slot->ambiguous = false;
	slot->ended = false;
	slot->freed_at = round;
	s->nr_free++;
}

/* POLLHUP: the thread has ended and so has every child that inherited the event (perf_poll(),
 * kernel/events/core.c). */
static bool hung_up(const struct event_set *s, const struct slot *slot)
{
	struct pollfd p = { .fd = slot_fds(s, slot)[0], .events = POLLIN };

	return p.fd < 0 || (poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR)));
}

void set_close_ended(struct event_set *s, uint32_t round)
{
	for (size_t i = 0; i < s->slots.nr; i++) {
		struct slot *slot = &s->slots.at[i];

		if (slot->tid && slot->ended && hung_up(s, slot))
			set_close_slot(s, slot, round);
	}
}

bool set_alive(const struct event_set *s)
{
	for (size_t i = 0; i < s->slots.nr; i++)
		if (s->slots.at[i].tid && !hung_up(s, &s->slots.at[i]))
			return true;
	return false;
}

uint64_t set_lost(const struct event_set *s)
{
	uint64_t lost = s->lost_closed;

	for (size_t i = 0; i < s->slots.nr; i++)
		for (size_t cpu = 0; cpu < s->cpus->nr; cpu++)
			lost += fd_lost(s, slot_fds(s, &s->slots.at[i])[cpu]);
	return lost;
}
