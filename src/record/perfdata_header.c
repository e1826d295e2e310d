/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * struct perf_header of the format's document: magic, the header's size, the size of an attr with
 * its section of ids, three sections (attrs, data, event types), 256 bits of features.  The first
 * format (PERFFILE) has the same fields and tells no byte order: the size of the header does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/perfdata_impl.h"

enum {
	MAGIC_BYTES = 8,
	HEADER_BYTES = 104,     /* all of it */
	HEADER_BYTES_OLD = 72,  /* without the features */
	HEADER_BYTES_PIPE = 16, /* magic and size */
	FEATURE_HOSTNAME = 3,
	ATTR_ROOM = 4096, /* more than any attr: it is read into this */
	IDS_AT_ONCE = 512,
};

#define HOST_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

struct section {
	uint64_t offset, size;
};

struct file_header {
	uint64_t size, attr_size;
	struct section attrs, data, types;
};

static int not_a_recording(struct reason *why)
{
	return reason_set(why, -ENOEXEC, "it is no perf.data recording");
}

/* Sets the byte order and the mode from the first 16 bytes. */
static int read_magic(struct perfdata *pd, struct reason *why)
{
	size_t there = stream_want(&pd->in->stream, HEADER_BYTES_PIPE);
	const uint8_t *at = pd->in->stream.at;
	struct cursor c;
	uint64_t size;

	if (there < HEADER_BYTES_PIPE && pd->in->stream.err)
		return reason_set(why, pd->in->stream.err, "it cannot be read: %s",
				  strerror(-pd->in->stream.err));
	if (!there)
		return reason_set(why, -ENODATA, "it is empty: its recorder wrote nothing");
	if (there < HEADER_BYTES_PIPE)
		return not_a_recording(why);
	if (!memcmp(at, "PERFILE2", MAGIC_BYTES))
		pd->big_endian = false;
	else if (!memcmp(at, "2ELIFREP", MAGIC_BYTES))
		pd->big_endian = true;
	else if (!memcmp(at, "PERFFILE", MAGIC_BYTES))
		pd->big_endian = at[MAGIC_BYTES] == 0; /* a size below 64 KiB */
	else
		return not_a_recording(why);
	pd->swap = pd->big_endian != HOST_BIG_ENDIAN;
	c = cursor_of(at + MAGIC_BYTES, 8, pd->swap);
	(void)cursor_u64(&c, &size);
	pd->pipe = size == HEADER_BYTES_PIPE;
	if (!pd->pipe && size != HEADER_BYTES && size != HEADER_BYTES_OLD)
		return reason_set(why, -ENOEXEC,
				  "its header is damaged or of an unknown format (a size of %llu)",
				  (unsigned long long)size);
	return 0;
}

/*
 * The bits of features are C `unsigned long`s: 64 or, on 32-bit machines, 32 bits wide, which shows
 * on big-endian ones only.  Each recording has the bit of the host's name.
 */
static void read_features(struct perfdata *pd, const uint8_t bytes[32])
{
	struct cursor c = cursor_of(bytes, 32, pd->swap);

	for (int i = 0; i < 4; i++)
		(void)cursor_u64(&c, &pd->features[i]);
	if (!pd->big_endian || (pd->features[0] >> FEATURE_HOSTNAME & 1))
		return;
	for (int i = 0; i < 4; i++)
		pd->features[i] = pd->features[i] >> 32 | pd->features[i] << 32;
}

static int read_ids(struct perfdata *pd, struct section s, size_t event)
{
	uint8_t bytes[IDS_AT_ONCE * 8];
	int err = 0;

	while (s.size >= 8 && !err) {
		size_t want = s.size < sizeof(bytes) ? (size_t)s.size : sizeof(bytes);
		size_t got = stream_read_at(&pd->in->stream, s.offset, bytes, want);
		struct cursor c = cursor_of(bytes, got, pd->swap);
		uint64_t id;

		while (!err && cursor_u64(&c, &id))
			err = event_add_id(pd, id, event);
		if (got < want)
			break;
		s.offset += got;
		s.size -= got;
	}
	return err;
}

