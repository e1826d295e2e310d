/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the two sides keep from misunderstanding each other.
 *
 * A pass of a reader over one ring is, in this order:
 *
 *	1 T = clock
 *	2 load data_head (acquire)			partner: the kernel's store
 *	3 copy the records into the lane
 *	4 lane_commit(): store the lane's head		partners: lane_peek(), lane_head() (main)
 *	5 ring_release(): store data_tail (release)	partners: the kernel; ring_pending() (main)
 *	6 store drained_to = T (seq_cst)		partner: readers_bound() (main)
 *	7 wants_wake(): load the lane's tail, and write the event descriptor when it says so
 *
 * (3-5 and 7 once for each 64 KiB, so that the kernel gets its room back early; 6 before the
 * last 7, which looks back to the last batch that carried anything.)
 *
 * What T means: the clock was read before the head, so a record stamped and published by T was
 * below that head, and has been committed.
 *
 * What the main thread may conclude, in readers_bound():
 *
 * - Quiet ring.  It read its clock (now), then data_head, then data_tail, and found the tail at
 *   or past the head.  All published by now lay below that head; the tail's acquire load shows
 *   a reader's step 5, hence its step 4; so all of it is in the lane, and a lane whose head
 *   (loaded after that) has been released completely has given all of it out.  The bound is
 *   now. The other order of the loads would be wrong: a head read last could be newer than now
 *   only, but a tail read first could be older.
 * - Busy ring.  It loads drained_to (partner of 6), then the lane's head: that head covers
 *   whatever the reader committed before storing this drained_to (4 is before 6).  Once the
 *   lane's tail has reached that head, the bound is that drained_to.  Where the main thread
 *   works in slices and has not got there, the pair is kept and asked again at the next call.
 *
 * No lost wake-up.  The main thread stores the lane's tail (seq_cst, in lane_peek() or
 * lane_release()) before it loads the lane's head and drained_to; the reader stores the lane's
 * head and drained_to before it loads the tail in 7.  All are seq_cst, so either the main
 * thread sees what the reader stored last, or the reader sees the main thread's tail and wakes
 * it.  That 7 comes after 6 is what makes a bound arrive together with its records: woken
 * between 4 and 6, the main thread would find the old drained_to, and no second wake-up would
 * come.
 *
 * Waiting for room.  The reader stores waiting (seq_cst), then looks at the tail again; the
 * main thread stores the tail, then loads waiting in readers_consumed().  The same argument:
 * one of them sees the other.  drained_to stands still meanwhile, since what is left in the
 * ring has not been handed over.
 *
 * Sleeping.  epoll, edge-triggered: a ring is looked at when the kernel announces something
 * new, so a descriptor that stays ready for ever (the POLLHUP of a task that is gone) is
 * reported once and cannot make the thread spin.  Nothing is missed: perf_poll() hands its flag
 * over when asked, and every later wake-up queues the descriptor anew.
 */
#include "ring/reader.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define BATCH_BYTES (64u << 10)
#define STACK_BYTES (256u << 10)
#define MAX_EVENTS 64
#define AHEAD_BYTES 512u

/* Room in a sample lane that samples leave to the rare other records (LOST, THROTTLE). */
#define SPARE_BYTES 4096u

struct thread;

/* One ring. The lines: what never changes, what its reader writes, what the main thread keeps. */
struct slot {
	struct reader_ring at;
	struct thread *thread;
	struct slot *next; /* of the same thread */
	uint32_t spare;

	_Alignas(LANE_CACHE_LINE) _Atomic uint64_t drained_to;
	_Atomic uint64_t records, dropped, bad; /* relaxed: figures only */
	_Atomic bool waiting;
	bool ready; /* the reader's own */

	_Alignas(LANE_CACHE_LINE) uint64_t bound;
	uint64_t kept_time, kept_head; /* a drained_to, and the lane's head that covers it */
	bool kept;
};

struct thread {
	struct readers *owner;
	pthread_t id;
	bool running;
	int epoll, nudge;
	struct slot *first;
};

struct readers {
	struct slot *slots;
	size_t nr;
	struct thread threads[READERS_MAX_THREADS];
	size_t nr_threads;
	int wake;
	_Atomic bool stop; /* relaxed: the nudge that follows, and the join, do the ordering */
};

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A full counter is as readable as one written to; nothing else can fail here. */
static void signal_fd(int fd)
{
	uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	(void)n;
}

static void clear_fd(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	(void)n;
}

