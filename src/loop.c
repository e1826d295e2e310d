/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A refresh comes in two steps.  When its time has come the session is asked for all that belongs
 * to it; once all of that is stored (or 100 ms later, on a machine in trouble) the caller is told
 * to show it.  What a refresh shows ends where everything was stored, never later: the next one
 * begins there.  The clock of refreshes is a grid: a late one does not shift those after it.
 */
#include "loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"

#define SLICE_NS (4 * NS_PER_MS)
#define LONG_SLICE_NS (20 * NS_PER_MS)
#define PATIENCE_NS (100 * NS_PER_MS)
#define TIDY_NS NS_PER_S
/* What was sampled less than this before a refresh may still be under way. */
#define SLACK_NS (2 * NS_PER_MS)

enum { FROM_SESSION, FROM_SIGNAL, FROM_INPUT };

static const struct {
	int signal;
	int event;
} signals[] = {
	{ SIGWINCH, LOOP_RESIZED }, { SIGINT, LOOP_STOP },   { SIGTERM, LOOP_STOP },
	{ SIGHUP, LOOP_STOP },      { SIGQUIT, LOOP_STOP },  { SIGCONT, LOOP_CONTINUED },
	{ SIGTSTP, LOOP_SUSPEND },  { SIGCHLD, LOOP_CHILD },
};
#define NR_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static void signal_mask(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < NR_SIGNALS; i++)
		sigaddset(set, signals[i].signal);
}

int loop_block_signals(void)
{
	sigset_t set;

	signal_mask(&set);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		return -errno;
	return 0;
}

