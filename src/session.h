/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live session: the target, its open events, rings, lanes, readers and the pipeline behind them,
 * as one thing that a front end polls.  One thread.
 */
#ifndef PTOP_SESSION_H
#define PTOP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/notes.h"
#include "base/reason.h"
#include "command.h"
#include "event/sampler.h"
#include "options.h"
#include "pipeline.h"

struct session_counts {
	uint64_t samples, lost, dropped, late, throttled;
};

struct session { /* read freely; changed by session_ functions only */
	const struct options *options;
	struct pipeline pipeline;
	struct sampler *sampler;
	struct command command; /* .pid 0: none */
	struct notes notes;
	uint64_t start_ns;      /* sampling began */
	uint64_t start_unix_ns; /* the same moment by the wall clock */
	uint64_t ended_ns;      /* the target was seen to be gone; 0: it is there */
	char target[96];        /* "all CPUs", "mysqld[4242]" */
	char target_name[64];   /* of the only process: "mysqld"; else "" */
	struct session_private *p;
};

/* Opens and starts everything.  0, or -errno with a sentence (then nothing is left open). Borrows
 * @o. */
int session_open(struct session *s, const struct options *o, struct reason *why);
void session_close(struct session *s);

/* Readable when records wait. */
int session_fd(const struct session *s);

/* Readable when the loader has an answer: session_poll() takes it. */
int session_loader_fd(const struct session *s);

/* Asks for all that was sampled up to now: session_reached() will get there within a few ms. */
void session_nudge(struct session *s);

/* Takes in what is there, until @until_ns at most.  True: there is more. */
bool session_poll(struct session *s, uint64_t until_ns);

/* Everything stamped up to this time is stored. */
uint64_t session_reached(const struct session *s);

/* Whether the target is gone (then ended_ns says since when). */
bool session_ended(struct session *s, uint64_t now_ns);

/* Once a refresh: looks after the target, backs off when samples are lost, tidies. */
void session_tidy(struct session *s, uint64_t now_ns);

/* Changes what is sampled.  On failure nothing changed and @why says why not. */
int session_change(struct session *s, const struct sampling *wanted, struct reason *why);
const struct sampling *session_sampling(const struct session *s);
/* The index that samples of the current event carry, and names of all events so far. */
uint8_t session_event(const struct session *s);

struct session_counts session_counts(const struct session *s);

/* Memory and CPU of ptop itself: nanoseconds used so far, bytes resident. */
uint64_t session_own_cpu_ns(const struct session *s);
uint64_t session_own_rss_bytes(void);

#endif
