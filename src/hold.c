/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include <errno.h>
#include <string.h>

void hold_done(struct hold *h)
{
	vec_done(&h->entries);
	vec_done(&h->bytes);
}

int hold_add(struct hold *h, const void *bytes, const struct held *what,
	     const struct sample_shares *shares)
{
	size_t record = ((size_t)what->size + 7) & ~(size_t)7, decided = shares_bytes(shares->nr);
	size_t room = record + decided; /* and the next one is aligned, too */
	struct held e = *what;

	e.at = h->bytes.nr;
	if (h->bytes.nr + room > HOLD_BYTES_MOST)
		return -ENOSPC;
	if (vec_reserve(&h->bytes, h->bytes.nr + room) || vec_push(&h->entries, e))
		return -ENOMEM;
	memcpy(h->bytes.at + e.at, bytes, e.size);
	memcpy(h->bytes.at + e.at + record, shares, decided);
	h->bytes.nr += room;
	return 0;
}

void hold_shares_of(const struct hold *h, const struct held *e, struct sample_shares *ret)
{
	const uint8_t *at = h->bytes.at + e->at + (((size_t)e->size + 7) & ~(size_t)7);

	memcpy(&ret->nr, at, sizeof(ret->nr));
	memcpy(ret, at, shares_bytes(ret->nr));
}

bool hold_has(const struct hold *h, pid_t pid)
{
	for (size_t i = 0; i < h->entries.nr; i++)
		if (h->entries.at[i].pid == pid)
			return true;
	return false;
}

void hold_take(struct hold *h, struct hold *ret)
{
	*ret = *h;
	*h = (struct hold){ 0 };
}
