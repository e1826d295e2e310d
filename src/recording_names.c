/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of this machine name a recording's code only where they are the recorded ones:
 *
 *   build-id   Told by the mapping's record or by the recording's table of paths: the file's own
 *              must be the same, wherever it was recorded.
 *   inode      Where no build-id is told: the same device and inode, and only for a recording of
 *              this host, or any file below a --sysroot.
 *   neither    Old recordings of this host are believed, as perf does.
 *
 * Where they are looked for: image/places.h.  The kernel: recording_kernel.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "recording_impl.h"

static uint64_t path_hash(const char *path, size_t len)
{
	uint64_t hash = len;

	for (size_t i = 0; i < len; i++)
		hash = hash_u64(hash * 31 + (uint8_t)path[i]);
	return hash;
}

/* Takes in entries of the recording's table that have come since. */
static void learn_build_ids(struct recording *r)
{
	size_t nr = perfdata_nr_build_ids(r->pd);

	for (; r->build_ids_known < nr; r->build_ids_known++) {
		const char *path = perfdata_build_id(r->pd, r->build_ids_known)->path;

		(void)map_set(&r->build_ids, path_hash(path, strlen(path)), r->build_ids_known + 1);
	}
}

static const struct perfdata_build_id *told_build_id(struct recording *r, const char *path)
{
	const uint64_t *at;
	const struct perfdata_build_id *b;

	learn_build_ids(r);
	at = map_find(&r->build_ids, path_hash(path, strlen(path)));
	if (!at)
		return NULL;
	b = perfdata_build_id(r->pd, (size_t)*at - 1);
	return strcmp(b->path, path) ? NULL : b;
}

static void see_image(struct recording *r, uint32_t image, uint64_t start, uint64_t end)
{
	const struct image_key *key = space_image(r->pipeline.space, image);
	const struct perfdata_build_id *told;
	struct image_sight sight;

	if (!key || key->kind == IMAGE_ANON)
		return;
	sight = (struct image_sight){
		.path = space_string(r->pipeline.space, key->path),
		.maj = key->maj,
		.min = key->min,
		.ino = key->ino,
		.build_id = key->build_id,
		.build_id_size = key->build_id_size,
		.foreign = !r->same_host,
	};
	told = sight.build_id_size ? NULL : told_build_id(r, sight.path);
	if (told && told->size) {
		sight.build_id = told->id;
		sight.build_id_size = told->size;
	}
	if (sight.build_id_size)
		sight.ino = 0; /* it decides alone */
	if (key->kind == IMAGE_VDSO && r->same_host) {
		sight.vdso = true;
		sight.start = start;
		sight.end = end;
	}
	images_see(r->pipeline.images, image, &sight);
}

static void on_image(void *ctx, uint32_t image, pid_t pid, uint64_t start, uint64_t end)
{
	struct recording *r = ctx;

	(void)pid;
	if (images_state(r->pipeline.images, image) == IMAGE_UNSEEN)
		see_image(r, image, start, end);
}

/* In pipe mode the host is told by records, which come before those of code. */
static void learn_host(struct recording *r)
{
	const struct perfdata_facts *f = perfdata_facts(r->pd);
	struct utsname here;

	if (r->same_host || !f->hostname || !f->osrelease || uname(&here) != 0)
		return;
	r->same_host = !strcmp(f->hostname, here.nodename) && !strcmp(f->osrelease, here.release);
}

/*
 * Whose registers the samples carry.  Told by the recording, but not by one whose recorder was
 * killed; words of a stack are read in our order of bytes.
 */
static void learn_machine(struct recording *r)
{
	enum unwind_machine machine = UNWIND_HERE;
	size_t nr = perfdata_nr_events(r->pd);

	for (; r->events_known < nr; r->events_known++)
		r->regs |= perfdata_event(r->pd, r->events_known)->layout.regs_user;
	r->arch_known = perfdata_facts(r->pd)->arch;
	if (perfdata_is_swapped(r->pd))
		machine = UNWIND_OTHER;
	else if (r->arch_known || r->regs)
		machine = unwind_machine_of(r->arch_known, r->regs);
	r->no_unwinding = machine == UNWIND_OTHER;
	pipeline_machine(&r->pipeline, machine);
}

/* By the first sample the recording has told all about its kernel. */
static void name_kernel(struct recording *r)
{
	const struct perfdata_build_id *told;
	struct rkernel_clue clue = {
		.osrelease = perfdata_facts(r->pd)->osrelease,
		.same_host = r->same_host,
		.file = r->options->kallsyms,
		.recording = r->options->input,
		.places = &r->places,
	};

	told = told_build_id(r, "[kernel.kallsyms]");
	if (told) {
		clue.build_id = told->id;
		clue.build_id_size = told->size;
	}
	rkernel_name(r->kernel, &clue, r->pipeline.symbols);
}

