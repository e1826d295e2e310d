/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf.data recording, read from its beginning to its end: the records as the kernel wrote them,
 * each with the event it is of, and what the recorder noted about itself and its machine.
 *
 * File mode (PERFILE2, PERFFILE) and pipe mode, both byte orders, attrs from VER0 to ones larger
 * than this header knows, compressed data.  Facts:
 * tools/perf/Documentation/perf.data-file-format.txt and tools/lib/perf/include/perf/event.h of
 * Linux (records beyond 64), and perf_event.h.
 *
 * The input is streamed: one window of a megabyte, whatever the size of the recording.  A recording
 * in file mode that comes through a pipe is first written to an unnamed temporary file, since its
 * last part has to be read before its middle.
 *
 * Any bytes are safe.  Reading stops at the first place that makes no sense; what came before is
 * good, and perfdata_stopped() says where and why.
 */
#ifndef PTOP_RECORD_PERFDATA_H
#define PTOP_RECORD_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"
#include "record/layout.h"
#include "record/lease.h"
#include "record/record.h"

/* Records that the recorder writes and the kernel does not. */
enum {
	PERFDATA_HEADER_ATTR = 64,
	PERFDATA_EVENT_TYPE = 65,
	PERFDATA_TRACING_DATA = 66,
	PERFDATA_BUILD_ID = 67,
	PERFDATA_FINISHED_ROUND = 68,
	PERFDATA_ID_INDEX = 69,
	PERFDATA_AUXTRACE_INFO = 70,
	PERFDATA_AUXTRACE = 71,
	PERFDATA_AUXTRACE_ERROR = 72,
	PERFDATA_THREAD_MAP = 73,
	PERFDATA_CPU_MAP = 74,
	PERFDATA_STAT_CONFIG = 75,
	PERFDATA_STAT = 76,
	PERFDATA_STAT_ROUND = 77,
	PERFDATA_EVENT_UPDATE = 78,
	PERFDATA_TIME_CONV = 79,
	PERFDATA_FEATURE = 80,
	PERFDATA_COMPRESSED = 81,
	PERFDATA_FINISHED_INIT = 82,
	PERFDATA_COMPRESSED2 = 83,
	PERFDATA_BPF_METADATA = 84,
	PERFDATA_SCHEDSTAT_CPU = 85,
	PERFDATA_SCHEDSTAT_DOMAIN = 86,
	PERFDATA_FIRST = 64,
	NR_PERFDATA_TYPES = 87,
};

struct perfdata;

/* One event of the recording: its attr, in this machine's order of bytes and bits. */
struct perfdata_event {
	uint32_t type, attr_size;
	uint64_t config, config1, config2;
	uint64_t sample_period; /* or the frequency, with .by_frequency */
	uint64_t flags;         /* the bits of perf_event_attr from `disabled` on, lowest first */
	uint32_t precise;
	int32_t clockid;
	bool by_frequency, use_clockid;
	struct layout layout;
	uint64_t first_id; /* of the ids told with it; 0: none */
	char *name;        /* told by the recording; NULL: perfdata_event_name() makes one */
};

enum { /* struct perfdata_event.flags */
       PERFDATA_EXCLUDE_USER = 1 << 4,
       PERFDATA_EXCLUDE_KERNEL = 1 << 5,
       PERFDATA_EXCLUDE_HV = 1 << 6,
       PERFDATA_EXCLUDE_HOST = 1 << 19,
       PERFDATA_EXCLUDE_GUEST = 1 << 20,
};

struct perfdata_record {
	uint32_t type; /* RECORD_* or PERFDATA_* */
	uint16_t misc;
	int event; /* -1: of the recorder, or a sample of an id that no event has */
	const struct layout *layout; /* to decode it with */
	const uint8_t *bytes;        /* header included; borrowed until the next perfdata_next() */
	struct lease *lease;         /* that keeps them for longer; NULL: nothing does */
	uint32_t size;
	uint64_t offset;      /* in the file, of the record or the compressed one that holds it */
	struct sample_id sid; /* .have 0: of the recorder, or without one */
};

