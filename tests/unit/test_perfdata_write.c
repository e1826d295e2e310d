// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recordings written and read back: what went in comes out, at each moment in between too, and also
 * where the file could not grow as far as was wanted.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "output/perfdata_write.h"
#include "output/synth.h"
#include "record/decode.h"
#include "record/perfdata.h"

#define FIELDS                                                                          \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static const struct perf_event_attr clock_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(clock_attr),
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.sample_period = 1001001,
	.sample_type = FIELDS,
	.sample_id_all = 1,
	.use_clockid = 1,
	.clockid = 1,
};

static const struct perf_event_attr faults_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(faults_attr),
	.config = PERF_COUNT_SW_PAGE_FAULTS,
	.sample_period = 7,
	.sample_type = FIELDS,
	.sample_id_all = 1,
};

static char *words[] = { "ptop", "-o", "file with blanks", NULL };

static const struct perfdata_about about = {
	.hostname = "here",
	.osrelease = "6.18.0",
	.version = "ptop 1",
	.arch = "x86_64",
	.cpudesc = "a processor",
	.nr_cpus_online = 2,
	.nr_cpus = 4,
	.memory_kb = 12345,
	.cmdline = words,
	.clockid = 1,
	.resolution_ns = 1,
	.clock_ns = 5,
	.wall_ns = 1000000005,
};

struct bed {
	struct perfdata_writer *w;
	struct layout layout;
	struct blob b;
	int fd; /* another descriptor of the same file, that stays */
};

static struct bed bed_begin(size_t nr_ids)
{
	struct bed bed = { .layout = layout_of(&clock_attr) };
	int fd = memfd_create("recording", MFD_CLOEXEC);

	assert_true(fd >= 0);
	bed.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(writer_new(&bed.w, fd, &about, nr_ids), 0);
	assert_int_equal(writer_event(bed.w, &clock_attr, "cpu-clock"), 0);
	assert_int_equal(writer_event(bed.w, &faults_attr, "my own name"), 1);
	return bed;
}

static void bed_end(struct bed *bed)
{
	assert_int_equal(writer_free(bed->w), 0);
	blob_done(&bed->b);
	close(bed->fd);
}

static int put_sample(struct bed *bed, int event, uint64_t id, uint64_t time_ns)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x1234, 0x5678 };
	struct sample_id who = { .pid = 77, .tid = 78, .time_ns = time_ns, .id = id, .cpu = 1 };
	struct synth_sample s = { .ip = 0x1234, .period = 9, .chain = chain, .nr_chain = 3 };
	int no_room = event >= 0 ? writer_id(bed->w, event, id) : 0;

	synth_sample(&bed->b, &bed->layout, &who, &s);
	return writer_record(bed->w, no_room ? event : -1, bed->b.at, bed->b.nr);
}

static void put_past(struct bed *bed)
{
	static const uint8_t id[] = { 1, 2, 3, 4 };
	struct sample_id who = { 0 };
	struct synth_map m = { .pid = 77,
			       .start = 0x400000,
			       .len = 0x1000,
			       .pgoff = 0x2000,
			       .maj = 8,
			       .min = 1,
			       .ino = 4711,
			       .path = "/bin/true" };

	synth_kernel_map(&bed->b, &bed->layout, &who, 0xffffffff81000000, 0x1000000,
			 0xffffffff81000000, "[kernel.kallsyms]_text");
	assert_int_equal(writer_record(bed->w, -1, bed->b.at, bed->b.nr), 0);
	synth_comm(&bed->b, &bed->layout, &who, 77, 78, "a name that is too long for a comm");
	assert_int_equal(writer_record(bed->w, -1, bed->b.at, bed->b.nr), 0);
	synth_mmap2(&bed->b, &bed->layout, &who, &m);
	assert_int_equal(writer_record(bed->w, -1, bed->b.at, bed->b.nr), 0);
	m.build_id = id;
	m.build_id_size = sizeof(id);
	synth_mmap2(&bed->b, &bed->layout, &who, &m);
	assert_int_equal(writer_record(bed->w, -1, bed->b.at, bed->b.nr), 0);
	synth_ksymbol(&bed->b, &bed->layout, &who, 0xffffffffc0000000, 64, 1, "bpf_prog");
	assert_int_equal(writer_record(bed->w, -1, bed->b.at, bed->b.nr), 0);
	assert_int_equal(writer_init_done(bed->w), 0);
}

