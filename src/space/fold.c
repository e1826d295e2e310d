/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forgetting.  Tasks are compacted in place, so that a kept task's new id is never above its old
 * one; that is also why the index of tids can be changed in place.  A folded task stands where the
 * first of its group stood.  All memory is taken before anything is changed.
 *
 * Process and image ids stay, and free ones are given out again.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "space/state.h"

struct trim {
	struct space *s;
	uint64_t now_ns, fold_after_ns;
	const uint8_t *used_tasks;
	struct map comms; /* command name of the folded -> its process << 32 | its task; NONE: none
			     yet */
	uint8_t *needed;  /* a flag a process */
	uint32_t nr_kept;
};

enum fate { KEEP, FOLD, GONE };

/* Where EXIT records were lost, the kernel still tells who is gone. */
static void reap(struct space *s, uint64_t now_ns)
{
	for (size_t i = 0; s->live && i < s->processes.nr; i++) {
		struct process *p = &s->processes.at[i];

		if (p->used && !p->dead && p->pid > 0 &&
		    (process_find(s, p->pid) != i || (kill(p->pid, 0) && errno == ESRCH))) {
			p->dead = true;
			p->dead_ns = now_ns;
		}
	}
}

static bool task_is_current(const struct space *s, size_t task)
{
	uint64_t *at = map_find(&s->tids, (uint32_t)s->tasks.at[task].tid);

	return at && *at == task;
}

static enum fate fate_of(const struct trim *t, size_t task)
{
	const struct task *k = &t->s->tasks.at[task];
	const struct process *p = &t->s->processes.at[k->process];
	uint64_t dead_ns = k->dead ? k->dead_ns : p->dead_ns;
	bool dead = k->dead || p->dead || k->folded || !task_is_current(t->s, task);

	if (!dead)
		return KEEP;
	if (!t->used_tasks[task])
		return GONE;
	if (k->folded)
		return FOLD;
	if (!k->dead && !p->dead) /* its number was taken over: dead for long */
		return FOLD;
	return t->now_ns >= dead_ns && t->now_ns - dead_ns >= t->fold_after_ns ? FOLD : KEEP;
}

/* Takes all the memory that a trim can need. */
static int trim_prepare(struct trim *t)
{
	struct space *s = t->s;

	t->needed = calloc(s->processes.nr + 1, 1);
	if (!t->needed)
		return -ENOMEM;
	for (size_t i = 0; i < s->tasks.nr; i++) {
		uint32_t process = s->tasks.at[i].process;
		const struct process *p = &s->processes.at[process];
		const uint64_t *at;

		if (!p->dead || fate_of(t, i) != FOLD)
			continue;
		at = map_find(&t->comms, p->comm);
		if ((!at || p->folded) &&
		    map_set(&t->comms, p->comm,
			    (uint64_t)(p->folded ? process : NONE) << 32 | NONE))
			return -ENOMEM;
	}
	if (vec_reserve(&s->processes, s->processes.nr + t->comms.nr))
		return -ENOMEM;
	return 0;
}

/* A process that stands for dead ones of one name; the room was reserved. */
static uint32_t folded_process(struct space *s, uint32_t comm)
{
	struct process made = {
		.used = true,
		.dead = true,
		.folded = true,
		.pid = -1,
		.comm = comm,
		.anon_image = NONE,
		.fold_task = NONE,
		.next_free = NONE,
		.born = ++s->born,
	};

	s->processes.at[s->processes.nr] = made;
	return (uint32_t)s->processes.nr++;
}

/* Puts @made behind the kept; returns its id. */
static uint32_t keep(struct trim *t, struct task made)
{
	t->s->tasks.at[t->nr_kept] = made;
	return t->nr_kept++;
}

/* Folds a thread of a living process into that process's one; its new id. */
static uint32_t fold_thread(struct trim *t, const struct task *k)
{
	struct process *p = &t->s->processes.at[k->process];

	if (p->fold_task == NONE)
		p->fold_task = keep(t, (struct task){ .pid = p->pid,
						      .tid = -1,
						      .comm = p->comm,
						      .process = k->process,
						      .dead = true,
						      .dead_ns = k->dead_ns,
						      .folded = true });
	return p->fold_task;
}

