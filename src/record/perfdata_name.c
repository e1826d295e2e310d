/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of events that a recording does not name itself, as perf-list(1) spells them, with the
 * modifiers that perf prints: of k, u and h those that are not excluded where any is; one p a step
 * of precision; H and G where hosts or guests are treated other than the rest of the name implies.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <linux/perf_event.h>

#include "record/decode.h"
#include "record/perfdata_impl.h"

#define NR(table) (sizeof(table) / sizeof((table)[0]))

static const char *const hardware[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const software[] = {
	"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};

static const char *const caches[] = {
	"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node",
};

static const char *const operations[][2] = {
	{ "loads", "load" },
	{ "stores", "store" },
	{ "prefetches", "prefetch" },
};

static void cache_name(uint64_t config, char *out, size_t size)
{
	unsigned cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (cache >= NR(caches) || op >= NR(operations) || result > 1)
		snprintf(out, size, "unknown-ext-hardware-cache-type");
	else if (result)
		snprintf(out, size, "%s-%s-misses", caches[cache], operations[op][1]);
	else
		snprintf(out, size, "%s-%s", caches[cache], operations[op][0]);
}

static void bare_name(const struct perfdata_event *e, char *out, size_t size)
{
	switch (e->type) {
	case PERF_TYPE_HARDWARE:
		if (e->config < NR(hardware))
			snprintf(out, size, "%s", hardware[e->config]);
		else
			snprintf(out, size, "unknown-hardware");
		break;
	case PERF_TYPE_SOFTWARE:
		if (e->config < NR(software))
			snprintf(out, size, "%s", software[e->config]);
		else
			snprintf(out, size, "unknown-software");
		break;
	case PERF_TYPE_HW_CACHE:
		cache_name(e->config, out, size);
		break;
	case PERF_TYPE_RAW:
		snprintf(out, size, "raw 0x%" PRIx64, e->config);
		break;
	case PERF_TYPE_TRACEPOINT:
		snprintf(out, size, "tracepoint %" PRIu64, e->config);
		break;
	case PERF_TYPE_BREAKPOINT:
		snprintf(out, size, "mem:0x%" PRIx64, e->config1);
		break;
	default:
		snprintf(out, size, "unknown attr type: %" PRIu32, e->type);
		break;
	}
}

static void modifiers(const struct perfdata_event *e, char *out)
{
	const uint64_t f = e->flags;
	bool guest_implied = false;
	char *at = out;

	*at++ = ':';
	if (f & (PERFDATA_EXCLUDE_KERNEL | PERFDATA_EXCLUDE_USER | PERFDATA_EXCLUDE_HV)) {
		if (!(f & PERFDATA_EXCLUDE_KERNEL))
			*at++ = 'k';
		if (!(f & PERFDATA_EXCLUDE_USER))
			*at++ = 'u';
		if (!(f & PERFDATA_EXCLUDE_HV))
			*at++ = 'h';
		guest_implied = true;
	}
	for (unsigned i = 0; i < e->precise; i++)
		*at++ = 'p';
	guest_implied |= e->precise;
	if ((f & PERFDATA_EXCLUDE_HOST) || !!(f & PERFDATA_EXCLUDE_GUEST) == guest_implied) {
		if (!(f & PERFDATA_EXCLUDE_HOST))
			*at++ = 'H';
		if (!(f & PERFDATA_EXCLUDE_GUEST))
			*at++ = 'G';
	}
	if (at == out + 1)
		at--;
	*at = '\0';
}

static const char *make_name(struct perfdata *pd, const struct perfdata_event *e)
{
	char mods[16];
	size_t len;

	bare_name(e, pd->made_name, sizeof(pd->made_name));
	if (e->type == PERF_TYPE_TRACEPOINT)
		return pd->made_name;
	modifiers(e, mods);
	len = strlen(pd->made_name);
	snprintf(pd->made_name + len, sizeof(pd->made_name) - len, "%s", mods);
	return pd->made_name;
}

const char *perfdata_event_name(struct perfdata *pd, size_t i)
{
	const struct perfdata_event *e = &pd->events.at[i];

	return e->name ? e->name : make_name(pd, e);
}

const char *perfdata_event_report_name(struct perfdata *pd, size_t i)
{
	const struct perfdata_event *e = &pd->events.at[i];
	bool generic = e->type == PERF_TYPE_HARDWARE || e->type == PERF_TYPE_SOFTWARE ||
		       e->type == PERF_TYPE_HW_CACHE;

	if (pd->pipe && generic && !pd->in->inflate.zstd)
		return make_name(pd, e);
	return perfdata_event_name(pd, i);
}

static const char *const types[NR_PERFDATA_TYPES - PERFDATA_FIRST] = {
#define TYPE(type) [type - PERFDATA_FIRST]
	TYPE(PERFDATA_HEADER_ATTR) = "ATTR",
	TYPE(PERFDATA_EVENT_TYPE) = "EVENT_TYPE",
	TYPE(PERFDATA_TRACING_DATA) = "TRACING_DATA",
	TYPE(PERFDATA_BUILD_ID) = "BUILD_ID",
	TYPE(PERFDATA_FINISHED_ROUND) = "FINISHED_ROUND",
	TYPE(PERFDATA_ID_INDEX) = "ID_INDEX",
	TYPE(PERFDATA_AUXTRACE_INFO) = "AUXTRACE_INFO",
	TYPE(PERFDATA_AUXTRACE) = "AUXTRACE",
	TYPE(PERFDATA_AUXTRACE_ERROR) = "AUXTRACE_ERROR",
	TYPE(PERFDATA_THREAD_MAP) = "THREAD_MAP",
	TYPE(PERFDATA_CPU_MAP) = "CPU_MAP",
	TYPE(PERFDATA_STAT_CONFIG) = "STAT_CONFIG",
	TYPE(PERFDATA_STAT) = "STAT",
	TYPE(PERFDATA_STAT_ROUND) = "STAT_ROUND",
	TYPE(PERFDATA_EVENT_UPDATE) = "EVENT_UPDATE",
	TYPE(PERFDATA_TIME_CONV) = "TIME_CONV",
	TYPE(PERFDATA_FEATURE) = "FEATURE",
	TYPE(PERFDATA_COMPRESSED) = "COMPRESSED",
	TYPE(PERFDATA_FINISHED_INIT) = "FINISHED_INIT",
	TYPE(PERFDATA_COMPRESSED2) = "COMPRESSED2",
	TYPE(PERFDATA_BPF_METADATA) = "BPF_METADATA",
	TYPE(PERFDATA_SCHEDSTAT_CPU) = "SCHEDSTAT_CPU",
	TYPE(PERFDATA_SCHEDSTAT_DOMAIN) = "SCHEDSTAT_DOMAIN",
#undef TYPE
};

const char *perfdata_type_name(uint32_t type)
{
	if (type < PERFDATA_FIRST)
		return record_type_name(type);
	return type < NR_PERFDATA_TYPES ? types[type - PERFDATA_FIRST] : NULL;
}