/* Whether times are of the clock that runtimes put into their dumps. */
static void learn_clock(struct recording *r)
{
	for (size_t i = 0; i < perfdata_nr_events(r->pd); i++) {
		const struct perfdata_event *e = perfdata_event(r->pd, i);

		if (!e->use_clockid || e->clockid != CLOCK_MONOTONIC)
			symbols_timeless(r->pipeline.symbols);
	}
}

void rnames_saw(struct recording *r, const struct record *record)
{
	const char *arch = perfdata_facts(r->pd)->arch;
	size_t nr_events = perfdata_nr_events(r->pd);

	if (arch != r->arch_known || nr_events != r->events_known) {
		r->arch_known = arch;
		r->events_known = nr_events;
		learn_machine(r);
		learn_clock(r);
	}
	if (record->type == RECORD_MMAP || record->type == RECORD_MMAP2) {
		learn_host(r);
		rkernel_saw(r->kernel, record);
	} else if (record->type == RECORD_SAMPLE) {
		if (rkernel_waits(r->kernel))
			name_kernel(r);
	}
}

/* The idle task has no record that names it. */
static void name_idle(struct recording *r)
{
	static const char name[] = "swapper";
	const struct record record = {
		.type = RECORD_COMM,
		.comm = { .comm = { (const uint8_t *)name, sizeof(name) - 1 } },
	};

	space_apply(r->pipeline.space, &record);
}

int rnames_init(struct recording *r)
{
	int err = places_open(&r->places, r->options->sysroot, NULL);

	if (err)
		return err;
	r->kernel = rkernel_new();
	if (!r->kernel)
		return -ENOMEM;
	name_idle(r);
	learn_host(r);
	learn_machine(r);
	learn_clock(r);
	symbols_recorded(r->pipeline.symbols, false);
	images_recorded(r->pipeline.images, &r->places);
	space_on_image(r->pipeline.space, on_image, r);
	return 0;
}

void rnames_done(struct recording *r)
{
	if (r->kernel)
		places_done(&r->places);
	rtrace_free(r->trace);
	rkernel_free(r->kernel);
	r->kernel = NULL;
	map_done(&r->build_ids);
}

/* Images that failed for want of a build-id get another look. */
void rnames_finish(struct recording *r)
{
	size_t nr = space_nr_images(r->pipeline.space);

	learn_host(r);
	for (uint32_t i = IMAGE_FIRST; i < nr; i++)
		if (images_state(r->pipeline.images, i) == IMAGE_FAILED)
			see_image(r, i, 0, 0);
}

enum { NAMES_TOLD = 3 };

static const char *name_of(const struct recording *r, uint32_t image)
{
	const struct image_key *key = space_image(r->pipeline.space, image);
	const char *path = key ? space_string(r->pipeline.space, key->path) : "";
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void tell_machine(struct recording *r)
{
	if (r->machine_told)
		return;
	r->machine_told = true;
	if (r->regs && r->no_unwinding)
		notes_add(r->notes, "machine", 0,
			  "stacks of user code are not unwound: the recording is of %s, and ptop "
			  "knows the registers of x86_64 and aarch64",
			  r->arch_known ? r->arch_known : "another machine");
	else if (r->pipeline.counts.narrow)
		notes_add(r->notes, "machine", 0,
			  "stacks of 32-bit programs are not unwound (%" PRIu64 " samples)",
			  r->pipeline.counts.narrow);
}

/* Of Intel PT and the like: more memory than the samples, often. */
static void tell_trace(struct recording *r)
{
	uint64_t bytes = perfdata_facts(r->pd)->trace_bytes;

	if (r->trace_told || !bytes)
		return;
	r->trace_told = true;
	notes_add(r->notes, "trace", 0,
		  "the recording holds a hardware trace of %" PRIu64
		  " KiB, which is not decoded: what is shown are its samples",
		  (bytes + 1023) / 1024);
}

static void tell_kernel(struct recording *r)
{
	if (r->kernel_told || !rkernel_why(r->kernel)[0] ||
	    symbols_final(r->pipeline.symbols, IMAGE_KERNEL))
		return;
	r->kernel_told = true;
	notes_add(r->notes, "kernel", 0, "%s", rkernel_why(r->kernel));
}

static void tell_files(struct recording *r)
{
	size_t nr = space_nr_images(r->pipeline.space), refused = 0, len = 0;
	char list[200] = "", more[32] = "";

	for (uint32_t i = IMAGE_FIRST; i < nr; i++) {
		const char *why = images_refused(r->pipeline.images, i);

		if (!*why)
			continue;
		if (refused++ < NAMES_TOLD && len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%.40s [%s]",
						len ? ", " : "", name_of(r, i), why);
	}
	if (!refused || refused == r->nr_refused)
		return;
	r->nr_refused = refused;
	if (refused > NAMES_TOLD)
		snprintf(more, sizeof(more), " and %zu more", refused - NAMES_TOLD);
	notes_add(
		r->notes, "files", 0,
		"without names for want of the recorded files: %s%s; give those with --sysroot DIR",
		list, more);
}

void rnames_tell(struct recording *r)
{
	tell_machine(r);
	tell_trace(r);
	tell_kernel(r);
	tell_files(r);
}
