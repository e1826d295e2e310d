/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/perfdata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/perfdata_impl.h"

static int opened(struct perfdata *pd, struct perfdata **ret, struct reason *why)
{
	int err;

	pd->last_event = -1;
	err = header_read(pd, why);
	if (err) {
		perfdata_free(pd);
		return err;
	}
	*ret = pd;
	return 0;
}

int perfdata_open(struct perfdata **ret, int fd, struct reason *why)
{
	struct perfdata *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd) {
		close(fd);
		return reason_set(why, -ENOMEM, "out of memory");
	}
	err = stream_init_fd(&pd->stream, fd);
	if (err) {
		reason_set(why, err, "it cannot be read: %s", strerror(-err));
		perfdata_free(pd);
		return err;
	}
	return opened(pd, ret, why);
}

int perfdata_open_memory(struct perfdata **ret, const void *bytes, size_t size, struct reason *why)
{
	struct perfdata *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return reason_set(why, -ENOMEM, "out of memory");
	stream_init_memory(&pd->stream, bytes, size);
	return opened(pd, ret, why);
}

void perfdata_free(struct perfdata *pd)
{
	if (!pd)
		return;
	for (size_t i = 0; i < pd->events.nr; i++)
		free(pd->events.at[i].name);
	vec_done(&pd->events);
	map_done(&pd->ids);
	facts_done(pd);
	inflate_done(&pd->inflate);
	stream_done(&pd->stream);
	free(pd);
}

/* Stops reading for good. */
static int stop(struct perfdata *pd, int err, uint64_t offset, const char *what)
{
	pd->damaged = true;
	return reason_set(&pd->stopped, err,
			  "reading stopped at byte %llu: %s; what came before is shown",
			  (unsigned long long)offset, what);
}

/* The input has ended with @there bytes of a record. */
static int ended(struct perfdata *pd, size_t there)
{
	uint64_t at = pd->stream.offset;

	if (pd->stream.err)
		return stop(pd, -EIO, at, strerror(-pd->stream.err));
	if (pd->unfinished) {
		reason_set(&pd->stopped, 0,
			   "the recording was never finished (its recorder was killed): "
			   "build-ids and names of events are missing%s",
			   there ? ", and its last record is cut short" : "");
		return 0;
	}
	if (!pd->pipe && at + there < pd->data_end)
		return stop(pd, -EBADMSG, at,
			    "the file ends there, in the middle of its data (it was cut short)");
	if (there)
		return stop(pd, -EBADMSG, at, "the last record is cut short");
	return 0;
}

/* The header of the record at @bytes; its size, or 0 where it makes no sense. */
static uint32_t look_at(const struct perfdata *pd, const uint8_t *bytes,
			struct perfdata_record *ret)
{
	struct cursor c = cursor_of(bytes, RECORD_HEADER_BYTES, pd->swap);
	uint16_t size = 0;

	*ret = (struct perfdata_record){ .event = -1, .bytes = bytes };
	(void)(cursor_u32(&c, &ret->type) && cursor_u16(&c, &ret->misc) && cursor_u16(&c, &size));
	ret->size = size;
	return size >= RECORD_HEADER_BYTES ? size : 0;
}

/* How much follows a record outside of it: a trace, or the formats of tracepoints. */
static uint64_t data_behind(const struct perfdata *pd, const struct perfdata_record *r)
{
	struct cursor c = cursor_of(r->bytes, r->size, pd->swap);
	uint64_t size = 0;
	uint32_t size32;

	(void)cursor_skip(&c, RECORD_HEADER_BYTES);
	if (r->type == PERFDATA_AUXTRACE)
		(void)cursor_u64(&c, &size);
	else if (r->type == PERFDATA_TRACING_DATA && pd->pipe && cursor_u32(&c, &size32))
		size = ((uint64_t)size32 + 7) & ~UINT64_C(7);
	return size;
}

/* The compressed bytes of a record, told to the decompressor. */
static int take_compressed(struct perfdata *pd, const struct perfdata_record *r)
{
	struct cursor c = cursor_of(r->bytes, r->size, pd->swap);
	uint64_t size;

	(void)cursor_skip(&c, RECORD_HEADER_BYTES);
	if (r->type == PERFDATA_COMPRESSED2) {
		if (!cursor_u64(&c, &size) || size > cursor_left(&c))
			return stop(pd, -EBADMSG, r->offset, "a compressed record's size is wrong");
		c.end = c.at + size;
	}
	return inflate_take(&pd->inflate, c.at, cursor_left(&c), r->offset);
}