static struct perfdata *read_back(const struct bed *bed)
{
	struct perfdata *pd = NULL;
	struct reason why = { "" };
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", bed->fd);
	if (perfdata_open(&pd, open(path, O_RDONLY | O_CLOEXEC), &why))
		fail_msg("%s", why.text);
	return pd;
}

static struct record next(struct perfdata *pd, int event)
{
	struct perfdata_record r;
	struct record decoded = { 0 };

	assert_int_equal(perfdata_next(pd, &r), 1);
	assert_int_equal(r.event, event);
	if (r.type < PERFDATA_FIRST)
		assert_int_equal(record_decode(r.layout, r.bytes, r.size, &decoded), 0);
	decoded.type = r.type;
	return decoded;
}

static void check_past(struct perfdata *pd)
{
	struct record r = next(pd, 0);

	assert_int_equal(r.type, RECORD_MMAP);
	assert_int_equal(r.cpumode, CPUMODE_KERNEL);
	assert_int_equal(r.mmap.pid, UINT32_MAX);
	assert_int_equal(r.mmap.pgoff, 0xffffffff81000000);
	assert_string_equal((const char *)r.mmap.filename.at, "[kernel.kallsyms]_text");
	r = next(pd, 0);
	assert_int_equal(r.type, RECORD_COMM);
	assert_int_equal(r.comm.tid, 78);
	assert_int_equal(strlen((const char *)r.comm.comm.at), 34);
	r = next(pd, 0);
	assert_int_equal(r.type, RECORD_MMAP2);
	assert_int_equal(r.mmap.ino, 4711);
	assert_int_equal(r.mmap.pgoff, 0x2000);
	assert_string_equal((const char *)r.mmap.filename.at, "/bin/true");
	r = next(pd, 0);
	assert_true(r.mmap.has_build_id);
	assert_int_equal(r.mmap.build_id_size, 4);
	assert_int_equal(r.mmap.build_id[3], 4);
	r = next(pd, 0);
	assert_int_equal(r.type, RECORD_KSYMBOL);
	assert_int_equal(r.ksymbol.len, 64);
	assert_string_equal((const char *)r.ksymbol.name.at, "bpf_prog");
	assert_int_equal(next(pd, -1).type, PERFDATA_FINISHED_INIT);
}

static void check_sample(struct perfdata *pd, int event, uint64_t time_ns)
{
	struct record r = next(pd, event);

	assert_int_equal(r.type, RECORD_SAMPLE);
	assert_int_equal(r.cpumode, CPUMODE_USER);
	assert_int_equal(r.sid.pid, 77);
	assert_int_equal(r.sid.tid, 78);
	assert_int_equal(r.sid.cpu, 1);
	assert_int_equal(r.sid.time_ns, time_ns);
	assert_int_equal(r.sample.ip, 0x1234);
	assert_int_equal(r.sample.period, 9);
	assert_int_equal(r.sample.callchain.nr, 3);
	assert_int_equal(u64s_get(&r.sample.callchain, 2), 0x5678);
}

static void check_end(struct perfdata *pd)
{
	struct perfdata_record r;

	assert_int_equal(perfdata_next(pd, &r), 0);
	assert_string_equal(perfdata_stopped(pd), "");
	perfdata_free(pd);
}

