// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store as a recording: samples that went in come out with the addresses that they had, under
 * numbers that tell threads apart, and with mappings that explain them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "history_save.h"
#include "output/synth.h"
#include "record/decode.h"
#include "record/perfdata.h"
#include "recorder.h"
#include "source.h"

#define FIELDS                                                                          \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)
#define USER ((uint64_t)PERF_CONTEXT_USER)

enum { SAMPLES_MOST = 32 };

struct bed {
	struct pipeline pl;
	struct options options;
	struct session session;
	struct blob b;
	struct layout layout;
	int kinds[2];
};

static const struct event events[] = {
	{ .name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK },
	{ .name = "page-faults", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS },
};

static const struct sampling rate = { .by_frequency = true, .rate = 999 };

static const struct event *held(const struct session *s, size_t i)
{
	(void)s;
	return i < 2 ? &events[i] : NULL;
}

static const struct sampling *sampling(const struct session *s)
{
	(void)s;
	return &rate;
}

static const struct source source = {
	.held = held,
	.sampling = sampling,
	.save_begin = recorder_save_begin,
	.save_kernel = recorder_save_kernel,
};

static void bed_open(struct bed *bed)
{
	struct pipeline_config config = {
		.nr_sources = 1, .history_bytes = 1 << 20, .own_pid = 1, .max_stack = 127
	};

	*bed = (struct bed){ .layout = { .sample_type = FIELDS, .sample_id_all = true } };
	assert_int_equal(pipeline_init(&bed->pl, &config), 0);
	for (uint8_t i = 0; i < 2; i++) {
		struct record_kind kind = { .layout = bed->layout, .event = i };

		bed->kinds[i] = pipeline_kind(&bed->pl, &kind);
	}
	bed->session = (struct session){ .options = &bed->options,
					 .source = &source,
					 .pipeline = &bed->pl };
}

static void bed_close(struct bed *bed)
{
	blob_done(&bed->b);
	pipeline_done(&bed->pl);
}

static void push(struct bed *bed, uint64_t time_ns, int event)
{
	pipeline_push(&bed->pl, 0, time_ns, bed->b.at, (uint32_t)bed->b.nr, bed->kinds[event],
		      NULL);
}

static void push_comm(struct bed *bed, uint64_t time_ns, uint32_t pid, uint32_t tid,
		      const char *comm)
{
	struct sample_id who = { .pid = pid, .tid = tid, .time_ns = time_ns };

	synth_comm(&bed->b, &bed->layout, &who, pid, tid, comm);
	push(bed, time_ns, 0);
}

static void push_map(struct bed *bed, uint64_t time_ns, uint32_t pid, uint64_t start,
		     uint64_t pgoff, const char *path)
{
	struct sample_id who = { .pid = pid, .tid = pid, .time_ns = time_ns };
	struct synth_map m = {
		.pid = pid, .start = start, .len = 0x10000, .pgoff = pgoff, .path = path
	};

	synth_mmap2(&bed->b, &bed->layout, &who, &m);
	push(bed, time_ns, 0);
}

/* FORK and EXIT have the same fields. */
static void push_task(struct bed *bed, uint64_t time_ns, uint32_t type, uint32_t pid)
{
	struct blob *b = &bed->b;

	blob_clear(b);
	blob_u32(b, type);
	blob_u16(b, 0);
	blob_u16(b, 8 + 24 + 32);
	blob_u32(b, pid);
	blob_u32(b, 1);
	blob_u32(b, pid);
	blob_u32(b, 1);
	blob_u64(b, time_ns);
	blob_u32(b, pid);
	blob_u32(b, pid);
	blob_u64(b, time_ns);
	blob_u64(b, 0);
	blob_u64(b, 0);
	push(bed, time_ns, 0);
}

static void push_sample(struct bed *bed, uint64_t time_ns, int event, uint32_t pid, uint32_t tid,
			const uint64_t *chain, uint32_t nr)
{
	struct sample_id who = { .pid = pid, .tid = tid, .time_ns = time_ns, .cpu = 3 };
	struct synth_sample s = {
		.kernel = chain[0] == KERNEL,
		.ip = chain[1],
		.period = 1000 + time_ns,
		.chain = chain,
		.nr_chain = nr,
	};

	synth_sample(&bed->b, &bed->layout, &who, &s);
	push(bed, time_ns, event);
}

static void take_all(struct bed *bed)
{
	order_bound(bed->pl.order, 0, UINT64_MAX);
	assert_false(pipeline_work(&bed->pl, UINT64_MAX));
	pipeline_flush(&bed->pl);
}

