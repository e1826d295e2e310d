/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample as perf script prints it.  Addresses of a callchain are in the file for user code and in
 * memory for the kernel; a lone address (events without callchains) is in memory.  Markers that
 * change the mode are no frames.  A thread that no record named is ":TID".
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "output/script.h"
#include "recording_impl.h"
#include "recording_shares.h"

enum { FRAMES_MAX = 127, IMAGES_A_STACK = 64 };

#define SETTLE_ONE_NS (2 * NS_PER_S) /* to read the image of a frame */

static void name_kernel(struct recording *r, uint64_t addr, struct script_frame *f)
{
	struct symbols *sy = r->pipeline.symbols;
	struct function_info info;
	uint64_t start;

	f->module = "[kernel.kallsyms]";
	if (!symbols_start(sy, IMAGE_KERNEL, addr, &start) ||
	    !symbols_info(sy, symbols_function(sy, IMAGE_KERNEL, addr), &info))
		return;
	f->symbol = info.name;
	f->offset = addr - start;
	if (strcmp(info.module, "[kernel]") != 0)
		f->module = info.module;
}

/* Not by pipeline_work(): this is inside of it. */
static void await_images(struct recording *r)
{
	struct pollfd loader = { .fd = images_fd(r->pipeline.images), .events = POLLIN };
	uint64_t now = clock_ns(), until = now + SETTLE_ONE_NS;

	for (; images_wanting(r->pipeline.images) && now < until; now = clock_ns())
		if (!images_work(r->pipeline.images, until - now) && loader.fd >= 0)
			poll(&loader, 1, 10);
	symbols_refresh(r->pipeline.symbols, now);
}

static void name_user(struct recording *r, const struct record *record, const struct place *place,
		      struct script_frame *f)
{
	struct symbols *sy = r->pipeline.symbols;
	const struct image_key *key = space_image(r->pipeline.space, place->image);
	uint64_t at = symbols_place(sy, (pid_t)record->sid.pid, place->image, place->offset,
				    record->sid.time_ns);
	struct function_info info;
	uint64_t start;

	if (!key)
		return;
	f->module = key->kind == IMAGE_ANON ? "//anon" : space_string(r->pipeline.space, key->path);
	symbols_function(sy, place->image, at);
	if (!symbols_final(sy, place->image) && images_wanting(r->pipeline.images))
		await_images(r);
	if (!symbols_start(sy, place->image, place->offset, &start) ||
	    !symbols_info(sy, symbols_function(sy, place->image, at), &info))
		return;
	f->symbol = info.name;
	f->offset = place->offset - start;
}

static struct script_frame frame_of(struct recording *r, const struct record *record,
				    enum cpumode mode, uint64_t addr, bool in_file)
{
	struct script_frame f = { .addr = addr };
	struct place place;

	if (mode == CPUMODE_KERNEL) {
		name_kernel(r, addr, &f);
	} else if (mode == CPUMODE_USER) {
		place = space_resolve(r->pipeline.space, (pid_t)record->sid.pid, addr);
		if (in_file && place.image >= IMAGE_FIRST)
			f.addr = place.offset;
		name_user(r, record, &place, &f);
	}
	return f;
}

static size_t walk(struct recording *r, const struct record *record,
		   struct script_frame frames[FRAMES_MAX])
{
	const struct u64s *chain = &record->sample.callchain;
	enum cpumode mode = record->cpumode;
	size_t nr = 0;

	for (uint32_t i = 0; i < chain->nr && nr < FRAMES_MAX; i++) {
		uint64_t addr = u64s_get(chain, i);

		if (addr < (uint64_t)PERF_CONTEXT_MAX)
			frames[nr++] = frame_of(r, record, mode, addr, true);
		else if (addr == (uint64_t)PERF_CONTEXT_KERNEL)
			mode = CPUMODE_KERNEL;
		else if (addr == (uint64_t)PERF_CONTEXT_USER)
			mode = CPUMODE_USER;
		else if (addr == (uint64_t)PERF_CONTEXT_HV)
			mode = CPUMODE_UNKNOWN;
		else
			return 0; /* no marker: perf takes the whole chain for garbage */
	}
	return nr;
}

/* The user's frames of a stack that was copied. */
static size_t walk_copied(struct recording *r, const struct record *record,
			  struct script_frame *frames, size_t most)
{
	struct place places[FRAMES_MAX];
	struct unwound u;

	for (int image = 0; image < IMAGES_A_STACK; image++) {
		if (!pipeline_unwind(&r->pipeline, record, places, (uint32_t)most, &u))
			return 0;
		if (u.end != UNWIND_WAIT)
			break;
		await_images(r);
	}
	for (uint32_t i = 0; i < u.nr; i++) {
		frames[i] = (struct script_frame){ .addr = places[i].offset };
		name_user(r, record, &places[i], &frames[i]);
	}
	return u.nr;
}

static int longest_name(struct recording *r)
{
	size_t most = 0;

	for (size_t i = 0; i < perfdata_nr_events(r->pd); i++) {
		size_t len = strlen(perfdata_event_name(r->pd, i));

		most = len > most ? len : most;
	}
	return most < 512 ? (int)most : 512;
}

