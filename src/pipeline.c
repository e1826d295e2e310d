/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "image/loader.h"
#include "pipeline_impl.h"
#include "record/decode.h"
#include "ring/trim.h"
#include "unwind/chain.h"

/* perf, where it unwinds a recording of what is carried here, never reads a copy's last word
 * (access_mem(), tools/perf/util/unwind-libunwind-local.c). */
#define WORD_MORE 8
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
	if (pl->space && pl->images)
		pl->symbols = symbols_new(pl->space, pl->images);
	if (pl->symbols && pl->stacks)
		pl->names = names_new(pl->symbols, pl->space, pl->stacks);
	if (pl->p && pl->images)
		pl->p->unwinder = unwinder_new(pl->images);
	if (!pl->p || !pl->p->unwinder || !pl->order || !pl->store || !pl->names) {
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
		   uint32_t size, int kind)
{
	if (order_push(pl->order, source, time_ns, bytes, size, (uint64_t)kind))
		pl->counts.failed++;
}

/* A process whose mappings do not explain its samples. */
static void want_rescan(struct pipeline *pl, pid_t pid, uint64_t now_ns)
{
	if (pl->p->config.live)
		rescans_want(&pl->p->rescans, pid, now_ns);
}

static bool is_own(const struct pipeline_config *c, pid_t pid)
{
	return pid == c->own_pid || (c->loader && loader_is(c->loader, pid)) ||
	       (c->opener && loader_is(c->opener, pid));
}

static uint8_t flags_of(const struct pipeline *pl, const struct record *r)
{
	uint8_t flags = r->cpumode == CPUMODE_USER || r->cpumode == CPUMODE_GUEST_USER
				? SAMPLE_USER
				: SAMPLE_KERNEL;

	if (!(r->sid.have & PERF_SAMPLE_TID))
		return flags;
	if (r->sid.pid == 0 && r->sid.tid == 0)
		flags |= SAMPLE_IDLE;
	if (is_own(&pl->p->config, (pid_t)r->sid.pid))
		flags |= SAMPLE_OWN;
	return flags;
}

/* Stores a sample whose frames are known, under ptop's own outermost frame where the stack is not
 * whole. */
void pipeline_store(struct pipeline *pl, struct stored *s, struct frame *frames, uint32_t nr,
		    enum stack_end end)
{
	static const enum pseudo_frame frame_of[NR_STACK_ENDS] = {
		[STACK_CUT] = PSEUDO_CUT,
		[STACK_BROKEN] = PSEUDO_BROKEN,
		[STACK_DEEP] = PSEUDO_DEEP,
	};

	if (end != STACK_COMPLETE)
		frames[nr++] = (struct frame){ .image = IMAGE_PSEUDO, .offset = frame_of[end] };
	pl->counts.ends[end]++;
	s->flags |= (uint8_t)(end << SAMPLE_END_SHIFT);
	s->stack = stacks_add(pl->stacks, frames, nr);
	if (s->stack == STACKS_FULL || store_add(pl->store, s))
		pl->counts.failed++;
}

/* A kernel function without a name tells nothing, and gets the benefit of the doubt. */
enum entry_answer pipeline_entry(struct pipeline *pl, const struct frame *outermost)
{
	enum entry_answer entry = names_entry(pl->names, outermost->image, outermost->offset);

	return outermost->image == IMAGE_KERNEL && entry == ENTRY_UNSURE ? ENTRY_YES : entry;
}

/* A sample's stack as far as it is known now. */
struct walked {
	uint32_t nr; /* places written */
	enum stack_end end;
	bool entry_tells; /* the outermost function's name decides whether it is complete */
	bool wait;        /* for the image .waiting */
	uint32_t waiting;
};

static struct walked walk_chain(struct pipeline *pl, const struct record *r,
				const struct record_kind *kind)
{
	struct pipeline_private *p = pl->p;
	struct chain c = chain_walk(pl->space, r, p->config.max_stack, p->places, MAX_FRAMES);
	struct walked w = { .nr = c.nr, .end = STACK_COMPLETE };

	if (c.deep)
		w.end = STACK_DEEP;
	else if (c.broken)
		w.end = STACK_BROKEN;
	else
		w.entry_tells = (kind->layout.sample_type & PERF_SAMPLE_CALLCHAIN) &&
				!kind->no_user;
	return w;
}

