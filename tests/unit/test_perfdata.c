// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recordings built by hand, in both byte orders, file and pipe mode: what is read of them, and what
 * is said where they are damaged.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "record/perfdata.h"

#define TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

enum { ROOM = 1 << 16, FLAG_SAMPLE_ID_ALL = 18, FLAG_EXCLUDE_KERNEL = 5 };

struct build {
	uint8_t bytes[ROOM];
	size_t size;
	bool big;
};

static void put(struct build *b, uint64_t x, size_t width)
{
	for (size_t i = 0; i < width; i++)
		b->bytes[b->size + i] = (uint8_t)(x >> 8 * (b->big ? width - 1 - i : i));
	b->size += width;
}

static void put_text(struct build *b, const char *text, size_t size)
{
	memset(b->bytes + b->size, 0, size);
	memcpy(b->bytes + b->size, text, strlen(text));
	b->size += size;
}

static void put_record(struct build *b, uint32_t type, uint16_t misc, uint16_t size)
{
	put(b, type, 4);
	put(b, misc, 2);
	put(b, size, 2);
}

/* The n-th bit-field of the flags, as a compiler of that byte order lays it out. */
static void put_flags(struct build *b, uint64_t flags)
{
	for (unsigned i = 0; i < 8; i++) {
		uint8_t byte = (uint8_t)(flags >> 8 * i), out = 0;

		for (unsigned k = 0; k < 8; k++)
			if (byte >> k & 1)
				out |= (uint8_t)(1u << (b->big ? 7 - k : k));
		b->bytes[b->size++] = out;
	}
}

static void put_attr(struct build *b, uint32_t size, uint64_t config, uint64_t type, uint64_t flags)
{
	size_t end = b->size + size;

	put(b, PERF_TYPE_SOFTWARE, 4);
	put(b, size, 4);
	put(b, config, 8);
	put(b, 1000000, 8);
	put(b, type, 8);
	put(b, 0, 8);
	put_flags(b, flags);
	memset(b->bytes + b->size, 0, end - b->size);
	b->size = end;
}

static void put_sample(struct build *b, uint64_t id, uint64_t time_ns)
{
	put_record(b, RECORD_SAMPLE, 2, 40);
	put(b, id, 8);
	put(b, 0x1234, 8);
	put(b, 77, 4);
	put(b, 78, 4);
	put(b, time_ns, 8);
}

/* COMM with its sample_id: TID, TIME, IDENTIFIER. */
static void put_comm(struct build *b, uint64_t id, uint64_t time_ns)
{
	put_record(b, RECORD_COMM, 0, 48);
	put(b, 77, 4);
	put(b, 78, 4);
	put_text(b, "work", 8);
	put(b, 77, 4);
	put(b, 78, 4);
	put(b, time_ns, 8);
	put(b, id, 8);
}

static const uint64_t all_flags = UINT64_C(1) << FLAG_SAMPLE_ID_ALL;

/*
 * Header, ids 11, 12 | 21, two attrs of @attr_size, @data records by @fill, then a host name.
 * Returns where the data begins.
 */
static size_t put_file(struct build *b, uint32_t attr_size, bool finished,
		       void (*fill)(struct build *b))
{
	const size_t ids = 104, attrs = ids + 24, entry = attr_size + 16, data = attrs + 2 * entry;
	size_t end;

	put_text(b, b->big ? "2ELIFREP" : "PERFILE2", 8);
	b->size = 8;
	put(b, 104, 8);
	put(b, entry, 8);
	put(b, attrs, 8);
	put(b, 2 * entry, 8);
	put(b, data, 8);
	put(b, 0, 8); /* the size of the data, set below */
	put(b, 0, 8);
	put(b, 0, 8);
	put(b, 1u << 3, 8); /* the host's name */
	put(b, 0, 8);
	put(b, 0, 8);
	put(b, 0, 8);
	put(b, 11, 8);
	put(b, 12, 8);
	put(b, 21, 8);
	put_attr(b, attr_size, 0, TYPE, all_flags | 1u << FLAG_EXCLUDE_KERNEL);
	put(b, ids, 8);
	put(b, 16, 8);
	put_attr(b, attr_size, 2, TYPE, all_flags);
	put(b, ids + 16, 8);
	put(b, 8, 8);
	assert_int_equal(b->size, data);
	fill(b);
	end = b->size;
	if (!finished)
		return data;
	b->size = 48;
	put(b, end - data, 8);
	b->size = end;
	put(b, end + 16, 8);
	put(b, 12, 8);
	put(b, 8, 4);
	put_text(b, "elsewh", 8);
	return data;
}

