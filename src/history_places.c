/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "history_places.h"

#include <errno.h>

#include "recorder_facts.h"

/* No process has such numbers: PID_MAX_LIMIT is 2^22. */
#define MADE_UP_PID (1u << 30)
#define MADE_UP_TID (MADE_UP_PID + (1u << 29))

/* Where hardly anything is ever mapped; stretches of files are as long. */
#define MADE_UP_ADDRESS (1ull << 44)
#define STRETCH (64ull << 20)

/* JIT code that a jitdump told of is kept as a function (symbols_place()): unknown to others. */
#define NO_ADDRESS (1ull << 63)
#define NOWHERE (1ull << 43)

#define PAGE 4096ull

void history_places_init(struct history_places *p, const struct pipeline *pl,
			 struct perfdata_writer *w, const struct layout *layout)
{
	*p = (struct history_places){
		.pl = pl,
		.w = w,
		.layout = layout,
		.made_up = MADE_UP_ADDRESS,
	};
}

void history_places_done(struct history_places *p)
{
	map_done(&p->pids);
	map_done(&p->told);
	map_done(&p->stretch);
	vec_done(&p->placed);
	blob_done(&p->b);
}

static void put(struct history_places *p)
{
	if (!p->err)
		p->err = blob_failed(&p->b) ? -ENOMEM : writer_record(p->w, -1, p->b.at, p->b.nr);
}

void history_claim(struct history_places *p, uint32_t task)
{
	struct task_info t;
	uint64_t *owner;

	if (!space_task_info(p->pl->space, task, &t) || t.pid < 0)
		return;
	owner = map_find(&p->pids, (uint32_t)t.pid);
	if ((!owner || !t.dead) && map_set(&p->pids, (uint32_t)t.pid, t.process + 1ull))
		p->err = -ENOMEM;
}

/* False once per key. */
static bool is_told(struct history_places *p, uint64_t key)
{
	if (map_find(&p->told, key))
		return true;
	if (map_set(&p->told, key, 1))
		p->err = -ENOMEM;
	return false;
}

struct numbers history_who(struct history_places *p, uint32_t task)
{
	const struct sample_id nobody = { 0 };
	struct numbers n = { .pid = UINT32_MAX, .tid = UINT32_MAX, .process = UINT32_MAX };
	const uint64_t *owner;
	struct task_info t;

	if (!space_task_info(p->pl->space, task, &t))
		return n;
	owner = t.pid < 0 ? NULL : map_find(&p->pids, (uint32_t)t.pid);
	n.process = t.process;
	n.pid = owner && *owner == t.process + 1ull ? (uint32_t)t.pid : MADE_UP_PID + t.process;
	if (t.pid < 0)
		n.pid = n.tid =
			MADE_UP_TID + task; /* stands for many, each of a process of its own */
	else if (t.tid == t.pid)
		n.tid = n.pid;
	else
		n.tid = n.pid == (uint32_t)t.pid && t.tid >= 0 ? (uint32_t)t.tid
							       : MADE_UP_TID + task;
	if (n.pid && !is_told(p, n.pid)) {
		synth_comm(&p->b, p->layout, &nobody, n.pid, n.pid,
			   t.pid < 0 ? t.comm : t.process_comm);
		put(p);
	}
	if (n.tid != n.pid && !is_told(p, (uint64_t)n.tid << 32)) {
		synth_comm(&p->b, p->layout, &nobody, n.pid, n.tid, t.comm);
		put(p);
	}
	return n;
}

static bool holds(const struct mapping *m, uint32_t image, uint64_t offset)
{
	return m->image == image && offset - m->pgoff < m->end - m->start;
}

/* Where the process has the place mapped now. */
static bool find_mapped(const struct history_places *p, uint32_t process, uint32_t image,
			uint64_t offset, struct mapping *ret)
{
	size_t pos = 0;

	while (space_next_mapping(p->pl->space, process, &pos, ret))
		if (holds(ret, image, offset))
			return true;
	return false;
}

/* Whether the process has anything there. */
static bool is_taken(const struct history_places *p, uint32_t process, uint64_t start)
{
	struct mapping m;
	size_t pos = 0;

	while (space_next_mapping(p->pl->space, process, &pos, &m))
		if (m.start < start + STRETCH && start < m.end)
			return true;
	return false;
}

/* A place in the process for a stretch of a file, or for code of no file: that is where it was. */
static struct mapping make_up(struct history_places *p, uint32_t process, uint32_t image,
			      uint64_t offset, bool anonymous)
{
	struct mapping m = { .image = image };

	if (anonymous) {
		m.start = m.pgoff = offset / PAGE * PAGE;
		m.end = m.start + PAGE;
		return m;
	}
	while (is_taken(p, process, p->made_up))
		p->made_up += STRETCH;
	m.start = p->made_up;
	m.end = m.start + STRETCH;
	m.pgoff = offset / STRETCH * STRETCH;
	p->made_up += STRETCH;
	return m;
}

/* Notes a stretch, and tells it. */
static void place(struct history_places *p, uint64_t key, uint32_t pid, const struct mapping *m)
{
	const uint64_t *first = map_find(&p->stretch, key);
	struct placed made = { .m = *m, .next = first ? (uint32_t)*first : 0 };

	if (vec_push(&p->placed, made) || map_set(&p->stretch, key, p->placed.nr)) {
		p->err = -ENOMEM;
		return;
	}
	facts_map(&p->b, p->layout, p->pl, pid, m);
	put(p);
}

uint64_t history_address(struct history_places *p, const struct numbers *who, uint32_t image,
			 uint64_t offset)
{
	const struct image_key *key = space_image(p->pl->space, image);
	uint64_t id = (uint64_t)who->pid << 32 | image;
	const uint64_t *at = map_find(&p->stretch, id);
	struct mapping m;

	if (!key)
		return offset; /* nothing was known of it */
	if (offset & NO_ADDRESS)
		return NOWHERE + (offset & ~NO_ADDRESS) * 16;
	for (uint32_t i = at ? (uint32_t)*at : 0; i; i = p->placed.at[i - 1].next) {
		const struct mapping *known = &p->placed.at[i - 1].m;

		if (holds(known, image, offset))
			return known->start + (offset - known->pgoff);
	}
	if (!find_mapped(p, who->process, image, offset, &m))
		m = make_up(p, who->process, image, offset, key->kind == IMAGE_ANON);
	place(p, id, who->pid, &m);
	return m.start + (offset - m.pgoff);
}
