/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	header | attrs, each with the section of its ids | ids of each event | data | features
 *
 * Attrs and ids have room for all there may ever be (zeroes at first, so that a full disk cannot
 * take it away), the data begins behind that.
 *
 * A flush: the header forgets the features, records overwrite them, new features follow, attrs and
 * ids are brought up to date, and the header tells of all that.  What it names is there at each
 *step.
 */
#include "output/perfdata_write.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "output/perfdata_write_impl.h"

enum {
	HEADER_BYTES = 104,
	SECTION_BYTES = 16,
	ENTRY_BYTES = sizeof(struct perf_event_attr) + SECTION_BYTES,
	IDS_LEAST = 64,
	RECORD_HEADER_BYTES = 8,
	RECORD_BYTES_MAX = 65535,
	BUFFER_BYTES = 256 << 10,
	FINISHED_ROUND = 68,
	FINISHED_INIT = 82,
	BUILD_IDS_MAX = 1 << 16,
	PAGE = 4096,
};

static uint64_t entry_at(size_t event)
{
	return HEADER_BYTES + event * ENTRY_BYTES;
}

static uint64_t ids_at(const struct perfdata_writer *w, size_t event)
{
	return entry_at(WRITER_EVENTS_MAX) + event * w->ids_room * sizeof(uint64_t);
}

