/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/script.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"

enum { NAME_MAX_BYTES = 4096, TRACE_MAX_BYTES = 1 << 16, SOURCE_MAX_BYTES = 512 };

/* A string from outside, clean, for one use. */
static const char *clean(char room[NAME_MAX_BYTES], const char *text)
{
	text_scrub(room, NAME_MAX_BYTES, text, strlen(text), false);
	return room;
}

static void write_frame(FILE *f, const struct script_frame *frame)
{
	char room[NAME_MAX_BYTES];

	fprintf(f, "%16" PRIx64 " ", frame->addr);
	if (frame->symbol)
		fprintf(f, "%s+0x%" PRIx64, clean(room, frame->symbol), frame->offset);
	else
		fputs("[unknown]", f);
	fprintf(f, " (%s)", frame->module ? clean(room, frame->module) : "[unknown]");
}

static void write_head(FILE *f, const struct script_sample *s)
{
	char room[NAME_MAX_BYTES], stamp[32];

	fprintf(f, s->has_chain ? "%s " : "%16s ", clean(room, s->comm));
	if (s->has_tid)
		fprintf(f, "%5" PRId32 " ", s->tid);
	if (s->has_cpu)
		fprintf(f, "[%03" PRIu32 "] ", s->cpu);
	if (s->has_time) {
		snprintf(stamp, sizeof(stamp), "%" PRIu64 ".%06" PRIu64, s->time_ns / 1000000000,
			 s->time_ns % 1000000000 / 1000);
		fprintf(f, "%12s: ", stamp);
	}
	if (s->has_period)
		fprintf(f, "%10" PRIu64 " ", s->period);
	fprintf(f, "%*s: ", s->event_width, clean(room, s->event));
}

static void write_trace(FILE *f, const char *text)
{
	char room[TRACE_MAX_BYTES];

	text_scrub(room, sizeof(room), text, strlen(text), false);
	fputs(room, f);
}

/* Before the address or the stack. */
static void write_access(FILE *f, const struct script_sample *s)
{
	const struct script_memory *m = &s->memory;
	char text[SOURCE_MAX_BYTES];

	if (m->has_addr)
		fprintf(f, "%16" PRIx64, m->addr);
	if (m->has_source) {
		script_data_source(m->source, text, sizeof(text));
		if (*s->source_width < (int)strlen(text))
			*s->source_width = (int)strlen(text);
		fprintf(f, "%-*s", *s->source_width, text);
	}
	if (m->has_weight)
		fprintf(f, "%16" PRIu64, m->weight);
	if (m->has_latency)
		fprintf(f, "%16" PRIu64, m->latency);
}

static void write_page_size(FILE *f, uint64_t size)
{
	static const char units[] = "BKMG";
	size_t unit = 0;

	if (!size) {
		fputs(" N/A", f);
		return;
	}
	for (; size >= 1024 && units[unit + 1]; unit++)
		size /= 1024;
	fprintf(f, " %" PRIu64 "%c", size, units[unit]);
}

/* Behind it. */
static void write_pages(FILE *f, const struct script_memory *m)
{
	if (m->has_physical)
		fprintf(f, "%16" PRIx64, m->physical);
	if (m->has_data_page)
		write_page_size(f, m->data_page);
	if (m->has_code_page)
		write_page_size(f, m->code_page);
}

int script_write(FILE *out, const struct script_sample *s)
{
	write_head(out, s);
	if (s->trace)
		write_trace(out, s->trace);
	write_access(out, s);
	if (s->has_chain) {
		fputc('\n', out);
		for (size_t i = 0; i < s->nr_frames; i++) {
			fputc('\t', out);
			write_frame(out, &s->frames[i]);
			fputc('\n', out);
		}
	} else if (s->nr_frames) {
		fputc(' ', out);
		write_frame(out, &s->frames[0]);
	}
	write_pages(out, &s->memory);
	fputc('\n', out);
	return ferror(out) ? -errno : 0;
}
