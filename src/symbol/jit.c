/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One perf map an image of JIT code.  It is read at the first question, so that the first answer
 * has names already, and from then on by refreshes only: no look at a clock or a file on the way of
 * a query.
 */
#include <stdlib.h>
#include <string.h>

#include "symbol/naming.h"

enum { NAME_BYTES_MAX = 512 };

/* Lines that are not in order make the whole map be gone over, so that counts, too. */
static bool jit_read(struct symbols *sy, struct naming *n, uint64_t now_ns)
{
	size_t before = perfmap_bytes(&n->jit->map), used, cost;

	if (sy->jit_bytes >= JIT_BYTES_MAX)
		return false;
	used = perfmap_file_read(n->jit, sy->jit_left, now_ns);
	if (!used)
		return false;
	if (n->jit->restarted)
		map_done(&n->symbols);
	n->jit->missed = false;
	sy->jit_bytes += perfmap_bytes(&n->jit->map) - before;
	cost = used + n->jit->map.at.nr * sizeof(n->jit->map.at.at[0]);
	sy->jit_left = cost + JIT_READ_LEAST < sy->jit_left ? sy->jit_left - cost : 0;
	return true;
}

/* Begins with the map of @pid; false without memory. */
static bool jit_start(struct symbols *sy, struct naming *n, pid_t pid)
{
	n->jit = calloc(1, sizeof(*n->jit));
	if (!n->jit || vec_push(&sy->jits, n->image)) {
		free(n->jit);
		n->jit = NULL;
		return false;
	}
	n->jit->pid = pid;
	if (sy->jit_left)
		jit_read(sy, n, 0);
	n->jit->missed = !sy->jit_left; /* the rest comes with the next refresh */
	n->jit->due_ns = 0;
	return true;
}

uint32_t jit_named(struct symbols *sy, struct naming *n, uint64_t index, const char *name)
{
	uint64_t *at = map_find(&n->symbols, index);
	uint32_t module, function;
	char folded[NAME_BYTES_MAX];
	size_t len = strlen(name);

	if (at)
		return (uint32_t)*at;
	if (!sy->full_names) {
		len = fold_tier(folded, sizeof(folded), name, len);
		name = folded;
	}
	module = functions_intern(&sy->functions, "[jit]", 5);
	function = naming_function(sy, n, module, name, len);
	if (function != FUNCTION_NONE)
		(void)map_set(&n->symbols, index, function); /* else it is looked up again */
	return function;
}

uint32_t jit_function(struct symbols *sy, struct naming *n, pid_t pid, uint64_t addr)
{
	const struct perfmap_entry *e;
	uint32_t function = dumped_since(sy, n, addr);

	if (function != FUNCTION_NONE)
		return function;
	if (!n->jit && !jit_start(sy, n, pid))
		return FUNCTION_NONE;
	e = perfmap_find(&n->jit->map, addr);
	if (!e) {
		n->jit->missed = true;
		return FUNCTION_NONE;
	}
	return jit_named(sy, n, e->name, &n->jit->map.names.at[e->name]);
}

bool jit_begins(const struct naming *n, uint64_t addr, uint64_t *ret)
{
	const struct jitdump_code *code = NULL;
	const struct perfmap_entry *e = NULL;

	if (n->dump && n->dump->file)
		code = jitdump_find(&n->dump->file->dump, addr);
	if (!code && n->jit)
		e = perfmap_find(&n->jit->map, addr);
	if (code)
		*ret = code->start;
	else if (e)
		*ret = e->start;
	return code || e;
}

bool jit_refresh(struct symbols *sy, uint64_t now_ns)
{
	size_t nr = sy->jits.nr;
	bool changed = dumped_refresh(sy, now_ns);
	int looks = 0;

	sy->jit_left = JIT_READ_MAX;
	for (size_t i = 0; i < nr && sy->jit_left && looks < JIT_LOOKS_MAX; i++) {
		struct naming *n = sy->namings.at[sy->jits.at[(sy->next_jit + i) % nr]];

		if (!n->jit->missed || now_ns < n->jit->due_ns)
			continue;
		changed |= jit_read(sy, n, now_ns);
		looks++;
		if (looks == JIT_LOOKS_MAX || !sy->jit_left) {
			sy->next_jit = (sy->next_jit + i + 1) % nr;
			break;
		}
	}
	return changed;
}
