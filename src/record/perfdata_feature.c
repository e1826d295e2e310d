/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feature sections (file mode: behind the data; pipe mode: PERF_RECORD_HEADER_FEATURE, with the
 * same contents) and the recorder's own records.  A feature is a help, never a need: what makes no
 * sense is passed over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/perfdata_impl.h"

enum feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_TOTAL_MEM = 10,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_COMPRESSED = 27,
	FEATURE_CLOCK_DATA = 29,
	NR_FEATURES = 256,
};

enum {
	FEATURE_BYTES_MAX = 64 << 20,
	BUILD_IDS_MAX = 1 << 20,
	MISC_BUILD_ID_SIZE = 1 << 15,
	EVENT_UPDATE_NAME = 2,
	CMDLINE_BYTES_MAX = 1 << 20,
};

static bool take_string(struct cursor *c, struct bytes *ret)
{
	uint32_t len;

	if (!cursor_u32(c, &len) || !cursor_bytes(c, len, ret))
		return false;
	ret->size = (uint32_t)strnlen((const char *)ret->at, ret->size);
	return true;
}

static int set_string(struct cursor *c, char **field)
{
	struct bytes text;
	char *copy;

	if (!take_string(c, &text))
		return 0;
	copy = strndup((const char *)text.at, text.size);
	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

/* A list of strings, as one with blanks between. */
static int parse_cmdline(struct perfdata *pd, struct cursor *c)
{
	VEC(char) line = { 0 };
	struct bytes word;
	uint32_t nr;

	if (!cursor_u32(c, &nr))
		return 0;
	for (uint32_t i = 0; i < nr && take_string(c, &word); i++) {
		if (line.nr + word.size + 2 > CMDLINE_BYTES_MAX)
			break;
		if (vec_reserve(&line, line.nr + word.size + 2)) {
			vec_done(&line);
			return -ENOMEM;
		}
		if (i)
			line.at[line.nr++] = ' ';
		memcpy(line.at + line.nr, word.at, word.size);
		line.nr += word.size;
	}
	if (!line.at)
		return 0;
	line.at[line.nr] = '\0';
	free(pd->facts.cmdline);
	pd->facts.cmdline = line.at;
	return 0;
}

/*
 * The event that an entry of EVENT_DESC tells of: the one with its first id, else the one at its
 * place in the list.
 */
static int described_event(const struct perfdata *pd, uint32_t index, uint64_t first_id)
{
	int event = first_id ? perfdata_event_of(pd, first_id) : -1;

	if (event >= 0)
		return event;
	return index < pd->events.nr ? (int)index : -1;
}

static int parse_event_desc(struct perfdata *pd, struct cursor *c)
{
	uint32_t nr, attr_size, nr_ids;
	struct bytes name;
	struct u64s ids;
	int event, err = 0;

	if (!cursor_u32(c, &nr) || !cursor_u32(c, &attr_size))
		return 0;
	for (uint32_t i = 0; i < nr && !err; i++) {
		if (!cursor_skip(c, attr_size) || !cursor_u32(c, &nr_ids) ||
		    !take_string(c, &name) || !cursor_u64s(c, nr_ids, &ids))
			return 0;
		event = described_event(pd, i, ids.nr ? u64s_get(&ids, 0) : 0);
		if (event < 0)
			continue;
		err = event_set_name(pd, (size_t)event, name.at, name.size);
		for (uint32_t k = 0; k < ids.nr && !err; k++)
			err = event_add_id(pd, u64s_get(&ids, k), (size_t)event);
	}
	return err;
}

/* Of a build-id whose size is not told: shorter ones are padded with words of zeroes. */
static uint8_t size_without_padding(const uint8_t id[20])
{
	static const uint8_t none[4];
	uint8_t size = 20;

	while (size > sizeof(none) && !memcmp(id + size - sizeof(none), none, sizeof(none)))
		size -= sizeof(none);
	return size;
}

static int take_build_id(struct perfdata *pd, struct cursor *c, uint16_t misc)
{
	struct perfdata_build_id b = { .misc = misc };
	struct bytes id, name;
	uint32_t pid;
	uint8_t size;

	if (!cursor_u32(c, &pid) || !cursor_bytes(c, sizeof(b.id), &id) || !cursor_u8(c, &size) ||
	    !cursor_skip(c, 3) || pd->build_ids.nr >= BUILD_IDS_MAX)
		return 0;
	b.pid = (int32_t)pid;
	memcpy(b.id, id.at, sizeof(b.id));
	b.size = (misc & MISC_BUILD_ID_SIZE) && size <= sizeof(b.id) ? size
								     : size_without_padding(b.id);
	name = cursor_name(c);
	b.path = strndup((const char *)name.at, name.size);
	if (!b.path || vec_push(&pd->build_ids, b)) {
		free(b.path);
		return -ENOMEM;
	}
	return 0;
}

static int parse_build_ids(struct perfdata *pd, struct cursor *c)
{
	int err = 0;

	while (!err && cursor_left(c) > RECORD_HEADER_BYTES) {
		struct cursor record = *c;
		struct bytes body;
		uint16_t misc, size;

		if (!cursor_skip(&record, 4) || !cursor_u16(&record, &misc) ||
		    !cursor_u16(&record, &size) || size < RECORD_HEADER_BYTES ||
		    !cursor_bytes(c, size, &body))
			break;
		record.end = body.at + body.size;
		err = take_build_id(pd, &record, misc);
	}
	return err;
}

/* Version 1: the clock's number, and two times of one moment. */
static void parse_clock(struct perfdata_facts *f, struct cursor *c)
{
	uint32_t version, clockid;
	uint64_t wall_ns, clock_ns;

	if (!cursor_u32(c, &version) || version != 1 || !cursor_u32(c, &clockid) ||
	    !cursor_u64(c, &wall_ns) || !cursor_u64(c, &clock_ns))
		return;
	f->clock_wall_ns = wall_ns;
	f->clock_ns = clock_ns;
}

int feature_parse(struct perfdata *pd, uint64_t feature, const uint8_t *bytes, size_t size)
{
	struct cursor c = cursor_of(bytes, size, pd->swap);
	struct perfdata_facts *f = &pd->facts;
	char **const strings[] = {
		[FEATURE_HOSTNAME] = &f->hostname, [FEATURE_OSRELEASE] = &f->osrelease,
		[FEATURE_VERSION] = &f->version,   [FEATURE_ARCH] = &f->arch,
		[FEATURE_CPUDESC] = &f->cpudesc,   [FEATURE_CPUID] = &f->cpuid,
	};

	if (feature < sizeof(strings) / sizeof(strings[0]) && strings[feature])
		return set_string(&c, strings[feature]);
	switch (feature) {
	case FEATURE_BUILD_ID:
		return parse_build_ids(pd, &c);
	case FEATURE_NRCPUS:
		/* The available ones stand first, whatever the document says. */
		(void)(cursor_u32(&c, &f->nr_cpus) && cursor_u32(&c, &f->nr_cpus_online));
		return 0;
	case FEATURE_TOTAL_MEM:
		(void)cursor_u64(&c, &f->memory_kb);
		return 0;
	case FEATURE_CMDLINE:
		return parse_cmdline(pd, &c);
	case FEATURE_EVENT_DESC:
		return parse_event_desc(pd, &c);
	case FEATURE_CLOCK_DATA:
		parse_clock(f, &c);
		return 0;
	case FEATURE_COMPRESSED:
		f->compressed = true;
		return 0;
	default:
		return 0;
	}
}

static bool wanted(uint64_t feature)
{
	return (feature >= FEATURE_BUILD_ID && feature <= FEATURE_EVENT_DESC) ||
	       feature == FEATURE_COMPRESSED || feature == FEATURE_CLOCK_DATA;
}

static int feature_read(struct perfdata *pd, uint64_t feature, uint64_t section)
{
	uint8_t entry[SECTION_BYTES], *bytes;
	struct cursor c = cursor_of(entry, sizeof(entry), pd->swap);
	uint64_t offset, size;
	int err;

	if (stream_read_at(&pd->in->stream, section, entry, sizeof(entry)) != sizeof(entry))
		return 0;
	(void)(cursor_u64(&c, &offset) && cursor_u64(&c, &size));
	if (feature == FEATURE_TRACING_DATA) {
		pd->tracing_at = offset;
		pd->tracing_size = size;
	}
	if (!wanted(feature) || !size || offset >= pd->in->stream.size)
		return 0;
	if (size > pd->in->stream.size - offset)
		size = pd->in->stream.size - offset;
	if (size > FEATURE_BYTES_MAX)
		size = FEATURE_BYTES_MAX;
	bytes = malloc((size_t)size);
	if (!bytes)
		return -ENOMEM;
	size = stream_read_at(&pd->in->stream, offset, bytes, (size_t)size);
	err = feature_parse(pd, feature, bytes, (size_t)size);
	free(bytes);
	return err;
}

/* The table of sections stands behind the data, one entry for each bit that is set. */
int features_read(struct perfdata *pd)
{
	uint64_t section = pd->in->data_end;
	int err = 0;

	for (uint64_t i = 0; i < NR_FEATURES && !err; i++) {
		if (!(pd->features[i / 64] >> (i % 64) & 1))
			continue;
		err = feature_read(pd, i, section);
		section += SECTION_BYTES;
	}
	return err;
}

/* PERF_RECORD_HEADER_ATTR: an attr, and the ids behind it. */
static int apply_attr(struct perfdata *pd, const struct perfdata_record *r)
{
	const uint8_t *attr = r->bytes + RECORD_HEADER_BYTES;
	size_t size = r->size - RECORD_HEADER_BYTES;
	struct perfdata_event e;
	struct cursor c;
	uint64_t id;
	int event, err = 0;

	if (!attr_parse(pd, attr, size, &e))
		return 0;
	event = event_add(pd, &e);
	if (event < 0)
		return event == -ENOMEM ? event : 0;
	c = cursor_of(attr, size, pd->swap);
	if (!cursor_skip(&c, e.attr_size))
		return 0;
	while (!err && cursor_u64(&c, &id))
		err = event_add_id(pd, id, (size_t)event);
	return err;
}

/* PERF_RECORD_HEADER_EVENT_TYPE, of old: an event's config and its name. */
static int apply_event_type(struct perfdata *pd, struct cursor *c)
{
	uint64_t config;
	struct bytes name;

	if (!cursor_u64(c, &config))
		return 0;
	name = cursor_name(c);
	for (size_t i = 0; i < pd->events.nr; i++)
		if (pd->events.at[i].config == config && !pd->events.at[i].name)
			return event_set_name(pd, i, name.at, name.size);
	return 0;
}

static int apply_event_update(struct perfdata *pd, struct cursor *c)
{
	uint64_t what, id;
	struct bytes name;
	int event;

	if (!cursor_u64(c, &what) || !cursor_u64(c, &id) || what != EVENT_UPDATE_NAME)
		return 0;
	event = perfdata_event_of(pd, id);
	if (event < 0)
		return 0;
	name = cursor_name(c);
	return event_set_name(pd, (size_t)event, name.at, name.size);
}

bool user_record_changes(uint32_t type)
{
	return type == PERFDATA_HEADER_ATTR || type == PERFDATA_EVENT_TYPE ||
	       type == PERFDATA_EVENT_UPDATE || type == PERFDATA_BUILD_ID ||
	       type == PERFDATA_FEATURE;
}

int user_record_apply(struct perfdata *pd, const struct perfdata_record *r)
{
	struct cursor c = cursor_of(r->bytes, r->size, pd->swap);
	uint64_t feature;

	(void)cursor_skip(&c, RECORD_HEADER_BYTES);
	switch (r->type) {
	case PERFDATA_HEADER_ATTR:
		return apply_attr(pd, r);
	case PERFDATA_EVENT_TYPE:
		return apply_event_type(pd, &c);
	case PERFDATA_EVENT_UPDATE:
		return apply_event_update(pd, &c);
	case PERFDATA_BUILD_ID:
		return take_build_id(pd, &c, r->misc);
	case PERFDATA_FEATURE:
		if (!cursor_u64(&c, &feature))
			return 0;
		return feature_parse(pd, feature, c.at, cursor_left(&c));
	default:
		return 0;
	}
}

void facts_done(struct perfdata *pd)
{
	struct perfdata_facts *f = &pd->facts;

	free(f->hostname);
	free(f->osrelease);
	free(f->version);
	free(f->arch);
	free(f->cpudesc);
	free(f->cpuid);
	free(f->cmdline);
	for (size_t i = 0; i < pd->build_ids.nr; i++)
		free(pd->build_ids.at[i].path);
	vec_done(&pd->build_ids);
}
