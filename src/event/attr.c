/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/attr.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FORMAT_LOST (1u << 4) /* PERF_FORMAT_LOST, which headers before 6.0 lack */

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static struct perf_event_attr attr_base(const struct kernel_features *f)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_type = ATTR_SAMPLE_FIELDS,
		.read_format = PERF_FORMAT_ID | (f->lost ? FORMAT_LOST : 0),
		.disabled = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return attr;
}

/* Kernel mode is excluded from dummies: they never sample, and only so may an ordinary user open
 * them. */
static struct perf_event_attr attr_dummy(const struct kernel_features *f)
{
	struct perf_event_attr attr = attr_base(f);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return attr;
}

struct perf_event_attr attr_owner(const struct kernel_features *f, uint32_t watermark)
{
	struct perf_event_attr attr = attr_dummy(f);

	attr.watermark = 1;
	attr.wakeup_watermark = watermark;
	return attr;
}

struct perf_event_attr attr_tracking(const struct kernel_features *f, const struct target *t)
{
	struct perf_event_attr attr = attr_dummy(f);

	attr.disabled = 0;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.mmap_data = t->tell_data;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.namespaces = f->namespaces;
	attr.ksymbol = f->ksymbol; /* of single tasks: of what they load themselves */
	attr.bpf_event = f->bpf_event;
	if (t->kind == TARGET_SYSTEM)
		attr.cgroup = f->cgroup;
	else
		attr.inherit = 1;
	return attr;
}

static bool has_guests(const struct event *e)
{
	return e->type == PERF_TYPE_HARDWARE || e->type == PERF_TYPE_HW_CACHE ||
	       e->type == PERF_TYPE_RAW;
}

/*
 * Clocks are asked for by period, even for a frequency, as the kernel itself turns the one into the
 * other (perf_swevent_init_hrtimer(), kernel/events/core.c): so sample_freq is a frequency only
 * where it stays one.
 */
static void set_rate(struct perf_event_attr *attr, const struct sampling *s)
{
	if (s->by_frequency && event_is_clock(&s->event)) {
		attr->sample_period = 1000000000u / s->rate;
	} else if (s->by_frequency) {
		attr->freq = 1;
		attr->sample_freq = s->rate;
	} else {
		attr->sample_period = s->rate;
	}
}

bool counts_each(const struct sampling *s)
{
	return s->event.type == PERF_TYPE_SOFTWARE && !event_is_clock(&s->event) &&
	       !s->by_frequency;
}

void attr_add_stack(struct perf_event_attr *attr, uint32_t stack_bytes)
{
#if defined(__x86_64__)
	/* ax..ip and r8..r15 of enum perf_event_x86_regs; no flags, no segments. */
	attr->sample_regs_user = 0xff01ff;
#elif defined(__aarch64__)
	attr->sample_regs_user = 0x1ffffffff; /* x0..x30, sp, pc */
#else
	(void)stack_bytes;
	return;
#endif
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_stack_user = stack_bytes;
}

void attr_add_calls(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
				   PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES;
}

struct perf_event_attr attr_sampling(const struct kernel_features *f, enum target_kind kind,
				     const struct sampling *s)
{
	struct perf_event_attr attr = attr_base(f);
	const struct event *e = &s->event;

	attr.type = e->type;
	attr.config = e->config;
	attr.config1 = e->config1;
	attr.config2 = e->config2;
	attr.exclude_kernel = e->exclude_kernel || s->exclude_kernel;
	attr.exclude_user = e->exclude_user || s->exclude_user;
	attr.exclude_hv = e->exclude_hv || attr.exclude_kernel;
	attr.exclude_guest = has_guests(e);
	attr.precise_ip = e->precise == PRECISE_MAX ? 3 : e->precise;
	attr.inherit = kind != TARGET_SYSTEM;
	if (s->call_graph != CALL_GRAPH_NONE) {
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr.exclude_callchain_kernel = attr.exclude_kernel;
		attr.exclude_callchain_user = attr.exclude_user;
	}
	if (s->call_graph == CALL_GRAPH_DWARF && !attr.exclude_user) {
		attr_add_stack(&attr, s->stack_bytes);
		attr.exclude_callchain_user = 1; /* we unwind what it would guess */
	}
	if (s->call_graph == CALL_GRAPH_LBR && !attr.exclude_user) {
		attr_add_calls(&attr);
		attr.exclude_callchain_user = 1;
	}
	set_rate(&attr, s);
	if (counts_each(s) && s->rate > 1)
		attr.sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	return attr;
}

static int try_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = perf_open(attr, pid, cpu);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Errors that a plainer attr may mend. */
static bool about_attr(int err)
{
	return err == -EINVAL || err == -EOPNOTSUPP || err == -ENOENT || err == -ENODEV;
}

int attr_negotiate(struct perf_event_attr *attr, const struct event *e, pid_t pid, int cpu)
{
	struct perf_event_attr attempt = *attr;
	int first = 0, err;

	for (;;) {
		err = try_open(&attempt, pid, cpu);
		if (err && attempt.exclude_guest && about_attr(err)) {
			attempt.exclude_guest = 0;
			err = try_open(&attempt, pid, cpu);
			attempt.exclude_guest = err != 0;
		}
		if (err == 0) {
			*attr = attempt;
			return 0;
		}
		if (!first)
			first = err;
		if (e->precise != PRECISE_MAX || attempt.precise_ip == 0 || !about_attr(err))
			return err == -EACCES || err == -EPERM ? err : first;
		attempt.precise_ip--;
	}
}

void features_probe(struct kernel_features *ret)
{
	static const struct kernel_features none;
	struct kernel_features f = { 0 };
	struct perf_event_attr attr;

	f.lost = true;
	attr = attr_dummy(&f);
	f.lost = try_open(&attr, 0, -1) == 0;

	attr = attr_dummy(&none);
	attr.ksymbol = 1;
	f.ksymbol = try_open(&attr, 0, -1) == 0;

	attr = attr_dummy(&none);
	attr.bpf_event = 1;
	f.bpf_event = try_open(&attr, 0, -1) == 0;

	attr = attr_dummy(&none);
	attr.cgroup = 1;
	f.cgroup = try_open(&attr, 0, -1) == 0;

	attr = attr_dummy(&none);
	attr.namespaces = 1;
	f.namespaces = try_open(&attr, 0, -1) == 0;
	*ret = f;
}