static void count(_Atomic uint64_t *figure)
{
	/* One writer: no locked instruction is needed. */
	atomic_store_explicit(figure, atomic_load_explicit(figure, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Into the lane, or counted as dropped; false: it has to wait for room. */
static bool hand_over(struct slot *s, const struct ring_record *rec)
{
	bool sample = !s->at.side_band && rec->type == PERF_RECORD_SAMPLE;
	bool may_drop = sample || !lane_can_hold(s->at.lane, rec->size);
	struct trimmed part;
	bool trimmed = sample && s->at.trim && trim_sample(s->at.trim, rec, &part);
	void *at = lane_reserve(s->at.lane, trimmed ? part.size : rec->size, rec->type & INT32_MAX,
				sample ? s->spare : 0);

	if (at) {
		if (trimmed)
			trim_copy(rec, &part, at);
		else
			ring_copy(rec, at);
		count(&s->records);
	} else if (may_drop) {
		count(&s->dropped);
	}
	return at || may_drop;
}

enum filled { FILLED_ALL, FILLED_MORE, FILLED_WAIT };

/* The record behind @rec: samples with copies of stacks lie too far apart for the processor to
 * foresee. */
static void fetch_ahead(const struct ring *r, const struct ring_record *rec)
{
	for (uint32_t i = 0; i < AHEAD_BYTES; i += LANE_CACHE_LINE)
		__builtin_prefetch(r->data + ((r->tail + rec->size + i) & (r->size - 1)));
}

/* Hands over one batch. */
static enum filled fill(struct slot *s)
{
	struct ring_record rec;
	uint32_t bytes = 0;
	int got;

	while ((got = ring_peek(s->at.ring, &rec)) == 1) {
		if (s->at.trim)
			fetch_ahead(s->at.ring, &rec);
		if (!hand_over(s, &rec))
			return FILLED_WAIT;
		ring_next(s->at.ring, &rec);
		bytes += rec.size;
		if (bytes >= BATCH_BYTES)
			return FILLED_MORE;
	}
	if (got < 0)
		count(&s->bad);
	return FILLED_ALL;
}

/*
 * Must the main thread be woken?  For side-band at once: files are opened while they are there. For
 * samples when the lane fills up, or when it asked: else they wait for its next refresh.
 */
static bool wants_wake(const struct slot *s, uint64_t from, bool asked)
{
	if (asked)
		return lane_holds(s->at.lane);
	return s->at.side_band ? lane_wants_wake(s->at.lane, from)
			       : lane_past_half(s->at.lane, from);
}

/* One pass; the numbers are those of the text above. */
static void drain(struct readers *r, struct slot *s, bool asked)
{
	uint64_t now = clock_ns(); /* 1 */
	uint64_t from = lane_head(s->at.lane), before;
	enum filled filled;

	ring_begin(s->at.ring); /* 2 */
	do {
		filled = fill(s); /* 3 */
		if (filled == FILLED_WAIT &&
		    !atomic_load_explicit(&s->waiting, memory_order_relaxed)) {
			atomic_store_explicit(&s->waiting, true, memory_order_seq_cst);
			filled = fill(s);
		}
		if (filled != FILLED_WAIT)
			atomic_store_explicit(&s->waiting, false, memory_order_relaxed);
		before = lane_commit(s->at.lane); /* 4 */
		if (before != lane_head(s->at.lane))
			from = before;
		ring_release(s->at.ring); /* 5 */
		if (filled == FILLED_ALL) /* 6 */
			atomic_store_explicit(&s->drained_to, now, memory_order_seq_cst);
		if (wants_wake(s, from, asked)) /* 7 */
			signal_fd(r->wake);
	} while (filled == FILLED_MORE && !atomic_load_explicit(&r->stop, memory_order_relaxed));
}

static void drain_ready(struct thread *t, bool all, bool asked)
{
	for (struct slot *s = t->first; s; s = s->next) {
		if (!all && !s->ready)
			continue;
		s->ready = false;
		drain(t->owner, s, asked);
	}
}

static void *run(void *arg)
{
	struct thread *t = arg;
	struct epoll_event events[MAX_EVENTS];
	bool all = true, asked = true; /* at first: what was there before the thread */

	while (!atomic_load_explicit(&t->owner->stop, memory_order_relaxed)) {
		drain_ready(t, all, asked);
		all = asked = false;
		int n = epoll_wait(t->epoll, events, MAX_EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct slot *s = events[i].data.ptr;

			if (s) {
				s->ready = true;
			} else {
				clear_fd(t->nudge);
				all = asked = true;
			}
		}
	}
	return NULL;
}

/* Rings of one CPU go to one thread; CPUs take turns over at most READERS_MAX_THREADS. */
static void assign(struct readers *r)
{
	size_t nr_cpus = 0;

	for (size_t i = 0; i < r->nr; i++) {
		struct thread *t = NULL;

		for (size_t k = 0; k < i && !t; k++)
			if (r->slots[k].at.cpu == r->slots[i].at.cpu)
				t = r->slots[k].thread;
		if (!t)
			t = &r->threads[nr_cpus++ % READERS_MAX_THREADS];
		r->slots[i].thread = t;
	}
	r->nr_threads = nr_cpus < READERS_MAX_THREADS ? nr_cpus : READERS_MAX_THREADS;
	for (size_t i = r->nr; i-- > 0;) {
		struct slot *s = &r->slots[i];

		s->next = s->thread->first;
		s->thread->first = s;
	}
}

static int watch(int epoll, int fd, void *ptr)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET, .data.ptr = ptr };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int thread_open(struct thread *t)
{
	int err;

	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0)
		return -errno;
	t->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->nudge < 0)
		return -errno;
	err = watch(t->epoll, t->nudge, NULL);
	for (struct slot *s = t->first; s && !err; s = s->next)
		if (s->at.fd >= 0)
			err = watch(t->epoll, s->at.fd, s);
	return err;
}