/* What the recorder noted; strings are NULL and numbers 0 where it did not. Any bytes. */
struct perfdata_facts {
	char *hostname, *osrelease, *version, *arch, *cpudesc, *cpuid, *cmdline;
	uint32_t nr_cpus_online, nr_cpus;
	uint64_t memory_kb;
	uint64_t clock_wall_ns; /* Unix time when the clock of the records was .clock_ns */
	uint64_t clock_ns;
	uint64_t trace_bytes; /* of hardware traces (AUXTRACE), so far */
	bool compressed;
};

struct perfdata_build_id {
	int32_t pid; /* -1: host, any process */
	uint16_t misc;
	uint8_t id[20], size;
	char *path;
};

/*
 * Opens a recording; takes @fd, closes it on failure too.  0, or -errno with a sentence.  On
 * success events are known in file mode; in pipe mode they come while reading.
 */
int perfdata_open(struct perfdata **ret, int fd, struct reason *why);
/* The same over bytes, borrowed. */
int perfdata_open_memory(struct perfdata **ret, const void *bytes, size_t size, struct reason *why);
void perfdata_free(struct perfdata *pd);

/*
 * The next record: 1; 0 at the end; -EBADMSG or -EIO where reading stopped; -ENOMEM; -EAGAIN after
 * perfdata_dont_wait(), where the rest is still to come.
 */
int perfdata_next(struct perfdata *pd, struct perfdata_record *ret);

/*
 * Quiet: another thread may look at events, facts and build-ids meanwhile.  perfdata_next() does
 * not change them; where the next record would, it returns -EBUSY, as often as it is called, and
 * goes on once quiet is over.  Files only, not pipes.
 */
void perfdata_quiet(struct perfdata *pd, bool quiet);

/*
 * From now on perfdata_next() does not wait for a slow pipe; returns the descriptor to wait at, or
 * -1 for a file, which never makes wait.
 */
int perfdata_dont_wait(struct perfdata *pd);

/*
 * One sentence: why reading stopped before the end, or that the recording was never finished; ""
 * otherwise.  perfdata_damaged(): the former.
 */
const char *perfdata_stopped(const struct perfdata *pd);
bool perfdata_damaged(const struct perfdata *pd);

size_t perfdata_nr_events(const struct perfdata *pd);
const struct perfdata_event *perfdata_event(const struct perfdata *pd, size_t i);
/* As the recording tells, else made from the attr as perf does: "cycles:uH".  Borrowed. */
const char *perfdata_event_name(struct perfdata *pd, size_t i);
/*
 * As `perf report --stats` of 6.1 prints it: that has names of its own for the generic events of
 * (uncompressed) recordings in pipe mode, whatever they tell.
 */
const char *perfdata_event_report_name(struct perfdata *pd, size_t i);
/* The event of an id, or -1. */
int perfdata_event_of(const struct perfdata *pd, uint64_t id);

const struct perfdata_facts *perfdata_facts(const struct perfdata *pd);
size_t perfdata_nr_build_ids(const struct perfdata *pd);
const struct perfdata_build_id *perfdata_build_id(const struct perfdata *pd, size_t i);

/*
 * The formats of its tracepoints, as the recorder copied them from its machine (trace/formats.h),
 * to be freed.  0; -ENOENT: none (yet, in pipe mode); -EFBIG; -ENOMEM.
 */
int perfdata_tracing_data(const struct perfdata *pd, uint8_t **ret, size_t *ret_size);

/* Of a machine of the other byte order. */
bool perfdata_is_swapped(const struct perfdata *pd);
bool perfdata_is_pipe(const struct perfdata *pd);
/* Bytes read so far, and of the whole input; 0: not known. */
uint64_t perfdata_position(const struct perfdata *pd);
uint64_t perfdata_size(const struct perfdata *pd);

/* "MMAP2", "FINISHED_ROUND", ...; NULL for types nobody knows. */
const char *perfdata_type_name(uint32_t type);

#endif
