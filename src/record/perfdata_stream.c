/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/perfdata_impl.h"

enum { SPARE_BLOCKS = 8 };

/* Nothing in a block is on lease any more. */
static void block_ended(struct lease *lease)
{
	struct stream_block *b = (struct stream_block *)lease;
	struct perfdata_stream *s = b->stream;

	if (b == s->block)
		return;
	if (s->nr_spare == SPARE_BLOCKS) {
		free(b);
		return;
	}
	b->next = s->spare;
	s->spare = b;
	s->nr_spare++;
}

/* A block that nobody needs becomes the one that is read into; false without memory. */
static bool block_turn(struct perfdata_stream *s)
{
	struct stream_block *b = s->spare;

	if (s->block && !s->block->lease.live)
		return true;
	if (b) {
		s->spare = b->next;
		s->nr_spare--;
	} else {
		b = malloc(sizeof(*b) + s->cap);
		if (!b)
			return false;
	}
	b->lease = (struct lease){ .ended = block_ended };
	b->stream = s;
	s->block = b;
	return true;
}

int stream_init_fd(struct perfdata_stream *s, int fd, size_t window)
{
	struct stat st;
	off_t at;

	*s = (struct perfdata_stream){ .fd = fd, .size = UINT64_MAX, .cap = window };
	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!block_turn(s))
		return -ENOMEM;
	s->start = s->at = s->end = s->block->bytes;
	at = S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
	if (at >= 0) {
		s->seekable = true;
		s->offset = (uint64_t)at;
		s->size = (uint64_t)st.st_size;
	}
	return 0;
}

void stream_init_memory(struct perfdata_stream *s, const void *bytes, size_t size)
{
	*s = (struct perfdata_stream){ .fd = -1, .seekable = true, .size = size, .ended = true };
	s->start = s->at = bytes;
	s->end = s->start + size;
}

void stream_done(struct perfdata_stream *s)
{
	free(s->block);
	while (s->spare) {
		struct stream_block *next = s->spare->next;

		free(s->spare);
		s->spare = next;
	}
	s->block = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static ssize_t read_some(int fd, void *out, size_t n)
{
	ssize_t got;

	do
		got = read(fd, out, n);
	while (got < 0 && errno == EINTR);
	return got;
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/* The window begins a block anew, with what is there; false without memory. */
static bool begin_anew(struct perfdata_stream *s)
{
	size_t there = (size_t)(s->end - s->at);

	if (!block_turn(s))
		return false;
	memmove(s->block->bytes, s->at, there);
	s->start = s->at = s->block->bytes;
	s->end = s->at + there;
	return true;
}

/* Room for @n bytes from @at on. */
static bool has_room(const struct perfdata_stream *s, size_t n)
{
	return n <= s->cap - (size_t)(s->at - s->block->bytes);
}

static void fail(struct perfdata_stream *s, int err)
{
	s->ended = true;
	s->err = err;
}

size_t stream_want(struct perfdata_stream *s, size_t n)
{
	ssize_t got;

	if ((size_t)(s->end - s->at) >= n || s->ended)
		return (size_t)(s->end - s->at);
	if ((!s->block->lease.live || !has_room(s, n)) && !begin_anew(s))
		fail(s, -ENOMEM);
	s->dry = false;
	while ((size_t)(s->end - s->at) < n && !s->ended) {
		size_t used = (size_t)(s->end - s->block->bytes);

		if (s->dont_wait && !is_readable(s->fd)) {
			s->dry = true;
			break;
		}
		got = read_some(s->fd, s->block->bytes + used, s->cap - used);
		if (got <= 0)
			fail(s, got < 0 ? -errno : 0);
		else
			s->end += got;
	}
	return (size_t)(s->end - s->at);
}

void stream_take(struct perfdata_stream *s, size_t n)
{
	s->at += n;
	s->offset += n;
}

int stream_seek(struct perfdata_stream *s, uint64_t offset)
{
	if (s->fd < 0) {
		if (offset > s->size)
			return -EINVAL;
		s->at = s->start + offset;
		s->offset = offset;
		return 0;
	}
	if (offset > INT64_MAX || lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
		return -EINVAL;
	s->at = s->end;
	if (!begin_anew(s))
		return -ENOMEM;
	s->offset = offset;
	s->ended = false;
	return 0;
}

uint64_t stream_skip(struct perfdata_stream *s, uint64_t n)
{
	uint64_t left = n;
	size_t step;

	while (left) {
		step = (size_t)(s->end - s->at);
		if (!step && s->seekable && s->fd >= 0 && s->offset < s->size) {
			uint64_t far = left < s->size - s->offset ? left : s->size - s->offset;

			if (stream_seek(s, s->offset + far))
				break;
			left -= far;
			continue;
		}
		if (!step)
			step = stream_want(s, 1);
		if (!step)
			break;
		if (step > left)
			step = (size_t)left;
		stream_take(s, step);
		left -= step;
	}
	return n - left;
}

size_t stream_read_at(const struct perfdata_stream *s, uint64_t offset, void *out, size_t n)
{
	size_t done = 0;

	if (s->fd < 0) {
		if (offset >= s->size)
			return 0;
		if (n > s->size - offset)
			n = (size_t)(s->size - offset);
		memcpy(out, s->start + offset, n);
		return n;
	}
	while (done < n && offset + done <= INT64_MAX) {
		ssize_t got = pread(s->fd, (uint8_t *)out + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static int write_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t put = write(fd, bytes, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		bytes += put;
		n -= (size_t)put;
	}
	return 0;
}

/* A file without a name in $TMPDIR, else /var/tmp, which is a disk more often than /tmp. */
static int open_unnamed(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && dir[0] ? dir : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

int stream_spool(struct perfdata_stream *s)
{
	uint64_t size = 0;
	int fd = open_unnamed(), err = 0;
	size_t there;

	if (fd < 0)
		return fd;
	while (!err && (there = stream_want(s, 1)) > 0) {
		err = write_all(fd, s->at, there);
		stream_take(s, there);
		size += there;
	}
	if (!err)
		err = s->err;
	if (err) {
		close(fd);
		return err;
	}
	close(s->fd);
	s->fd = fd;
	s->seekable = true;
	s->size = size;
	return stream_seek(s, 0);
}
