/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "park.h"

#include <errno.h>
#include <string.h>

void park_done(struct park *p)
{
	vec_done(&p->entries);
	vec_done(&p->frames);
}

int park_add(struct park *p, const struct stored *s, const struct frame *frames, uint32_t nr)
{
	struct parked at = { .sample = *s, .first = (uint32_t)p->frames.nr, .nr = nr };

	if (p->entries.nr >= PARK_MAX_SAMPLES || p->frames.nr + nr + 1 > PARK_MAX_FRAMES)
		return -ENOSPC;
	if (vec_reserve(&p->frames, p->frames.nr + nr + 1) || vec_push(&p->entries, at))
		return -ENOMEM;
	memcpy(p->frames.at + p->frames.nr, frames, nr * sizeof(*frames));
	p->frames.nr += nr + 1;
	return 0;
}

struct parked *park_next(struct park *p, size_t *pos)
{
	while (*pos < p->entries.nr) {
		struct parked *at = &p->entries.at[(*pos)++];

		if (at->nr)
			return at;
	}
	return NULL;
}

struct frame *park_frames(struct park *p, const struct parked *at)
{
	return p->frames.at + at->first;
}

void park_take(struct parked *at)
{
	at->nr = 0;
}

void park_pack(struct park *p)
{
	size_t entries = 0, frames = 0;

	for (size_t i = 0; i < p->entries.nr; i++) {
		struct parked at = p->entries.at[i];

		if (!at.nr)
			continue;
		memmove(p->frames.at + frames, p->frames.at + at.first,
			at.nr * sizeof(struct frame));
		at.first = (uint32_t)frames;
		frames += at.nr + 1;
		p->entries.at[entries++] = at;
	}
	p->entries.nr = entries;
	p->frames.nr = frames;
}

void park_mark(const struct park *p, uint8_t *used_tasks, uint8_t *used_images, size_t nr_images)
{
	for (size_t i = 0; i < p->entries.nr; i++) {
		const struct parked *at = &p->entries.at[i];

		used_tasks[at->sample.task] = 1;
		for (uint32_t f = 0; f < at->nr; f++)
			if (p->frames.at[at->first + f].image < nr_images)
				used_images[p->frames.at[at->first + f].image] = 1;
	}
}

void park_rename(struct park *p, const uint32_t *task_map)
{
	for (size_t i = 0; i < p->entries.nr; i++)
		p->entries.at[i].sample.task = task_map[p->entries.at[i].sample.task];
}
