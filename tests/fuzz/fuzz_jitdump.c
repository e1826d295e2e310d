// SPDX-License-Identifier: GPL-2.0-or-later
/* A jit-PID.dump, which any program writes: in pieces, as if it grew in between, and time passes.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct jitdump *d)
{
	uint64_t last = 0;
	size_t nr = 0;

	for (size_t i = 0; i < d->code.blocks.nr; i++) {
		const struct jitmap_block *b = d->code.blocks.at[i];

		for (size_t j = 0; j < b->nr; j++) {
			const struct jitdump_code *code = &b->at[j];

			if (code->start >= code->end || code->start < last ||
			    jitdump_find(d, code->start) != code ||
			    jitdump_find(d, code->end - 1) != code ||
			    !strpool_get(d->names, code->name)[0])
				abort();
			last = code->end;
		}
		nr += b->nr;
	}
	if (nr != d->code.nr)
		abort();
}

/* From an own copy of @given bytes at @at on, so that a read beyond is seen. */
static uint64_t apply(struct jitdump *d, const uint8_t *at, size_t given, size_t left,
		      uint64_t until)
{
	uint8_t *copy = malloc(given ? given : 1);
	uint64_t later, on;

	if (!copy)
		abort();
	memcpy(copy, at, given);
	on = jitdump_apply(d, copy, given, left, until, &later);
	if (later && later <= until)
		abort();
	free(copy);
	return on;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump d = { 0 };
	uint64_t at = 0, until = 1;

	for (int i = 0; i < 64 && at < size; i++) {
		size_t left = size - (size_t)at, given = left < JITDUMP_HEAD ? left : JITDUMP_HEAD;
		uint64_t on = apply(&d, data + at, given, left, until);

		if (on > left && !d.ended && d.begun)
			abort();
		at += on;
		if (!on)
			until = until < UINT64_MAX / 16 ? until * 16 : UINT64_MAX;
		check(&d);
	}
	if (jitdump_bytes(&d) > (size_t)64 << 20)
		abort();
	jitdump_done(&d);
	return 0;
}