static void three_records(struct build *b)
{
	put_comm(b, 11, 100);
	put_sample(b, 12, 200);
	put_sample(b, 21, 300);
	put_record(b, PERFDATA_FINISHED_ROUND, 0, 8);
}

static struct perfdata *open_built(const struct build *b)
{
	struct perfdata *pd = NULL;
	struct reason why = { "" };

	if (perfdata_open_memory(&pd, b->bytes, b->size, &why))
		fail_msg("%s", why.text);
	return pd;
}

static void check_three_records(struct perfdata *pd)
{
	struct perfdata_record r;

	assert_int_equal(perfdata_next(pd, &r), 1);
	assert_int_equal(r.type, RECORD_COMM);
	assert_int_equal(r.event, 0);
	assert_int_equal(r.sid.time_ns, 100);
	assert_int_equal(perfdata_next(pd, &r), 1);
	assert_int_equal(r.type, RECORD_SAMPLE);
	assert_int_equal(r.event, 0);
	assert_int_equal(r.sid.tid, 78);
	assert_int_equal(r.sid.time_ns, 200);
	assert_int_equal(perfdata_next(pd, &r), 1);
	assert_int_equal(r.event, 1);
	assert_int_equal(perfdata_next(pd, &r), 1);
	assert_int_equal(r.type, PERFDATA_FINISHED_ROUND);
	assert_int_equal(r.event, -1);
	assert_int_equal(perfdata_next(pd, &r), 0);
}

static void reads_files_of_both_byte_orders_and_many_attr_sizes(void **state)
{
	static const uint32_t sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 200 };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct build b = { .big = i & 1 };
		struct perfdata *pd;

		put_file(&b, sizes[i / 2], true, three_records);
		pd = open_built(&b);
		assert_int_equal(perfdata_nr_events(pd), 2);
		assert_string_equal(perfdata_facts(pd)->hostname, "elsewh");
		assert_string_equal(perfdata_event_name(pd, 0), "cpu-clock:uh");
		check_three_records(pd);
		assert_string_equal(perfdata_stopped(pd), "");
		assert_false(perfdata_damaged(pd));
		perfdata_free(pd);
	}
}

static void an_unfinished_file_is_read_to_its_end(void **state)
{
	struct build b = { 0 };
	struct perfdata *pd;

	(void)state;
	put_file(&b, 112, false, three_records);
	pd = open_built(&b);
	check_three_records(pd);
	assert_false(perfdata_damaged(pd));
	assert_non_null(strstr(perfdata_stopped(pd), "never finished"));
	perfdata_free(pd);
}

static void a_cut_file_gives_what_is_whole_and_says_where_it_ends(void **state)
{
	struct build b = { 0 };
	struct perfdata *pd;
	struct perfdata_record r;
	size_t data;
	char byte[32];

	(void)state;
	data = put_file(&b, 112, true, three_records);
	b.size = data + 48 + 20; /* in the first sample */
	snprintf(byte, sizeof(byte), "byte %zu:", data + 48);
	pd = open_built(&b);
	assert_int_equal(perfdata_next(pd, &r), 1);
	assert_int_equal(perfdata_next(pd, &r), -EBADMSG);
	assert_int_equal(perfdata_next(pd, &r), -EBADMSG);
	assert_true(perfdata_damaged(pd));
	assert_non_null(strstr(perfdata_stopped(pd), byte));
	perfdata_free(pd);
}

