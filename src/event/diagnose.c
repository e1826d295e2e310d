/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limits by level of kernel.perf_event_paranoid, for who lacks CAP_PERFMON
 * (Documentation/admin-guide/perf-security.rst): -1 none; 0 no raw tracepoints; 1 no whole system;
 * 2 no kernel samples; 3 and 4 (Debian, Ubuntu) nothing at all.
 */
#include "event/diagnose.h"

#include <errno.h>
#include <string.h>

enum { LEVEL_SYSTEM = 0, LEVEL_KERNEL = 1, LEVEL_OWN = 2 };

#define SYSCTL "sudo sysctl kernel.perf_event_paranoid="

bool facts_no_kernel(const struct facts *f)
{
	return !f->cap_perfmon && f->paranoid > LEVEL_KERNEL;
}

bool facts_no_system(const struct facts *f)
{
	return !f->cap_perfmon && f->paranoid > LEVEL_SYSTEM;
}

void diagnose_kernel_note(const struct facts *f, struct reason *why)
{
	if (facts_no_kernel(f))
		reason_set(why, 0, "kernel samples need more rights: " SYSCTL "%d", LEVEL_KERNEL);
	else
		reason_set(
			why, 0,
			"the kernel refuses kernel samples here in spite of the rights: by a security "
			"module or a container, so run ptop outside of it");
}

static const char *event_name(const struct refusal *r)
{
	return r->event ? r->event->name : "the side-band events";
}

static bool is_hardware(const struct event *e)
{
	return e && (e->type == PERF_TYPE_HARDWARE || e->type == PERF_TYPE_HW_CACHE ||
		     e->type == PERF_TYPE_RAW);
}

/* Refused although no level of perf_event_paranoid explains it. */
static int unexplained_rights(const struct facts *f, const struct refusal *r, struct reason *why)
{
	if (f->container)
		return reason_set(
			why, -r->err,
			"this container may not use perf events: start it with --cap-add PERFMON "
			"and a seccomp profile that allows perf_event_open");
	if (r->id)
		return reason_set(
			why, -r->err,
			"%s %u is protected from being watched by this user: sudo ptop %s %u",
			r->kind == TARGET_TIDS ? "thread" : "process", r->id,
			r->kind == TARGET_TIDS ? "-t" : "-p", r->id);
	return reason_set(
		why, -r->err,
		"the kernel forbids perf_event_open here, by a seccomp profile or a security "
		"module (lockdown, SELinux): see sudo dmesg | tail");
}

static int diagnose_rights(const struct facts *f, const struct refusal *r, struct reason *why)
{
	int err = -r->err;

	if (f->cap_perfmon)
		return unexplained_rights(f, r, why);
	if (f->paranoid > LEVEL_OWN && f->paranoid != PARANOID_ABSENT)
		return reason_set(
			why, err,
			"this kernel gives ordinary users no perf events at all (kernel.perf_event_paranoid=%ld): " SYSCTL
			"%d, or sudo setcap cap_perfmon,cap_sys_ptrace=ep %s",
			f->paranoid, r->kind == TARGET_SYSTEM ? LEVEL_SYSTEM : LEVEL_KERNEL,
			f->self);
	if (r->kind == TARGET_SYSTEM && facts_no_system(f))
		return reason_set(
			why, err,
			"the whole system needs more rights, -p PID of an own process does not "
			"(kernel.perf_event_paranoid=%ld): " SYSCTL
			"%d, or sudo setcap cap_perfmon,cap_sys_ptrace=ep %s",
			f->paranoid, LEVEL_SYSTEM, f->self);
	if (r->id && r->id_foreign)
		return reason_set(
			why, err,
			"%s %u belongs to another user or is protected: sudo ptop %s %u, or sudo setcap "
			"cap_perfmon,cap_sys_ptrace=ep %s",
			r->kind == TARGET_TIDS ? "thread" : "process", r->id,
			r->kind == TARGET_TIDS ? "-t" : "-p", r->id, f->self);
	if (r->kind == TARGET_USER && r->id_foreign)
		return reason_set(why, err,
				  "another user's processes need more rights: sudo setcap "
				  "cap_perfmon,cap_sys_ptrace=ep %s, or sudo ptop",
				  f->self);
	if (r->event && r->event->kernel_only && facts_no_kernel(f))
		return reason_set(why, err,
				  "%s happens in the kernel, and kernel samples need more rights "
				  "(kernel.perf_event_paranoid=%ld): " SYSCTL "%d",
				  event_name(r), f->paranoid, LEVEL_KERNEL);
	if (r->wants_kernel && facts_no_kernel(f))
		return reason_set(
			why, err,
			"kernel samples need more rights (kernel.perf_event_paranoid=%ld): " SYSCTL
			"%d",
			f->paranoid, LEVEL_KERNEL);
	return unexplained_rights(f, r, why);
}

