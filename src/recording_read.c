/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording holds the buffers of several CPUs one after the other, each in order of time, again
 * and again.  Whether or not records tell their CPU, a step back in time begins another buffer; it
 * goes on with the source whose last record is the latest of those before it, so that each source
 * of the order stays sorted and merging is cheap.
 *
 * FINISHED_ROUND: the recorder had been at all buffers once more; nothing can come any more from
 * before the latest time of the round before.  That is the bound, and all the memory it needs is
 * two rounds of records.  Recordings without rounds (pipes of old, results of tools) are held until
 * their end; past PENDING_MOST the earlier half of the time held leaves, which is right unless
 * buffers were further apart than that.
 *
 * Records without a time (made up by the recorder from /proc) apply at once.
 *
 * A large file is read by a thread of its own, which prepares batches of records while the main
 * thread applies those before.  It works from reading_begin() to reading_wait(), in short turns;
 * meanwhile the file, the order, and of struct reading what is neither .own nor under the lock are
 * the thread's, and of what is known about the recording it changes nothing (perfdata_quiet()).
 */
#include "recording_read.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum {
	SOURCES_LEAST = 16,
	SOURCES_MOST = 1024,
	BATCHES = 8,
	BATCH_RECORDS = 2048,
	TURN_RECORDS = 1536, /* read in a turn: fewer than may leave, or they would pile up */
	RECORDS_A_LOOK = 64, /* between two looks at the clock */
	UNTIMED_MOST = 1024, /* read before they leave */
	FETCHED_AHEAD = 6,   /* records: another processor has read them */
	CACHE_LINE = 64,
};

#define TURN_BYTES ((size_t)1 << 20)
#define PENDING_MOST ((size_t)256 << 20)
#define AHEAD_LEAST ((uint64_t)4 << 20) /* smaller files are read before a thread has begun */

struct batch {
	uint32_t nr, taken;
	struct {
		struct ordered rec;
		struct lease *lease;
	} at[BATCH_RECORDS];
};

struct reading {
	struct { /* the main thread's, always */
		struct batch *now;
		bool thought; /* whether a thread is worth it */
		bool ahead;   /* there is a thread */
	} own;

	_Alignas(CACHE_LINE) struct perfdata *pd;
	struct order *order;
	uint32_t nr_sources;
	uint64_t *last_ns; /* time pushed last, by source */
	uint32_t source;   /* in use now */
	uint64_t limit_ns; /* records up to here are asked for */
	uint64_t most_ns;  /* latest time pushed */
	uint64_t round_ns; /* the same as of the end of the last round */
	unsigned untimed;  /* records without a time, in the last stretch read */
	bool change;       /* the next record changes what is known of the recording */
	struct read_state state;

	/* Of both, under .lock; the batches between .turned and .made are nobody's. */
	_Alignas(CACHE_LINE) pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t id;
	uint32_t made;   /* batches prepared; the last is at[made % BATCHES] */
	uint32_t turned; /* batches that were, or are, in hand */
	bool working;    /* the thread may work */
	bool in_turn;    /* it does */
	bool stuck;      /* it can't until the main thread has looked */
	bool stop;
	struct batch *at[BATCHES];
};

uint32_t reading_sources(const struct perfdata *pd)
{
	uint32_t nr = 2 * perfdata_facts(pd)->nr_cpus;

	nr = nr < SOURCES_LEAST ? SOURCES_LEAST : nr > SOURCES_MOST ? SOURCES_MOST : nr;
	return nr + 1; /* the last for records without a time */
}

static bool has_batches(const struct reading *rd)
{
	for (int i = 0; i < BATCHES; i++)
		if (!rd->at[i])
			return false;
	return true;
}

struct reading *reading_new(struct perfdata *pd, struct order *order)
{
	struct reading *rd = aligned_alloc(CACHE_LINE, sizeof(*rd));

