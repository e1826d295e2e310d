/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/cache_copy.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)256 << 10)

/* Reads all of [at, at + size). */
static int read_at(int fd, void *to, size_t size, off_t at)
{
	uint8_t *p = to;

	while (size > 0) {
		ssize_t nr = pread(fd, p, size, at);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return nr < 0 ? -errno : -EBADMSG;
		p += nr;
		at += nr;
		size -= (size_t)nr;
	}
	return 0;
}

static int write_at(int fd, const void *from, size_t size, off_t at)
{
	const uint8_t *p = from;

	while (size > 0) {
		ssize_t nr = pwrite(fd, p, size, at);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return nr < 0 ? -errno : -EIO;
		p += nr;
		at += nr;
		size -= (size_t)nr;
	}
	return 0;
}

static int failed(int err, struct reason *why)
{
	return reason_set(why, err, "it cannot be read: %s",
			  err == -EBADMSG ? "damaged" : strerror(-err));
}

int cache_copy_in(int fd, uint64_t size_max, void **ret, size_t *ret_size, struct reason *why)
{
	struct cache_header h;
	struct stat st;
	void *bytes;
	int err = read_at(fd, &h, sizeof(h), 0);

	if (err == 0 && fstat(fd, &st) != 0)
		err = -errno;
	if (err == 0 &&
	    (h.magic != CACHE_MAGIC || h.size == 0 || h.size > size_max ||
	     st.st_size < (off_t)CACHE_TABLE_AT || (uint64_t)st.st_size - CACHE_TABLE_AT != h.size))
		err = -EBADMSG;
	if (err != 0)
		return failed(err, why);
	bytes = malloc(h.size);
	if (bytes == NULL)
		return failed(-ENOMEM, why);
	err = read_at(fd, bytes, h.size, CACHE_TABLE_AT);
	if (err == 0 && lzma_crc64(bytes, h.size, 0) != h.crc)
		err = -EBADMSG;
	if (err != 0) {
		free(bytes);
		return failed(err, why);
	}
	*ret = bytes;
	*ret_size = h.size;
	return 0;
}

int cache_copy_out(int from, int to, struct reason *why)
{
	uint8_t *chunk = malloc(CHUNK);
	uint64_t crc = 0;
	struct stat st;
	off_t at = 0;
	int err = chunk == NULL ? -ENOMEM : 0;

	if (err == 0 && fstat(from, &st) != 0)
		err = -errno;
	while (err == 0 && at < st.st_size) {
		size_t size = (size_t)(st.st_size - at);

		size = size < CHUNK ? size : CHUNK;
		err = read_at(from, chunk, size, at);
		if (err == 0)
			err = write_at(to, chunk, size, at + CACHE_TABLE_AT);
		if (err == 0)
			crc = lzma_crc64(chunk, size, crc);
		at += (off_t)size;
	}
	free(chunk);
	if (err == 0)
		err = write_at(to, &crc, sizeof(crc), offsetof(struct cache_header, crc));
	return err == 0 ? 0 : reason_set(why, err, "writing it failed: %s", strerror(-err));
}