static int diagnose_absent(const struct facts *f, const struct refusal *r, struct reason *why)
{
	if (is_hardware(r->event) && f->virtual_machine)
		return reason_set(
			why, -r->err,
			"%s is not there: this virtual machine has no hardware counters for it, "
			"so use -e cpu-clock",
			event_name(r));
	if (is_hardware(r->event))
		return reason_set(
			why, -r->err,
			"%s is not there: this CPU or its driver does not offer it, so use "
			"-e cpu-clock",
			event_name(r));
	return reason_set(
		why, -r->err,
		"%s is not there: this kernel is older than the event or built without it, so use "
		"-e cpu-clock",
		event_name(r));
}

static int diagnose_descriptors(const struct facts *f, const struct refusal *r, struct reason *why)
{
	uint64_t needed = r->descriptors ? r->descriptors : f->nofile + 1024;

	if (r->err == ENFILE)
		return reason_set(why, -ENFILE,
				  "the whole system is out of file descriptors: sudo sysctl "
				  "fs.file-max=$((2 * $(cat /proc/sys/fs/file-max)))");
	if (needed > f->nofile_max)
		return reason_set(
			why, -EMFILE,
			"%llu descriptors are needed (each thread on each CPU) and this user may have "
			"%llu: as root, ulimit -n %llu before ptop, or watch fewer threads with -t",
			(unsigned long long)needed, (unsigned long long)f->nofile_max,
			(unsigned long long)needed);
	return reason_set(
		why, -EMFILE,
		"%llu descriptors are needed (each thread on each CPU) and the limit is %llu: ulimit -n %llu",
		(unsigned long long)needed, (unsigned long long)f->nofile,
		(unsigned long long)needed);
}

static int diagnose_gone(const struct refusal *r, struct reason *why)
{
	if (!r->id)
		return reason_set(why, -ESRCH, "nothing is left to watch: the target has ended");
	return reason_set(why, -ESRCH, "there is no %s %u%s: ps -e%s lists what runs",
			  r->kind == TARGET_TIDS ? "thread" : "process", r->id,
			  r->id_gone ? "" : " any more", r->kind == TARGET_TIDS ? "L" : "");
}

static int diagnose_ring(const struct facts *f, const struct refusal *r, struct reason *why)
{
	long wanted = f->mlock_kb > 0 ? f->mlock_kb * 4 : 2048;

	if (r->err == EPERM || r->err == EACCES)
		return reason_set(
			why, -r->err,
			"the rings (%llu KiB) are more than kernel.perf_event_mlock_kb=%ld a CPU leaves "
			"this user, other perf programs included: sudo sysctl kernel.perf_event_mlock_kb=%ld",
			(unsigned long long)r->ring_kb, f->mlock_kb, wanted);
	if (r->err == ENOMEM)
		return reason_set(
			why, -ENOMEM,
			"there is no memory for the rings (%llu KiB): free -h shows who has it",
			(unsigned long long)r->ring_kb);
	return reason_set(why, -r->err, "the rings cannot be mapped: %s", strerror(r->err));
}

int diagnose(const struct facts *f, const struct refusal *r, struct reason *why)
{
	if (r->step == STEP_MMAP)
		return diagnose_ring(f, r, why);
	switch (r->err) {
	case 0:
	case EACCES:
	case EPERM: {
		struct refusal rights = *r;

		rights.err = r->err ? r->err : EPERM;
		return diagnose_rights(f, &rights, why);
	}
	case ENOSYS:
		return reason_set(why, -ENOSYS,
				  "this kernel is built without perf events (CONFIG_PERF_EVENTS): "
				  "boot one that has them");
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
	case ENXIO:
		return diagnose_absent(f, r, why);
	case EMFILE:
	case ENFILE:
		return diagnose_descriptors(f, r, why);
	case ESRCH:
		return diagnose_gone(r, why);
	case EBUSY:
		return reason_set(
			why, -EBUSY,
			"%s has no free hardware counter, the NMI watchdog or another program holds it: "
			"sudo sysctl kernel.nmi_watchdog=0",
			event_name(r));
	case ENOMEM:
		return reason_set(
			why, -ENOMEM,
			"the kernel has no memory for more events: watch fewer threads with -t");
	case EINVAL:
	case E2BIG:
		return reason_set(
			why, -r->err,
			"%s cannot be sampled in this way by this kernel or CPU: try it without "
			"modifiers, or -e cpu-clock",
			event_name(r));
	}
	return reason_set(why, -r->err, "%s cannot be %s: %s", event_name(r),
			  r->step == STEP_REDIRECT ? "joined to its ring" : "opened",
			  strerror(r->err));
}

int diagnose_mmap(int err, uint64_t asked_kb, struct reason *why)
{
	struct refusal r = { .step = STEP_MMAP, .err = err, .ring_kb = asked_kb };
	struct facts f;

	facts_read(&f);
	return diagnose(&f, &r, why);
}