	if (!rd)
		return NULL;
	memset(rd, 0, sizeof(*rd));
	rd->pd = pd;
	rd->order = order;
	rd->nr_sources = reading_sources(pd);
	rd->last_ns = calloc(rd->nr_sources, sizeof(*rd->last_ns));
	for (int i = 0; i < BATCHES; i++)
		rd->at[i] = calloc(1, sizeof(*rd->at[i]));
	rd->own.now = rd->at[0];
	if (!rd->last_ns || !has_batches(rd)) {
		reading_free(rd);
		return NULL;
	}
	order_ties_by_arrival(order);
	for (uint32_t i = 0; i < rd->nr_sources; i++)
		order_bound(order, i, 0);
	return rd;
}

const struct read_state *reading_state(const struct reading *rd)
{
	return &rd->state;
}

/* What the order keeps of a record for us, beside its bytes. */
static uint32_t tag_of(const struct perfdata_record *rec)
{
	return (uint32_t)(rec->event < 0 ? 0 : rec->event) << 1 | (rec->type == RECORD_SAMPLE);
}

bool reading_next(struct reading *rd, struct ordered *ret, size_t *ret_event, bool *ret_is_sample)
{
	struct batch *b = rd->own.now;

	if (b->taken == b->nr)
		return false;
	*ret = b->at[b->taken++].rec;
	if (b->nr - b->taken > FETCHED_AHEAD) {
		const char *next = b->at[b->taken + FETCHED_AHEAD].rec.bytes;

		__builtin_prefetch(next);
		__builtin_prefetch(next + CACHE_LINE);
		__builtin_prefetch(next + 2 * CACHE_LINE);
	}
	*ret_event = ret->tag >> 1;
	*ret_is_sample = ret->tag & 1;
	return true;
}

static void batch_give_back(struct batch *b)
{
	for (uint32_t i = 0; i < b->nr; i++)
		lease_end(b->at[i].lease);
	b->nr = b->taken = 0;
}

/*
 * Reading.
 */

/* A step back in time: the source that can go on with @time_ns. */
static uint32_t source_for(const struct reading *rd, uint64_t time_ns)
{
	uint32_t best = UINT32_MAX, lowest = 0;

	for (uint32_t i = 0; i < rd->nr_sources - 1; i++) {
		if (rd->last_ns[i] < rd->last_ns[lowest])
			lowest = i;
		if (rd->last_ns[i] <= time_ns &&
		    (best == UINT32_MAX || rd->last_ns[i] > rd->last_ns[best]))
			best = i;
	}
	return best != UINT32_MAX ? best : lowest;
}

/* Up to where records may leave: what is known, and asked for. */
static uint64_t may_leave_ns(const struct reading *rd)
{
	return rd->state.known_ns < rd->limit_ns ? rd->state.known_ns : rd->limit_ns;
}

static void release(struct reading *rd)
{
	uint64_t time_ns = may_leave_ns(rd);

	if (time_ns <= rd->state.bound_ns)
		return;
	rd->state.bound_ns = time_ns;
	for (uint32_t i = 0; i < rd->nr_sources; i++)
		order_bound(rd->order, i, time_ns);
}

/* The times that samples are from and to. */
static void see_time(struct reading *rd, uint64_t time_ns)
{
	if (!rd->state.timed || time_ns < rd->state.first_ns)
		rd->state.first_ns = time_ns;
	if (!rd->state.timed || time_ns > rd->state.last_ns)
		rd->state.last_ns = time_ns;
	rd->state.timed = true;
}

static void push(struct reading *rd, uint32_t source, uint64_t time_ns,
		 const struct perfdata_record *rec)
{
	if (order_push(rd->order, source, time_ns, rec->bytes, rec->size, tag_of(rec), rec->lease))
		rd->state.dropped++;
}

static void push_timed(struct reading *rd, const struct perfdata_record *rec)
{
	const uint64_t time_ns = rec->sid.time_ns;

	if (time_ns < rd->last_ns[rd->source])
		rd->source = source_for(rd, time_ns);
	rd->last_ns[rd->source] = time_ns;
	if (time_ns > rd->most_ns)
		rd->most_ns = time_ns;
	push(rd, rd->source, time_ns, rec);
}