/* What is the same for all shares of a sample: who, when, where. */
static void fill_head(struct recording *r, const struct record *record, char nobody[16],
		      struct script_sample *s)
{
	struct space *space = r->pipeline.space;
	const struct sample_id *id = &record->sid;
	struct task_info task;

	s->has_tid = id->have & PERF_SAMPLE_TID;
	s->tid = s->has_tid ? (int32_t)id->tid : -1;
	snprintf(nobody, 16, ":%d", s->tid);
	s->comm = id->tid || !s->has_tid ? nobody : "swapper"; /* 0 of a thread that ends, too */
	if (s->tid != -1 &&
	    space_task_info(space, space_task(space, (pid_t)id->pid, (pid_t)id->tid), &task) &&
	    strncmp(task.comm, "?[", 2) != 0)
		s->comm = task.comm;
	s->cpu = id->cpu;
	s->time_ns = id->time_ns;
	if (r->width_events != perfdata_nr_events(r->pd)) {
		r->width_events = perfdata_nr_events(r->pd);
		r->width = longest_name(r);
	}
	s->event_width = r->width;
}

/* Of a tracepoint; why there is none is said once. */
static const char *trace_text(struct recording *r, const struct record *record)
{
	const char *text;

	if (!r->trace && !r->trace_failed)
		r->trace = rtrace_new(r->pd, r->pipeline.symbols, !r->options->no_sandbox);
	if (!r->trace)
		return NULL;
	text = rtrace_text(r->trace, record->sid.cpu, &record->sample.raw);
	if (!text && !r->trace_failed && rtrace_why(r->trace)[0]) {
		fprintf(stderr, "ptop: %s\n", rtrace_why(r->trace));
		r->trace_failed = true;
	}
	return text;
}

/* Of events that only this processor has, perf prints by default all that it was told of memory. */
static struct script_memory memory_of(const struct perfdata_event *e, const struct sample *s)
{
	const uint64_t type = e->type == PERF_TYPE_RAW ? e->layout.sample_type : 0;

	return (struct script_memory){
		.has_addr = type & PERF_SAMPLE_ADDR,
		.has_source = type & PERF_SAMPLE_DATA_SRC,
		.has_weight = type & (PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT),
		.has_latency = type & SAMPLE_WEIGHT_STRUCT,
		.has_physical = type & PERF_SAMPLE_PHYS_ADDR,
		.has_data_page = type & SAMPLE_DATA_PAGE_SIZE,
		.has_code_page = type & SAMPLE_CODE_PAGE_SIZE,
		.addr = s->addr,
		.source = s->data_src,
		.weight = s->weight,
		.latency = s->weight2,
		.physical = s->phys_addr,
		.data_page = s->data_page_size,
		.code_page = s->code_page_size,
	};
}

static void write_share(struct recording *r, const struct record *record, const struct share *share,
			struct script_sample *s, struct script_frame *frames)
{
	const struct perfdata_event *e = perfdata_event(r->pd, (size_t)share->event);
	uint64_t type = e->layout.sample_type;

	s->event = perfdata_event_name(r->pd, (size_t)share->event);
	/* A fixed period need not be in each sample. */
	s->period = (type & PERF_SAMPLE_PERIOD) || shares_differ(r->pd, share->event)
			    ? share->period
			    : e->sample_period;
	s->has_cpu = type & PERF_SAMPLE_CPU;
	s->has_time = type & PERF_SAMPLE_TIME;
	s->has_period = e->type != PERF_TYPE_TRACEPOINT;
	s->has_chain = type & PERF_SAMPLE_CALLCHAIN;
	s->trace = e->type == PERF_TYPE_TRACEPOINT && record->sample.raw.size
			   ? trace_text(r, record)
			   : NULL;
	s->memory = memory_of(e, &record->sample);
	s->source_width = &r->width_source;
	s->frames = frames;
	s->nr_frames = 0;
	if (s->has_chain) {
		s->nr_frames = walk(r, record, frames);
		if (type & PERF_SAMPLE_STACK_USER)
			s->nr_frames += walk_copied(r, record, frames + s->nr_frames,
						    FRAMES_MAX - s->nr_frames);
	} else if ((type & PERF_SAMPLE_IP) && e->type != PERF_TYPE_TRACEPOINT) {
		frames[0] = frame_of(r, record, record->cpumode, record->sample.ip, false);
		s->nr_frames = 1;
	}
	r->error = script_write(stdout, s);
}

void recording_script(struct recording *r, const struct record *record)
{
	struct script_frame frames[FRAMES_MAX];
	struct share shares[SHARES_MOST];
	struct script_sample s = { 0 };
	char nobody[16];
	size_t nr;
	int event;

	if (record->type != RECORD_SAMPLE || r->error)
		return;
	event = record->sid.id ? perfdata_event_of(r->pd, record->sid.id) : 0;
	fill_head(r, record, nobody, &s);
	nr = shares_of(&r->counts, r->pd, record, event < 0 ? 0 : event, shares, SHARES_MOST);
	for (size_t i = 0; i < nr && !r->error; i++)
		write_share(r, record, &shares[i], &s, frames);
}
