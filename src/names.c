/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strpool.h"
#include "base/text.h"
#include "base/vec.h"
#include "inlining.h"

/* Groups made before their ids are dealt anew; folds of groups are lost then, memory is not. */
#define MAX_GROUPS 65536

/* Key of the group that holds a process's ended threads: no thread id is as large. */
#define ENDED_THREADS (1ull << 63)

struct group {
	uint32_t text; /* in .texts */
};

#define NR_ENTRIES 8192

struct known_entry {
	uint64_t offset;
	uint32_t image;
	uint8_t answer; /* enum entry_answer */
	bool used;
};

#define NR_PLACES 16384

struct known_place {
	uint64_t addr, place; /* 0: none */
};

struct names {
	struct symbols *symbols;
	const struct space *space;
	const struct stacks *stacks;

	VEC(uint32_t) function_of;                /* by node */
	VEC(uint8_t) unnamed;                     /* by function */
	VEC(uint32_t) ranks;                      /* by function */
	VEC(uint32_t) pending;                    /* nodes whose image is not final */
	uint32_t symbols_generation, names_moved; /* of the symbols, when last asked */
	struct naming naming;
	struct inlining inlining;

	struct known_entry entries[NR_ENTRIES]; /* by a hash of the place */
	struct known_place places[NR_PLACES];   /* of the kernel, by a hash of the address */
	struct map function_places;             /* kernel function -> its place */
	uint32_t places_moved;                  /* names_moved of the symbols, that they hold for */
	uint32_t entries_generation;            /* of the symbols, that they hold for */

	enum ui_grouping grouping; /* what the groups are of */
	struct map group_ids;      /* process, thread or text -> group */
	VEC(struct group) groups;
	VEC(uint32_t) group_of; /* by task */
	struct strpool *texts;
};

struct names *names_new(struct symbols *symbols, const struct space *space,
			const struct stacks *stacks)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->texts = strpool_new();
	if (!n->texts) {
		free(n);
		return NULL;
	}
	n->symbols = symbols;
	n->space = space;
	n->stacks = stacks;
	n->symbols_generation = symbols_generation(symbols);
	n->names_moved = symbols_names_moved(symbols);
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	vec_done(&n->function_of);
	vec_done(&n->unnamed);
	vec_done(&n->ranks);
	vec_done(&n->pending);
	inlining_done(&n->inlining);
	map_done(&n->group_ids);
	map_done(&n->function_places);
	vec_done(&n->groups);
	vec_done(&n->group_of);
	strpool_free(n->texts);
	free(n);
}

void names_reset(struct names *n)
{
	vec_clear(&n->function_of);
	vec_clear(&n->pending);
	inlining_reset(&n->inlining);
	n->naming.generation++;
}

/* Asks again for the nodes whose image was still being read. */
static void ask_again(struct names *n)
{
	const struct stack_node *nodes = stacks_nodes(n->stacks);
	size_t kept = 0;
	bool changed = false;

	for (size_t i = 0; i < n->pending.nr; i++) {
		uint32_t node = n->pending.at[i];
		uint32_t f = symbols_function(n->symbols, nodes[node].image, nodes[node].offset);

		if (f != UINT32_MAX && f != n->function_of.at[node]) {
			n->function_of.at[node] = f;
			changed = true;
		}
		if (!symbols_place_final(n->symbols, nodes[node].image, nodes[node].offset))
			n->pending.at[kept++] = node;
	}
	n->pending.nr = kept;
	n->naming.generation += changed;
}

static int name_new_nodes(struct names *n)
{
	const struct stack_node *nodes = stacks_nodes(n->stacks);
	size_t nr = stacks_count(n->stacks);

	if (vec_reserve(&n->function_of, nr))
		return -ENOMEM;
	for (size_t i = n->function_of.nr; i < nr; i++) {
		uint32_t f = symbols_function(n->symbols, nodes[i].image, nodes[i].offset);

		if (f == UINT32_MAX)
			return -ENOMEM;
		n->function_of.at[i] = f;
		n->function_of.nr = i + 1;
		if (!symbols_place_final(n->symbols, nodes[i].image, nodes[i].offset) &&
		    vec_push(&n->pending, (uint32_t)i))
			return -ENOMEM;
	}
	return 0;
}