/* A record out of compressed ones: 1, 0 where there is none (left) in them. */
static int next_inflated(struct perfdata *pd, struct perfdata_record *ret)
{
	struct perfdata_inflate *z = &pd->inflate;
	int more;

	while (z->zstd) {
		size_t there = z->out_size - z->out_pos;

		if (there >= RECORD_HEADER_BYTES) {
			uint32_t size = look_at(pd, z->out + z->out_pos, ret);

			ret->offset = z->offset;
			if (!size)
				return stop(pd, -EBADMSG, z->offset,
					    "a record in the compressed data has a size below 8");
			if (size <= there) {
				z->out_pos += size;
				return 1;
			}
		}
		more = inflate_more(z);
		if (more == -EBADMSG)
			return stop(pd, more, z->offset, "the compressed data is damaged");
		if (!more)
			break;
	}
	return 0;
}

/* A record as it stands in the file: 1, 0 at the end. */
static int next_plain(struct perfdata *pd, struct perfdata_record *ret)
{
	struct perfdata_stream *s = &pd->stream;
	size_t there;
	uint32_t size;

	if (pd->behind && stream_skip(s, pd->behind) < pd->behind)
		return ended(pd, 1);
	pd->behind = 0;
	if (s->offset >= pd->data_end)
		return 0;
	there = stream_want(s, RECORD_HEADER_BYTES);
	if (there < RECORD_HEADER_BYTES)
		return ended(pd, there);
	size = look_at(pd, s->at, ret);
	ret->offset = s->offset;
	if (!size)
		return stop(pd, -EBADMSG, s->offset, "a record has a size below 8");
	if (size > pd->data_end - s->offset)
		return stop(pd, -EBADMSG, s->offset, "a record reaches beyond the data");
	there = stream_want(s, size);
	if (there < size)
		return ended(pd, there);
	ret->bytes = s->at;
	pd->behind = data_behind(pd, ret);
	stream_take(s, size);
	return 1;
}

/* Finds out what a record is of, and takes in those of the recorder. */
static int finish(struct perfdata *pd, struct perfdata_record *r, bool inflated)
{
	int err;

	if (r->type < PERFDATA_FIRST) {
		if (!pd->events.nr)
			return stop(pd, -EBADMSG, r->offset,
				    "a record comes before any event is described");
		if (!event_find(pd, r))
			return stop(pd, -EBADMSG, r->offset, "a sample is too short for its event");
		return 1;
	}
	if (r->type == PERFDATA_COMPRESSED || r->type == PERFDATA_COMPRESSED2) {
		if (inflated)
			return stop(pd, -EBADMSG, r->offset,
				    "a compressed record is inside another one");
		err = take_compressed(pd, r);
	} else {
		err = user_record_apply(pd, r);
	}
	return err ? err : 1;
}

int perfdata_next(struct perfdata *pd, struct perfdata_record *ret)
{
	bool inflated = true;
	int got;

	if (pd->damaged)
		return -EBADMSG;
	got = next_inflated(pd, ret);
	if (!got) {
		inflated = false;
		got = next_plain(pd, ret);
	}
	if (!got && pd->inflate.out_pos < pd->inflate.out_size)
		return ended(pd, 1);
	return got > 0 ? finish(pd, ret, inflated) : got;
}

const char *perfdata_stopped(const struct perfdata *pd)
{
	return pd->stopped.text;
}

bool perfdata_damaged(const struct perfdata *pd)
{
	return pd->damaged;
}

size_t perfdata_nr_events(const struct perfdata *pd)
{
	return pd->events.nr;
}

const struct perfdata_event *perfdata_event(const struct perfdata *pd, size_t i)
{
	return &pd->events.at[i];
}

const struct perfdata_facts *perfdata_facts(const struct perfdata *pd)
{
	return &pd->facts;
}

size_t perfdata_nr_build_ids(const struct perfdata *pd)
{
	return pd->build_ids.nr;
}

const struct perfdata_build_id *perfdata_build_id(const struct perfdata *pd, size_t i)
{
	return &pd->build_ids.at[i];
}

bool perfdata_is_swapped(const struct perfdata *pd)
{
	return pd->swap;
}

bool perfdata_is_pipe(const struct perfdata *pd)
{
	return pd->pipe;
}

uint64_t perfdata_position(const struct perfdata *pd)
{
	return pd->stream.offset;
}

uint64_t perfdata_size(const struct perfdata *pd)
{
	return pd->stream.size == UINT64_MAX ? 0 : pd->stream.size;
}
