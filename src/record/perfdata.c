/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/perfdata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "record/perfdata_impl.h"

/* Of the input, read at once: what is read should still be in the processor's cache when it is
 * looked at. */
enum { WINDOW_BYTES = 128 << 10 };

static struct perfdata *make(struct reason *why)
{
	struct perfdata *pd = calloc(1, sizeof(*pd));

	if (!pd) {
		reason_set(why, -ENOMEM, "out of memory");
		return NULL;
	}
	pd->in = &pd->first;
	pd->in->stream.fd = -1;
	pd->last_event = -1;
	pd->leave_ns = UINT64_MAX;
	return pd;
}

/* Takes @fd. */
static int open_file(struct perfdata *pd, int fd, struct reason *why)
{
	int err = stream_init_fd(&pd->in->stream, fd, WINDOW_BYTES);

	if (err)
		return reason_set(why, err, "it cannot be read: %s", strerror(-err));
	return header_read(pd, why);
}

static int open_folder(struct perfdata *pd, int folder, struct reason *why)
{
	int fd = folder_open_first(folder, why), err;

	if (fd < 0)
		return fd;
	err = open_file(pd, fd, why);
	return err ? err : folder_open_others(pd, folder, why);
}

int perfdata_open(struct perfdata **ret, int fd, struct reason *why)
{
	struct perfdata *pd = make(why);
	struct stat st;
	int err;

	if (pd && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		err = open_folder(pd, fd, why);
		close(fd);
	} else if (pd) {
		err = open_file(pd, fd, why);
	} else {
		err = -ENOMEM;
		close(fd);
	}
	if (err)
		perfdata_free(pd);
	else
		*ret = pd;
	return err;
}

int perfdata_open_memory(struct perfdata **ret, const void *bytes, size_t size, struct reason *why)
{
	struct perfdata *pd = make(why);
	int err;

	if (!pd)
		return -ENOMEM;
	stream_init_memory(&pd->in->stream, bytes, size);
	err = header_read(pd, why);
	if (err)
		perfdata_free(pd);
	else
		*ret = pd;
	return err;
}

static void input_done(struct perfdata_input *in)
{
	inflate_done(&in->inflate);
	stream_done(&in->stream);
}

void perfdata_free(struct perfdata *pd)
{
	if (!pd)
		return;
	for (size_t i = 0; i < pd->events.nr; i++)
		free(pd->events.at[i].name);
	vec_done(&pd->events);
	map_done(&pd->ids);
	vec_done(&pd->places);
	facts_done(pd);
	input_done(&pd->first);
	for (size_t i = 0; i < pd->others.nr; i++) {
		input_done(pd->others.at[i]);
		free(pd->others.at[i]);
	}
	vec_done(&pd->others);
	vec_done(&pd->tracing);
	free(pd);
}

/* Stops reading, of a folder only this file of it. */
static int stop(struct perfdata *pd, int err, uint64_t offset, const char *what)
{
	const char *name = pd->in->name;

	pd->damaged = true;
	pd->in->ended = true;
	return reason_set(&pd->stopped, err,
			  "reading stopped at byte %llu%s%s: %s; what came before is shown",
			  (unsigned long long)offset, *name ? " of " : "", name, what);
}

/* The input has ended with @there bytes of a record. */
static int ended(struct perfdata *pd, size_t there)
{
	uint64_t at = pd->in->stream.offset;

	if (pd->in->stream.err)
		return stop(pd, -EIO, at, strerror(-pd->in->stream.err));
	if (pd->unfinished) {
		reason_set(&pd->stopped, 0,
			   "the recording was never finished (its recorder was killed): "
			   "build-ids and names of events are missing%s",
			   there ? ", and its last record is cut short" : "");
		return 0;
	}
	if (!pd->pipe && at + there < pd->in->data_end)
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

	(void)(cursor_u32(&c, &ret->type) && cursor_u16(&c, &ret->misc) && cursor_u16(&c, &size));
	ret->bytes = bytes;
	ret->size = size;
	ret->lease = NULL;
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
	return inflate_take(&pd->in->inflate, c.at, cursor_left(&c), r->offset);
}

