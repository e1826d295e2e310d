// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a large perf.data out of a small one: its data again and again, each time later by the span
 * of it all, until the file has the size asked for.  File mode, this machine's byte order, no
 * compression, TIME in all records.
 *
 * usage: repeat_recording FROM TO MEGABYTES
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/perfdata.h"

enum { DATA_OFFSET_AT = 40, DATA_SIZE_AT = 48, FEATURES_AT = 72, NR_FEATURE_WORDS = 4 };

struct data {
	uint8_t *bytes;
	size_t size, cap;
	size_t *times; /* where in .bytes a time stands */
	size_t nr_times, cap_times;
	uint64_t least, most;
};

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return p;
}

/* Where the time stands in a record; 0: nowhere. */
static size_t time_at(const struct perfdata_record *r)
{
	const uint64_t type = r->layout ? r->layout->sample_type : 0;
	const uint64_t behind = PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
				PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	const uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;

	if (!(r->sid.have & PERF_SAMPLE_TIME) || !r->sid.time_ns)
		return 0;
	if (r->type == RECORD_SAMPLE)
		return 8 + 8 * (size_t)__builtin_popcountll(type & before);
	return r->size - 8 * (size_t)__builtin_popcountll(type & behind);
}

static void add(struct data *d, const struct perfdata_record *r)
{
	size_t at = time_at(r);

	if (d->size + r->size > d->cap)
		d->bytes = must(realloc(d->bytes, d->cap = 2 * (d->cap + r->size)));
	memcpy(d->bytes + d->size, r->bytes, r->size);
	if (at) {
		if (d->nr_times == d->cap_times)
			d->times = must(realloc(d->times, (d->cap_times = 2 * d->cap_times + 64) *
								  sizeof(*d->times)));
		d->times[d->nr_times++] = d->size + at;
		if (!d->most || r->sid.time_ns < d->least)
			d->least = r->sid.time_ns;
		if (r->sid.time_ns > d->most)
			d->most = r->sid.time_ns;
	}
	d->size += r->size;
}

static void read_data(const char *path, struct data *d)
{
	struct perfdata_record r;
	struct perfdata *pd;
	struct reason why;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || perfdata_open(&pd, fd, &why)) {
		fprintf(stderr, "%s: %s\n", path, fd < 0 ? "cannot be opened" : why.text);
		exit(1);
	}
	while (perfdata_next(pd, &r) > 0)
		add(d, &r);
	perfdata_free(pd);
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *f = must(fopen(path, "re"));
	uint8_t *bytes;

	fseek(f, 0, SEEK_END);
	*ret_size = (size_t)ftell(f);
	rewind(f);
	bytes = must(malloc(*ret_size));
	if (fread(bytes, 1, *ret_size, f) != *ret_size)
		exit(1);
	fclose(f);
	return bytes;
}

static uint64_t get(const uint8_t *at)
{
	uint64_t x;

	memcpy(&x, at, sizeof(x));
	return x;
}

static void put(uint8_t *at, uint64_t x)
{
	memcpy(at, &x, sizeof(x));
}

static void write_file(const char *path, uint8_t *old, size_t old_size, struct data *d,
		       uint64_t times)
{
	uint64_t start = get(old + DATA_OFFSET_AT), old_data = get(old + DATA_SIZE_AT);
	uint64_t moved = d->size * times - old_data, span = d->most - d->least + 1000000;
	uint8_t *table = old + start + old_data;
	FILE *f = must(fopen(path, "we"));

	put(old + DATA_SIZE_AT, d->size * times);
	for (int i = 0; i < NR_FEATURE_WORDS; i++)
		for (uint64_t bits = get(old + FEATURES_AT + 8 * i); bits; bits &= bits - 1) {
			put(table, get(table) + moved);
			table += 16;
		}
	fwrite(old, 1, start, f);
	for (uint64_t i = 0; i < times; i++) {
		fwrite(d->bytes, 1, d->size, f);
		for (size_t k = 0; k < d->nr_times; k++)
			put(d->bytes + d->times[k], get(d->bytes + d->times[k]) + span);
	}
	fwrite(old + start + old_data, 1, old_size - start - old_data, f);
	if (fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct data d = { 0 };
	size_t old_size;
	uint8_t *old;
	uint64_t times;

	if (argc != 4) {
		fprintf(stderr, "usage: %s FROM TO MEGABYTES\n", argv[0]);
		return 2;
	}
	read_data(argv[1], &d);
	old = read_file(argv[1], &old_size);
	times = strtoull(argv[3], NULL, 10) * 1000000 / (d.size ? d.size : 1) + 1;
	write_file(argv[2], old, old_size, &d, times);
	printf("%" PRIu64 " times %zu bytes\n", times, d.size);
	free(old);
	free(d.bytes);
	free(d.times);
	return 0;
}
