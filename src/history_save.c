/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "history_save.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "history_places.h"
#include "output_file.h"
#include "profile/chunk.h"
#include "recorder_facts.h"
#include "source.h"

enum {
	CHAIN_MOST = 1100, /* frames of a stack, and markers */
	EVENTS_MOST = 127, /* one is left for the records that no kernel wrote */
};

/* A sample's place in the store. */
struct entry {
	uint64_t time_ns;
	uint32_t chunk, index;
};

struct saving {
	const struct session *session;
	const struct pipeline *pl;
	struct perfdata_writer *w;
	struct layout layout;
	struct history_places places;
	int clockid; /* of the times; -1: not known */
	VEC(struct entry) order;
	uint64_t chain[CHAIN_MOST];
	uint64_t written;
};

static struct perf_event_attr attr_of(const struct event *e, const struct sampling *rate,
				      int clockid)
{
	struct perf_event_attr attr = {
		.type = e->type,
		.size = sizeof(attr),
		.config = e->config,
		.config1 = e->config1,
		.config2 = e->config2,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN,
		.sample_id_all = 1,
		.use_clockid = clockid >= 0,
		.clockid = clockid >= 0 ? clockid : 0,
		.exclude_kernel = e->exclude_kernel,
		.exclude_user = e->exclude_user,
		.exclude_hv = e->exclude_hv,
		.freq = rate->by_frequency,
	};

	attr.sample_freq = rate->rate;
	return attr;
}

/* One event for each that was sampled; the id of its samples is its number from 1 on. */
static int tell_events(struct saving *v)
{
	const struct event *e;
	int err = 0;

	for (size_t i = 0; !err && i < EVENTS_MOST && (e = session_held(v->session, i)); i++) {
		struct perf_event_attr attr = attr_of(e, session_sampling(v->session), v->clockid);

		v->layout = layout_of(&attr);
		err = writer_event(v->w, &attr, e->name);
		if (err >= 0)
			err = writer_id(v->w, err, i + 1);
	}
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->chunk != y->chunk)
		return x->chunk < y->chunk ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* All samples in the order of their time. */
static int sort_samples(struct saving *v, const struct chunks *c)
{
	for (size_t k = 0; k < c->nr; k++) {
		const struct chunk *from = &c->at[k];

		if (vec_reserve(&v->order, v->order.nr + from->nr))
			return -ENOMEM;
		for (uint32_t i = 0; i < from->nr; i++) {
			v->order.at[v->order.nr++] =
				(struct entry){ from->base_ns + from->time[i], (uint32_t)k, i };
			history_claim(&v->places, from->task[i]);
		}
	}
	if (v->order.nr)
		qsort(v->order.at, v->order.nr, sizeof(v->order.at[0]), by_time);
	return v->places.err;
}

static bool is_kernel(const struct stack_node *n)
{
	return n->image == IMAGE_KERNEL || (n->image == IMAGE_UNKNOWN && n->offset >> 63);
}

/*
 * The stack as the kernel gives chains: markers, then addresses.  What lies behind a call was
 * stored as one less than it returns to (chain_walk()).
 */
static uint32_t make_chain(struct saving *v, const struct numbers *who, uint32_t node,
			   struct synth_sample *s)
{
	const struct stack_node *nodes = stacks_nodes(v->pl->stacks);
	uint64_t mode = 0;
	uint32_t nr = 0;

	for (; node && nr + 2 <= CHAIN_MOST; node = nodes[node].parent) {
		const struct stack_node *n = &nodes[node];
		bool kernel = is_kernel(n);
		uint64_t marker = (uint64_t)(kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER);
		uint64_t addr;

		if (n->image == IMAGE_PSEUDO)
			continue;
		addr = kernel ? n->offset : history_address(&v->places, who, n->image, n->offset);
		if (marker != mode)
			v->chain[nr++] = marker;
		else
			addr++;
		if (!mode) {
			s->ip = addr;
			s->kernel = kernel;
		}
		mode = marker;
		v->chain[nr++] = addr;
	}
	return nr;
}

