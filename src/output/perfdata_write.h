/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a perf.data recording in file mode, one that is complete at (nearly) any instant: the room
 * for attrs and ids lies before the data, and each flush brings the records out together with the
 * feature sections behind them and then the header that names both.  Killed at any moment, the file
 * opens up to the last flush; only in the instant between does it lack features (then names of
 * events are made from their attrs).
 *
 * Memory: a buffer of 256 KiB, the ids and build-ids told.  One thread.  Facts:
 * tools/perf/Documentation/perf.data-file-format.txt.
 *
 * After the first error (a full disk) nothing more is written but what makes the part that fitted
 * readable: records are cut back as far as the features need.
 */
#ifndef PTOP_OUTPUT_PERFDATA_WRITE_H
#define PTOP_OUTPUT_PERFDATA_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_attr;
struct perfdata_writer;

enum { WRITER_EVENTS_MAX = 128, WRITER_IDS_MAX = 1024 };

/* What a recording tells of itself; NULL and 0 are left out.  Borrowed during the call. */
struct perfdata_about {
	const char *hostname, *osrelease, *version, *arch, *cpudesc;
	uint32_t nr_cpus_online, nr_cpus;
	uint64_t memory_kb;
	char *const *cmdline; /* words, NULL-terminated; NULL: not told */
	/* The clock of the records, and one moment by it and by the wall clock. */
	uint32_t clockid;
	uint64_t resolution_ns, clock_ns, wall_ns;
};

/*
 * Begins a recording in an empty file; takes @fd once it succeeds.  @nr_ids: how many ids one event
 * is likely to have; bounded by WRITER_IDS_MAX.  0 or -errno.
 */
int writer_new(struct perfdata_writer **ret, int fd, const struct perfdata_about *about,
	       size_t nr_ids);

/*
 * Makes an event known, under the name that perf and ptop show; its index.  The attr has
 * PERF_SAMPLE_IDENTIFIER and sample_id_all (else -EINVAL).  -ENOSPC beyond WRITER_EVENTS_MAX;
 * -ENOMEM.
 */
int writer_event(struct perfdata_writer *w, const struct perf_event_attr *attr, const char *name);

/* The event of an id, or -1. */
int writer_event_of(const struct perfdata_writer *w, uint64_t id);

/*
 * Records with that id are of that event.  1: there is no room for it: they get the event's first
 * id instead.  0 or -ENOMEM.
 */
int writer_id(struct perfdata_writer *w, int event, uint64_t id);

/*
 * Appends a record of the kernel's form, header included; @size is header.size.  @event -1: one
 * whose id is 0 or known already.  0, or the error that writing met, now or earlier.
 */
int writer_record(struct perfdata_writer *w, int event, const void *bytes, size_t size);

/* Everything up to the latest record of the round before last is there: a FINISHED_ROUND. */
int writer_round(struct perfdata_writer *w);
/* What was before the recording began has been told: a FINISHED_INIT. */
int writer_init_done(struct perfdata_writer *w);

/* Times of the first and last sample; told in a section of its own. */
void writer_times(struct perfdata_writer *w, uint64_t first_ns, uint64_t last_ns);

/*
 * The build-id of a file (or of "[kernel.kallsyms]") as mappings name it.  A path told with two
 * different ones gets none.  0 or -ENOMEM.
 */
int writer_build_id(struct perfdata_writer *w, const char *path, const uint8_t *id, size_t id_size,
		    bool kernel);

/* Everything so far is in the file and readable.  0 or the error. */
int writer_flush(struct perfdata_writer *w);

uint64_t writer_bytes(const struct perfdata_writer *w);   /* of the file as of the last flush */
uint64_t writer_dropped(const struct perfdata_writer *w); /* records that an error kept out */

/* Flushes, closes, frees; NULL is fine.  0 or the first error there was. */
int writer_free(struct perfdata_writer *w);

#endif
