/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/ksymbols.h"

#include <string.h>

enum { KSYMBOLS_MAX = 1 << 16 };

void ksymbols_done(struct ksymbols *k)
{
	vec_done(&k->at);
}

/* The first that ends beyond @addr. */
static size_t lower(const struct ksymbols *k, uint64_t addr)
{
	size_t low = 0, high = k->at.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (k->at.at[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Where programs come and go for weeks, the gone make room. */
static void drop_gone(struct ksymbols *k)
{
	size_t nr = 0;

	for (size_t i = 0; i < k->at.nr; i++) {
		if (!k->at.at[i].gone)
			k->at.at[nr++] = k->at.at[i];
	}
	k->at.nr = nr;
}

int ksymbols_add(struct ksymbols *k, uint64_t start, uint64_t end, uint32_t function,
		 bool *ret_replaced)
{
	struct ksymbol made = { .start = start, .end = end, .function = function };
	size_t from, to;

	if (start >= end)
		return -EINVAL;
	if (k->at.nr >= KSYMBOLS_MAX)
		drop_gone(k);
	if (k->at.nr >= KSYMBOLS_MAX)
		return -E2BIG;
	if (vec_reserve(&k->at, k->at.nr + 1))
		return -ENOMEM;
	from = to = lower(k, start);
	while (to < k->at.nr && k->at.at[to].start < end)
		to++;
	memmove(&k->at.at[from + 1], &k->at.at[to], (k->at.nr - to) * sizeof(made));
	k->at.at[from] = made;
	k->at.nr = k->at.nr - (to - from) + 1;
	*ret_replaced = to > from;
	return 0;
}

void ksymbols_remove(struct ksymbols *k, uint64_t start)
{
	size_t i = lower(k, start);

	if (i < k->at.nr && k->at.at[i].start == start)
		k->at.at[i].gone = true;
}

const struct ksymbol *ksymbols_find(const struct ksymbols *k, uint64_t addr)
{
	size_t i = lower(k, addr);

	return i < k->at.nr && k->at.at[i].start <= addr ? &k->at.at[i] : NULL;
}
