/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/inlines.h"

#include <errno.h>

/* Whether @nr elements of @size bytes lie aligned inside @total bytes from @at on. */
static bool fits(uint64_t at, uint64_t nr, uint64_t size, uint64_t total)
{
	return at % 8 == 0 && at <= total && nr <= (total - at) / size;
}

static bool header_good(const struct inlines_header *h, size_t size)
{
	return h->magic == INLINES_MAGIC && h->version == INLINES_VERSION && h->size == size &&
	       h->nr_scopes < INLINES_NONE &&
	       fits(h->spans_at, h->nr_spans, sizeof(struct inlines_span), size) &&
	       fits(h->steps_at, h->nr_steps, sizeof(struct inlines_step), size) &&
	       fits(h->scopes_at, h->nr_scopes, sizeof(struct inlines_scope), size) &&
	       fits(h->strings_at, h->strings_size, 1, size) && h->strings_size > 0;
}

static bool spans_good(const struct inlines *in)
{
	const struct inlines_header *h = in->header;

	for (uint32_t i = 0; i < h->nr_spans; i++) {
		const struct inlines_span *s = &in->spans[i];

		if (s->start >= s->end || s->start < h->base || s->end - 1 - h->base > UINT32_MAX ||
		    (i > 0 && s->start < in->spans[i - 1].end))
			return false;
	}
	return true;
}

static bool scopes_good(const struct inlines *in)
{
	const struct inlines_header *h = in->header;

	for (uint32_t i = 0; i < h->nr_steps; i++) {
		const struct inlines_step *s = &in->steps[i];

		if ((i > 0 && s->start <= in->steps[i - 1].start) ||
		    (s->scope != INLINES_NONE && s->scope >= h->nr_scopes))
			return false;
	}
	for (uint32_t i = 0; i < h->nr_scopes; i++) {
		const struct inlines_scope *s = &in->scopes[i];

		if (s->name >= h->strings_size || in->strings[s->name] == '\0' ||
		    (s->parent != INLINES_NONE && s->parent >= i))
			return false;
	}
	return true;
}

int inlines_check(const void *bytes, size_t size, struct inlines *ret)
{
	const uint8_t *at = bytes;
	struct inlines in;

	if ((uintptr_t)at % 8 != 0 || size < sizeof(struct inlines_header))
		return -EBADMSG;
	in.header = bytes;
	if (!header_good(in.header, size))
		return -EBADMSG;
	in.spans = (const void *)(at + in.header->spans_at);
	in.steps = (const void *)(at + in.header->steps_at);
	in.scopes = (const void *)(at + in.header->scopes_at);
	in.strings = (const char *)(at + in.header->strings_at);
	if (in.strings[in.header->strings_size - 1] != '\0' || !spans_good(&in) ||
	    !scopes_good(&in))
		return -EBADMSG;
	*ret = in;
	return 0;
}

bool inlines_cover(const struct inlines *in, uint64_t vaddr)
{
	const struct inlines_span *base = in->spans;
	uint32_t nr = in->header->nr_spans;

	while (nr > 0) {
		uint32_t half = nr / 2;

		if (base[half].end <= vaddr) {
			base += half + 1;
			nr -= half + 1;
		} else {
			nr = half;
		}
	}
	return base < in->spans + in->header->nr_spans && base->start <= vaddr;
}

/* The scope of the last step at or before @start. */
static uint32_t scope_at(const struct inlines *in, uint32_t start)
{
	const struct inlines_step *base = in->steps;
	uint32_t nr = in->header->nr_steps;

	while (nr > 0) {
		uint32_t half = nr / 2;

		if (base[half].start <= start) {
			base += half + 1;
			nr -= half + 1;
		} else {
			nr = half;
		}
	}
	return base > in->steps ? base[-1].scope : INLINES_NONE;
}

uint32_t inlines_find(const struct inlines *in, uint64_t vaddr)
{
	if (!inlines_cover(in, vaddr))
		return INLINES_NONE;
	return scope_at(in, (uint32_t)(vaddr - in->header->base));
}

uint32_t inlines_at(const struct inlines *in, uint64_t vaddr, const char *ret[INLINES_DEPTH_MAX])
{
	uint32_t scope = inlines_find(in, vaddr), nr = 0;

	for (; scope != INLINES_NONE && nr < INLINES_DEPTH_MAX; scope = in->scopes[scope].parent)
		ret[nr++] = in->strings + in->scopes[scope].name;
	for (uint32_t i = 0; i < nr / 2; i++) {
		const char *inner = ret[i];

		ret[i] = ret[nr - 1 - i];
		ret[nr - 1 - i] = inner;
	}
	return nr;
}