/* Stacks of this thread need not be copied further than this one was read. */
static void tell_trim(struct trim *t, const struct record *r, const struct unwind_regs *regs,
		      const struct unwound *u)
{
	uint64_t sp = unwind_sp(regs);

	if (u->end == UNWIND_COMPLETE)
		trim_read_to(t, r->sid.tid, sp + u->read_bytes + WORD_MORE);
	else if (u->end != UNWIND_WAIT && u->end != UNWIND_DEEP)
		trim_ended(t, r->sid.tid, sp + ((r->sample.stack.bytes.size + 7) & ~7u));
}

/* The kernel's part by its chain, the user's by registers and stack. */
static struct walked walk_stack(struct pipeline *pl, const struct record *r)
{
	static const enum stack_end ends[] = {
		[UNWIND_COMPLETE] = STACK_COMPLETE, [UNWIND_CUT] = STACK_CUT,
		[UNWIND_BROKEN] = STACK_BROKEN,     [UNWIND_DEEP] = STACK_DEEP,
		[UNWIND_WAIT] = STACK_BROKEN,
	};
	struct pipeline_private *p = pl->p;
	struct walked w = { .end = STACK_COMPLETE };
	struct unwind_regs regs;
	struct unwound u;

	if (r->cpumode == CPUMODE_KERNEL && r->sample.callchain.nr)
		w.nr = chain_walk(pl->space, r, UINT32_MAX, p->places, MAX_FRAMES / 2).nr;
	if (!unwind_regs_of(&r->sample.user, p->machine, &regs)) {
		pl->counts.narrow += r->sample.user.abi == PERF_SAMPLE_REGS_ABI_32;
		if (r->sample.user.abi == 0 && w.nr)
			return w; /* a kernel thread: it has no other stack */
		if (!w.nr)
			w.nr = chain_walk(pl->space, r, UINT32_MAX, p->places, MAX_FRAMES).nr;
		w.end = STACK_BROKEN;
		return w;
	}
	u = unwind_user(p->unwinder, pl->space, (pid_t)r->sid.pid, &regs, &r->sample.stack.bytes,
			p->places + w.nr, MAX_FRAMES - w.nr);
	if (p->config.trim)
		tell_trim(p->config.trim, r, &regs, &u);
	w.nr += u.nr;
	w.end = ends[u.end];
	w.wait = u.end == UNWIND_WAIT;
	w.waiting = u.waiting;
	return w;
}

bool pipeline_unwind(struct pipeline *pl, const struct record *r, struct place *places,
		     uint32_t max, struct unwound *ret)
{
	struct unwind_regs regs;

	if (!unwind_regs_of(&r->sample.user, pl->p->machine, &regs))
		return false;
	*ret = unwind_user(pl->p->unwinder, pl->space, (pid_t)r->sid.pid, &regs,
			   &r->sample.stack.bytes, places, max);
	if (ret->end == UNWIND_WAIT)
		images_want(pl->images, ret->waiting);
	return true;
}

/* The kernel's part by its chain, the user's by the calls that the processor recorded. */
static struct walked walk_calls(struct pipeline *pl, const struct record *r)
{
	struct pipeline_private *p = pl->p;
	bool user = r->cpumode == CPUMODE_USER;
	struct walked w = { .end = STACK_CUT }; /* it may have kept no more */
	struct place *outermost;

	if (!user && r->sample.callchain.nr)
		w.nr = chain_walk(pl->space, r, UINT32_MAX, p->places, MAX_FRAMES / 2).nr;
	w.nr += chain_calls(pl->space, r, user, p->places + w.nr, MAX_FRAMES - w.nr);
	if (!w.nr)
		w.nr = chain_walk(pl->space, r, UINT32_MAX, p->places, MAX_FRAMES).nr;
	outermost = &p->places[w.nr - 1];
	if (outermost->image == IMAGE_KERNEL ||
	    names_entry(pl->names, outermost->image, outermost->offset) == ENTRY_YES)
		w.end = STACK_COMPLETE;
	return w;
}

static struct frame frame_of(struct pipeline *pl, const struct record *r, const struct place *at)
{
	struct frame f = { .image = at->image, .offset = at->offset };

