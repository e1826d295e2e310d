/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "pipeline_impl.h"
#include "recall.h"
#include "record/decode.h"

#define RECORDS_A_LOOK 32 /* between two looks at the clock */
#define RESCANS_A_TIDY 8

static void on_image(void *ctx, uint32_t image, pid_t pid, uint64_t start, uint64_t end)
{
	struct pipeline *pl = ctx;
	const struct image_key *key = space_image(pl->space, image);
	struct image_sight sight;

	if (!key || key->kind == IMAGE_ANON)
		return;
	sight = (struct image_sight){
		.pid = pid,
		.start = start,
		.end = end,
		.path = space_string(pl->space, key->path),
		.maj = key->maj,
		.min = key->min,
		.ino = key->ino,
		.build_id = key->build_id,
		.build_id_size = key->build_id_size,
		.vdso = key->kind == IMAGE_VDSO,
	};
	images_see(pl->images, image, &sight);
}

void pipeline_glimpse(struct pipeline *pl, const void *bytes, uint32_t size, int kind)
{
	struct image_sight sight;
	struct record r;
	char path[4096];

	if (record_decode(&pl->p->kinds.at[kind].layout, bytes, size, &r) != 0 ||
	    !(r.mmap.prot & PROT_EXEC) || r.cpumode != CPUMODE_USER ||
	    r.mmap.filename.size >= sizeof(path))
		return;
	memcpy(path, r.mmap.filename.at, r.mmap.filename.size);
	path[r.mmap.filename.size] = '\0';
	sight = (struct image_sight){
		.pid = (pid_t)r.mmap.pid,
		.start = r.mmap.start,
		.end = r.mmap.start + r.mmap.len,
		.path = path,
		.maj = r.mmap.maj,
		.min = r.mmap.min,
		.ino = r.mmap.has_inode ? r.mmap.ino : 0,
	};
	images_glimpse(pl->images, &sight);
}

static void on_forget(void *ctx, uint32_t image)
{
	struct pipeline *pl = ctx;

	unwinder_forget(pl->p->unwinder, image);
	images_forget(pl->images, image);
	symbols_forget(pl->symbols, image);
	names_forget(pl->names);
	recall_forget(pl->recall);
}

int pipeline_init(struct pipeline *pl, const struct pipeline_config *c)
{
	*pl = (struct pipeline){ 0 };
	pl->p = calloc(1, sizeof(*pl->p));
	pl->order = order_new(c->nr_sources);
	pl->space = space_new();
	pl->images = images_new();
	pl->stacks = stacks_new();
	pl->store = store_new(c->history_bytes);
	pl->recall = recall_new();
	if (pl->space && pl->images)
		pl->symbols = symbols_new(pl->space, pl->images);
	if (pl->symbols && pl->stacks)
		pl->names = names_new(pl->symbols, pl->space, pl->stacks);
	if (pl->p && pl->images)
		pl->p->unwinder = unwinder_new(pl->images);
	if (!pl->p || !pl->p->unwinder || !pl->order || !pl->store || !pl->recall || !pl->names) {
		pipeline_done(pl);
		return -ENOMEM;
	}
	pl->p->config = *c;
	if (pl->p->config.max_stack > MAX_FRAMES)
		pl->p->config.max_stack = MAX_FRAMES;
	pl->p->machine = UNWIND_HERE;
	if (c->full_names)
		symbols_full_names(pl->symbols);
	images_use_loader(pl->images, c->loader);
	if ((c->opener && images_use_opener(pl->images, c->opener)) ||
	    (c->debuginfod && images_use_debuginfod(pl->images, c->debuginfod))) {
		pipeline_done(pl);
		return -ENOMEM;
	}
	images_use_cache(pl->images, c->cache);
	images_use_inlines(pl->images, c->inlined);
	if (c->live)
		space_on_image(pl->space, on_image, pl);
	space_on_forget(pl->space, on_forget, pl);
	return 0;
}

void pipeline_done(struct pipeline *pl)
{
	struct pipeline_private *p = pl->p;

	if (p)
		unwinder_free(p->unwinder);
	names_free(pl->names);
	symbols_free(pl->symbols);
	images_free(pl->images);
	space_free(pl->space);
	order_free(pl->order);
	store_free(pl->store);
	recall_free(pl->recall);
	stacks_free(pl->stacks);
	if (p) {
		vec_done(&p->kinds);
		park_done(&p->park);
		hold_done(&p->hold);
		rescans_done(&p->rescans);
		forget_done(&p->forget);
		free(p);
	}
	*pl = (struct pipeline){ 0 };
}

void pipeline_machine(struct pipeline *pl, enum unwind_machine machine)
{
	pl->p->machine = machine;
}

void pipeline_keep(struct pipeline *pl, const struct pipeline_sink *sink)
{
	pl->p->sink = sink ? *sink : (struct pipeline_sink){ 0 };
}

static bool same_kind(const struct record_kind *a, const struct record_kind *b)
{
	return a->event == b->event && a->weight == b->weight && a->no_user == b->no_user &&
	       a->side_band == b->side_band && a->layout.sample_type == b->layout.sample_type &&
	       a->layout.read_format == b->layout.read_format &&
	       a->layout.branch_sample_type == b->layout.branch_sample_type &&
	       a->layout.regs_user == b->layout.regs_user &&
	       a->layout.regs_intr == b->layout.regs_intr &&
	       a->layout.sample_id_all == b->layout.sample_id_all &&
	       a->layout.swap == b->layout.swap;
}