/* Folds a task of a dead process into the one of its command name; its new id. */
static uint32_t fold_process(struct trim *t, const struct task *k)
{
	const struct process *p = &t->s->processes.at[k->process];
	uint32_t comm = p->comm, process, task;
	uint64_t *at = map_find(&t->comms, comm);

	process = (uint32_t)(*at >> 32);
	task = (uint32_t)*at;
	if (task != NONE)
		return task;
	if (process == NONE)
		process = folded_process(t->s, comm);
	task = keep(t, (struct task){ .pid = -1,
				      .tid = -1,
				      .comm = comm,
				      .process = process,
				      .dead = true,
				      .dead_ns = t->now_ns,
				      .folded = true });
	*at = (uint64_t)process << 32 | task;
	return task;
}

static void index_move(struct map *index, pid_t number, uint64_t from, uint32_t to)
{
	uint64_t *at = map_find(index, (uint32_t)number);

	if (!at || *at != from)
		return;
	if (to == NONE)
		map_remove(index, (uint32_t)number);
	else
		*at = to;
}

static void trim_tasks(struct trim *t, uint32_t *ret_task_map)
{
	struct space *s = t->s;
	size_t nr = s->tasks.nr;

	for (size_t i = 0; i < nr; i++) /* before the compaction moves them */
		ret_task_map[i] = (uint32_t)fate_of(t, i);
	for (size_t i = 0; i < nr; i++) {
		enum fate fate = (enum fate)ret_task_map[i];
		struct task k = s->tasks.at[i];

		if (fate == KEEP)
			ret_task_map[i] = keep(t, k);
		else if (fate == GONE)
			ret_task_map[i] = NONE;
		else if (s->processes.at[k.process].dead)
			ret_task_map[i] = fold_process(t, &k);
		else
			ret_task_map[i] = fold_thread(t, &k);
		if (!k.folded)
			index_move(&s->tids, k.tid, i, fate == KEEP ? ret_task_map[i] : NONE);
	}
	s->tasks.nr = t->nr_kept;
}

static void trim_processes(struct trim *t, size_t nr_before)
{
	struct space *s = t->s;

	for (size_t i = 0; i < s->tasks.nr; i++) {
		if (s->tasks.at[i].process < nr_before)
			t->needed[s->tasks.at[i].process] = 1;
	}
	for (size_t i = 0; i < nr_before; i++) {
		struct process *p = &s->processes.at[i];

		p->fold_task = NONE;
		if (!p->used || !p->dead || t->needed[i])
			continue;
		maps_drop(p->maps);
		if (!p->folded)
			index_move(&s->pids, p->pid, i, NONE);
		*p = (struct process){ .next_free = s->free_process };
		s->free_process = (uint32_t)i;
	}
	for (size_t i = 0; i < s->images.nr; i++) {
		struct image_key *key = &s->images.at[i].key;

		if (s->images.at[i].used && key->kind == IMAGE_ANON && key->process != NONE &&
		    (!s->processes.at[key->process].used ||
		     s->processes.at[key->process].pid != key->pid))
			key->process = NONE;
	}
}

/* Drops images that nothing maps and neither @used_images nor, without it, a resolved address
 * holds. */
static size_t images_drop(struct space *s, const uint8_t *used_images)
{
	uint8_t *mapped = s->on_forget ? calloc(s->images.nr + 1, 1) : NULL;
	size_t nr = 0;

	if (!mapped)
		return 0;
	for (size_t i = 0; i < s->processes.nr; i++) {
		const struct process *p = &s->processes.at[i];

		if (p->used && p->anon_image != NONE && !p->dead)
			mapped[p->anon_image - IMAGE_FIRST] = 1;
		for (uint32_t j = 0; p->maps && j < p->maps->nr; j++)
			mapped[p->maps->at[j].image - IMAGE_FIRST] = 1;
	}
	for (uint32_t i = 0; i < s->images.nr; i++) {
		const struct image *image = &s->images.at[i];
		bool held = used_images ? used_images[i + IMAGE_FIRST] : image->resolved;

		if (!image->used || mapped[i] || held)
			continue;
		for (size_t j = 0; j < s->processes.nr; j++) {
			if (s->processes.at[j].anon_image == i + IMAGE_FIRST)
				s->processes.at[j].anon_image = NONE;
		}
		s->on_forget(s->forget_ctx, i + IMAGE_FIRST);
		image_release(s, i + IMAGE_FIRST);
		nr++;
	}
	free(mapped);
	return nr;
}

