/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two positions of the page (include/uapi/linux/perf_event.h, struct perf_event_mmap_page):
 *
 * - data_head is the kernel's.  Its store is ordered after the bytes of the records it covers;
 *   our acquire load of it in ring_begin() is the partner: what we read afterwards are those
 *   bytes.
 * - data_tail is ours.  The release store in ring_release() keeps all our reads of the bytes
 *   before it; its partner is the kernel's ordering of its look at data_tail before it writes
 *   over them. The acquire load in ring_pending(), from another thread, is a second partner:
 *   what our thread published before releasing (the lane's head) is seen by whoever sees the
 *   new tail.
 *
 * Positions only rise; modulo the size they are offsets.  Records are 8-aligned, and the size
 * is a multiple of 8, so a header is never split.
 */
#include "ring/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int refused(struct reason *why, int err, size_t bytes)
{
	if (err == -EPERM)
		return reason_set(
			why, err,
			"no ring buffer of %zu KiB: the quota of locked memory is used up; raise it with: sysctl kernel.perf_event_mlock_kb=%zu",
			bytes >> 10, (bytes >> 10) + 64);
	return reason_set(why, err, "no ring buffer of %zu KiB: %s", bytes >> 10, strerror(-err));
}

int ring_open(struct ring *r, int fd, size_t data_bytes, struct reason *why)
{
	size_t page = page_bytes(), size = page, offset;
	void *map;

	while (size < data_bytes) {
		if (size > SIZE_MAX / 4)
			return refused(why, -ENOMEM, data_bytes);
		size *= 2;
	}
	map = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return refused(why, -errno, size);
	/* Since Linux 4.1 the page tells where the data is; before, it was behind the page. */
	offset = ((struct perf_event_mmap_page *)map)->data_offset;
	if (offset != page && offset != 0) {
		munmap(map, page + size);
		return reason_set(
			why, -ENOTSUP,
			"the kernel lays out its ring buffer in a way that ptop does not know");
	}
	ring_over(r, map, (const uint8_t *)map + page, size);
	r->mapped_bytes = page + size;
	return 0;
}

void ring_over(struct ring *r, struct perf_event_mmap_page *page, const void *data,
	       size_t data_bytes)
{
	*r = (struct ring){ .page = page, .data = data, .size = data_bytes };
	r->tail = r->head = __atomic_load_n(&page->data_tail, __ATOMIC_RELAXED);
}

void ring_close(struct ring *r)
{
	if (r->mapped_bytes)
		munmap(r->page, r->mapped_bytes);
	*r = (struct ring){ 0 };
}

uint64_t ring_begin(struct ring *r)
{
	r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	return r->head - r->tail;
}

static int ring_skip(struct ring *r)
{
	r->bad++;
	r->tail = r->head;
	return -EBADMSG;
}

int ring_peek(struct ring *r, struct ring_record *ret)
{
	uint64_t left = r->head - r->tail, at = r->tail & (r->size - 1), to_end = r->size - at;
	struct perf_event_header header;

	if (left == 0)
		return 0;
	/* More than fits also is what a head that went backwards looks like. */
	if (left > r->size || left < sizeof(header) || to_end < sizeof(header))
		return ring_skip(r);
	memcpy(&header, r->data + at, sizeof(header));
	if (header.size < sizeof(header) || header.size > left)
		return ring_skip(r);

	ret->size = header.size;
	ret->type = header.type;
	ret->misc = header.misc;
	ret->at[0] = r->data + at;
	ret->len[0] = header.size <= to_end ? header.size : (uint32_t)to_end;
	ret->at[1] = r->data;
	ret->len[1] = header.size - ret->len[0];
	return 1;
}

void ring_copy(const struct ring_record *rec, void *out)
{
	memcpy(out, rec->at[0], rec->len[0]);
	if (rec->len[1])
		memcpy((uint8_t *)out + rec->len[0], rec->at[1], rec->len[1]);
}

void ring_release(struct ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

uint64_t ring_pending(const struct ring *r)
{
	/* The head first: a tail read after it can only have moved on, beyond the head even. */
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = __atomic_load_n(&r->page->data_tail, __ATOMIC_ACQUIRE);

	return (int64_t)(head - tail) > 0 ? head - tail : 0;
}