/* What functions are known to have no name.  A function keeps its name for good, so only new ones
 * are asked. */
/* Functions get their ids as files are read, in any order: a rank by name is the same each time. */
static uint32_t rank_of(const struct function_info *info)
{
	uint64_t hash = 0;

	for (const char *c = info->name; *c; c++)
		hash = hash_u64(hash * 31 + (uint8_t)*c);
	for (const char *c = info->module_path; *c; c++)
		hash = hash_u64(hash * 31 + (uint8_t)*c);
	return (uint32_t)hash;
}

static int describe_functions(struct names *n)
{
	size_t nr = symbols_nr_functions(n->symbols);
	struct function_info info;

	if (vec_reserve(&n->unnamed, nr) || vec_reserve(&n->ranks, nr))
		return -ENOMEM;
	for (size_t i = n->unnamed.nr; i < nr; i++) {
		bool known = symbols_info(n->symbols, (uint32_t)i, &info);

		n->unnamed.at[i] = known && !info.named && !info.pseudo;
		n->ranks.at[i] = known ? rank_of(&info) : 0;
	}
	n->unnamed.nr = n->ranks.nr = nr;
	return 0;
}

const struct naming *names_update(struct names *n)
{
	uint32_t generation = symbols_generation(n->symbols);

	if (symbols_names_moved(n->symbols) != n->names_moved)
		names_reset(n);
	else if (generation != n->symbols_generation)
		ask_again(n);
	n->names_moved = symbols_names_moved(n->symbols);
	n->symbols_generation = generation;
	if (name_new_nodes(n) || inlining_update(&n->inlining, n->symbols, n->stacks, &n->naming) ||
	    describe_functions(n))
		return NULL;
	n->naming.function_of = n->function_of.at;
	n->naming.nr_functions = (uint32_t)n->unnamed.nr;
	n->naming.unnamed = n->unnamed.at;
	n->naming.ranks = n->ranks.at;
	return &n->naming;
}

static enum entry_answer find_entry(struct names *n, uint32_t image, uint64_t offset)
{
	const struct image_key *key = space_image(n->space, image);
	struct function_info info;
	uint32_t f;

	if (image != IMAGE_KERNEL && (!key || key->kind == IMAGE_ANON))
		return ENTRY_NO; /* no thread begins in unknown or JIT code */
	f = symbols_function(n->symbols, image, offset);
	if (f != UINT32_MAX && symbols_info(n->symbols, f, &info) && info.entry)
		return ENTRY_YES;
	return symbols_read(n->symbols, image) ? ENTRY_NO : ENTRY_UNSURE;
}

/* Stacks begin at few places: their answers are kept until names change. */
enum entry_answer names_entry(struct names *n, uint32_t image, uint64_t offset)
{
	struct known_entry *known =
		&n->entries[hash_u64(offset ^ (uint64_t)image << 48) % NR_ENTRIES];
	uint32_t generation = symbols_generation(n->symbols);
	enum entry_answer answer;

	if (n->entries_generation != generation) {
		names_forget(n);
		n->entries_generation = generation;
	}
	if (known->used && known->image == image && known->offset == offset)
		return known->answer;
	answer = find_entry(n, image, offset);
	if (answer != ENTRY_UNSURE)
		*known = (struct known_entry){
			.offset = offset,
			.image = image,
			.answer = (uint8_t)answer,
			.used = true,
		};
	return answer;
}

static uint64_t find_place(struct names *n, uint64_t addr)
{
	uint32_t f = symbols_function(n->symbols, IMAGE_KERNEL, addr);
	struct function_info info;
	uint64_t *place;

	if (f == UINT32_MAX || !symbols_info(n->symbols, f, &info) || !info.named)
		return addr;
	place = map_find(&n->function_places, f);
	if (place)
		return *place;
	(void)map_set(&n->function_places, f, addr);
	return addr;
}

uint64_t names_kernel_place(struct names *n, uint64_t addr)
{
	struct known_place *known = &n->places[hash_u64(addr) % NR_PLACES];
	uint32_t moved = symbols_names_moved(n->symbols);

	if (n->places_moved != moved) {
		memset(n->places, 0, sizeof(n->places));
		map_done(&n->function_places);
		n->function_places = (struct map){ 0 };
		n->places_moved = moved;
	}
	if (known->addr != addr)
		*known = (struct known_place){ .addr = addr, .place = find_place(n, addr) };
	return known->place;
}

