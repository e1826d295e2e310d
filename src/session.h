/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a front end watches: this machine as it runs, or a recording of any machine, as one thing to
 * poll, ask and change.  Where records come from is a source (source.h); what becomes of them is
 * the pipeline, the same for both.  One thread.
 *
 * Times of a session are those of its records: CLOCK_MONOTONIC here, and whatever the recorder's
 * clock was in a recording.  Only session_ask() and session_pace() bring the two together.
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

struct cache;
struct loader;
struct source;

struct session_counts {
	uint64_t samples, lost, dropped, late, throttled;
};

/* How far the reading of a recording is. */
struct session_progress {
	uint64_t bytes, size; /* read, of; 0: size not known (a pipe) */
	uint64_t samples;
	double left_s; /* until the end, as it went so far; NAN: not known */
};

struct session { /* read freely; changed by session_ functions and sources only */
	const struct options *options;
	const struct source *source;
	void *of_source;
	struct pipeline *pipeline; /* the source's */
	struct loader *loader;
	struct loader *opener;         /* NULL: of a recording */
	struct debuginfod *debuginfod; /* NULL: nothing is downloaded */
	struct cache *cache;           /* NULL: none */
	struct command command;        /* .pid 0: none */
	struct notes notes;
	uint64_t start_ns;      /* sampling began */
	uint64_t start_unix_ns; /* the same moment by the wall clock; 0: not known */
	uint64_t ended_ns; /* the target was seen to be gone, or the recording's end; 0: not yet */
	uint8_t event;     /* the index that samples of the current event carry */
	char target[96];   /* "all CPUs", "mysqld[4242]", "perf.data of web1" */
	char target_name[64];     /* of the only process: "mysqld"; else "" */
	char host[65];            /* where it was sampled; "": not known */
	char machine[256];        /* what a recording tells of it, not scrubbed; "" */
	const char *command_line; /* that made the recording; NULL: not known, or live */
};

/* Opens and starts everything.  0, or -errno with a sentence (then nothing is left open). Borrows
 * @o. */
int session_open(struct session *s, const struct options *o, struct reason *why);
void session_close(struct session *s);

/* Whether it is a recording: nothing of it can be sampled otherwise than it was. */
bool session_recorded(const struct session *s);

/* Readable when records wait; -1: session_poll() tells when to come again. */
int session_fd(const struct session *s);

/* Readable when the loader or the opener has an answer: session_poll() takes it. */
int session_loader_fd(const struct session *s);

/*
 * A refresh is due: asks for all that belongs to it, and returns up to when that is (the end of the
 * window to show).  session_reached() will get there, or as near as it is going to, soon.
 */
uint64_t session_ask(struct session *s);

/* Takes in what is there, until clock_ns() is @until_ns at most.  True: there is more. */
bool session_poll(struct session *s, uint64_t until_ns);

/* Everything stamped before this time is stored. */
uint64_t session_reached(const struct session *s);

/*
 * Refreshes are to be @delay_ns of the session's time apart: how far apart that is by the clock (a
 * recording may be played faster, until its end).
 */
uint64_t session_pace(struct session *s, uint64_t delay_ns);

/* Whether the target is gone or the recording is at its end (then ended_ns says since when). */
bool session_ended(struct session *s);

/* True while a recording is being read. */
bool session_progress(const struct session *s, struct session_progress *ret);

/*
 * How it went with what was read, once it has ended: 0 and @why->text "", or a sentence; -EBADMSG
 * with a sentence where a recording is damaged.
 */
int session_verdict(const struct session *s, struct reason *why);

/* What the screen calls the present: "live", "ended", "recording", "playing 10x". */
const char *session_when(const struct session *s);

/* Each second at least: looks after the target, backs off when samples are lost, tidies. */
void session_tidy(struct session *s);

/* ptop itself was stopped for a while: what was lost meanwhile tells nothing of the machine. */
void session_resumed(struct session *s);

/*
 * Changes what is sampled; of a recording, which event is shown.  On failure nothing changed and
 * @why says why not.
 */
int session_change(struct session *s, const struct sampling *wanted, struct reason *why);
const struct sampling *session_sampling(const struct session *s);

/* The i-th event of a recording and the samples of it so far; NULL past the end, or live. */
const struct event *session_event(const struct session *s, size_t i, uint64_t *ret_samples);

uint32_t session_nr_cpus(const struct session *s); /* 0: not known */
/* The event of samples that carry index @i; NULL past the last. */
const struct event *session_held(const struct session *s, size_t i);

/* What is open, and the name of what a sampling of that serial samples; NULL of a recording. */
const struct sampler *session_sampler(const struct session *s);
const char *session_sampled(const struct session *s, uint32_t serial);

struct session_counts session_counts(const struct session *s);

/* Memory and CPU of ptop itself: nanoseconds used so far, bytes resident. */
uint64_t session_own_cpu_ns(const struct session *s);
uint64_t session_own_rss_bytes(void);

#endif