static void zero_size(struct build *b)
{
	put_sample(b, 11, 1);
	put_record(b, RECORD_SAMPLE, 0, 0);
	put_sample(b, 11, 2);
}

static void short_sample(struct build *b)
{
	put_record(b, RECORD_SAMPLE, 0, 16);
	put(b, 11, 8);
}

static void damage_stops_reading_for_a_stated_reason(void **state)
{
	static const struct {
		void (*fill)(struct build *b);
		int before;
		const char *word;
	} cases[] = {
		{ zero_size, 1, "size below 8" },
		{ short_sample, 0, "too short" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct build b = { 0 };
		struct perfdata_record r;
		struct perfdata *pd;

		put_file(&b, 112, true, cases[i].fill);
		pd = open_built(&b);
		for (int k = 0; k < cases[i].before; k++)
			assert_int_equal(perfdata_next(pd, &r), 1);
		assert_int_equal(perfdata_next(pd, &r), -EBADMSG);
		assert_non_null(strstr(perfdata_stopped(pd), cases[i].word));
		perfdata_free(pd);
	}
}

static void put_pipe_head(struct build *b)
{
	put_text(b, b->big ? "2ELIFREP" : "PERFILE2", 8);
	put(b, 16, 8);
	put_record(b, PERFDATA_HEADER_ATTR, 0, 8 + 112 + 16);
	put_attr(b, 112, 0, TYPE, all_flags);
	put(b, 11, 8);
	put(b, 12, 8);
	put_record(b, PERFDATA_HEADER_ATTR, 0, 8 + 112 + 8);
	put_attr(b, 112, 2, TYPE, all_flags);
	put(b, 21, 8);
	put_record(b, PERFDATA_EVENT_UPDATE, 0, 8 + 16 + 8);
	put(b, 2, 8);
	put(b, 21, 8);
	put_text(b, "mine", 8);
	put_record(b, PERFDATA_TRACING_DATA, 0, 16);
	put(b, 13, 4); /* and is padded */
	put(b, 0, 4);
	put_text(b, "no records", 16);
	put_record(b, PERFDATA_AUXTRACE, 0, 48);
	put(b, 24, 8);
	put_text(b, "", 32);
	put_text(b, "a trace", 24);
}

static void reads_pipes_and_passes_over_what_is_no_record(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct build b = { .big = big };
		struct perfdata_record r;
		struct perfdata *pd;

		put_pipe_head(&b);
		three_records(&b);
		pd = open_built(&b);
		assert_true(perfdata_is_pipe(pd));
		for (int i = 0; i < 5; i++)
			assert_int_equal(perfdata_next(pd, &r), 1);
		assert_int_equal(r.type, PERFDATA_AUXTRACE);
		assert_string_equal(perfdata_event_name(pd, 1), "mine");
		check_three_records(pd);
		perfdata_free(pd);
	}
}

/* What the recorder tells in pipe mode: formats of tracepoints, what its clock showed when. */
static void reads_what_a_pipe_tells(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct build b = { .big = big };
		struct perfdata_record r;
		struct perfdata *pd;
		uint8_t *bytes;
		size_t size;

		put_pipe_head(&b);
		put_record(&b, PERFDATA_FEATURE, 0, 40);
		put(&b, 29, 8);
		put(&b, 1, 4);
		put(&b, 1, 4);
		put(&b, 1700000000000000000, 8);
		put(&b, 4242, 8);
		pd = open_built(&b);
		assert_int_equal(perfdata_tracing_data(pd, &bytes, &size), -ENOENT);
		while (perfdata_next(pd, &r) > 0)
			;
		assert_string_equal(perfdata_stopped(pd), "");
		assert_int_equal(perfdata_facts(pd)->clock_wall_ns, 1700000000000000000);
		assert_int_equal(perfdata_facts(pd)->clock_ns, 4242);
		assert_int_equal(perfdata_facts(pd)->trace_bytes, 24);
		assert_int_equal(perfdata_tracing_data(pd, &bytes, &size), 0);
		assert_int_equal(size, 16);
		assert_memory_equal(bytes, "no records", 11);
		free(bytes);
		perfdata_free(pd);
	}
}

