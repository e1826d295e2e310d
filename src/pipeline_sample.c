/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One sample: whose it is, which events it counts for, its stack by callchain, registers or calls,
 * and into the store.
 */
#include <linux/perf_event.h>

#include "image/loader.h"
#include "pipeline_impl.h"
#include "recall.h"
#include "ring/trim.h"
#include "unwind/chain.h"

/* perf, where it unwinds a recording of what is carried here, never reads a copy's last word
 * (access_mem(), tools/perf/util/unwind-libunwind-local.c). */
#define WORD_MORE 8

/* A process whose mappings do not explain its samples. */
static void want_rescan(struct pipeline *pl, pid_t pid, uint64_t now_ns)
{
	if (pl->p->config.live)
		rescans_want(&pl->p->rescans, pid, now_ns);
}

/* Of a recording none is ptop's own, whatever their numbers. */
static bool is_own(const struct pipeline_config *c, pid_t pid)
{
	if (c->own_pid <= 0)
		return false;
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

/* Samples of a recording may not tell: those are of a task of their own. */
static uint32_t task_of(struct pipeline *pl, const struct record *r)
{
	bool told = r->sid.have & PERF_SAMPLE_TID;

	return space_task(pl->space, told ? (pid_t)r->sid.pid : SPACE_NOT_TOLD,
			  told ? (pid_t)r->sid.tid : SPACE_NOT_TOLD);
}

/* Stores a sample whose stack is known. */
static void store_sample(struct pipeline *pl, struct stored *s, enum stack_end end)
{
	pl->counts.ends[end]++;
	s->flags |= (uint8_t)(end << SAMPLE_END_SHIFT);
	if (s->stack == STACKS_FULL || store_add(pl->store, s))
		pl->counts.failed++;
}

/* Frames interned, under ptop's own outermost frame where the stack is not whole. */
static uint32_t stack_of(struct pipeline *pl, struct frame *frames, uint32_t nr, enum stack_end end)
{
	static const enum pseudo_frame frame_of[NR_STACK_ENDS] = {
		[STACK_CUT] = PSEUDO_CUT,
		[STACK_BROKEN] = PSEUDO_BROKEN,
		[STACK_DEEP] = PSEUDO_DEEP,
	};

	if (end != STACK_COMPLETE)
		frames[nr++] = (struct frame){ .image = IMAGE_PSEUDO, .offset = frame_of[end] };
	return stacks_add(pl->stacks, frames, nr);
}

void pipeline_store(struct pipeline *pl, struct stored *s, struct frame *frames, uint32_t nr,
		    enum stack_end end)
{
	s->stack = stack_of(pl, frames, nr, end);
	store_sample(pl, s, end);
}

static struct stored stored_of(struct pipeline *pl, const struct record *r)
{
	return (struct stored){
		.time_ns = r->sid.time_ns,
		.task = task_of(pl, r),
		.cpu = (uint16_t)r->sid.cpu,
		.flags = flags_of(pl, r),
	};
}

/* Stores the sample in hand for each event that it counts for. */
static void store_shares(struct pipeline *pl, struct stored *s, enum stack_end end)
{
	const struct sample_shares *shares = &pl->p->shares;

	for (uint64_t i = 0; i < shares->nr; i++) {
		s->event = (uint8_t)shares->at[i].event;
		s->weight = shares->at[i].weight;
		store_sample(pl, s, end);
	}
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
	bool by_chain;    /* of the record, and nothing else */
	bool wait;        /* for the image .waiting */
	uint32_t waiting;
};

static struct walked walk_chain(struct pipeline *pl, const struct record *r,
				const struct record_kind *kind)
{
	struct pipeline_private *p = pl->p;
	struct chain c = chain_walk(pl->space, r, p->config.max_stack, p->places, MAX_FRAMES);
	struct walked w = { .nr = c.nr, .end = STACK_COMPLETE, .by_chain = true };

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

/* A stack that is not told whole from not whole yet is parked until names are known. */
static void park_shares(struct pipeline *pl, struct stored *s, uint32_t nr, enum stack_end end)
{
	struct pipeline_private *p = pl->p;

	for (uint64_t i = 0; i < p->shares.nr; i++) {
		s->event = (uint8_t)p->shares.at[i].event;
		s->weight = p->shares.at[i].weight;
		if (park_add(&p->park, s, p->frames, nr) != 0)
			pipeline_store(pl, s, p->frames, nr, end);
	}
}

/* Whether the frames would be the same for the same chain later. */
static bool may_recall(struct pipeline *pl, uint32_t nr)
{
	const struct frame *frames = pl->p->frames;
	uint32_t last = IMAGE_UNKNOWN;

	if (frames[0].image == IMAGE_UNKNOWN)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		if (frames[i].image != last && symbols_place_moves(pl->symbols, frames[i].image))
			return false;
		last = frames[i].image;
	}
	return true;
}

static void take_sample(struct pipeline *pl, const struct record *r, const struct walked *w)
{
	struct pipeline_private *p = pl->p;
	struct stored s = stored_of(pl, r);
	enum stack_end end = w->end;
	enum entry_answer entry = ENTRY_YES;

	for (uint32_t i = 0; i < w->nr; i++)
		p->frames[i] = frame_of(pl, r, &p->places[i]);
	if (r->cpumode == CPUMODE_USER && p->frames[0].image == IMAGE_UNKNOWN)
		want_rescan(pl, (pid_t)r->sid.pid, r->sid.time_ns);
	if (w->entry_tells) {
		entry = pipeline_entry(pl, &p->frames[w->nr - 1]);
		end = entry == ENTRY_YES ? STACK_COMPLETE : STACK_BROKEN;
	}
	if (entry == ENTRY_UNSURE && !p->flushing) {
		park_shares(pl, &s, w->nr, end);
		return;
	}
	s.stack = stack_of(pl, p->frames, w->nr, end);
	store_shares(pl, &s, end);
	if (w->by_chain && entry != ENTRY_UNSURE && s.stack != STACKS_FULL && may_recall(pl, w->nr))
		recall_keep(pl->recall, &r->sample.callchain,
			    &(struct recalled){ .stack = s.stack, .end = (uint8_t)end });
}

/* Whether the stack of a sample with a callchain is known; it is stored then. */
static bool take_recalled(struct pipeline *pl, const struct record *r, uint32_t kind_index)
{
	struct recall_ground ground = {
		.mappings = space_generation(pl->space, (pid_t)r->sid.pid),
		.kind = kind_index,
		.cpumode = (uint8_t)r->cpumode,
	};
	uint32_t generation = symbols_generation(pl->symbols);
	struct recalled known;
	struct stored s;

	if (pl->p->recall_generation != generation) {
		recall_forget(pl->recall);
		pl->p->recall_generation = generation;
	}
	if (!recall_find(pl->recall, &ground, &r->sample.callchain, &known))
		return false;
	s = stored_of(pl, r);
	s.stack = known.stack;
	store_shares(pl, &s, known.end);
	return true;
}

void pipeline_shares(struct pipeline *pl, const struct record *r, const struct record_kind *kind)
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
	else if (take_recalled(pl, r, kind_index))
		return;
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
