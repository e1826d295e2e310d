/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions of a front end, put to a session: adds names, groups and the measures that rows do not
 * hold.
 */
#ifndef PTOP_ASK_H
#define PTOP_ASK_H

#include "modules.h"
#include "profile/query.h"
#include "profile/timeline.h"
#include "session.h"
#include "view/ui.h"

struct asker {
	struct session *session;
	struct query_cache *cache;
	struct modules *modules; /* what is told of modules besides their samples */
	struct timeline timeline;
	uint64_t buckets[UI_TIMELINE]; /* of the last answer */
};

int asker_init(struct asker *a, struct session *s); /* 0 or -ENOMEM */
void asker_done(struct asker *a);

/* @ret is freed by answer_done(); @m (may be NULL) borrows from @a until the next call.  0 or
 * -ENOMEM. */
int ask(struct asker *a, const struct ui_question *q, struct answer *ret, struct ui_measure *m);

/* When the samples of a window from @from_ns begin: not before sampling did, nor before the oldest
 * sample held. */
uint64_t asker_from(const struct asker *a, uint64_t from_ns);

/* The kinds of samples that the command line leaves out of what is shown: SAMPLE_* bits. */
uint8_t asker_hide(const struct options *o);

/* CPUs that a weight and samples mean over @seconds; NAN where the event does not measure time. */
double asker_cpus(const struct asker *a, uint64_t weight, uint64_t samples, double seconds);

#endif