/* Records that begin in one compressed record and end in the next. */
static void reads_compressed_data_of_both_kinds(void **state)
{
	struct build inner = { 0 };
	uint8_t packed[4096];
	size_t size;

	(void)state;
	three_records(&inner);
	size = ZSTD_compress(packed, sizeof(packed), inner.bytes, inner.size, 1);
	assert_false(ZSTD_isError(size));
	for (uint32_t type = PERFDATA_COMPRESSED; type <= PERFDATA_COMPRESSED2; type += 2) {
		struct build b = { 0 };
		struct perfdata_record r;
		struct perfdata *pd;
		size_t half = size / 2, parts[] = { half, size - half };

		put_pipe_head(&b);
		for (int i = 0; i < 2; i++) {
			size_t extra = type == PERFDATA_COMPRESSED2 ? 8 : 0;

			put_record(&b, type, 0, (uint16_t)(8 + extra + parts[i]));
			if (extra)
				put(&b, parts[i], 8);
			memcpy(b.bytes + b.size, packed + (i ? half : 0), parts[i]);
			b.size += parts[i];
		}
		pd = open_built(&b);
		for (int i = 0, seen = 0; i < 11; i++) {
			assert_int_equal(perfdata_next(pd, &r), 1);
			seen += r.type == RECORD_SAMPLE;
			if (i == 10)
				assert_int_equal(seen, 2);
		}
		assert_int_equal(perfdata_next(pd, &r), 0);
		assert_string_equal(perfdata_stopped(pd), "");
		perfdata_free(pd);
	}
}

static void refuses_what_is_no_recording(void **state)
{
	static const char *const texts[] = { "", "PERF", "PERFILE2........",
					     "\177ELF............" };
	struct reason why;
	struct perfdata *pd;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		why.text[0] = '\0';
		assert_int_not_equal(perfdata_open_memory(&pd, texts[i], strlen(texts[i]), &why),
				     0);
		assert_true(why.text[0]);
	}
}

/* A file that comes through a pipe is read as well, its last part before its middle. */
static void reads_a_file_through_a_pipe(void **state)
{
	struct build b = { 0 };
	struct reason why;
	struct perfdata *pd;
	int ends[2];

	(void)state;
	put_file(&b, 112, true, three_records);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], b.bytes, b.size), (ssize_t)b.size);
	close(ends[1]);
	assert_int_equal(perfdata_open(&pd, ends[0], &why), 0);
	assert_string_equal(perfdata_facts(pd)->hostname, "elsewh");
	check_three_records(pd);
	perfdata_free(pd);
}

static void write_in(const char *folder, const char *name, const struct build *b)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(b->bytes, 1, b->size, f), b->size);
	assert_int_equal(fclose(f), 0);
}