void names_forget(struct names *n)
{
	memset(n->entries, 0, sizeof(n->entries));
}

static uint32_t group_for(struct names *n, uint64_t key, const char *text)
{
	uint64_t *known = map_find(&n->group_ids, key);
	uint32_t id = strpool_add(n->texts, text, strlen(text));

	if (id == UINT32_MAX)
		return QUERY_NO_GROUP;
	if (known) {
		n->groups.at[*known].text = id;
		return (uint32_t)*known;
	}
	if (vec_push(&n->groups, ((struct group){ .text = id })) ||
	    map_set(&n->group_ids, key, n->groups.nr - 1))
		return QUERY_NO_GROUP;
	return (uint32_t)(n->groups.nr - 1);
}

static uint32_t group_of_task(struct names *n, uint32_t task)
{
	struct task_info info;
	char text[96], name[64];

	if (!space_task_info(n->space, task, &info))
		return QUERY_NO_GROUP;
	text_scrub(name, sizeof(name), info.process_comm, strlen(info.process_comm), false);
	switch (n->grouping) {
	case UI_GROUP_PROCESS:
		if (info.pid < 0)
			snprintf(text, sizeof(text), "%s [ended]", name);
		else
			snprintf(text, sizeof(text), "%s[%d]", name, info.pid);
		return group_for(n, info.process, text);
	case UI_GROUP_THREAD:
		text_scrub(name, sizeof(name), info.comm, strlen(info.comm), false);
		if (info.tid < 0) {
			snprintf(text, sizeof(text), "%s [ended]", name);
			return group_for(n, ENDED_THREADS | info.process, text);
		}
		snprintf(text, sizeof(text), "%s/%d", name, info.tid);
		return group_for(n, (uint64_t)(uint32_t)info.tid, text);
	default:
		text_scrub(name, sizeof(name), info.comm, strlen(info.comm), false);
		return group_for(n, strpool_add(n->texts, name, strlen(name)), name);
	}
}

static void groups_clear(struct names *n, enum ui_grouping grouping)
{
	map_done(&n->group_ids);
	n->group_ids = (struct map){ 0 };
	vec_clear(&n->groups);
	n->grouping = grouping;
}

int names_group_tasks(struct names *n, enum ui_grouping grouping, struct query *q)
{
	size_t nr = space_nr_tasks(n->space);
	struct strpool *fresh;

	q->group_of = NULL;
	q->nr_tasks = 0;
	q->nr_groups = 0;
	if (grouping == UI_GROUP_NONE)
		return 0;
	if (n->groups.nr > MAX_GROUPS || strpool_count(n->texts) > 2 * MAX_GROUPS) {
		fresh = strpool_new();
		if (!fresh)
			return -ENOMEM;
		strpool_free(n->texts);
		n->texts = fresh;
		groups_clear(n, grouping);
	} else if (grouping != n->grouping) {
		groups_clear(n, grouping);
	}
	if (vec_reserve(&n->group_of, nr ? nr : 1))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		n->group_of.at[i] = group_of_task(n, (uint32_t)i);
	n->group_of.nr = nr;
	q->group_of = n->group_of.at;
	q->nr_tasks = nr;
	q->nr_groups = (uint32_t)n->groups.nr;
	return 0;
}

void names_function(void *names, uint32_t function, struct ui_function *ret)
{
	const struct names *n = names;
	struct function_info info;

	if (!symbols_info(n->symbols, function, &info)) {
		*ret = (struct ui_function){ .name = "[unknown]", .module = "" };
		return;
	}
	*ret = (struct ui_function){
		.name = info.name,
		.module = info.module,
		.named = info.named,
		.kernel = info.kernel,
		.pseudo = info.pseudo,
	};
}

void names_group(void *names, enum ui_grouping grouping, uint32_t group, char *out, size_t size)
{
	const struct names *n = names;

	(void)grouping; /* ids are of the grouping asked for last */
	if (group < n->groups.nr)
		snprintf(out, size, "%s", strpool_get(n->texts, n->groups.at[group].text));
	else
		snprintf(out, size, "[unknown]");
}
