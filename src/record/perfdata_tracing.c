/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/perfdata_impl.h"

int tracing_take(struct perfdata *pd)
{
	struct perfdata_stream *s = &pd->in->stream;
	size_t there;

	while (pd->in->behind && pd->tracing.nr < TRACING_BYTES_MAX &&
	       (there = stream_want(s, 1)) > 0) {
		if (there > pd->in->behind)
			there = (size_t)pd->in->behind;
		if (vec_reserve(&pd->tracing, pd->tracing.nr + there))
			return -ENOMEM;
		memcpy(pd->tracing.at + pd->tracing.nr, s->at, there);
		pd->tracing.nr += there;
		stream_take(s, there);
		pd->in->behind -= there;
	}
	pd->tracing_next = pd->in->behind && pd->tracing.nr < TRACING_BYTES_MAX;
	return 0;
}

int perfdata_tracing_data(const struct perfdata *pd, uint8_t **ret, size_t *ret_size)
{
	size_t size = pd->pipe ? pd->tracing.nr : pd->tracing_size;
	uint8_t *bytes;

	if (!size)
		return -ENOENT;
	if (size > TRACING_BYTES_MAX)
		return -EFBIG;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	if (pd->pipe)
		memcpy(bytes, pd->tracing.at, size);
	else
		size = stream_read_at(&pd->first.stream, pd->tracing_at, bytes, size);
	*ret = bytes;
	*ret_size = size;
	return 0;
}
