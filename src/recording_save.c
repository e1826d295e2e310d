/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording made of another one's samples tells: the machine and the kernel that the other
 * was made on.
 */
#include <errno.h>
#include <linux/perf_event.h>

#include "config.h"
#include "recorder_facts.h"
#include "recording_impl.h"

int recording_save_begin(const struct recording *r, int fd, struct perfdata_writer **ret,
			 int *ret_clockid)
{
	const struct perfdata_facts *f = perfdata_facts(r->pd);
	const struct perfdata_event *e = perfdata_nr_events(r->pd) ? perfdata_event(r->pd, 0)
								   : NULL;
	char *command_line[] = { f->cmdline, NULL };
	struct perfdata_about about = {
		.version = "ptop " PACKAGE_VERSION,
		.hostname = f->hostname,
		.osrelease = f->osrelease,
		.arch = f->arch,
		.cpudesc = f->cpudesc,
		.nr_cpus = f->nr_cpus,
		.nr_cpus_online = f->nr_cpus_online,
		.memory_kb = f->memory_kb,
		.cmdline = command_line,
	};

	*ret_clockid = e && e->use_clockid ? e->clockid : -1;
	if (*ret_clockid >= 0 && f->clock_wall_ns) {
		about.clockid = (uint32_t)*ret_clockid;
		about.wall_ns = f->clock_wall_ns;
		about.clock_ns = f->clock_ns;
	}
	return writer_new(ret, fd, &about, 0);
}

/* Of files that are not here, too. */
static int save_build_ids(const struct recording *r, struct perfdata_writer *w)
{
	size_t nr = perfdata_nr_build_ids(r->pd);
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		const struct perfdata_build_id *b = perfdata_build_id(r->pd, i);
		bool kernel = (b->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;

		err = writer_build_id(w, b->path, b->id, b->size, kernel);
	}
	return err;
}

int recording_save_kernel(const struct recording *r, struct perfdata_writer *w,
			  const struct layout *l)
{
	const struct sample_id nobody = { 0 };
	struct rkernel_map map;
	struct blob b = { 0 };
	size_t pos = 0;
	int err = 0;

	while (!err && rkernel_next_map(r->kernel, &pos, &map)) {
		synth_kernel_map(&b, l, &nobody, map.start, map.len, map.pgoff, map.name);
		err = blob_failed(&b) ? -ENOMEM : writer_record(w, -1, b.at, b.nr);
	}
	blob_done(&b);
	if (!err)
		err = facts_code(w, l, r->pipeline.symbols);
	return err ? err : save_build_ids(r, w);
}
