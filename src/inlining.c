/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inlining.h"

#include <errno.h>
#include <string.h>

/* Past these, lists begin anew when nodes are renumbered. */
#define KEYS_MAX ((size_t)1 << 17)
#define CHAINS_MAX ((size_t)1 << 20)

void inlining_done(struct inlining *in)
{
	vec_done(&in->chain_of);
	vec_done(&in->chains);
	vec_done(&in->waiting);
	map_done(&in->by_hash);
	map_done(&in->by_key);
}

void inlining_reset(struct inlining *in)
{
	vec_clear(&in->chain_of);
	vec_clear(&in->waiting);
	if (in->by_key.nr < KEYS_MAX && in->chains.nr < CHAINS_MAX)
		return;
	vec_clear(&in->chains);
	map_done(&in->by_hash);
	map_done(&in->by_key);
	in->by_hash = in->by_key = (struct map){ 0 };
}

static uint64_t hash_list(const uint32_t *functions, uint32_t nr)
{
	uint64_t hash = nr;

	for (uint32_t i = 0; i < nr; i++)
		hash = hash_u64(hash * 31 + functions[i]);
	return hash;
}

/* The index of a list, kept when new; 0 without memory. */
static uint32_t keep_list(struct inlining *in, const uint32_t *functions, uint32_t nr)
{
	uint64_t key = hash_list(functions, nr), *known;
	uint32_t at = (uint32_t)in->chains.nr;

	while ((known = map_find(&in->by_hash, key)) != NULL) {
		const uint32_t *list = &in->chains.at[*known];

		if (list[0] == nr && memcmp(list + 1, functions, nr * sizeof(*functions)) == 0)
			return (uint32_t)*known;
		key++;
	}
	if (vec_reserve(&in->chains, in->chains.nr + nr + 1) != 0 ||
	    map_set(&in->by_hash, key, at) != 0)
		return 0;
	in->chains.at[at] = nr;
	memcpy(&in->chains.at[at + 1], functions, nr * sizeof(*functions));
	in->chains.nr += nr + 1;
	return at;
}

/* Whether the answer is final.  *@ret_chain is untouched where it is not. */
static bool ask(struct inlining *in, struct symbols *sy, const struct stack_node *node,
		uint32_t *ret_chain)
{
	uint32_t functions[INLINES_DEPTH_MAX];
	uint64_t key, *known;
	int nr;

	if (symbols_inlined_key(sy, node->image, node->offset, &key) != 0)
		return false;
	*ret_chain = 0;
	known = key != 0 ? map_find(&in->by_key, key) : NULL;
	if (known != NULL)
		*ret_chain = (uint32_t)*known;
	if (key == 0 || known != NULL)
		return true;
	nr = symbols_inlined(sy, node->image, node->offset, functions);
	if (nr > 0)
		*ret_chain = keep_list(in, functions, (uint32_t)nr);
	if (*ret_chain != 0)
		(void)map_set(&in->by_key, key, *ret_chain); /* else it is looked up again */
	return true;
}

static bool ask_again(struct inlining *in, struct symbols *sy, const struct stack_node *nodes)
{
	bool changed = false;
	size_t kept = 0;

	for (size_t i = 0; i < in->waiting.nr; i++) {
		uint32_t node = in->waiting.at[i];

		if (!ask(in, sy, &nodes[node], &in->chain_of.at[node]))
			in->waiting.at[kept++] = node;
		else
			changed |= in->chain_of.at[node] != 0;
	}
	in->waiting.nr = kept;
	return changed;
}

static int ask_new(struct inlining *in, struct symbols *sy, const struct stack_node *nodes,
		   size_t nr)
{
	if (vec_reserve(&in->chain_of, nr) != 0)
		return -ENOMEM;
	for (size_t i = in->chain_of.nr; i < nr; i++) {
		in->chain_of.at[i] = 0;
		in->chain_of.nr = i + 1;
		if (!ask(in, sy, &nodes[i], &in->chain_of.at[i]) &&
		    vec_push(&in->waiting, (uint32_t)i) != 0)
			return -ENOMEM;
	}
	return 0;
}

int inlining_update(struct inlining *in, struct symbols *sy, const struct stacks *stacks,
		    struct naming *naming)
{
	uint32_t names = symbols_generation(sy), inlined = symbols_inlined_generation(sy);
	const struct stack_node *nodes = stacks_nodes(stacks);

	/* Index 0 stands for no list. */
	if (in->chains.nr == 0 && vec_push(&in->chains, 0) != 0)
		return -ENOMEM;
	if ((names != in->names || inlined != in->inlined) && ask_again(in, sy, nodes))
		naming->generation++;
	in->names = names;
	in->inlined = inlined;
	if (ask_new(in, sy, nodes, stacks_count(stacks)) != 0)
		return -ENOMEM;
	naming->chain_of = in->chains.nr > 1 ? in->chain_of.at : NULL;
	naming->chains = in->chains.at;
	return 0;
}
