// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A whole recording: headers, attrs, ids, features, compressed data, every record decoded by the
 * layout of its event.  What the reader hands out is read to its last byte.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/decode.h"
#include "record/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void use_text(const char *text)
{
	sink += text ? strlen(text) : 0;
}

static void use_record(struct perfdata *pd, const struct perfdata_record *r)
{
	struct record record;

	for (uint32_t i = 0; i < r->size; i++)
		sink += r->bytes[i];
	if (r->event >= (int)perfdata_nr_events(pd) || (r->type >= PERFDATA_FIRST && r->event >= 0))
		abort();
	if (r->type < PERFDATA_FIRST && record_decode(r->layout, r->bytes, r->size, &record) == 0) {
		sink += record.sid.time_ns;
		if (record.type == RECORD_SAMPLE) {
			for (uint32_t i = 0; i < record.sample.callchain.nr; i++)
				sink += u64s_get(&record.sample.callchain, i);
			for (uint32_t i = 0; i < record.sample.read.nr; i++)
				sink += read_values_get(&record.sample.read, i).value;
		}
	}
}

static void use_facts(struct perfdata *pd)
{
	const struct perfdata_facts *f = perfdata_facts(pd);

	use_text(f->hostname);
	use_text(f->osrelease);
	use_text(f->version);
	use_text(f->arch);
	use_text(f->cpudesc);
	use_text(f->cpuid);
	use_text(f->cmdline);
	use_text(perfdata_stopped(pd));
	for (size_t i = 0; i < perfdata_nr_events(pd); i++) {
		use_text(perfdata_event_name(pd, i));
		use_text(perfdata_event_report_name(pd, i));
	}
	for (size_t i = 0; i < perfdata_nr_build_ids(pd); i++) {
		use_text(perfdata_build_id(pd, i)->path);
		if (perfdata_build_id(pd, i)->size > sizeof(perfdata_build_id(pd, i)->id))
			abort();
	}
}

static void use_tracing(struct perfdata *pd)
{
	uint8_t *bytes;
	size_t size;

	if (perfdata_tracing_data(pd, &bytes, &size))
		return;
	for (size_t i = 0; i < size; i++)
		sink += bytes[i];
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfdata_record r;
	struct perfdata *pd;
	struct reason why;
	int got;

	if (perfdata_open_memory(&pd, data, size, &why))
		return 0;
	while ((got = perfdata_next(pd, &r)) > 0)
		use_record(pd, &r);
	if (perfdata_damaged(pd) && !perfdata_stopped(pd)[0])
		abort();
	use_facts(pd);
	use_tracing(pd);
	perfdata_free(pd);
	return 0;
}
