/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "forget.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "recall.h"

#define EVERY_NS (5 * NS_PER_S)
#define FOLD_AFTER_NS (30 * NS_PER_S) /* dead tasks keep their own row as long */
#define NODES_BEFORE_PRUNE 32768u
#define IDS_BEFORE_TRIM 65536u

void forget_done(struct forget *f)
{
	vec_done(&f->used_nodes);
	vec_done(&f->used_tasks);
	vec_done(&f->used_images);
	vec_done(&f->node_map);
	vec_done(&f->task_map);
}

static int mark_used(struct forget *f, const struct pipeline *pl, const struct park *park)
{
	size_t nr_nodes = stacks_count(pl->stacks), nr_tasks = space_nr_tasks(pl->space);
	size_t nr_images = space_nr_images(pl->space);

	if (vec_reserve(&f->used_nodes, nr_nodes) || vec_reserve(&f->used_tasks, nr_tasks + 1) ||
	    vec_reserve(&f->used_images, nr_images + 1) || vec_reserve(&f->node_map, nr_nodes) ||
	    vec_reserve(&f->task_map, nr_tasks + 1))
		return -ENOMEM;
	memset(f->used_nodes.at, 0, nr_nodes);
	memset(f->used_tasks.at, 0, nr_tasks);
	memset(f->used_images.at, 0, nr_images);
	store_mark(pl->store, f->used_nodes.at, nr_nodes, f->used_tasks.at, nr_tasks);
	park_mark(park, f->used_tasks.at, f->used_images.at, nr_images);
	return 0;
}

static void mark_images(struct forget *f, const struct pipeline *pl)
{
	const struct stack_node *nodes = stacks_nodes(pl->stacks);
	size_t nr_images = space_nr_images(pl->space);

	for (size_t i = 0; i < stacks_count(pl->stacks); i++)
		if (nodes[i].image < nr_images)
			f->used_images.at[nodes[i].image] = 1;
}

/* Forgets tasks, stacks and images that no sample held names any more. */
static void trim(struct forget *f, struct pipeline *pl, struct park *park, uint64_t now_ns,
		 uint64_t fold_after_ns)
{
	bool prune = stacks_count(pl->stacks) >
		     f->nodes_kept + f->nodes_kept / 4 + NODES_BEFORE_PRUNE;

	if (mark_used(f, pl, park))
		return;
	if (space_trim(pl->space, now_ns, fold_after_ns, f->used_tasks.at, f->task_map.at) == 0) {
		store_rename(pl->store, NULL, f->task_map.at);
		park_rename(park, f->task_map.at);
	}
	if (!prune || stacks_prune(pl->stacks, f->used_nodes.at, f->node_map.at))
		return;
	store_rename(pl->store, f->node_map.at, NULL);
	names_reset(pl->names);
	recall_forget(pl->recall);
	f->nodes_kept = stacks_count(pl->stacks);
	mark_images(f, pl);
	space_trim_images(pl->space, f->used_images.at);
}

void forget(struct forget *f, struct pipeline *pl, struct park *park, uint64_t now_ns)
{
	if (now_ns - f->last_ns < EVERY_NS)
		return;
	f->last_ns = now_ns;
	trim(f, pl, park, now_ns, FOLD_AFTER_NS);
}

static size_t nr_ids(const struct pipeline *pl)
{
	return space_nr_tasks(pl->space) + space_nr_processes(pl->space) + stacks_count(pl->stacks);
}

void forget_recorded(struct forget *f, struct pipeline *pl, struct park *park)
{
	if (!store_dropped(pl->store) || nr_ids(pl) < 2 * f->ids_kept + IDS_BEFORE_TRIM)
		return;
	trim(f, pl, park, 0, UINT64_MAX);
	f->ids_kept = nr_ids(pl);
}