/* One entry: the attr, and at its very end the section of its ids. */
static int read_attr(struct perfdata *pd, uint64_t offset, size_t size, struct reason *why)
{
	uint8_t bytes[ATTR_ROOM];
	struct perfdata_event e;
	struct section ids = { 0 };
	struct cursor c;
	int event;

	if (stream_read_at(&pd->in->stream, offset, bytes, size) != size)
		return reason_set(why, -EBADMSG, "it ends before the description of its events");
	if (!attr_parse(pd, bytes, size - SECTION_BYTES, &e))
		return reason_set(why, -EBADMSG, "the description of its event %zu makes no sense",
				  pd->events.nr);
	event = event_add(pd, &e);
	if (event == -E2BIG)
		return reason_set(why, event, "it has more than %d events", PERFDATA_EVENTS_MAX);
	if (event < 0)
		return reason_set(why, event, "out of memory");
	c = cursor_of(bytes + size - SECTION_BYTES, SECTION_BYTES, pd->swap);
	(void)(cursor_u64(&c, &ids.offset) && cursor_u64(&c, &ids.size));
	if (read_ids(pd, ids, (size_t)event))
		return reason_set(why, -ENOMEM, "out of memory");
	return 0;
}

static int read_attrs(struct perfdata *pd, const struct file_header *h, struct reason *why)
{
	int err = 0;

	if (h->attr_size < ATTR_BYTES_LEAST + SECTION_BYTES || h->attr_size > ATTR_ROOM ||
	    h->attrs.size < h->attr_size || h->attrs.offset > INT64_MAX)
		return reason_set(why, -EBADMSG, "it describes no events");
	for (uint64_t i = 0; i < h->attrs.size / h->attr_size && !err; i++)
		err = read_attr(pd, h->attrs.offset + i * h->attr_size, (size_t)h->attr_size, why);
	return err;
}

static int read_file_header(struct perfdata *pd, struct reason *why)
{
	uint8_t bytes[HEADER_BYTES] = { 0 };
	struct cursor c = cursor_of(bytes, sizeof(bytes), pd->swap);
	uint64_t start = pd->in->stream.offset;
	struct file_header h;
	int err;

	if (!pd->in->stream.seekable) {
		err = stream_spool(&pd->in->stream);
		if (err)
			return reason_set(why, err, "it cannot be kept in a temporary file: %s",
					  strerror(-err));
		start = 0;
	}
	if (start)
		return not_a_recording(why);
	if (stream_read_at(&pd->in->stream, 0, bytes, sizeof(bytes)) < HEADER_BYTES_OLD)
		return reason_set(why, -EBADMSG, "it ends within its header (it was cut short)");
	(void)(cursor_skip(&c, MAGIC_BYTES) && cursor_u64(&c, &h.size) &&
	       cursor_u64(&c, &h.attr_size) && cursor_u64(&c, &h.attrs.offset) &&
	       cursor_u64(&c, &h.attrs.size) && cursor_u64(&c, &h.data.offset) &&
	       cursor_u64(&c, &h.data.size) && cursor_u64(&c, &h.types.offset) &&
	       cursor_u64(&c, &h.types.size));
	if (h.size == HEADER_BYTES)
		read_features(pd, c.at);
	err = read_attrs(pd, &h, why);
	if (err)
		return err;
	if (stream_seek(&pd->in->stream, h.data.offset))
		return reason_set(why, -EBADMSG, "it ends before its data");
	pd->data_start = h.data.offset;
	pd->unfinished = !h.data.size;
	pd->in->data_end = pd->unfinished || h.data.size > UINT64_MAX - h.data.offset
				   ? UINT64_MAX
				   : h.data.offset + h.data.size;
	if (!pd->unfinished && features_read(pd))
		return reason_set(why, -ENOMEM, "out of memory");
	return 0;
}

int header_read(struct perfdata *pd, struct reason *why)
{
	int err = read_magic(pd, why);

	if (err)
		return err;
	if (!pd->pipe)
		return read_file_header(pd, why);
	pd->in->data_end = UINT64_MAX;
	stream_take(&pd->in->stream, HEADER_BYTES_PIPE);
	return 0;
}
