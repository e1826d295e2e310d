/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main process's side.  Requests wait in order of sending.  One that failed stays in its place,
 * with the reason, until it is taken.  A worker is
 * there to be used from the moment when the order for it is sent: its socket holds what it is going
 * to read.
 */
#include "image/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "image/loader_child.h"
#include "image/loader_reply.h"
#include "image/loader_sandbox.h"

#define SECOND UINT64_C(1000000000)
#define DEADLINE_NS (2 * SECOND)
/* Waiting for a CPU does not count, up to so many deadlines. */
#define STARVED_MAX 15u
/* For the keeper to be there at start, and for a worker to say that it is. */
#define START_NS (5 * SECOND)
/* A worker gives back the memory of files it keeps open when it has nothing to do for so long. */
#define WORKER_IDLE_S 5
#define LOOK_AGAIN_NS (SECOND / 10)
/* So many workers may be replaced at once, then one in each interval. */
#define REPLACE_BURST 8u
#define REPLACE_INTERVAL_NS (SECOND / 2)
/* Workers in a row that died before they began anything. */
#define STILLBORN_MAX 5u

struct loader {
	pid_t keeper;
	int keeper_fd, worker_fd; /* -1: none */
	int epoll_fd, timer_fd;
	uint64_t deadline_ns;
	struct flight flights[LOADER_IN_FLIGHT_MAX]; /* oldest first */
	unsigned nr;
	bool ready, active; /* the worker has spoken; has begun something */
	bool tainted;       /* it was given a foreign file */
	bool gone;          /* no keeper, no worker any more */
	unsigned stillborn;
	pid_t worker;
	uint64_t since_ns;   /* the worker is at what it does */
	uint64_t cpu_ns;     /* its CPU time then */
	uint64_t replace_ns; /* no earlier than REPLACE_BURST intervals before that */
	uint64_t armed_ns;   /* the timer; 0: not */
	uint64_t serial, replaced;
	struct reason weakness;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static int watch(struct loader *l, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static void drop(struct loader *l, int *fd)
{
	if (*fd < 0)
		return;
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

/* The request that the worker is at; NULL: none. */
static struct flight *current(struct loader *l)
{
	for (unsigned i = 0; i < l->nr; i++) {
		if (l->flights[i].begun)
			return &l->flights[i];
	}
	return NULL;
}

/* CPU time of a process; 0 where that is not told. */
static uint64_t cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Whether a process would run if it had a CPU: the state 'R' of proc(5), /proc/PID/stat. */
bool loader_is(const struct loader *l, pid_t pid)
{
	return pid > 0 && (pid == l->keeper || pid == l->worker);
}

pid_t loader_keeper_pid(const struct loader *l)
{
	return l->keeper;
}

uint64_t loader_cpu_ns(const struct loader *l)
{
	return cpu_ns(l->keeper) + cpu_ns(l->worker);
}

static bool is_runnable(pid_t pid)
{
	char name[64], text[256] = { 0 };
	const char *state;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	state = strrchr(text, ')');
	return state != NULL && strncmp(state, ") R", 3) == 0;
}

/* How long the worker may be silent now; 0: for ever. */
static uint64_t patience_ns(struct loader *l)
{
	if (current(l) != NULL)
		return l->deadline_ns;
	for (unsigned i = 0; i < l->nr; i++) {
		if (l->flights[i].sent)
			return START_NS;
	}
	return 0;
}

static void lose_all(struct loader *l)
{
	drop(l, &l->worker_fd);
	drop(l, &l->keeper_fd);
	l->gone = true;
	for (unsigned i = 0; i < l->nr; i++) {
		struct flight *f = &l->flights[i];

		if (f->err == 0)
			f->err = reason_set(&f->why, -EPIPE,
					    "the loader process is gone; start ptop anew");
	}
}

/* The worker died or must die.  Only the request that it was at has failed. */
static void lose_worker(struct loader *l, int err, const struct reason *why)
{
	struct flight *f = current(l);

	drop(l, &l->worker_fd);
	l->replaced++;
	l->stillborn = l->active ? 0 : l->stillborn + 1;
	if (f != NULL) {
		f->err = err;
		f->why = *why;
	}
	for (unsigned i = 0; i < l->nr; i++)
		l->flights[i].sent = l->flights[i].begun = false;
	if (l->stillborn == STILLBORN_MAX)
		lose_all(l);
}

/* When the next worker may be made. */
static uint64_t may_replace_ns(const struct loader *l)
{
	const uint64_t burst = (REPLACE_BURST - 1) * REPLACE_INTERVAL_NS;

	return l->replace_ns > burst ? l->replace_ns - burst : 0;
}

/* Orders a worker.  Where the keeper has no ear for it now it is tried again later. */
static void make_worker(struct loader *l, uint64_t now)
{
	struct timeval idle = { .tv_sec = WORKER_IDLE_S };
	struct keeper_order order = { .magic = LOADER_MAGIC };
	int ends[2], err;

	l->replace_ns = (l->replace_ns > now ? l->replace_ns : now) + REPLACE_INTERVAL_NS;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return;
	setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
	err = loader_put(l->keeper_fd, &order, sizeof(order), &ends[1], 1);
	close(ends[1]);
	if (err == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
		err = -EAGAIN;
	if (err == 0)
		err = watch(l, ends[0]);
	if (err != 0) {
		close(ends[0]);
		if (err == -EPIPE || err == -ECONNRESET)
			lose_all(l);
		return;
	}
	l->worker_fd = ends[0];
	l->ready = l->active = l->tainted = false;
	l->since_ns = now;
}

/* Gives the worker all that it has not got.  What its socket does not take is tried again. */
static void send_waiting(struct loader *l, uint64_t now)
{
	for (unsigned i = 0; i < l->nr && l->worker_fd >= 0; i++) {
		struct flight *f = &l->flights[i];
		struct worker_request r = {
			.magic = LOADER_MAGIC,
			.what = f->request.what,
			.serial = f->serial,
			.nr_places = f->request.nr_places,
			.order = f->order,
		};
		bool idle = l->ready && patience_ns(l) == 0;

		if (f->sent || f->err != 0)
			continue;
		memcpy(r.places, f->request.places, sizeof(r.places));
		if (loader_put(l->worker_fd, &r, sizeof(r), f->request.fds, f->request.nr_fds) != 0)
			break;
		f->sent = true;
		f->clean = !l->tainted;
		l->tainted |= f->request.foreign;
		if (idle)
			l->since_ns = now;
	}
}

static void push_on(struct loader *l, uint64_t now)
{
	if (l->gone || l->nr == 0)
		return;
	if (l->worker_fd < 0 && now >= may_replace_ns(l))
		make_worker(l, now);
	send_waiting(l, now);
}

/* The timer goes off when something is due; one that goes off early is set anew. */
static void arm(struct loader *l, uint64_t now)
{
	uint64_t due = now;

	if (l->nr == 0)
		return;
	if (l->gone)
		due = 1; /* all have failed: to be taken at once */
	else if (l->worker_fd < 0)
		due = may_replace_ns(l);
	else if (patience_ns(l) != 0)
		due = l->since_ns + patience_ns(l);
	/* What could not be done now, and who is late for want of a CPU, is looked at again. */
	if (due <= now && !l->gone)
		due = now + LOOK_AGAIN_NS;
	if (l->armed_ns != 0 && l->armed_ns <= due)
		return;
	struct itimerspec at = {
		.it_value = { .tv_sec = (time_t)(due / SECOND), .tv_nsec = (long)(due % SECOND) },
	};
	if (timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0)
		l->armed_ns = due;
}

static void close_flight(struct loader *l, unsigned i)
{
	loader_close_fds(l->flights[i].request.fds, l->flights[i].request.nr_fds);
	l->nr--;
	memmove(&l->flights[i], &l->flights[i + 1], (l->nr - i) * sizeof(l->flights[0]));
}

static bool take_failed(struct loader *l, struct loader_answer *ret)
{
	for (unsigned i = 0; i < l->nr; i++) {
		const struct flight *f = &l->flights[i];

		if (f->err == 0)
			continue;
		*ret = (struct loader_answer){
			.what = f->request.what,
			.image = f->request.image,
			.serial = f->serial,
			.err = f->err,
			.harmed = f->err != -EPIPE,
			.why = f->why,
			.fd = -1,
		};
		close_flight(l, i);
		return true;
	}
	return false;
}

/* The request that a message answers; l->nr where it answers none. */
static unsigned answered(const struct loader *l, const struct worker_message *m)
{
	unsigned i = 0;

	while (i < l->nr &&
	       !(l->flights[i].sent && l->flights[i].err == 0 && l->flights[i].serial == m->serial))
		i++;
	return i;
}

/* A message without an answer, which a worker may say now; false: anything else. */
static bool hear_progress(struct loader *l, const struct worker_message *m, uint64_t now)
{
	unsigned i = answered(l, m);

	if (m->magic != LOADER_MAGIC)
		return false;
	if (m->says == WORKER_READY && !l->ready) {
		l->ready = true;
		l->worker = m->serial <= INT32_MAX ? (pid_t)m->serial : 0;
	} else if (m->says == WORKER_BEGINS && l->ready && i < l->nr && current(l) == NULL) {
		l->flights[i].begun = l->active = true;
		l->cpu_ns = cpu_ns(l->worker);
		l->stillborn = 0;
	} else {
		return false;
	}
	l->since_ns = now;
	return true;
}

/* One message of the worker.  1: @ret is an answer; 0: nothing more now; -EAGAIN: go on. */
static int hear(struct loader *l, struct loader_answer *ret, uint64_t now)
{
	struct worker_message m;
	struct reason why = { 0 };
	unsigned nr_fds = 0, i;
	int fds[LOADER_FDS_MAX];
	int got = loader_get(l->worker_fd, &m, sizeof(m), fds, LOADER_FDS_MAX, &nr_fds);

	if (got == -EAGAIN || got == -EINTR)
		return 0;
	if (got == 0) {
		reason_set(&why, 0, "the loader crashed on this file");
		lose_worker(l, -EFAULT, &why);
		return -EAGAIN;
	}
	if (got == 1 && nr_fds == 0 && hear_progress(l, &m, now))
		return -EAGAIN;
	i = got == 1 ? answered(l, &m) : l->nr;
	if (i < l->nr && l->flights[i].begun &&
	    loader_reply(&l->flights[i], &m, fds, nr_fds, ret) == 0) {
		ret->took_ns = now - l->since_ns;
		ret->clean = l->flights[i].clean;
		if (ret->fd >= 0 && !(l->flights[i].request.keep && ret->clean)) {
			close(ret->fd);
			ret->fd = -1;
		}
		close_flight(l, i);
		l->since_ns = now;
		return 1;
	}
	if (got == 1)
		loader_close_fds(fds, nr_fds);
	reason_set(&why, 0, "the loader gave a damaged answer on this file");
	lose_worker(l, -EBADMSG, &why);
	return -EAGAIN;
}

/* Whether the worker is at one file for too long, not for want of a CPU: a profiler's machine is
 * busy. */
static bool is_late(struct loader *l, uint64_t now)
{
	uint64_t most = patience_ns(l), silent = now - l->since_ns;

	if (most == 0 || silent < most)
		return false;
	if (current(l) == NULL || silent / STARVED_MAX >= most)
		return true;
	return cpu_ns(l->worker) - l->cpu_ns >= most / 10 * 9 || !is_runnable(l->worker);
}

static void watch_deadline(struct loader *l, uint64_t now)
{
	struct reason why = { 0 };

	if (l->worker_fd < 0 || !is_late(l, now))
		return;
	reason_set(&why, 0, "reading it took more than %.3g s", (double)l->deadline_ns / 1e9);
	lose_worker(l, -ETIMEDOUT, &why);
}

/* The keeper says nothing more: whatever comes is its end. */
static void watch_keeper(struct loader *l)
{
	char byte;
	ssize_t got = recv(l->keeper_fd, &byte, 1, MSG_DONTWAIT);

	if (got >= 0 || (errno != EAGAIN && errno != EINTR))
		lose_all(l);
}

bool loader_take(struct loader *l, struct loader_answer *ret)
{
	uint64_t now = now_ns(), expirations;
	int heard = -EAGAIN;

	if (l->armed_ns != 0 && now >= l->armed_ns) {
		if (read(l->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
			lose_all(l);
		l->armed_ns = 0;
	}
	if (take_failed(l, ret))
		return true;
	if (l->gone)
		return false;
	while (heard == -EAGAIN && l->worker_fd >= 0)
		heard = hear(l, ret, now);
	if (heard == 1)
		return true;
	if (!l->gone)
		watch_keeper(l);
	watch_deadline(l, now);
	push_on(l, now);
	if (take_failed(l, ret))
		return true;
	arm(l, now);
	return false;
}

bool loader_has_room(const struct loader *l)
{
	return l->nr < LOADER_IN_FLIGHT_MAX || l->gone;
}

int loader_send(struct loader *l, const struct loader_request *r, uint64_t *ret_serial)
{
	uint64_t now = now_ns();
	struct flight *f;

	if (l->gone || l->nr == LOADER_IN_FLIGHT_MAX ||
	    (r->nr_fds == 0 && r->what != OPENER_FILE && r->what != OPENER_WHERE) ||
	    r->nr_fds > LOADER_FDS_MAX || r->nr_places > LOADER_PLACES_MAX) {
		loader_close_fds(r->fds, r->nr_fds);
		return l->gone ? -EPIPE : l->nr == LOADER_IN_FLIGHT_MAX ? -EAGAIN : -EINVAL;
	}
	f = &l->flights[l->nr++];
	*f = (struct flight){ .request = *r, .serial = ++l->serial };
	if (r->order != NULL)
		f->order = *r->order;
	f->request.order = NULL;
	*ret_serial = f->serial;
	if (r->keep && l->tainted && l->nr == 1 && now >= may_replace_ns(l))
		drop(l, &l->worker_fd);
	push_on(l, now);
	arm(l, now);
	return 0;
}

/* The keeper's first word: what protection it has not got. */
static int await_hello(struct loader *l, struct reason *why)
{
	struct timeval most = { .tv_sec = START_NS / SECOND };
	struct keeper_hello hello;
	unsigned nr_fds;
	int fd, got;

	setsockopt(l->keeper_fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	do {
		got = loader_get(l->keeper_fd, &hello, sizeof(hello), &fd, 0, &nr_fds);
	} while (got == -EINTR);
	if (got != 1 || hello.magic != LOADER_MAGIC)
		return reason_set(why, got < 0 ? got : -EPIPE, "the loader process did not start");
	if ((hello.missing & SANDBOX_OFF) != 0)
		reason_set(&l->weakness, 0, "files are read without protection, as asked for");
	else if (hello.missing != 0)
		reason_set(&l->weakness, 0, "files are read with less protection: no%s%s%s",
			   (hello.missing & SANDBOX_USER) != 0 ? " user of its own," : "",
			   (hello.missing & SANDBOX_RIGHTS) != 0 ? " giving up of rights," : "",
			   (hello.missing & SANDBOX_CALLS) != 0 ? " filter of system calls," : "");
	if (l->weakness.text[0] != '\0' && l->weakness.text[strlen(l->weakness.text) - 1] == ',')
		l->weakness.text[strlen(l->weakness.text) - 1] = '\0';
	return fcntl(l->keeper_fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

static int fork_keeper(struct loader *l, bool sandbox, loader_serve_fn *serve)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	l->keeper = fork();
	if (l->keeper == 0)
		loader_keeper(ends[1], sandbox, serve);
	close(ends[1]);
	l->keeper_fd = ends[0];
	return l->keeper < 0 ? -errno : 0;
}

int loader_start_serving(struct loader **ret, bool sandbox, loader_serve_fn *serve,
			 struct reason *why)
{
	struct loader *l = calloc(1, sizeof(*l));
	int err;

	if (l == NULL)
		return reason_set(why, -ENOMEM, "out of memory");
	l->keeper = -1;
	l->keeper_fd = l->worker_fd = -1;
	l->deadline_ns = DEADLINE_NS;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = l->epoll_fd < 0 || l->timer_fd < 0 ? -errno : fork_keeper(l, sandbox, serve);
	if (err == 0)
		err = watch(l, l->timer_fd);
	if (err == 0)
		err = watch(l, l->keeper_fd);
	if (err != 0)
		reason_set(why, err, "the loader process cannot be started: %s", strerror(-err));
	else
		err = await_hello(l, why);
	if (err != 0) {
		loader_free(l);
		return err;
	}
	make_worker(l, now_ns());
	*ret = l;
	return 0;
}

int loader_start(struct loader **ret, bool sandbox, struct reason *why)
{
	return loader_start_serving(ret, sandbox, loader_serve, why);
}

void loader_free(struct loader *l)
{
	if (l == NULL)
		return;
	while (l->nr > 0)
		close_flight(l, l->nr - 1);
	drop(l, &l->worker_fd);
	drop(l, &l->keeper_fd);
	if (l->keeper > 0) {
		kill(l->keeper, SIGKILL);
		while (waitpid(l->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (l->timer_fd >= 0)
		close(l->timer_fd);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	free(l);
}

const char *loader_weakness(const struct loader *l)
{
	return l->weakness.text;
}

void loader_set_deadline(struct loader *l, uint64_t deadline_ns)
{
	l->deadline_ns = deadline_ns;
}

int loader_fd(const struct loader *l)
{
	return l->epoll_fd;
}

size_t loader_in_flight(const struct loader *l)
{
	return l->nr;
}

uint64_t loader_replaced(const struct loader *l)
{
	return l->replaced;
}