int pipeline_kind(struct pipeline *pl, const struct record_kind *kind)
{
	for (size_t i = 0; i < pl->p->kinds.nr; i++)
		if (same_kind(&pl->p->kinds.at[i], kind))
			return (int)i;
	if (vec_push(&pl->p->kinds, *kind))
		return -ENOMEM;
	return (int)pl->p->kinds.nr - 1;
}

void pipeline_push(struct pipeline *pl, uint32_t source, uint64_t time_ns, const void *bytes,
		   uint32_t size, int kind, struct lease *lease)
{
	if (order_push(pl->order, source, time_ns, bytes, size, (uint32_t)kind, lease))
		pl->counts.failed++;
}

static void take_record(struct pipeline *pl, const struct ordered *o)
{
	const struct record_kind *kind = &pl->p->kinds.at[o->tag];
	struct record r;

	pl->counts.records++;
	if (pl->p->sink.record)
		pl->p->sink.record(pl->p->sink.ctx, o->bytes, o->size, o->time_ns);
	if (record_decode(&kind->layout, o->bytes, o->size, &r)) {
		pl->counts.bad++;
		return;
	}
	switch (r.type) {
	case RECORD_SAMPLE:
		pl->counts.samples++;
		pipeline_shares(pl, &r, kind);
		pipeline_sample(pl, &r, o->bytes, o->tag);
		break;
	case RECORD_LOST:
	case RECORD_LOST_SAMPLES:
		if (kind->side_band && r.type == RECORD_LOST)
			pl->counts.lost_side_band += r.lost.lost;
		else
			pl->counts.lost += r.lost.lost;
		break;
	case RECORD_THROTTLE:
		pl->counts.throttled++;
		break;
	case RECORD_KSYMBOL:
		symbols_apply(pl->symbols, &r);
		break;
	default:
		space_apply(pl->space, &r);
		break;
	}
	if (pl->p->config.on_record)
		pl->p->config.on_record(pl->p->config.ctx, &r);
}

static void see_names(struct pipeline *pl, uint64_t now_ns)
{
	uint32_t generation;

	symbols_refresh(pl->symbols, now_ns);
	generation = symbols_generation(pl->symbols);
	if (generation == pl->p->park_generation)
		return;
	pl->p->park_generation = generation;
	wait_unpark(pl);
}

/* Takes what was read of images meanwhile, and has more read; false when nothing changed. */
static bool look_at_images(struct pipeline *pl, uint64_t now_ns, uint64_t until_ns)
{
	if (!images_work(pl->images, until_ns - now_ns))
		return false;
	wait_retry(pl);
	see_names(pl, now_ns);
	return true;
}

/* The next record that may be applied now. */
static bool next_record(struct pipeline *pl, struct ordered *ret)
{
	struct pipeline_private *p = pl->p;

	if (p->next.bytes)
		*ret = p->next;
	else if (p->config.next ? !p->config.next(p->config.ctx, ret) : !order_pop(pl->order, ret))
		return false;
	p->next = (struct ordered){ 0 };
	if (wait_admits(pl, ret))
		return true;
	p->next = *ret; /* in its place until there is asked again */
	return false;
}

bool pipeline_work(struct pipeline *pl, uint64_t until_ns)
{
	struct ordered o;
	uint64_t now;

	/* However many records there are, those that wait for the loader get their turn. */
	if (images_fd(pl->images) >= 0 && images_wanting(pl->images) &&
	    (pl->p->config.next || order_pending(pl->order))) {
		now = clock_ns();
		look_at_images(pl, now, until_ns > now ? until_ns : now);
	}
	while (!wait_full(pl)) {
		for (int i = 0; i < RECORDS_A_LOOK; i++) {
			if (!next_record(pl, &o))
				goto images;
			take_record(pl, &o);
		}
		if (clock_ns() >= until_ns)
			return true;
	}
images:
	/* A loader speaks unasked, too: its descriptor is readable until it was listened to. */
	while (images_wanting(pl->images) || images_fd(pl->images) >= 0) {
		now = clock_ns();
		if (now >= until_ns)
			return true;
		if (!look_at_images(pl, now, until_ns) && images_fd(pl->images) >= 0)
			break; /* the loader is at it */
	}
	return false;
}

bool pipeline_naming(const struct pipeline *pl)
{
	return images_wanting(pl->images) || pl->p->park.entries.nr || pl->p->hold.entries.nr;
}

void pipeline_tidy(struct pipeline *pl, uint64_t now_ns)
{
	struct pipeline_private *p = pl->p;
	pid_t wanting[RESCANS_A_TIDY];
	size_t nr = rescans_take(&p->rescans, wanting, RESCANS_A_TIDY);

	for (size_t i = 0; i < nr; i++)
		space_scan(pl->space, wanting[i], now_ns);
	see_names(pl, now_ns);
	if (p->sink.tidy)
		p->sink.tidy(p->sink.ctx, now_ns);
	forget(&p->forget, pl, &p->park, now_ns);
}

void pipeline_forget(struct pipeline *pl)
{
	struct pipeline_private *p = pl->p;

	/* What is held names its process and images by numbers that are looked up later. */
	if (!p->hold.entries.nr && !p->next.bytes)
		forget_recorded(&p->forget, pl, &p->park);
}