static void what_goes_in_comes_out(void **state)
{
	static const uint8_t id[20] = { 0xab, 0xcd };
	struct bed bed = bed_begin(0);
	const struct perfdata_facts *f;
	struct perfdata *pd;

	(void)state;
	put_past(&bed);
	assert_int_equal(put_sample(&bed, 0, 11, 100), 0);
	assert_int_equal(put_sample(&bed, 1, 21, 200), 0);
	assert_int_equal(put_sample(&bed, 0, 12, 300), 0);
	assert_int_equal(writer_event_of(bed.w, 21), 1);
	assert_int_equal(writer_event_of(bed.w, 99), -1);
	assert_int_equal(writer_round(bed.w), 0);
	writer_times(bed.w, 100, 300);
	assert_int_equal(writer_build_id(bed.w, "/bin/true", id, sizeof(id), false), 0);
	assert_int_equal(writer_build_id(bed.w, "[kernel.kallsyms]", id, 20, true), 0);
	assert_int_equal(writer_build_id(bed.w, "/bin/both", id, 20, false), 0);
	assert_int_equal(writer_build_id(bed.w, "/bin/both", id, 16, false), 0);
	assert_int_equal(writer_flush(bed.w), 0);
	pd = read_back(&bed);
	assert_int_equal(perfdata_nr_events(pd), 2);
	assert_string_equal(perfdata_event_name(pd, 0), "cpu-clock");
	assert_string_equal(perfdata_event_name(pd, 1), "my own name");
	assert_int_equal(perfdata_event(pd, 0)->sample_period, 1001001);
	assert_true(perfdata_event(pd, 0)->use_clockid);
	assert_int_equal(perfdata_event(pd, 0)->clockid, 1);
	f = perfdata_facts(pd);
	assert_string_equal(f->hostname, "here");
	assert_string_equal(f->osrelease, "6.18.0");
	assert_string_equal(f->version, "ptop 1");
	assert_string_equal(f->arch, "x86_64");
	assert_string_equal(f->cpudesc, "a processor");
	assert_string_equal(f->cmdline, "ptop -o file with blanks");
	assert_int_equal(f->nr_cpus, 4);
	assert_int_equal(f->nr_cpus_online, 2);
	assert_int_equal(f->memory_kb, 12345);
	assert_int_equal(perfdata_nr_build_ids(pd), 2);
	assert_string_equal(perfdata_build_id(pd, 0)->path, "/bin/true");
	assert_int_equal(perfdata_build_id(pd, 0)->size, 20);
	assert_memory_equal(perfdata_build_id(pd, 0)->id, id, 20);
	assert_int_equal(perfdata_build_id(pd, 1)->misc & 7, PERF_RECORD_MISC_KERNEL);
	check_past(pd);
	check_sample(pd, 0, 100);
	check_sample(pd, 1, 200);
	check_sample(pd, 0, 300);
	assert_int_equal(next(pd, -1).type, PERFDATA_FINISHED_ROUND);
	check_end(pd);
	bed_end(&bed);
}

/* What a writer leaves that is killed: the file as of its last flush. */
static void each_flush_leaves_a_whole_file(void **state)
{
	struct bed bed = bed_begin(0);
	struct perfdata *pd;

	(void)state;
	for (uint64_t i = 1; i <= 20; i++) {
		if (i == 10)
			assert_int_equal(writer_event(bed.w, &faults_attr, "late"), 2);
		assert_int_equal(put_sample(&bed, i < 10 ? 0 : 2, 10 + i, i), 0);
		assert_int_equal(writer_flush(bed.w), 0);
		assert_int_equal(put_sample(&bed, 0, 11, 1000), 0);
		pd = read_back(&bed);
		assert_int_equal(perfdata_nr_events(pd), i < 10 ? 2 : 3);
		for (uint64_t k = 1; k <= i; k++) {
			check_sample(pd, k < 10 ? 0 : 2, k);
			if (k < i)
				check_sample(pd, 0, 1000);
		}
		assert_string_equal(perfdata_event_name(pd, i < 10 ? 1 : 2),
				    i < 10 ? "my own name" : "late");
		check_end(pd);
	}
	bed_end(&bed);
}

/* More ids than there is room for: their records get the event's first. */
static void every_record_has_an_id_that_the_file_tells(void **state)
{
	struct bed bed = bed_begin(1);
	struct sample_id who = { .pid = 77, .tid = 78, .time_ns = 5 };
	struct perfdata *pd;
	struct record r;

	(void)state;
	for (uint64_t i = 0; i < 70; i++) {
		assert_int_equal(put_sample(&bed, 1, 100 + i, 1000 + i), 0);
		who.id = 100 + i;
		synth_comm(&bed.b, &bed.layout, &who, 77, 78, "work");
		assert_int_equal(writer_record(bed.w, writer_event_of(bed.w, who.id) < 0 ? 1 : -1,
					       bed.b.at, bed.b.nr),
				 0);
	}
	assert_int_equal(writer_flush(bed.w), 0);
	pd = read_back(&bed);
	for (uint64_t i = 0; i < 70; i++) {
		check_sample(pd, 1, 1000 + i);
		r = next(pd, 1);
		assert_int_equal(r.sid.id, i < 64 ? 100 + i : 100);
		assert_string_equal((const char *)r.comm.comm.at, "work");
	}
	check_end(pd);
	bed_end(&bed);
}

