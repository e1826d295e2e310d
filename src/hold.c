/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include <errno.h>
#include <string.h>

void hold_done(struct hold *h)
{
	vec_done(&h->entries);
	vec_done(&h->bytes);
}

void hold_clear(struct hold *h)
{
	vec_clear(&h->entries);
	vec_clear(&h->bytes);
}

int hold_add(struct hold *h, const void *bytes, uint32_t size, uint32_t kind, uint32_t waiting)
{
	size_t room = ((size_t)size + 7) & ~(size_t)7; /* the next one is aligned, too */
	struct held e = { .at = h->bytes.nr, .size = size, .kind = kind, .waiting = waiting };

	if (h->bytes.nr + room > HOLD_BYTES_MOST)
		return -ENOSPC;
	if (vec_reserve(&h->bytes, h->bytes.nr + room) || vec_push(&h->entries, e))
		return -ENOMEM;
	memcpy(h->bytes.at + e.at, bytes, size);
	h->bytes.nr += room;
	return 0;
}

void hold_take(struct hold *h, struct hold *ret)
{
	*ret = *h;
	*h = (struct hold){ 0 };
}
