// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of any layout: the first 48 bytes choose the layout, the rest are records one after
 * another. Whatever is decoded is read to its last byte, in a copy that ends where the record ends;
 * a peek must agree with the whole.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include "record/decode.h"
#include "record/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void use_bytes(const struct bytes *b)
{
	for (uint32_t i = 0; i < b->size; i++)
		sink += b->at[i];
}

static void use_numbers(const struct u64s *a)
{
	for (uint32_t i = 0; i < a->nr; i++)
		sink += u64s_get(a, i);
}

static void use_values(const struct read_values *v)
{
	for (uint32_t i = 0; i < v->nr; i++) {
		struct read_value value = read_values_get(v, i);
		sink += value.value + value.id + value.lost;
	}
}

static void use_sample(const struct sample *s)
{
	use_values(&s->read);
	use_numbers(&s->callchain);
	use_bytes(&s->raw);
	for (uint32_t i = 0; i < s->branches.nr; i++)
		sink += sample_branch(s, i).to;
	use_numbers(&s->branches.counters);
	use_numbers(&s->user.regs);
	use_numbers(&s->intr.regs);
	use_bytes(&s->stack.bytes);
	use_bytes(&s->aux);
}

static void use_record(const struct record *r)
{
	switch (r->type) {
	case RECORD_SAMPLE:
		use_sample(&r->sample);
		break;
	case RECORD_MMAP:
	case RECORD_MMAP2:
		use_bytes(&r->mmap.filename);
		for (unsigned i = 0; i < r->mmap.build_id_size; i++)
			sink += r->mmap.build_id[i];
		break;
	case RECORD_COMM:
		use_bytes(&r->comm.comm);
		break;
	case RECORD_READ:
		use_values(&r->read.values);
		break;
	case RECORD_NAMESPACES:
		use_bytes(&r->namespaces.links);
		break;
	case RECORD_KSYMBOL:
		use_bytes(&r->ksymbol.name);
		break;
	case RECORD_CGROUP:
		use_bytes(&r->cgroup.path);
		break;
	case RECORD_TEXT_POKE:
		use_bytes(&r->text_poke.bytes);
		break;
	case RECORD_CALLCHAIN_DEFERRED:
		use_numbers(&r->deferred.callchain);
		break;
	default:
		sink += r->sid.time_ns;
	}
}

static void use_bytes_of_record(const struct layout *layout, const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size);
	struct record record;
	struct sample_id sid;
	uint32_t type;
	int peeked;

	if (!copy)
		return;
	memcpy(copy, data, size);
	peeked = record_peek(layout, copy, size, &type, &sid);
	if (record_decode(layout, copy, size, &record) == 0) {
		use_record(&record);
		if (peeked || type != record.type || memcmp(&sid, &record.sid, sizeof(sid)) != 0)
			abort();
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t words[6];
	struct layout layout;

	if (size < sizeof(words))
		return 0;
	memcpy(words, data, sizeof(words));
	layout = (struct layout){
		.sample_type = words[0],
		.read_format = words[1],
		.branch_sample_type = words[2],
		.regs_user = words[3],
		.regs_intr = words[4],
		.sample_id_all = words[5] & 1,
		.swap = words[5] >> 1 & 1,
	};
	data += sizeof(words);
	size -= sizeof(words);
	while (size >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		size_t len;

		memcpy(&header, data, sizeof(header));
		len = layout.swap ? __builtin_bswap16(header.size) : header.size;
		if (len < sizeof(header) || len > size)
			break;
		use_bytes_of_record(&layout, data, len);
		data += len;
		size -= len;
	}
	return 0;
}
