/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of inlined functions of any bytes, such as a process that has been taken over might send:
 * what passes inlines_check() must be safe to ask anything.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/inlines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct inlines *in, uint64_t vaddr)
{
	const char *names[INLINES_DEPTH_MAX];
	uint32_t nr = inlines_at(in, vaddr, names);

	if (nr > INLINES_DEPTH_MAX || (nr > 0 && !inlines_cover(in, vaddr)))
		abort();
	for (uint32_t i = 0; i < nr; i++) {
		if (names[i][0] == '\0' || strlen(names[i]) >= in->header->strings_size)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *aligned = malloc(size != 0 ? size : 1);
	struct inlines in;

	if (aligned == NULL)
		return 0;
	if (size > 0)
		memcpy(aligned, data, size);
	if (inlines_check(aligned, size, &in) == 0) {
		for (uint32_t i = 0; i < in.header->nr_steps && i < 4096; i++) {
			ask(&in, in.header->base + in.steps[i].start);
			ask(&in, in.header->base + in.steps[i].start - 1);
		}
		for (uint32_t i = 0; i < in.header->nr_spans && i < 4096; i++) {
			ask(&in, in.spans[i].start - 1);
			ask(&in, in.spans[i].end - 1);
			ask(&in, in.spans[i].end);
		}
		ask(&in, 0);
		ask(&in, UINT64_MAX);
	}
	free(aligned);
	return 0;
}
