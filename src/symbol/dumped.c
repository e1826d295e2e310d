/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dump is found among the mappings of its process, which the runtime announces it by, so forks,
 * recordings and processes older than ptop need nothing of their own.  It is read in step with the
 * samples: those come in the order of time, and so the code known is that of the sample's moment.
 *
 * A runtime may write late what it has in its buffers.  A sample in code not told of yet keeps its
 * bare address, and takes the first code that is told of there since.
 */
#include <stdlib.h>

#include "symbol/naming.h"

enum { FIND_NS = 100000000 };

/* The key of a dump's name among a naming's symbols: perf maps use the low half. */
#define DUMP_NAME (1ull << 32)

void dumped_free(struct naming_dump *d)
{
	if (!d)
		return;
	jitdump_close(d->file);
	map_done(&d->known);
	free(d);
}

size_t dumped_bytes(const struct naming_dump *d)
{
	if (!d)
		return 0;
	return sizeof(*d) + d->known.cap * (sizeof(struct map_entry) + 1) +
	       (d->file ? sizeof(*d->file) + jitdump_bytes(&d->file->dump) : 0);
}

/* The memory of all dumps together is bounded; past that they are as they are. */
static bool advance(struct symbols *sy, struct naming *n, uint64_t until_ns, uint64_t now_ns)
{
	struct jitdump_file *f = n->dump->file;
	size_t before = jitdump_bytes(&f->dump);
	bool on;

	if (sy->dump_bytes >= DUMP_BYTES_MAX)
		return false;
	on = jitdump_advance(f, until_ns, now_ns);
	sy->dump_bytes += jitdump_bytes(&f->dump) - before;
	if (f->restarted)
		map_done(&n->symbols);
	f->restarted = false;
	return on;
}

void dumped_forget(struct symbols *sy, struct naming *n)
{
	struct naming_dump *d = n->dump;

	if (d && d->file)
		sy->dump_bytes -= jitdump_bytes(&d->file->dump);
	dumped_free(d);
	n->dump = NULL;
}

static void open_dump(struct symbols *sy, struct naming *n, pid_t pid, const struct mapping *m)
{
	const struct image_key *key = space_image(sy->space, m->image);
	struct naming_dump *d = n->dump;
	struct image_sight sight = {
		.pid = sy->recorded ? 0 : pid,
		.start = m->start,
		.end = sy->recorded ? 0 : m->end,
		.path = space_string(sy->space, key->path),
		.maj = key->maj,
		.min = key->min,
		.ino = key->ino,
		.build_id = key->build_id,
		.build_id_size = key->build_id_size,
	};

	d->image = m->image;
	if (d->file) {
		sy->dump_bytes -= jitdump_bytes(&d->file->dump);
		jitdump_close(d->file);
		map_done(&n->symbols); /* by the old one's numbers of names */
	}
	if (d->listed) {
		d->file = jitdump_open(&sight);
		return;
	}
	if (sy->dumps.nr >= DUMPS_MAX || vec_reserve(&sy->dumps, sy->dumps.nr + 1))
		return;
	d->file = jitdump_open(&sight);
	d->listed = d->file != NULL;
	if (d->listed)
		sy->dumps.at[sy->dumps.nr++] = n->image;
}

/* Looks for the dump where mappings are new; false where there is none. */
static bool find_dump(struct symbols *sy, struct naming *n, pid_t pid, uint64_t time_ns)
{
	struct naming_dump *d = n->dump;
	struct mapping m;

	if (!d) {
		d = n->dump = calloc(1, sizeof(*d));
		if (!d)
			return false;
	}
	if (time_ns >= d->due_ns) {
		d->due_ns = time_ns + FIND_NS;
		if (space_find_file(sy->space, pid, jitdump_is_path, &d->maps, &m) &&
		    m.image != d->image)
			open_dump(sy, n, pid, &m);
	}
	return d->file != NULL;
}

static uint32_t code_function(struct symbols *sy, struct naming *n, uint64_t addr)
{
	const struct jitdump *dump = &n->dump->file->dump;
	const struct jitdump_code *code = jitdump_find(dump, addr);

	if (!code)
		return FUNCTION_NONE;
	return jit_named(sy, n, DUMP_NAME | code->name, strpool_get(dump->names, code->name));
}

uint32_t dumped_at(struct symbols *sy, struct naming *n, pid_t pid, uint64_t addr, uint64_t time_ns)
{
	if (!find_dump(sy, n, pid, time_ns))
		return FUNCTION_NONE;
	advance(sy, n, sy->timeless ? UINT64_MAX : time_ns, time_ns);
	return code_function(sy, n, addr);
}

uint32_t dumped_since(struct symbols *sy, struct naming *n, uint64_t addr)
{
	struct naming_dump *d = n->dump;
	uint32_t function;
	uint64_t *at;

	if (!d || !d->file)
		return FUNCTION_NONE;
	at = map_find(&d->known, addr);
	if (at)
		return (uint32_t)*at;
	function = code_function(sy, n, addr);
	if (function == FUNCTION_NONE)
		d->missed = true;
	else if (d->known.nr < DUMP_KNOWN_MAX)
		(void)map_set(&d->known, addr, function); /* else it may change with the code */
	return function;
}

bool dumped_refresh(struct symbols *sy, uint64_t now_ns)
{
	bool changed = false;

	for (size_t i = 0; i < sy->dumps.nr; i++) {
		struct naming *n = sy->namings.at[sy->dumps.at[i]];
		struct naming_dump *d = n->dump;

		if (!d->missed || !d->file || !advance(sy, n, d->file->until_ns, now_ns))
			continue;
		d->missed = false;
		changed = true;
	}
	return changed;
}