static void take(struct reading *rd, const struct perfdata_record *rec)
{
	bool is_sample = rec->type == RECORD_SAMPLE, timed = rec->sid.have & PERF_SAMPLE_TIME;

	if (rec->type == PERFDATA_FINISHED_ROUND) {
		rd->state.known_ns = rd->round_ns;
		rd->round_ns = rd->most_ns;
	} else if (rec->type >= PERFDATA_FIRST) {
		return;
	} else if (is_sample && rec->event < 0) {
		rd->state.no_event++;
	} else if (is_sample && timed && rec->sid.time_ns == UINT64_MAX) {
		rd->state.no_time++;
	} else {
		if (is_sample && timed)
			see_time(rd, rec->sid.time_ns);
		if (timed && rec->sid.time_ns && rec->sid.time_ns != UINT64_MAX) {
			push_timed(rd, rec);
		} else {
			push(rd, rd->nr_sources - 1, may_leave_ns(rd), rec);
			rd->untimed++;
		}
	}
}

/* What perfdata_next() said, where it gave no record. */
static void stop_reading(struct reading *rd, int got)
{
	if (got == -EBUSY) {
		rd->change = true;
	} else if (got == -EAGAIN) {
		rd->state.dry = true;
	} else if (got == -ENOMEM) {
		rd->state.failed = true;
	} else {
		rd->state.ended = true;
		rd->state.known_ns = UINT64_MAX;
	}
}

/* Reads the next record.  False: there is none for now. */
static bool read_one(struct reading *rd, uint32_t *ret_size)
{
	struct perfdata_record rec;
	int got = perfdata_next(rd->pd, &rec);

	if (got <= 0) {
		stop_reading(rd, got);
		return false;
	}
	take(rd, &rec);
	*ret_size = rec.size;
	return true;
}

/* More is held than should be: first some of it leaves. */
static bool is_full(const struct reading *rd)
{
	return order_pending_bytes(rd->order) > PENDING_MOST;
}

void reading_more(struct reading *rd, uint64_t until_ns)
{
	const uint64_t known_ns = rd->state.known_ns;
	uint32_t size;

	if (rd->own.ahead)
		return;
	rd->untimed = 0;
	rd->state.dry = false;
	for (unsigned i = 1; rd->state.known_ns == known_ns && rd->untimed < UNTIMED_MOST; i++)
		if (is_full(rd) || !read_one(rd, &size) ||
		    (i % RECORDS_A_LOOK == 0 && clock_ns() >= until_ns))
			return;
}

/* No bound has come for long: the earlier half of the time held may leave. */
static void cut(struct reading *rd)
{
	const uint64_t held_ns = rd->most_ns - rd->state.known_ns;

	/* Rounded up: where all are of one moment they have to leave, too. */
	rd->state.known_ns += held_ns - held_ns / 2;
}

/* What may leave, into @b. */
static void fill(struct reading *rd, struct batch *b)
{
	batch_give_back(b);
	release(rd);
	while (b->nr < BATCH_RECORDS &&
	       order_pop_leased(rd->order, &b->at[b->nr].rec, &b->at[b->nr].lease))
		b->nr++;
	if (b->nr < BATCH_RECORDS && is_full(rd) && rd->state.known_ns < rd->most_ns)
		cut(rd);
}

/*
 * The thread.
 */

/* Reads and fills @b.  False: that is no use until the main thread has looked. */
static bool take_turn(struct reading *rd, struct batch *b)
{
	size_t bytes = 0;
	uint32_t size;

	for (uint32_t i = 0; i < TURN_RECORDS && bytes < TURN_BYTES; i++) {
		if (rd->state.ended || rd->state.failed || is_full(rd) || !read_one(rd, &size))
			break;
		bytes += size;
	}
	fill(rd, b);
	return b->nr || !(rd->state.ended || rd->state.failed || rd->change);
}

/* Half of the batches at a time, so that the threads need not wake each other for each. */
static bool has_room(const struct reading *rd)
{
	return rd->made - rd->turned <= BATCHES / 2;
}

static void work(struct reading *rd)
{
	do {
		struct batch *b = rd->at[(rd->made + 1) % BATCHES];
		bool useful;

		rd->in_turn = true;
		pthread_mutex_unlock(&rd->lock);
		useful = take_turn(rd, b);
		pthread_mutex_lock(&rd->lock);
		rd->in_turn = false;
		rd->stuck = !useful;
		rd->made += b->nr != 0;
		if (rd->stuck || !rd->working || rd->made - rd->turned == 1)
			pthread_cond_broadcast(&rd->changed);
	} while (rd->working && !rd->stuck && rd->made - rd->turned < BATCHES - 1);
}