void loop_unblock_signals(void)
{
	sigset_t set;

	signal_mask(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int add(struct loop *l, int fd, uint32_t from)
{
	/* A pipe may hold more than is wanted now: it wakes only when it got something. */
	bool edge = fd == session_fd(l->session) && session_recorded(l->session);
	struct epoll_event e = { .events = EPOLLIN | (edge ? EPOLLET : 0u), .data.u32 = from };

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int loop_init(struct loop *l, struct session *s, int input_fd, uint64_t first_refresh_ns,
	      uint64_t delay_ns, struct reason *why)
{
	sigset_t set;
	int err;

	*l = (struct loop){
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
		.signal_fd = -1,
		.session = s,
		.input_fd = input_fd,
		.next_refresh_ns = first_refresh_ns,
		.next_tidy_ns = clock_ns() + TIDY_NS,
		.delay_ns = delay_ns,
		.busy = true,
	};
	signal_mask(&set);
	if (l->epoll_fd >= 0)
		l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->signal_fd < 0) {
		err = -errno;
		goto failed;
	}
	err = add(l, l->signal_fd, FROM_SIGNAL);
	if (!err && session_fd(s) >= 0)
		err = add(l, session_fd(s), FROM_SESSION);
	if (!err)
		err = add(l, session_loader_fd(s), FROM_SESSION);
	if (!err && input_fd >= 0)
		err = add(l, input_fd, FROM_INPUT);
	if (!err)
		return 0;
failed:
	loop_done(l);
	return reason_set(why, err, "cannot set up the event loop: %s", strerror(-err));
}

void loop_done(struct loop *l)
{
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	if (l->signal_fd >= 0)
		close(l->signal_fd);
	l->epoll_fd = l->signal_fd = -1;
}

static int take_signals(struct loop *l)
{
	struct signalfd_siginfo info;
	int events = 0;

	while (read(l->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		for (size_t i = 0; i < NR_SIGNALS; i++)
			if ((int)info.ssi_signo == signals[i].signal)
				events |= signals[i].event;
	if (events & LOOP_CONTINUED)
		session_resumed(l->session);
	return events;
}

/* A recording does not run away: each of its refreshes is whole. */
static uint64_t slack(const struct loop *l)
{
	return session_recorded(l->session) ? 0 : SLACK_NS;
}

/* When a refresh that was asked for is shown whatever is stored. */
static uint64_t patience_ends(const struct loop *l)
{
	return session_recorded(l->session) ? UINT64_MAX : l->asked_at_ns + PATIENCE_NS;
}

/* Milliseconds to sleep, rounded up; 0 when work is waiting. */
static int sleep_ms(const struct loop *l, uint64_t now_ns, uint64_t deadline_ns)
{
	uint64_t until = l->asked ? patience_ends(l) : l->next_refresh_ns;

	if (l->busy)
		return 0;
	if (l->next_tidy_ns < until)
		until = l->next_tidy_ns;
	if (deadline_ns && deadline_ns < until)
		until = deadline_ns;
	if (until <= now_ns)
		return 0;
	until -= now_ns;
	return until > 3600 * NS_PER_S ? 3600000 : (int)((until + NS_PER_MS - 1) / NS_PER_MS);
}

static void tidy(struct loop *l, uint64_t now_ns)
{
	/* Stopped meanwhile: the session has to know before it judges what came. */
	l->taken |= take_signals(l);
	session_tidy(l->session);
	l->next_tidy_ns = now_ns + TIDY_NS;
}

/* Works on records for a while; a recording that nobody watches can be read in longer stretches. */
static bool work(struct loop *l)
{
	bool watched = l->input_fd >= 0 || !session_recorded(l->session);

	return session_poll(l->session, clock_ns() + (watched ? SLICE_NS : LONG_SLICE_NS));
}

/* The two steps of a refresh; true at the end of the second. */
static bool refresh_due(struct loop *l, uint64_t now_ns)
{
	uint64_t reached;

	if (!l->asked && now_ns >= l->next_refresh_ns) {
		l->asked = true;
		l->asked_at_ns = now_ns;
		l->asked_ns = session_ask(l->session);
		l->busy = work(l);
	}
	if (!l->asked)
		return false;
	reached = session_reached(l->session);
	if ((l->busy || reached + slack(l) < l->asked_ns) && now_ns < patience_ends(l))
		return false;
	l->asked = false;
	if (reached < l->asked_ns)
		l->asked_ns = reached;
	while (l->next_refresh_ns <= now_ns)
		l->next_refresh_ns += l->delay_ns;
	tidy(l, now_ns);
	return true;
}

/* The end of a recording is shown at once. */
static void see_end(struct loop *l, uint64_t now_ns)
{
	if (l->ended || !session_recorded(l->session) || !session_ended(l->session))
		return;
	l->ended = true;
	l->next_refresh_ns = now_ns;
	if (l->asked)
		l->asked_ns = l->session->ended_ns;
}

int loop_wait(struct loop *l, uint64_t deadline_ns)
{
	struct epoll_event ready[4];
	uint64_t now;
	int events = 0, nr;

	for (;;) {
		nr = epoll_wait(l->epoll_fd, ready, 4, sleep_ms(l, clock_ns(), deadline_ns));
		for (int i = 0; i < nr; i++) {
			if (ready[i].data.u32 == FROM_SIGNAL)
				events |= take_signals(l);
			else if (ready[i].data.u32 == FROM_INPUT)
				events |= LOOP_INPUT;
			else
				l->busy = true;
		}
		if (l->busy)
			l->busy = work(l);
		now = clock_ns();
		see_end(l, now);
		if (refresh_due(l, now))
			events |= LOOP_REFRESH;
		else if (now >= l->next_tidy_ns)
			tidy(l, now);
		if (deadline_ns && now >= deadline_ns)
			events |= LOOP_DEADLINE;
		events |= l->taken;
		l->taken = 0;
		if (events)
			return events;
	}
}

void loop_set_delay(struct loop *l, uint64_t delay_ns)
{
	uint64_t last = l->next_refresh_ns - l->delay_ns;

	l->delay_ns = delay_ns;
	l->next_refresh_ns = last + delay_ns;
}
