/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples that wait: for rows to unwind by (held as records), for the name of their outermost
 * function (parked as frames).  What is held is unwound by what is mapped when the image has come;
 * so before a record changes that for their process, those samples must be out.  A mapping where
 * nothing was, and a new name, change nothing for them.
 */
#include <linux/perf_event.h>

#include "image/images.h"
#include "pipeline_impl.h"
#include "record/decode.h"

/* Parked samples whose outermost image is there now are stored. */
void wait_unpark(struct pipeline *pl)
{
	struct pipeline_private *p = pl->p;
	struct parked *at;
	size_t pos = 0;

	while ((at = park_next(&p->park, &pos))) {
		struct frame *frames = park_frames(&p->park, at);
		enum entry_answer entry = pipeline_entry(pl, &frames[at->nr - 1]);

		if (entry == ENTRY_UNSURE && !p->flushing)
			continue;
		pipeline_store(pl, &at->sample, frames, at->nr,
			       entry == ENTRY_YES ? STACK_COMPLETE : STACK_BROKEN);
		park_take(at);
	}
	park_pack(&p->park);
}

/* The rows of the image are not there yet. */
static bool still_waits(struct pipeline *pl, const struct held *e)
{
	const struct unwind_rule *rule;

	return !pl->p->flushing && images_rule(pl->images, e->waiting, 0, &rule) == -EAGAIN;
}

static bool all_wait(struct pipeline *pl)
{
	const struct hold *h = &pl->p->hold;

	for (size_t i = 0; i < h->entries.nr; i++)
		if ((!i || h->entries.at[i].waiting != h->entries.at[i - 1].waiting) &&
		    !still_waits(pl, &h->entries.at[i]))
			return false;
	return true;
}

/* Another attempt at what is held; where @pid is not 0, at all of that process and no other. */
static void retry(struct pipeline *pl, pid_t pid)
{
	struct pipeline_private *p = pl->p;
	struct hold round;
	struct record r;

	hold_take(&p->hold, &round);
	for (size_t i = 0; i < round.entries.nr; i++) {
		const struct held *e = &round.entries.at[i];
		const uint8_t *bytes = hold_bytes_of(&round, e);

		hold_shares_of(&round, e, &p->shares);
		if ((pid ? e->pid != pid : still_waits(pl, e)) &&
		    hold_add(&p->hold, bytes, e, &p->shares) == 0)
			continue;
		if (record_decode(&p->kinds.at[e->kind].layout, bytes, e->size, &r) == 0)
			pipeline_sample(pl, &r, bytes, e->kind);
	}
	hold_done(&round);
}

void wait_retry(struct pipeline *pl)
{
	if (!all_wait(pl))
		retry(pl, 0);
}

static pid_t process_of(const struct record *r)
{
	return (pid_t)(r->type == RECORD_COMM ? r->comm.pid : r->mmap.pid);
}

bool wait_admits(struct pipeline *pl, const struct ordered *o)
{
	struct pipeline_private *p = pl->p;
	struct record r;

	if (!p->hold.entries.nr ||
	    record_decode(&p->kinds.at[o->tag].layout, o->bytes, o->size, &r) != 0 ||
	    !space_replaces(pl->space, &r) || !hold_has(&p->hold, process_of(&r)))
		return true;
	if (p->config.patient && images_wanting(pl->images))
		return false;
	p->flushing = true;
	retry(pl, process_of(&r));
	p->flushing = false;
	return true;
}

bool wait_full(const struct pipeline *pl)
{
	const struct pipeline_private *p = pl->p;

	return p->config.patient && images_wanting(pl->images) &&
	       (p->hold.bytes.nr > HOLD_BYTES_MOST / 2 ||
		p->park.entries.nr > PARK_MAX_SAMPLES / 2 ||
		p->park.frames.nr > PARK_MAX_FRAMES / 2);
}

bool pipeline_crowded(const struct pipeline *pl)
{
	return pl->p->next.bytes || wait_full(pl);
}

void pipeline_flush(struct pipeline *pl)
{
	pl->p->flushing = true;
	wait_retry(pl);
	wait_unpark(pl);
	pl->p->flushing = false;
}
