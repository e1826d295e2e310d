/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop under both front ends: records, a refresh clock that nothing postpones, signals,
 * and keys. One pass works on records for 4 ms at most before it looks at the rest (20 where a
 * recording is read and nobody watches).
 */
#ifndef PTOP_LOOP_H
#define PTOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reason.h"
#include "session.h"

struct loop {
	int epoll_fd, signal_fd;
	struct session *session;
	int input_fd;                           /* -1: none, or at its end */
	uint64_t next_refresh_ns, next_tidy_ns; /* clock_ns() */
	uint64_t delay_ns;
	bool asked;           /* a refresh is due: what was sampled so far was asked for */
	uint64_t asked_at_ns; /* clock_ns() then */
	uint64_t asked_ns;    /* the session's time up to which it goes */
	bool busy, ended;
	int taken; /* events of signals that came while tidying, not told yet */
};

enum loop_event {
	LOOP_INPUT = 1 << 0,     /* input_fd is readable, or hung up */
	LOOP_REFRESH = 1 << 1,   /* all that was sampled before loop.asked_ns is stored: show it */
	LOOP_DEADLINE = 1 << 2,  /* the caller's time has come */
	LOOP_RESIZED = 1 << 3,   /* SIGWINCH */
	LOOP_STOP = 1 << 4,      /* SIGINT, SIGTERM, SIGHUP, SIGQUIT */
	LOOP_CONTINUED = 1 << 5, /* SIGCONT */
	LOOP_SUSPEND = 1 << 6,   /* SIGTSTP */
	LOOP_CHILD = 1 << 7,     /* SIGCHLD */
};

/* Blocks the signals it takes: call before the session starts threads. */
int loop_block_signals(void);

/* They end ptop again: while something may wait that nothing else could end. */
void loop_unblock_signals(void);

/* 0 or -errno with a sentence.  @input_fd: keys, or -1. */
int loop_init(struct loop *l, struct session *s, int input_fd, uint64_t first_refresh_ns,
	      uint64_t delay_ns, struct reason *why);
void loop_done(struct loop *l);

/* Waits for and returns what happened (enum loop_event).  @deadline_ns: 0 for none. */
int loop_wait(struct loop *l, uint64_t deadline_ns);

/* Another time between refreshes; the next one comes that long after the last. */
void loop_set_delay(struct loop *l, uint64_t delay_ns);

#endif
