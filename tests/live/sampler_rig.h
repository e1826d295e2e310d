/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sampler's live tests share: a sampler with its rings mapped, drained by hand.
 */
#ifndef PTOP_TESTS_SAMPLER_RIG_H
#define PTOP_TESTS_SAMPLER_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "event/attr.h"
#include "event/sampler.h"
#include "record/decode.h"
#include "ring/ring.h"

enum { RIG_CPUS = 64, SIDE_BYTES = 64 << 10, SAMPLE_BYTES = 128 << 10 };

struct seen { /* of one drain: a record of known layout */
	struct record record;
	uint32_t serial;
};

struct rig {
	struct sampler *sp;
	struct ring rings[RIG_CPUS][NR_RING_USES];
	size_t nr_cpus;
	char notes[2048];
	struct reason why;
	uint64_t strangers; /* records whose id the sampler does not know */
};

static inline void rig_note(void *ctx, const char *sentence)
{
	struct rig *rig = ctx;
	size_t len = strlen(rig->notes);

	snprintf(rig->notes + len, sizeof(rig->notes) - len, "%s\n", sentence);
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Burns this thread's own CPU time, whatever else runs. */
static inline void burn_ms(unsigned int ms)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ull;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 2000; i++)
			;
}

static inline struct sampling sampling_of(const char *event, uint64_t hz)
{
	struct sampling s = { .by_frequency = true, .rate = hz, .call_graph = CALL_GRAPH_FP };

	assert_int_equal(event_parse(event, &s.event, NULL), 0);
	return s;
}

static inline struct target target_of(enum target_kind kind, uint32_t id)
{
	struct target t = { .kind = kind };

	if (kind == TARGET_PIDS || kind == TARGET_TIDS)
		assert_int_equal(vec_push(&t.ids, id), 0);
	return t;
}

static inline void rig_close(struct rig *rig)
{
	for (size_t i = 0; i < rig->nr_cpus; i++)
		for (int use = 0; use < NR_RING_USES; use++)
			ring_close(&rig->rings[i][use]);
	sampler_free(rig->sp);
	memset(rig, 0, sizeof(*rig));
}

static inline int rig_open(struct rig *rig, struct target *t, struct sampling *s)
{
	memset(rig, 0, sizeof(*rig));
	return sampler_open(&rig->sp, t, s, rig_note, rig, &rig->why);
}

static inline void rig_start(struct rig *rig)
{
	static const size_t bytes[NR_RING_USES] = { SIDE_BYTES, SAMPLE_BYTES };

	rig->nr_cpus = sampler_nr_cpus(rig->sp);
	assert_true(rig->nr_cpus <= RIG_CPUS);
	for (size_t i = 0; i < rig->nr_cpus; i++)
		for (int use = 0; use < NR_RING_USES; use++)
			assert_int_equal(ring_open(&rig->rings[i][use],
						   sampler_owner(rig->sp, i, use), bytes[use],
						   &rig->why),
					 0);
	if (sampler_start(rig->sp, &rig->why))
		fail_msg("%s", rig->why.text);
}

typedef void rig_fn(void *ctx, const struct seen *seen);

static inline void rig_record(struct rig *rig, const struct ring_record *at, rig_fn *fn, void *ctx)
{
	static uint8_t bytes[1 << 16];
	const struct layout *layout;
	struct sample_id sid;
	struct seen seen = { 0 };
	uint32_t type;

	memcpy(bytes, at->at[0], at->len[0]);
	if (at->len[1])
		memcpy(bytes + at->len[0], at->at[1], at->len[1]);
	assert_int_equal(record_peek(sampler_common_layout(rig->sp), bytes, at->size, &type, &sid),
			 0);
	layout = sampler_layout(rig->sp, sid.id, &seen.serial);
	if (!layout) {
		rig->strangers++;
		return;
	}
	assert_int_equal(record_decode(layout, bytes, at->size, &seen.record), 0);
	fn(ctx, &seen);
}

