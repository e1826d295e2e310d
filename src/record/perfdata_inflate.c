/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compressed data is one zstd stream cut into records; a record inside it may begin in one and end
 * in the next.  Bytes are made as they are asked for, into room for a few of the largest records,
 * so that no input makes more memory than that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "record/perfdata_impl.h"

enum {
	OUT_BYTES = 4 * RECORD_BYTES_MAX,
	WINDOW_LOG_MAX = 27, /* zstd's own bound for streams */
};

void inflate_done(struct perfdata_inflate *z)
{
	ZSTD_freeDStream(z->zstd);
	free(z->in);
	free(z->out);
	*z = (struct perfdata_inflate){ 0 };
}

static int inflate_start(struct perfdata_inflate *z)
{
	z->in = malloc(RECORD_BYTES_MAX);
	z->out = malloc(OUT_BYTES);
	z->zstd = ZSTD_createDStream();
	if (!z->in || !z->out || !z->zstd ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(z->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
		inflate_done(z);
		return -ENOMEM;
	}
	return 0;
}

int inflate_take(struct perfdata_inflate *z, const uint8_t *bytes, size_t size, uint64_t offset)
{
	if (!z->zstd && inflate_start(z))
		return -ENOMEM;
	memcpy(z->in, bytes, size);
	z->in_pos = 0;
	z->in_size = size;
	z->offset = offset;
	return 0;
}

int inflate_more(struct perfdata_inflate *z)
{
	ZSTD_inBuffer in = { z->in, z->in_size, z->in_pos };
	ZSTD_outBuffer out;
	size_t left = z->out_size - z->out_pos, err;
	bool moved;

	if (!z->zstd || (in.pos == in.size && !z->full))
		return 0;
	memmove(z->out, z->out + z->out_pos, left);
	z->out_pos = 0;
	out = (ZSTD_outBuffer){ z->out, OUT_BYTES, left };
	err = ZSTD_decompressStream(z->zstd, &out, &in);
	if (ZSTD_isError(err))
		return -EBADMSG;
	moved = out.pos > left || in.pos > z->in_pos;
	z->in_pos = in.pos;
	z->out_size = out.pos;
	z->full = out.pos == out.size;
	return moved;
}