static int write_sample(struct saving *v, const struct chunk *c, uint32_t i)
{
	struct numbers who = history_who(&v->places, c->task[i]);
	uint8_t event = c->events_differ ? c->event[i] : c->event[0];
	struct sample_id sid = {
		.pid = who.pid,
		.tid = who.tid,
		.time_ns = c->base_ns + c->time[i],
		.id = event + 1u,
		.cpu = c->cpu[i],
	};
	struct synth_sample s = {
		.kernel = c->flags[i] & SAMPLE_KERNEL,
		.period = chunk_weight(c, i),
		.chain = v->chain,
	};

	s.nr_chain = make_chain(v, &who, c->stack[i], &s);
	if (v->places.err)
		return v->places.err;
	synth_sample(&v->places.b, &v->layout, &sid, &s);
	if (blob_failed(&v->places.b))
		return -ENOMEM;
	v->written++;
	return writer_record(v->w, -1, v->places.b.at, v->places.b.nr);
}

static int write_samples(struct saving *v)
{
	struct chunks c = store_chunks(v->pl->store);
	uint64_t round_ns = 0;
	int err = sort_samples(v, &c);

	for (size_t i = 0; i < v->order.nr && !err; i++) {
		const struct entry *e = &v->order.at[i];

		if (e->time_ns > round_ns + NS_PER_S) {
			round_ns = e->time_ns;
			err = writer_round(v->w);
		}
		if (!err)
			err = write_sample(v, &c.at[e->chunk], e->index);
	}
	if (v->order.nr)
		writer_times(v->w, v->order.at[0].time_ns, v->order.at[v->order.nr - 1].time_ns);
	return err;
}

int history_write(const struct session *s, int fd, uint64_t *ret_samples)
{
	struct saving *v = calloc(1, sizeof(*v));
	int err = v ? 0 : -ENOMEM, last;

	if (!err)
		err = s->source->save_begin(s, fd, &v->w, &v->clockid);
	if (err) {
		free(v);
		close(fd);
		return err;
	}
	v->session = s;
	v->pl = s->pipeline;
	err = tell_events(v);
	history_places_init(&v->places, v->pl, v->w, &v->layout);
	if (!err)
		err = s->source->save_kernel(s, v->w, &v->layout);
	if (!err)
		err = facts_build_ids(v->w, v->pl);
	if (!err)
		err = write_samples(v);
	last = writer_free(v->w);
	*ret_samples = v->written;
	history_places_done(&v->places);
	vec_done(&v->order);
	free(v);
	return err ? err : last;
}

/* The child: has nothing open but the file, and tells by its status. */
static void work(const struct session *s, int fd)
{
	uint64_t samples;
	int err;

	if (fd != 3 && dup2(fd, 3) < 0)
		_exit(EBADF);
	(void)syscall(SYS_close_range, 4u, ~0u, 0u);
	err = -history_write(s, 3, &samples);
	_exit(err > 255 ? EIO : err);
}

int history_begin(struct history_job *job, const struct session *s, struct reason *why)
{
	time_t wall = time(NULL);
	struct tm tm;
	int fd, err;

	if (job->pid)
		return reason_set(why, -EBUSY, "%s is being written", job->path);
	localtime_r(&wall, &tm);
	strftime(job->path, sizeof(job->path), "ptop-%Y%m%d-%H%M%S.data", &tm);
	fd = output_new(job->path);
	if (fd < 0)
		return reason_set(why, fd, "cannot write %s: %s", job->path, strerror(-fd));
	job->pid = fork();
	err = job->pid < 0 ? -errno : 0;
	if (job->pid == 0)
		work(s, fd);
	close(fd);
	if (err) {
		job->pid = 0;
		(void)unlink(job->path);
		return reason_set(why, err, "cannot write %s: %s", job->path, strerror(-err));
	}
	return 0;
}

bool history_ended(struct history_job *job, struct reason *ret)
{
	int status = 0;
	pid_t got = job->pid ? waitpid(job->pid, &status, WNOHANG) : 0;

	if (got == 0)
		return false;
	if (got < 0)
		status = SIGKILL; /* nobody can tell */
	job->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		reason_set(ret, 0, "the samples held are in %s, a recording", job->path);
	else
		reason_set(ret, -EIO, "%s is not complete: %s; the rest can be read", job->path,
			   WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "it was killed");
	return true;
}
