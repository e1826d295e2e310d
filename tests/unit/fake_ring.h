/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain memory in the shape of a perf ring, and the kernel's part of it: records go in only where
 * there is room, the head is stored with release.  The descriptor is an eventfd.
 */
#ifndef PTOP_TESTS_FAKE_RING_H
#define PTOP_TESTS_FAKE_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "ring/ring.h"

#define FAKE_MAX (1u << 16)

struct fake_ring {
	struct perf_event_mmap_page page;
	_Alignas(64) uint8_t data[FAKE_MAX];
	struct ring ring;
	uint64_t head;
	int fd;
};

static inline void fake_init(struct fake_ring *f, size_t size)
{
	memset(f, 0, sizeof(*f));
	f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ring_over(&f->ring, &f->page, f->data, size);
}

static inline void fake_done(struct fake_ring *f)
{
	close(f->fd);
}

/* Bytes at the head, unchecked; not yet visible. */
static inline void fake_bytes(struct fake_ring *f, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		f->data[(f->head + i) & (f->ring.size - 1)] = ((const uint8_t *)bytes)[i];
	f->head += len;
}

static inline void fake_publish(struct fake_ring *f)
{
	__atomic_store_n(&f->page.data_head, f->head, __ATOMIC_RELEASE);
}

/* The kernel would count a loss where this is false. */
static inline bool fake_has_room(struct fake_ring *f, size_t len)
{
	return f->head + len - __atomic_load_n(&f->page.data_tail, __ATOMIC_ACQUIRE) <=
	       f->ring.size;
}

/* A whole record: its serial number in the first 8 bytes behind the header, the rest filled with
 * its low byte. */
static inline bool fake_put(struct fake_ring *f, uint32_t type, uint16_t size, uint64_t serial)
{
	struct perf_event_header h = { .type = type, .size = size };
	uint8_t body[UINT16_MAX];

	if (!fake_has_room(f, size))
		return false;
	memset(body, (int)(serial & 0xff), sizeof(body));
	memcpy(body, &serial, sizeof(serial));
	fake_bytes(f, &h, sizeof(h));
	fake_bytes(f, body, size - sizeof(h));
	fake_publish(f);
	return true;
}

/* True when these bytes are what fake_put() wrote for @serial. */
static inline bool fake_is(const void *bytes, uint32_t size, uint64_t serial)
{
	const uint8_t *at = bytes;
	struct perf_event_header h;
	uint64_t found;

	memcpy(&h, at, sizeof(h));
	memcpy(&found, at + sizeof(h), sizeof(found));
	if (h.size != size || found != serial)
		return false;
	for (uint32_t i = 16; i < size; i++)
		if (at[i] != (serial & 0xff))
			return false;
	return true;
}

static inline void fake_wake(struct fake_ring *f)
{
	uint64_t one = 1;
	ssize_t n = write(f->fd, &one, sizeof(one));

	(void)n;
}

static inline uint64_t fake_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