static int thread_start(struct thread *t)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	err = pthread_attr_init(&attr);
	if (err)
		return -err;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&t->id, &attr, run, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		return -err;
	t->running = true;
	pthread_setname_np(t->id, "ptop-reader");
	return 0;
}

static struct readers *readers_new(const struct reader_ring *rings, size_t nr)
{
	struct readers *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->wake = -1;
	for (size_t i = 0; i < READERS_MAX_THREADS; i++)
		r->threads[i] = (struct thread){ .owner = r, .epoll = -1, .nudge = -1 };
	r->slots = aligned_alloc(LANE_CACHE_LINE, (nr ? nr : 1) * sizeof(*r->slots));
	if (!r->slots) {
		free(r);
		return NULL;
	}
	memset(r->slots, 0, (nr ? nr : 1) * sizeof(*r->slots));
	r->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		struct slot *s = &r->slots[i];

		s->at = rings[i];
		s->spare = s->at.lane->size / 8 < SPARE_BYTES ? (uint32_t)(s->at.lane->size / 8)
							      : SPARE_BYTES;
	}
	assign(r);
	return r;
}

int readers_start(struct readers **ret, const struct reader_ring *rings, size_t nr,
		  struct reason *why)
{
	struct readers *r = readers_new(rings, nr);
	int err = 0;

	if (!r)
		return reason_set(why, -ENOMEM, "no memory for the reader threads");
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake < 0)
		err = -errno;
	for (size_t i = 0; !err && i < r->nr_threads; i++)
		err = thread_open(&r->threads[i]);
	for (size_t i = 0; !err && i < r->nr_threads; i++)
		err = thread_start(&r->threads[i]);
	if (err) {
		readers_stop(r);
		if (err == -EMFILE)
			return reason_set(
				why, err,
				"too few file descriptors for the reader threads: raise the limit with: ulimit -n 4096");
		return reason_set(why, err, "the reader threads cannot be started: %s",
				  strerror(-err));
	}
	*ret = r;
	return 0;
}

void readers_stop(struct readers *r)
{
	if (!r)
		return;
	atomic_store_explicit(&r->stop, true, memory_order_relaxed);
	for (size_t i = 0; i < r->nr_threads; i++)
		if (r->threads[i].running)
			signal_fd(r->threads[i].nudge);
	for (size_t i = 0; i < r->nr_threads; i++) {
		struct thread *t = &r->threads[i];

		if (t->running)
			pthread_join(t->id, NULL);
		if (t->nudge >= 0)
			close(t->nudge);
		if (t->epoll >= 0)
			close(t->epoll);
	}
	if (r->wake >= 0)
		close(r->wake);
	free(r->slots);
	free(r);
}

int readers_eventfd(const struct readers *r)
{
	return r->wake;
}

void readers_clear(struct readers *r)
{
	clear_fd(r->wake);
}

void readers_nudge(struct readers *r)
{
	for (size_t i = 0; i < r->nr_threads; i++) {
		const struct slot *s = r->threads[i].first;

		while (s && ring_pending(s->at.ring) == 0)
			s = s->next;
		if (s)
			signal_fd(r->threads[i].nudge);
	}
}

void readers_consumed(struct readers *r, size_t i)
{
	struct slot *s = &r->slots[i];

	if (atomic_load_explicit(&s->waiting, memory_order_seq_cst))
		signal_fd(s->thread->nudge);
}

uint64_t readers_bound(struct readers *r, size_t i, uint64_t now_ns)
{
	struct slot *s = &r->slots[i];
	uint64_t found = 0, head, drained_to;

	/* A quiet ring: pending first, the lane after it. */
	if (ring_pending(s->at.ring) == 0 && lane_empty(s->at.lane)) {
		s->kept = false;
		found = now_ns;
	} else {
		if (s->kept && lane_tail(s->at.lane) >= s->kept_head) {
			found = s->kept_time;
			s->kept = false;
		}
		drained_to = atomic_load_explicit(&s->drained_to, memory_order_seq_cst);
		head = lane_head(s->at.lane);
		if (lane_tail(s->at.lane) >= head) {
			found = drained_to;
			s->kept = false;
		} else if (!s->kept) {
			s->kept_time = drained_to;
			s->kept_head = head;
			s->kept = true;
		}
	}
	if (found > s->bound)
		s->bound = found;
	return s->bound;
}

struct reader_stats readers_stats(const struct readers *r, size_t i)
{
	const struct slot *s = &r->slots[i];

	return (struct reader_stats){
		.records = atomic_load_explicit(&s->records, memory_order_relaxed),
		.dropped = atomic_load_explicit(&s->dropped, memory_order_relaxed),
		.bad = atomic_load_explicit(&s->bad, memory_order_relaxed),
	};
}

size_t readers_nr_threads(const struct readers *r)
{
	return r->nr_threads;
}