/* A saved recording, read again. */
struct saved {
	struct perfdata *pd;
	int fd;
	struct record samples[SAMPLES_MOST];
	int events[SAMPLES_MOST];
	uint8_t bytes[SAMPLES_MOST][512];
	struct record_mmap maps[SAMPLES_MOST];
	char paths[SAMPLES_MOST][64], comms[SAMPLES_MOST][32];
	uint32_t comm_tids[SAMPLES_MOST];
	size_t nr, nr_maps, nr_comms;
};

static void keep(struct saved *s, const struct perfdata_record *r)
{
	struct record decoded;

	assert_int_equal(record_decode(r->layout, r->bytes, r->size, &decoded), 0);
	if (r->type == RECORD_SAMPLE) {
		assert_true(s->nr < SAMPLES_MOST && r->size <= sizeof(s->bytes[0]));
		memcpy(s->bytes[s->nr], r->bytes, r->size);
		assert_int_equal(
			record_decode(r->layout, s->bytes[s->nr], r->size, &s->samples[s->nr]), 0);
		s->events[s->nr++] = r->event;
	} else if (r->type == RECORD_MMAP2) {
		assert_true(s->nr_maps < SAMPLES_MOST);
		s->maps[s->nr_maps] = decoded.mmap;
		snprintf(s->paths[s->nr_maps++], 64, "%s", (const char *)decoded.mmap.filename.at);
	} else if (r->type == RECORD_COMM) {
		assert_true(s->nr_comms < SAMPLES_MOST);
		s->comm_tids[s->nr_comms] = decoded.comm.tid;
		snprintf(s->comms[s->nr_comms++], 32, "%s", (const char *)decoded.comm.comm.at);
	}
}

static void save(const struct bed *bed, struct saved *s, uint64_t wanted)
{
	struct perfdata_record r;
	struct reason why;
	uint64_t samples;
	char path[32];
	int fd = memfd_create("saved", MFD_CLOEXEC), again = fcntl(fd, F_DUPFD_CLOEXEC, 0), got;

	*s = (struct saved){ 0 };
	assert_int_equal(history_write(&bed->session, fd, &samples), 0);
	assert_int_equal(samples, wanted);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", again);
	assert_int_equal(perfdata_open(&s->pd, open(path, O_RDONLY | O_CLOEXEC), &why), 0);
	close(again);
	while ((got = perfdata_next(s->pd, &r)) == 1)
		if (r.type < PERFDATA_FIRST)
			keep(s, &r);
	assert_int_equal(got, 0);
	assert_string_equal(perfdata_stopped(s->pd), "");
	assert_int_equal(s->nr, wanted);
}

static const char *comm_of(const struct saved *s, uint32_t tid)
{
	for (size_t i = 0; i < s->nr_comms; i++)
		if (s->comm_tids[i] == tid)
			return s->comms[i];
	return "";
}

/* The file and the offset in it that the saved mappings explain an address by. */
static const char *explain(const struct saved *s, uint32_t pid, uint64_t addr, uint64_t *ret_offset)
{
	for (size_t i = 0; i < s->nr_maps; i++) {
		const struct record_mmap *m = &s->maps[i];

		if (m->pid != pid || addr - m->start >= m->len)
			continue;
		*ret_offset = addr - m->start + m->pgoff;
		return s->paths[i];
	}
	return "";
}

static void addresses_are_those_of_then(void **state)
{
	static const uint64_t chain[] = { KERNEL,  0xffffffff81000100, 0xffffffff81000200,
					  USER,    0x401234,           0x405678,
					  0x401300 };
	struct bed bed;
	struct saved s;
	uint64_t offset;

	(void)state;
	bed_open(&bed);
	push_comm(&bed, 1, 77, 77, "leader");
	push_comm(&bed, 2, 77, 78, "thread");
	push_map(&bed, 3, 77, 0x400000, 0x2000, "/bin/work");
	push_sample(&bed, 10, 0, 77, 78, chain, 7);
	push_sample(&bed, 20, 1, 77, 77, chain + 3, 4);
	take_all(&bed);
	save(&bed, &s, 2);
	assert_string_equal(perfdata_event_name(s.pd, 0), "cpu-clock");
	assert_string_equal(perfdata_event_name(s.pd, 1), "page-faults");
	assert_int_equal(s.events[0], 0);
	assert_int_equal(s.events[1], 1);
	assert_int_equal(s.samples[0].cpumode, CPUMODE_KERNEL);
	assert_int_equal(s.samples[0].sid.pid, 77);
	assert_int_equal(s.samples[0].sid.tid, 78);
	assert_int_equal(s.samples[0].sid.time_ns, 10);
	assert_int_equal(s.samples[0].sid.cpu, 3);
	assert_int_equal(s.samples[0].sample.period, 1010);
	assert_int_equal(s.samples[0].sample.ip, chain[1]);
	assert_int_equal(s.samples[0].sample.callchain.nr, 7);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(u64s_get(&s.samples[0].sample.callchain, i), chain[i]);
	assert_int_equal(s.samples[1].cpumode, CPUMODE_USER);
	assert_int_equal(s.samples[1].sample.callchain.nr, 4);
	assert_string_equal(comm_of(&s, 77), "leader");
	assert_string_equal(comm_of(&s, 78), "thread");
	assert_string_equal(explain(&s, 77, 0x401234, &offset), "/bin/work");
	assert_int_equal(offset, 0x3234);
	assert_int_equal(s.nr_maps, 1);
	perfdata_free(s.pd);
	bed_close(&bed);
}