static void refuses_what_no_reader_could_take(void **state)
{
	struct bed bed = bed_begin(0);
	struct perf_event_attr attr = clock_attr;
	struct perf_event_header h = { .type = RECORD_COMM, .size = 16 };
	int event = 1;

	(void)state;
	assert_int_equal(writer_record(bed.w, -1, &h, sizeof(h)), -EINVAL);
	assert_int_equal(writer_record(bed.w, -1, &h, 4), -EINVAL);
	attr.sample_type &= ~(uint64_t)PERF_SAMPLE_IDENTIFIER;
	assert_int_equal(writer_event(bed.w, &attr, "x"), -EINVAL);
	while (event + 1 < WRITER_EVENTS_MAX)
		assert_int_equal(writer_event(bed.w, &clock_attr, "x"), ++event);
	assert_int_equal(writer_event(bed.w, &clock_attr, "x"), -ENOSPC);
	bed_end(&bed);
}

/* Writes until the file may grow no further; returns how many samples were taken. */
static uint64_t fill_up(struct bed *bed, uint64_t most_bytes)
{
	struct rlimit old, small;
	uint64_t nr = 0;
	int err = 0;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ .rlim_cur = most_bytes, .rlim_max = old.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	while (nr < 20000 && !err) {
		err = put_sample(bed, 0, 11, ++nr);
		if (!err && nr % 100 == 0)
			err = writer_flush(bed->w);
	}
	assert_int_equal(err, -EFBIG);
	assert_int_equal(put_sample(bed, 0, 11, ++nr), -EFBIG);
	assert_int_equal(writer_flush(bed->w), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	return nr;
}

static void a_full_disk_keeps_what_fitted_readable(void **state)
{
	uint64_t start;

	(void)state;
	for (uint64_t room = 0; room < 3000; room += 97) {
		struct bed bed = bed_begin(0);
		uint64_t nr, read = 0;
		struct perfdata *pd;
		struct perfdata_record r;

		assert_int_equal(writer_flush(bed.w), 0);
		start = writer_bytes(bed.w);
		nr = fill_up(&bed, start + 20000 + room);
		assert_true(writer_bytes(bed.w) <= start + 20000 + room);
		pd = read_back(&bed);
		while (perfdata_next(pd, &r) == 1) {
			assert_int_equal(r.event, 0);
			assert_int_equal(r.sid.time_ns, ++read);
		}
		assert_string_equal(perfdata_stopped(pd), "");
		assert_true(read > 150);
		assert_int_equal(read + writer_dropped(bed.w), nr);
		assert_string_equal(perfdata_facts(pd)->hostname, "here");
		assert_string_equal(perfdata_event_name(pd, 1), "my own name");
		perfdata_free(pd);
		assert_int_equal(writer_free(bed.w), -EFBIG);
		blob_done(&bed.b);
		close(bed.fd);
	}
}

/* So full that not even the features fit. */
static void a_disk_that_is_full_at_once_leaves_records_before_features(void **state)
{
	struct bed bed = bed_begin(0);
	struct perfdata_record r;
	struct perfdata *pd;
	uint64_t read = 0;

	(void)state;
	fill_up(&bed, writer_bytes(bed.w) + 200);
	pd = read_back(&bed);
	assert_int_equal(perfdata_nr_events(pd), 2);
	while (perfdata_next(pd, &r) == 1)
		assert_int_equal(r.sid.time_ns, ++read);
	assert_int_equal(read, 2);
	assert_false(perfdata_damaged(pd));
	perfdata_free(pd);
	assert_int_equal(writer_free(bed.w), -EFBIG);
	blob_done(&bed.b);
	close(bed.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(each_flush_leaves_a_whole_file),
		cmocka_unit_test(every_record_has_an_id_that_the_file_tells),
		cmocka_unit_test(refuses_what_no_reader_could_take),
		cmocka_unit_test(a_full_disk_keeps_what_fitted_readable),
		cmocka_unit_test(a_disk_that_is_full_at_once_leaves_records_before_features),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