/* Writes all of it; *@ret_got tells how much was, whatever happens.  0 or -errno. */
static int write_at(int fd, const void *bytes, size_t size, uint64_t offset, size_t *ret_got)
{
	size_t got = 0;

	*ret_got = 0;
	while (got < size) {
		ssize_t n =
			pwrite(fd, (const uint8_t *)bytes + got, size - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		got += (size_t)n;
		*ret_got = got;
	}
	return 0;
}

static int write_header(const struct perfdata_writer *w, const uint64_t bits[4])
{
	uint64_t header[HEADER_BYTES / 8] = {
		[1] = HEADER_BYTES, [2] = ENTRY_BYTES,
		[3] = entry_at(0),  [4] = w->events.nr * ENTRY_BYTES,
		[5] = w->data_at,   [6] = w->end,
	};
	size_t got;

	memcpy(&header[0], "PERFILE2", 8);
	if (bits)
		memcpy(&header[9], bits, 4 * sizeof(bits[0]));
	_Static_assert(sizeof(header) == HEADER_BYTES, "the header's size");
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		memcpy(&header[0], "2ELIFREP", 8);
	return write_at(w->fd, header, sizeof(header), 0, &got);
}

static int write_event(struct perfdata_writer *w, size_t i)
{
	struct out_event *e = &w->events.at[i];
	uint64_t section[2] = { ids_at(w, i), e->ids.nr * sizeof(e->ids.at[0]) };
	uint8_t entry[ENTRY_BYTES];
	size_t got;
	int err;

	memcpy(entry, &e->attr, sizeof(e->attr));
	memcpy(entry + sizeof(e->attr), section, sizeof(section));
	err = write_at(w->fd, e->ids.at, section[1], section[0], &got);
	if (!err)
		err = write_at(w->fd, entry, sizeof(entry), entry_at(i), &got);
	if (!err)
		e->changed = false;
	return err;
}

static int write_events(struct perfdata_writer *w)
{
	int err = 0;

	for (size_t i = 0; i < w->events.nr && !err; i++)
		if (w->events.at[i].changed)
			err = write_event(w, i);
	return err;
}

/* Where the last record ends that is whole in the first @room bytes of the buffer. */
static size_t whole_records(const struct blob *b, size_t room, uint64_t *ret_left_out)
{
	size_t at = 0;
	uint16_t size;

	while (at < b->nr) {
		memcpy(&size, b->at + at + 6, sizeof(size));
		if (at + size > room)
			break;
		at += size;
	}
	*ret_left_out = 0;
	for (size_t rest = at; rest < b->nr; rest += size) {
		memcpy(&size, b->at + rest + 6, sizeof(size));
		++*ret_left_out;
	}
	return at;
}

/*
 * Writing failed when @got bytes lay behind the earlier data, and those stay: as many whole records
 * as leave room for the features, or without these where they do not fit at all.
 */
static void cut_back(struct perfdata_writer *w, size_t got)
{
	uint64_t start = w->data_at + w->end, bits[4] = { 0 }, left_out;
	bool features = w->trailer.nr && w->trailer.nr <= got;
	size_t keep, put;

	keep = whole_records(&w->buffer, features ? got - w->trailer.nr : got, &left_out);
	w->end += keep;
	w->dropped += left_out;
	features = features && !features_build(w, start + keep, bits) &&
		   !write_at(w->fd, w->trailer.at, w->trailer.nr, start + keep, &put);
	if (ftruncate(w->fd, (off_t)(start + keep + (features ? w->trailer.nr : 0))) == 0)
		w->size = start + keep + (features ? w->trailer.nr : 0);
	(void)write_events(w);
	(void)write_header(w, features ? bits : NULL);
	w->featured = features;
	blob_clear(&w->buffer);
}

int writer_flush(struct perfdata_writer *w)
{
	uint64_t bits[4], at = w->data_at + w->end;
	size_t got = 0, more = 0;
	int err = w->err;

	if (err || !w->changed)
		return err;
	if (w->featured)
		err = write_header(w, NULL);
	w->featured = false;
	if (!err)
		err = features_build(w, at + w->buffer.nr, bits);
	if (!err)
		err = write_at(w->fd, w->buffer.at, w->buffer.nr, at, &got);
	if (!err)
		err = write_at(w->fd, w->trailer.at, w->trailer.nr, at + got, &more);
	if (err) {
		w->err = err;
		cut_back(w, got + more);
		return err;
	}
	err = write_events(w);
	w->end += got;
	if (!err)
		err = write_header(w, bits);
	w->featured = !err;
	w->size = at + got + more;
	w->err = err;
	w->changed = err != 0;
	blob_clear(&w->buffer);
	return err;
}

int writer_new(struct perfdata_writer **ret, int fd, const struct perfdata_about *about,
	       size_t nr_ids)
{
	struct perfdata_writer *w = calloc(1, sizeof(*w));
	uint8_t zeroes[PAGE] = { 0 };
	size_t got;
	int err;

	if (!w)
		return -ENOMEM;
	w->fd = -1;
	w->ids_room = nr_ids < IDS_LEAST        ? IDS_LEAST
		      : nr_ids > WRITER_IDS_MAX ? WRITER_IDS_MAX
						: nr_ids;
	w->data_at = (ids_at(w, WRITER_EVENTS_MAX) + PAGE - 1) / PAGE * PAGE;
	err = features_about(&w->about, about);
	for (uint64_t at = 0; !err && at < w->data_at; at += PAGE)
		err = write_at(fd, zeroes, sizeof(zeroes), at, &got);
	if (err) {
		writer_free(w);
		return err;
	}
	w->fd = fd;
	w->size = w->data_at;
	w->changed = true;
	*ret = w;
	return 0;
}

int writer_event(struct perfdata_writer *w, const struct perf_event_attr *attr, const char *name)
{
	struct out_event e = { .attr = *attr, .changed = true };

	if (!(attr->sample_type & PERF_SAMPLE_IDENTIFIER) || !attr->sample_id_all)
		return -EINVAL;
	if (w->events.nr >= WRITER_EVENTS_MAX)
		return -ENOSPC;
	e.attr.size = sizeof(e.attr);
	strncpy(e.name, name, sizeof(e.name) - 1);
	if (vec_push(&w->events, e))
		return -ENOMEM;
	w->changed = true;
	return (int)w->events.nr - 1;
}

int writer_event_of(const struct perfdata_writer *w, uint64_t id)
{
	const uint64_t *event = map_find(&w->ids, id);

	return event ? (int)*event : -1;
}

int writer_id(struct perfdata_writer *w, int event, uint64_t id)
{
	struct out_event *e = &w->events.at[event];

	if (map_find(&w->ids, id))
		return 0;
	if (e->ids.nr >= w->ids_room)
		return 1;
	if (vec_reserve(&e->ids, e->ids.nr + 1) || map_set(&w->ids, id, (uint64_t)event))
		return -ENOMEM;
	e->ids.at[e->ids.nr++] = id;
	e->changed = w->changed = true;
	return 0;
}

/* The id of a record is its first word where it is a sample, else its last. */
static void give_first_id(const struct out_event *e, uint8_t *record, size_t size)
{
	uint32_t type;
	size_t at;

	memcpy(&type, record, sizeof(type));
	at = type == PERF_RECORD_SAMPLE ? RECORD_HEADER_BYTES : size - sizeof(uint64_t);
	if (at + sizeof(uint64_t) <= size && e->ids.nr)
		memcpy(record + at, &e->ids.at[0], sizeof(uint64_t));
}

int writer_record(struct perfdata_writer *w, int event, const void *bytes, size_t size)
{
	uint16_t told = 0;

	if (size >= RECORD_HEADER_BYTES)
		memcpy(&told, (const uint8_t *)bytes + 6, sizeof(told));
	if (told != size)
		return -EINVAL;
	if (!w->err && w->buffer.nr + size > BUFFER_BYTES)
		(void)writer_flush(w);
	if (!w->err)
		blob_put(&w->buffer, bytes, size);
	if (blob_failed(&w->buffer)) {
		w->buffer.failed = false;
		w->dropped++;
		return -ENOMEM;
	}
	if (w->err) {
		w->dropped++;
		return w->err;
	}
	w->changed = true;
	if (event >= 0)
		give_first_id(&w->events.at[event], w->buffer.at + w->buffer.nr - size, size);
	return 0;
}

static int write_mark(struct perfdata_writer *w, uint32_t type)
{
	struct perf_event_header mark = { .type = type, .size = sizeof(mark) };

	return w->err ? w->err : writer_record(w, -1, &mark, sizeof(mark));
}

int writer_round(struct perfdata_writer *w)
{
	return write_mark(w, FINISHED_ROUND);
}

int writer_init_done(struct perfdata_writer *w)
{
	return write_mark(w, FINISHED_INIT);
}

void writer_times(struct perfdata_writer *w, uint64_t first_ns, uint64_t last_ns)
{
	w->changed |= first_ns != w->first_ns || last_ns != w->last_ns;
	w->first_ns = first_ns;
	w->last_ns = last_ns;
}

static uint64_t path_hash(const char *path)
{
	uint64_t hash = 1;

	for (; *path; path++)
		hash = hash_u64(hash * 31 + (uint8_t)*path);
	return hash;
}

int writer_build_id(struct perfdata_writer *w, const char *path, const uint8_t *id, size_t id_size,
		    bool kernel)
{
	struct out_build_id made = { .kernel = kernel }, *known;
	const uint64_t *at;

	if (!id_size || id_size > sizeof(made.id))
		return 0;
	at = map_find(&w->paths, path_hash(path));
	if (at) {
		known = &w->build_ids.at[*at - 1];
		if (known->size && (strcmp(known->path, path) != 0 || known->size != id_size ||
				    memcmp(known->id, id, id_size) != 0)) {
			known->size = 0;
			w->changed = true;
		}
		return 0;
	}
	if (w->build_ids.nr >= BUILD_IDS_MAX)
		return 0;
	memcpy(made.id, id, id_size);
	made.size = (uint8_t)id_size;
	made.path = strdup(path);
	if (!made.path || vec_push(&w->build_ids, made)) {
		free(made.path);
		return -ENOMEM;
	}
	w->changed = true;
	return map_set(&w->paths, path_hash(path), w->build_ids.nr);
}

uint64_t writer_bytes(const struct perfdata_writer *w)
{
	return w->size;
}

uint64_t writer_dropped(const struct perfdata_writer *w)
{
	return w->dropped;
}

int writer_free(struct perfdata_writer *w)
{
	int err;

	if (!w)
		return 0;
	err = w->fd >= 0 ? writer_flush(w) : 0;
	if (w->fd >= 0 && close(w->fd) && !err)
		err = -errno;
	for (size_t i = 0; i < w->events.nr; i++)
		vec_done(&w->events.at[i].ids);
	vec_done(&w->events);
	for (size_t i = 0; i < w->build_ids.nr; i++)
		free(w->build_ids.at[i].path);
	vec_done(&w->build_ids);
	map_done(&w->ids);
	map_done(&w->paths);
	blob_done(&w->buffer);
	blob_done(&w->trailer);
	features_done(&w->about);
	features_done(&w->features);
	free(w);
	return err;
}
