/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#define WORK_MAX (UINT64_C(64) << 20)
#define FIRST_ROOM ((size_t)256 << 10)

static int xz_error(lzma_ret r)
{
	switch (r) {
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EBADMSG;
	}
}

/* Doubles the output buffer, up to @max. */
static int more_room(lzma_stream *stream, uint8_t **bytes, size_t *room, size_t max)
{
	size_t wanted = *room == 0 ? FIRST_ROOM : *room * 2;
	uint8_t *moved;

	if (*room >= max)
		return -EFBIG;
	if (wanted > max)
		wanted = max;
	moved = realloc(*bytes, wanted);
	if (moved == NULL)
		return -ENOMEM;
	stream->next_out = moved + *room;
	stream->avail_out = wanted - *room;
	*bytes = moved;
	*room = wanted;
	return 0;
}

int unpack_xz(const uint8_t *bytes, size_t size, size_t max, uint8_t **ret_bytes, size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret r = LZMA_OK;
	uint8_t *out = NULL;
	size_t room = 0;
	int err = 0;

	if (lzma_stream_decoder(&stream, WORK_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = bytes;
	stream.avail_in = size;
	while (err == 0 && r == LZMA_OK) {
		if (stream.avail_out == 0)
			err = more_room(&stream, &out, &room, max);
		if (err == 0)
			r = lzma_code(&stream, LZMA_FINISH);
	}
	if (err == 0)
		err = xz_error(r);
	if (err == 0) {
		*ret_bytes = out;
		*ret_size = (size_t)stream.total_out;
	} else {
		free(out);
	}
	lzma_end(&stream);
	return err;
}