/* Gives *@id its place in @into; false without memory. */
static bool string_move(const struct strpool *from, struct strpool *into, uint32_t id,
			struct map *moved)
{
	const char *text = strpool_get(from, id);
	uint32_t to;

	if (id == NONE || map_find(moved, id))
		return true;
	to = strpool_add(into, text, strlen(text));
	return to != NONE && !map_set(moved, id, to);
}

static void string_set(uint32_t *id, const struct map *moved)
{
	if (*id != NONE)
		*id = (uint32_t)*map_find(moved, *id);
}

/* Once more than half of the strings belong to nobody, keeps only the others.  Without memory all
 * stay. */
static void strings_trim(struct space *s)
{
	struct strpool *into = strpool_new();
	struct map moved = { 0 };
	bool done = into != NULL;

	for (size_t i = 0; done && i < s->tasks.nr; i++)
		done = string_move(s->strings, into, s->tasks.at[i].comm, &moved);
	for (size_t i = 0; done && i < s->processes.nr; i++)
		done = string_move(s->strings, into, s->processes.at[i].comm, &moved);
	for (size_t i = 0; done && i < s->images.nr; i++)
		done = string_move(s->strings, into, s->images.at[i].key.path, &moved);
	if (!done || strpool_count(into) * 2 > strpool_count(s->strings)) {
		strpool_free(into);
		map_done(&moved);
		return;
	}
	for (size_t i = 0; i < s->tasks.nr; i++)
		string_set(&s->tasks.at[i].comm, &moved);
	for (size_t i = 0; i < s->processes.nr; i++)
		string_set(&s->processes.at[i].comm, &moved);
	for (size_t i = 0; i < s->images.nr; i++)
		string_set(&s->images.at[i].key.path, &moved);
	strpool_free(s->strings);
	s->strings = into;
	map_done(&moved);
}

/* Gives back room that a burst of processes took. */
static void tasks_shrink(struct space *s)
{
	size_t cap = s->tasks.nr + s->tasks.nr / 2 + 64;
	void *at;

	if (s->tasks.cap / 4 < cap)
		return;
	at = realloc(s->tasks.at, cap * sizeof(s->tasks.at[0]));
	if (at) {
		s->tasks.at = at;
		s->tasks.cap = cap;
	}
}

/* Mappings of the long dead: samples that wait for their image are done by then. */
static void maps_trim(struct trim *t)
{
	for (size_t i = 0; i < t->s->processes.nr; i++) {
		struct process *p = &t->s->processes.at[i];

		if (p->dead && p->maps && t->now_ns >= p->dead_ns &&
		    t->now_ns - p->dead_ns >= t->fold_after_ns) {
			maps_drop(p->maps);
			p->maps = NULL;
		}
	}
}

int space_trim(struct space *s, uint64_t now_ns, uint64_t fold_after_ns, const uint8_t *used_tasks,
	       uint32_t *ret_task_map)
{
	struct trim t = {
		.s = s, .now_ns = now_ns, .fold_after_ns = fold_after_ns, .used_tasks = used_tasks
	};
	size_t nr_before;
	int err;

	s->epoch++;
	reap(s, now_ns);
	nr_before = s->processes.nr;
	err = trim_prepare(&t);
	if (!err) {
		space_uncache(s);
		trim_tasks(&t, ret_task_map);
		trim_processes(&t, nr_before);
		maps_trim(&t);
		images_drop(s, NULL);
		strings_trim(s);
		tasks_shrink(s);
	}
	map_done(&t.comms);
	free(t.needed);
	return err;
}

size_t space_trim_images(struct space *s, const uint8_t *used_images)
{
	space_uncache(s);
	return images_drop(s, used_images);
}