/* Another file lies there by now, and another process has the number. */
static void what_is_gone_is_told_apart(void **state)
{
	static const uint64_t chain[] = { USER, 0x401234, 0x405678 };
	struct bed bed;
	struct saved s;
	uint64_t first, second;

	(void)state;
	bed_open(&bed);
	push_comm(&bed, 1, 77, 77, "first");
	push_map(&bed, 2, 77, 0x400000, 0, "/bin/one");
	push_sample(&bed, 3, 0, 77, 77, chain, 3);
	push_map(&bed, 4, 77, 0x400000, 0, "/bin/other");
	push_sample(&bed, 5, 0, 77, 77, chain, 3);
	push_task(&bed, 6, RECORD_EXIT, 77);
	push_task(&bed, 7, RECORD_FORK, 77);
	push_comm(&bed, 8, 77, 77, "second");
	push_map(&bed, 9, 77, 0x400000, 0, "/bin/third");
	push_sample(&bed, 10, 0, 77, 77, chain, 3);
	take_all(&bed);
	save(&bed, &s, 3);
	first = u64s_get(&s.samples[0].sample.callchain, 1);
	second = u64s_get(&s.samples[1].sample.callchain, 1);
	assert_int_equal(s.samples[2].sid.pid, 77);
	assert_int_not_equal(s.samples[0].sid.pid, 77);
	assert_true(s.samples[0].sid.pid >= 1u << 30 && s.samples[0].sid.pid < 1u << 31);
	assert_int_equal(s.samples[1].sid.pid, s.samples[0].sid.pid);
	assert_string_equal(comm_of(&s, s.samples[0].sid.tid), "first");
	assert_string_equal(comm_of(&s, 77), "second");
	assert_int_not_equal(first, 0x401234); /* made up */
	assert_int_equal(second, 0x401234);
	assert_string_equal(explain(&s, s.samples[0].sid.pid, first, &first), "/bin/one");
	assert_int_equal(first, 0x1234);
	assert_string_equal(explain(&s, s.samples[1].sid.pid, second, &second), "/bin/other");
	assert_int_equal(second, 0x1234);
	assert_string_equal(explain(&s, 77, 0x401234, &first), "/bin/third");
	perfdata_free(s.pd);
	bed_close(&bed);
}

/* Frames of no mapping stay where they were; ptop's own frames are left out. */
static void unknown_places_are_their_addresses(void **state)
{
	static const uint64_t chain[] = { USER, 0x123456 }, torn[] = { USER, 0x401234, 0x99999999 };
	struct bed bed;
	struct saved s;

	(void)state;
	bed_open(&bed);
	push_map(&bed, 1, 77, 0x400000, 0, "/bin/one");
	push_sample(&bed, 2, 0, 77, 77, chain, 2);
	push_sample(&bed, 3, 0, 77, 77, torn, 3);
	take_all(&bed);
	assert_int_equal(bed.pl.counts.ends[STACK_BROKEN], 2);
	save(&bed, &s, 2);
	assert_int_equal(s.samples[0].sample.ip, 0x123456);
	assert_int_equal(s.samples[0].sample.callchain.nr, 2);
	assert_int_equal(s.samples[1].sample.ip, 0x401234);
	assert_int_equal(s.samples[1].sample.callchain.nr, 2);
	perfdata_free(s.pd);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_those_of_then),
		cmocka_unit_test(what_is_gone_is_told_apart),
		cmocka_unit_test(unknown_places_are_their_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