	if (f.image == IMAGE_KERNEL)
		f.offset = names_kernel_place(pl->names, f.offset);
	else if (f.image >= IMAGE_FIRST)
		f.offset = symbols_place(pl->symbols, (pid_t)r->sid.pid, f.image, f.offset,
					 r->sid.time_ns);
	return f;
}

/* Samples of a recording may not tell: those are of a task of their own. */
static uint32_t task_of(struct pipeline *pl, const struct record *r)
{
	bool told = r->sid.have & PERF_SAMPLE_TID;

	return space_task(pl->space, told ? (pid_t)r->sid.pid : SPACE_NOT_TOLD,
			  told ? (pid_t)r->sid.tid : SPACE_NOT_TOLD);
}

static void take_sample(struct pipeline *pl, const struct record *r, const struct walked *w)
{
	struct pipeline_private *p = pl->p;
	enum stack_end end = w->end;
	enum entry_answer entry;
	bool unsure = false;
	struct stored s = {
		.time_ns = r->sid.time_ns,
		.task = task_of(pl, r),
		.cpu = (uint16_t)r->sid.cpu,
		.flags = flags_of(pl, r),
	};

	for (uint32_t i = 0; i < w->nr; i++)
		p->frames[i] = frame_of(pl, r, &p->places[i]);
	if (r->cpumode == CPUMODE_USER && p->frames[0].image == IMAGE_UNKNOWN)
		want_rescan(pl, (pid_t)r->sid.pid, r->sid.time_ns);
	if (w->entry_tells) {
		entry = pipeline_entry(pl, &p->frames[w->nr - 1]);
		unsure = entry == ENTRY_UNSURE && !p->flushing;
		end = entry == ENTRY_YES ? STACK_COMPLETE : STACK_BROKEN;
	}
	for (uint64_t i = 0; i < p->shares.nr; i++) {
		s.event = (uint8_t)p->shares.at[i].event;
		s.weight = p->shares.at[i].weight;
		if (!unsure || park_add(&p->park, &s, p->frames, w->nr) != 0)
			pipeline_store(pl, &s, p->frames, w->nr, end);
	}
}

static void decide_shares(struct pipeline *pl, const struct record *r,
			  const struct record_kind *kind)
{
	struct pipeline_private *p = pl->p;

	p->shares.nr = 1;
	p->shares.at[0].event = kind->event;
	p->shares.at[0].weight = r->sample.period ? r->sample.period
				 : kind->weight   ? kind->weight
						  : 1;
	if (p->config.on_counts && (kind->layout.sample_type & PERF_SAMPLE_READ))
		p->config.on_counts(p->config.ctx, r, kind->event, &p->shares);
}

/* Unwinds and stores a sample, or holds its record until an image is there. */
void pipeline_sample(struct pipeline *pl, const struct record *r, const void *bytes,
		     uint32_t kind_index)
{
	struct pipeline_private *p = pl->p;
	const struct record_kind *kind = &p->kinds.at[kind_index];
	struct held held;
	struct walked w;

	if (kind->layout.sample_type & PERF_SAMPLE_STACK_USER)
		w = walk_stack(pl, r);
	else if (layout_has_calls(&kind->layout))
		w = walk_calls(pl, r);
	else
		w = walk_chain(pl, r, kind);
	held = (struct held){
		.size = r->size, .kind = kind_index, .waiting = w.waiting, .pid = (pid_t)r->sid.pid
	};
	if (w.wait && !p->flushing && hold_add(&p->hold, bytes, &held, &p->shares) == 0) {
		images_want(pl->images, w.waiting);
		return;
	}
	take_sample(pl, r, &w);
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
		decide_shares(pl, &r, kind);
		pipeline_sample(pl, &r, o->bytes, (uint32_t)o->tag);
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
	else if (!order_pop(pl->order, ret))
		return false;
	p->next = (struct ordered){ 0 };
	if (wait_admits(pl, ret))
		return true;
	p->next = *ret; /* in its place until the order is asked again */
	return false;
}

bool pipeline_work(struct pipeline *pl, uint64_t until_ns)
{
	struct ordered o;
	uint64_t now;

	/* However many records there are, those that wait for the loader get their turn. */
	if (images_fd(pl->images) >= 0 && images_wanting(pl->images) && order_pending(pl->order)) {
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
