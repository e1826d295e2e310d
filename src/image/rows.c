/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/rows.h"

#include <errno.h>

#define SEGMENTS_MAX 64u

/* Whether @nr elements of @size bytes lie aligned inside @total bytes from @at on. */
static bool fits(uint64_t at, uint64_t nr, uint64_t size, uint64_t total)
{
	return at % 8 == 0 && at <= total && nr <= (total - at) / size;
}

static bool header_good(const struct rows_header *h, size_t size)
{
	return h->magic == ROWS_MAGIC && h->version == ROWS_VERSION && h->size == size &&
	       h->machine <= ROWS_AARCH64 && h->nr_segments <= SEGMENTS_MAX && h->nr_rules > 0 &&
	       h->nr_rules <= ROWS_RULES_MAX &&
	       fits(h->segments_at, h->nr_segments, sizeof(struct table_segment), size) &&
	       fits(h->rules_at, h->nr_rules, sizeof(struct unwind_rule), size) &&
	       fits(h->starts_at, h->nr_rows, sizeof(uint32_t), size) &&
	       fits(h->indices_at, h->nr_rows, sizeof(uint16_t), size);
}

static bool segments_good(const struct rows *r)
{
	for (uint32_t i = 0; i < r->header->nr_segments; i++) {
		const struct table_segment *s = &r->segments[i];

		if (s->filesz > UINT64_MAX - s->offset || s->filesz > UINT64_MAX - s->vaddr)
			return false;
	}
	return true;
}

static bool place_good(uint8_t where, int32_t offset)
{
	return where <= RULE_UNDEFINED &&
	       (where != RULE_IN_REG || (offset >= 0 && offset < (int32_t)ROWS_REGISTERS));
}

static bool rules_good(const struct rows *r)
{
	if (r->rules[ROWS_NO_RULE].cfa != RULE_CFA_NONE)
		return false;
	for (uint32_t i = 0; i < r->header->nr_rules; i++) {
		const struct unwind_rule *u = &r->rules[i];

		if (u->cfa > RULE_CFA_PLT || u->cfa_reg >= ROWS_REGISTERS ||
		    (u->flags & ~(RULE_END | RULE_SIGNAL)) != 0 ||
		    !place_good(u->ra, u->ra_offset) || !place_good(u->bp, u->bp_offset) ||
		    !place_good(u->bx, u->bx_offset))
			return false;
	}
	return true;
}

/* Without branches: this runs over every row of every file. */
static bool rows_good(const struct rows *r)
{
	uint32_t nr = r->header->nr_rows, nr_rules = r->header->nr_rules;
	bool bad = false;

	for (uint32_t i = 1; i < nr; i++)
		bad |= r->starts[i] <= r->starts[i - 1];
	for (uint32_t i = 0; i < nr; i++)
		bad |= r->indices[i] >= nr_rules;
	return !bad;
}

int rows_check(const void *bytes, size_t size, struct rows *ret)
{
	const uint8_t *at = bytes;
	struct rows r;

	if ((uintptr_t)at % 8 != 0 || size < sizeof(struct rows_header))
		return -EBADMSG;
	r.header = bytes;
	if (!header_good(r.header, size))
		return -EBADMSG;
	r.segments = (const void *)(at + r.header->segments_at);
	r.rules = (const void *)(at + r.header->rules_at);
	r.starts = (const void *)(at + r.header->starts_at);
	r.indices = (const void *)(at + r.header->indices_at);
	if (!segments_good(&r) || !rules_good(&r) || !rows_good(&r))
		return -EBADMSG;
	*ret = r;
	return 0;
}

const struct unwind_rule *rows_find(const struct rows *r, uint64_t vaddr)
{
	const uint32_t *base = r->starts;
	uint32_t nr = r->header->nr_rows, at;

	if (nr == 0 || vaddr < r->header->base || vaddr - r->header->base > UINT32_MAX)
		return &r->rules[ROWS_NO_RULE];
	at = (uint32_t)(vaddr - r->header->base);
	if (at < base[0])
		return &r->rules[ROWS_NO_RULE];
	/* base[0] <= at holds throughout; the compiler makes the step a conditional move. */
	while (nr > 1) {
		uint32_t half = nr / 2;

		base += base[half] <= at ? half : 0;
		nr -= half;
	}
	return &r->rules[r->indices[base - r->starts]];
}

bool rows_vaddr(const struct rows *r, uint64_t file_offset, uint64_t *ret_vaddr)
{
	for (uint32_t i = 0; i < r->header->nr_segments; i++) {
		const struct table_segment *s = &r->segments[i];

		if (file_offset >= s->offset && file_offset - s->offset < s->filesz) {
			*ret_vaddr = s->vaddr + (file_offset - s->offset);
			return true;
		}
	}
	return false;
}