/* A record out of compressed ones: 1, 0 where there is none (left) in them. */
static int next_inflated(struct perfdata *pd, struct perfdata_record *ret)
{
	struct perfdata_inflate *z = &pd->in->inflate;
	int more;

	while (z->zstd) {
		size_t there = z->out_size - z->out_pos;

		if (there >= RECORD_HEADER_BYTES) {
			uint32_t size = look_at(pd, z->out + z->out_pos, ret);

			ret->offset = z->offset;
			if (!size)
				return stop(
					pd, -EBADMSG, z->offset,
					"a record in the compressed data is damaged (it has a size below 8 bytes)");
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
	struct perfdata_stream *s = &pd->in->stream;
	size_t there;
	uint32_t size;

	if (pd->in->behind && pd->tracing_next && tracing_take(pd))
		return -ENOMEM;
	if (pd->in->behind)
		pd->in->behind -= stream_skip(s, pd->in->behind);
	if (pd->in->behind)
		return s->dry ? -EAGAIN : ended(pd, 1);
	if (s->offset >= pd->in->data_end)
		return 0;
	there = stream_want(s, RECORD_HEADER_BYTES);
	if (there < RECORD_HEADER_BYTES)
		return s->dry ? -EAGAIN : ended(pd, there);
	size = look_at(pd, s->at, ret);
	ret->offset = s->offset;
	if (!size)
		return stop(pd, -EBADMSG, s->offset,
			    "a record there is damaged (it has a size below 8 bytes)");
	if (size > pd->in->data_end - s->offset)
		return stop(pd, -EBADMSG, s->offset,
			    "a record there is damaged (it reaches beyond the data)");
	there = stream_want(s, size);
	if (there < size)
		return s->dry ? -EAGAIN : ended(pd, there);
	ret->bytes = s->at;
	ret->lease = s->block ? &s->block->lease : NULL;
	pd->in->behind = data_behind(pd, ret);
	if (ret->type == PERFDATA_AUXTRACE)
		pd->facts.trace_bytes += pd->in->behind;
	pd->tracing_next = ret->type == PERFDATA_TRACING_DATA;
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
			return stop(pd, -EBADMSG, r->offset,
				    "a sample there is damaged (it is too short for its event)");
		return 1;
	}
	r->event = -1;
	r->layout = NULL;
	r->sid = (struct sample_id){ 0 };
	if (r->type == PERFDATA_COMPRESSED || r->type == PERFDATA_COMPRESSED2) {
		if (inflated)
			return stop(pd, -EBADMSG, r->offset,
				    "a compressed record is inside another one");
		err = take_compressed(pd, r);
	} else if (pd->quiet && user_record_changes(r->type)) {
		pd->put_off = true;
		pd->change = *r;
		return -EBUSY;
	} else {
		err = user_record_apply(pd, r);
	}
	return err ? err : 1;
}

/* What was put off while it had to be quiet. */
static int next_change(struct perfdata *pd, struct perfdata_record *ret)
{
	int err;

	if (pd->quiet)
		return -EBUSY;
	pd->put_off = false;
	*ret = pd->change;
	err = user_record_apply(pd, ret);
	return err ? err : 1;
}

static int next(struct perfdata *pd, struct perfdata_record *ret)
{
	bool inflated = true;
	int got;

	if (pd->put_off)
		return next_change(pd, ret);
	got = next_inflated(pd, ret);
	if (!got) {
		inflated = false;
		got = next_plain(pd, ret);
	}
	if (!got && pd->in->inflate.out_pos < pd->in->inflate.out_size)
		return ended(pd, 1);
	return got > 0 ? finish(pd, ret, inflated) : got;
}

int perfdata_next(struct perfdata *pd, struct perfdata_record *ret)
{
	int got;

	for (;;) {
		if ((pd->in->ended || pd->in->time_ns > pd->leave_ns) && !folder_choose(pd))
			return pd->damaged ? -EBADMSG : 0;
		got = next(pd, ret);
		if (got == -ENOMEM || got == -EAGAIN || got == -EBUSY ||
		    (got < 0 && !pd->others.nr))
			return got;
		if (got <= 0) {
			pd->in->ended = true;
			continue;
		}
		if ((ret->sid.have & PERF_SAMPLE_TIME) && ret->sid.time_ns > pd->in->time_ns)
			pd->in->time_ns = ret->sid.time_ns;
		return got;
	}
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

void perfdata_quiet(struct perfdata *pd, bool quiet)
{
	pd->quiet = quiet;
}

int perfdata_dont_wait(struct perfdata *pd)
{
	if (pd->in->stream.seekable)
		return -1;
	pd->in->stream.dont_wait = true;
	return pd->in->stream.fd;
}

bool perfdata_is_pipe(const struct perfdata *pd)
{
	return pd->pipe;
}

uint64_t perfdata_position(const struct perfdata *pd)
{
	uint64_t at = pd->first.stream.offset;

	for (size_t i = 0; i < pd->others.nr; i++)
		at += pd->others.at[i]->stream.offset;
	return at;
}

uint64_t perfdata_size(const struct perfdata *pd)
{
	uint64_t size = pd->first.stream.size == UINT64_MAX ? 0 : pd->first.stream.size;

	for (size_t i = 0; i < pd->others.nr; i++)
		size += pd->others.at[i]->stream.size;
	return size;
}