/* As of perf record --threads: records come by time, whatever file they are in. */
static void reads_a_folder(void **state)
{
	char folder[] = "/tmp/ptop-perfdata-XXXXXX", command[64];
	/* To the time of another file's last record, then on in that. */
	static const uint64_t times[] = { 100, 150, 250, 200, 160, 900, 300 };
	struct build b = { 0 }, first = { 0 }, second = { 0 };
	struct perfdata_record r;
	struct reason why;
	struct perfdata *pd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_not_equal(perfdata_open(&pd, open(folder, O_RDONLY | O_CLOEXEC), &why), 0);
	assert_non_null(strstr(why.text, "folder"));
	put_file(&b, 112, true, three_records);
	write_in(folder, "data", &b);
	put_sample(&first, 11, 150);
	put_sample(&first, 11, 160);
	put_sample(&first, 11, 900);
	write_in(folder, "data.0", &first);
	put_sample(&second, 21, 250);
	put_record(&second, RECORD_SAMPLE, 0, 40); /* and is cut there */
	write_in(folder, "data.10", &second);
	write_in(folder, "data.010", &second);
	write_in(folder, "data.old", &second);
	assert_int_equal(perfdata_open(&pd, open(folder, O_RDONLY | O_CLOEXEC), &why), 0);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		assert_int_equal(perfdata_next(pd, &r), 1);
		assert_int_equal(r.sid.time_ns, times[i]);
	}
	assert_int_equal(perfdata_next(pd, &r), 1);
	assert_int_equal(r.type, PERFDATA_FINISHED_ROUND);
	assert_int_equal(perfdata_next(pd, &r), -EBADMSG);
	assert_non_null(strstr(perfdata_stopped(pd), "byte 40 of data.10"));
	assert_int_equal(perfdata_position(pd), b.size - 28 + first.size + 40);
	perfdata_free(pd);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* A build-id of 20 bytes that ends in zero, one of 16 that was padded, and one that tells 8. */
static void three_build_ids(struct build *b)
{
	static const uint8_t sizes[] = { 19, 16, 8 };

	put_sample(b, 11, 100);
	for (size_t i = 0; i < sizeof(sizes); i++) {
		put_record(b, PERFDATA_BUILD_ID, i == 2 ? 1u << 15 : 0, 8 + 4 + 24 + 4);
		put(b, UINT32_MAX, 4);
		for (unsigned k = 0; k < 20; k++)
			put(b, k < sizes[i] ? 0xab : 0, 1);
		put(b, i == 2 ? 8 : 0, 4);
		put_text(b, "/x", 4);
	}
	put_sample(b, 21, 200);
}

/* And while it has to be quiet, what would change them is put off. */
static void build_ids_have_their_sizes(void **state)
{
	static const uint8_t sizes[] = { 20, 16, 8 };
	struct build b = { 0 };
	struct perfdata_record r;
	struct perfdata *pd;

	(void)state;
	put_file(&b, 112, true, three_build_ids);
	pd = open_built(&b);
	perfdata_quiet(pd, true);
	assert_int_equal(perfdata_next(pd, &r), 1);
	assert_int_equal(perfdata_next(pd, &r), -EBUSY);
	assert_int_equal(perfdata_next(pd, &r), -EBUSY);
	assert_int_equal(perfdata_nr_build_ids(pd), 0);
	perfdata_quiet(pd, false);
	for (size_t i = 0; i < sizeof(sizes); i++) {
		assert_int_equal(perfdata_next(pd, &r), 1);
		assert_int_equal(r.type, PERFDATA_BUILD_ID);
		assert_int_equal(perfdata_nr_build_ids(pd), i + 1);
		assert_int_equal(perfdata_build_id(pd, i)->size, sizes[i]);
		assert_string_equal(perfdata_build_id(pd, i)->path, "/x");
	}
	assert_int_equal(perfdata_next(pd, &r), 1);
	assert_int_equal(r.sid.time_ns, 200);
	assert_int_equal(perfdata_next(pd, &r), 0);
	perfdata_free(pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_files_of_both_byte_orders_and_many_attr_sizes),
		cmocka_unit_test(an_unfinished_file_is_read_to_its_end),
		cmocka_unit_test(a_cut_file_gives_what_is_whole_and_says_where_it_ends),
		cmocka_unit_test(damage_stops_reading_for_a_stated_reason),
		cmocka_unit_test(reads_pipes_and_passes_over_what_is_no_record),
		cmocka_unit_test(reads_what_a_pipe_tells),
		cmocka_unit_test(reads_compressed_data_of_both_kinds),
		cmocka_unit_test(refuses_what_is_no_recording),
		cmocka_unit_test(reads_a_file_through_a_pipe),
		cmocka_unit_test(reads_a_folder),
		cmocka_unit_test(build_ids_have_their_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