static void *run(void *arg)
{
	struct reading *rd = arg;

	pthread_setname_np(pthread_self(), "ptop-recording");
	pthread_mutex_lock(&rd->lock);
	while (!rd->stop) {
		if (rd->working && !rd->stuck && has_room(rd))
			work(rd);
		else
			pthread_cond_wait(&rd->changed, &rd->lock);
	}
	pthread_mutex_unlock(&rd->lock);
	return NULL;
}

static bool has_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > 1;
}

/* What is played is read no further than is asked for; a pipe tells of itself as it goes. */
static bool is_worth_a_thread(const struct reading *rd)
{
	return rd->limit_ns == UINT64_MAX && !perfdata_is_pipe(rd->pd) &&
	       perfdata_size(rd->pd) - perfdata_position(rd->pd) > AHEAD_LEAST && has_processors();
}

/* Where it does not start all is read by the main thread. */
static void start_thread(struct reading *rd)
{
	sigset_t all, old;

	pthread_mutex_init(&rd->lock, NULL);
	pthread_cond_init(&rd->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rd->own.ahead = pthread_create(&rd->id, NULL, run, rd) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	perfdata_quiet(rd->pd, rd->own.ahead);
}

static void stop_thread(struct reading *rd)
{
	if (!rd->own.ahead)
		return;
	pthread_mutex_lock(&rd->lock);
	rd->stop = true;
	rd->working = false;
	pthread_cond_broadcast(&rd->changed);
	pthread_mutex_unlock(&rd->lock);
	pthread_join(rd->id, NULL);
	pthread_cond_destroy(&rd->changed);
	pthread_mutex_destroy(&rd->lock);
	rd->own.ahead = false;
	perfdata_quiet(rd->pd, false);
}

void reading_begin(struct reading *rd, uint64_t limit_ns)
{
	rd->limit_ns = limit_ns;
	if (!rd->own.thought) {
		rd->own.thought = true;
		if (is_worth_a_thread(rd))
			start_thread(rd);
	}
	if (!rd->own.ahead)
		return;
	pthread_mutex_lock(&rd->lock);
	rd->working = true;
	rd->stuck = false;
	pthread_cond_broadcast(&rd->changed);
	pthread_mutex_unlock(&rd->lock);
}

void reading_wait(struct reading *rd)
{
	uint32_t size;
	bool over;

	if (!rd->own.ahead)
		return;
	pthread_mutex_lock(&rd->lock);
	rd->working = false;
	while (rd->in_turn)
		pthread_cond_wait(&rd->changed, &rd->lock);
	over = rd->state.ended && rd->made == rd->turned;
	pthread_mutex_unlock(&rd->lock);
	if (over)
		stop_thread(rd);
	if (rd->change) { /* nobody else looks now */
		rd->change = false;
		perfdata_quiet(rd->pd, false);
		(void)read_one(rd, &size);
		perfdata_quiet(rd->pd, true);
	}
}

/* The thread's next batch, once there is one.  False: there will be none before it may go on. */
static bool take_batch(struct reading *rd)
{
	bool there;

	pthread_mutex_lock(&rd->lock);
	while (rd->made == rd->turned && !rd->stuck)
		pthread_cond_wait(&rd->changed, &rd->lock);
	there = rd->made != rd->turned;
	if (there) {
		rd->own.now = rd->at[++rd->turned % BATCHES];
		if (rd->made - rd->turned == BATCHES / 2)
			pthread_cond_broadcast(&rd->changed);
	}
	pthread_mutex_unlock(&rd->lock);
	return there;
}

bool reading_turn_over(struct reading *rd)
{
	if (rd->own.ahead)
		return take_batch(rd);
	fill(rd, rd->own.now);
	return rd->own.now->nr != 0;
}

void reading_free(struct reading *rd)
{
	if (!rd)
		return;
	stop_thread(rd);
	for (int i = 0; i < BATCHES; i++) {
		if (rd->at[i])
			batch_give_back(rd->at[i]);
		free(rd->at[i]);
	}
	free(rd->last_ns);
	free(rd);
}