/* Gives all records that are there to @fn, side-band first. */
static inline void rig_drain(struct rig *rig, rig_fn *fn, void *ctx)
{
	struct ring_record rec;

	for (int use = 0; use < NR_RING_USES; use++)
		for (size_t i = 0; i < rig->nr_cpus; i++) {
			struct ring *ring = &rig->rings[i][use];

			ring_begin(ring);
			while (ring_peek(ring, &rec) == 1) {
				rig_record(rig, &rec, fn, ctx);
				ring_next(ring, &rec);
			}
			ring_release(ring);
		}
}

static inline size_t open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* 0, or 77 with the reason printed where no clock event can be opened at all. */
static inline int need_perf(void)
{
	struct sampling s = { .by_frequency = true, .rate = 100, .exclude_kernel = true };
	struct kernel_features none = { 0 };
	struct perf_event_attr attr;
	int fd;

	if (event_parse("cpu-clock:u", &s.event, NULL))
		return 1;
	attr = attr_sampling(&none, TARGET_PIDS, &s);
	fd = perf_open(&attr, 0, -1);
	if (fd < 0) {
		printf("skipped: the kernel refuses cpu-clock here: %s\n", strerror(-fd));
		return 77;
	}
	close(fd);
	return 0;
}

struct tally {
	struct rig *rig;
	uint64_t samples, by_serial[32], period, kernel, side_band, forks, comm_exec, exits;
	uint32_t first_type;
	pid_t only_tid;
	bool feed;
};

static inline void count(void *ctx, const struct seen *seen)
{
	struct tally *t = ctx;
	const struct record *r = &seen->record;

	if (t->feed && r->type == RECORD_SAMPLE)
		sampler_saw_sample(t->rig->sp, r->sid.id, (pid_t)r->sid.tid);
	if (t->feed && r->type == RECORD_FORK)
		sampler_saw_fork(t->rig->sp, (pid_t)r->task.pid, (pid_t)r->task.tid,
				 r->sid.time_ns);
	if (t->feed && r->type == RECORD_EXIT)
		sampler_saw_exit(t->rig->sp, (pid_t)r->task.tid);
	t->forks += r->type == RECORD_FORK;
	t->exits += r->type == RECORD_EXIT;
	t->comm_exec += r->type == RECORD_COMM && r->comm.exec;
	if (r->type != RECORD_SAMPLE) {
		t->side_band += seen->serial == 0;
		return;
	}
	if (t->only_tid && (pid_t)r->sid.tid != t->only_tid)
		return;
	t->samples++;
	t->by_serial[seen->serial % 32]++;
	t->period = r->sample.period;
	t->kernel += r->cpumode == CPUMODE_KERNEL;
}

static inline struct tally drained(struct rig *rig, bool feed)
{
	struct tally t = { .rig = rig, .feed = feed };

	rig_drain(rig, count, &t);
	return t;
}

static inline void open_self(struct rig *rig, const char *event, uint64_t hz)
{
	struct target t = target_of(TARGET_PIDS, (uint32_t)getpid());
	struct sampling s = sampling_of(event, hz);

	if (rig_open(rig, &t, &s))
		fail_msg("%s", rig->why.text);
	target_done(&t);
}

static inline void change(struct rig *rig, struct sampling s)
{
	if (sampler_change(rig->sp, &s, &rig->why))
		fail_msg("%s", rig->why.text);
}

/* Counts one thread's samples until there are @wanted of serial @serial, or 5 s have passed. */
static inline struct tally await(struct rig *rig, pid_t tid, uint32_t serial, uint64_t wanted)
{
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + 5000000000ull;
	struct tally t = { .rig = rig, .feed = true, .only_tid = tid };

	while (t.by_serial[serial] < wanted && clock_ns(CLOCK_MONOTONIC) < deadline) {
		burn_ms(1);
		rig_drain(rig, count, &t);
	}
	return t;
}

static inline pid_t sleeper(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static inline void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static inline pid_t spinner(uid_t uid)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (uid && setresuid(uid, uid, uid))
			_exit(1);
		for (;;)
			burn_ms(1);
	}
	return pid;
}

#endif
