/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why the kernel refused an event or a ring: ONE sentence with what happened, why, and the command
 * that mends it.  Pure functions over a struct of facts (diagnose(), diagnose_kernel_note()) and
 * one that reads the facts of this machine and user.  Errors are those of perf_event_open(2) and of
 * kernel/events/core.c of Linux 6.18, with the stricter perf_event_paranoid levels (3, 4) of Debian
 * and Ubuntu kernels.
 */
#ifndef PTOP_EVENT_DIAGNOSE_H
#define PTOP_EVENT_DIAGNOSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/reason.h"
#include "event/event.h"
#include "event/sampler.h"

#define PARANOID_ABSENT 100 /* /proc/sys/kernel/perf_event_paranoid is not there */

struct facts {
	long paranoid;        /* kernel.perf_event_paranoid, or PARANOID_ABSENT */
	long mlock_kb;        /* kernel.perf_event_mlock_kb; 0 where unknown */
	long max_sample_rate; /* kernel.perf_event_max_sample_rate; 0 where unknown */
	long kptr_restrict;   /* -1 where unknown */
	uid_t euid;
	bool cap_perfmon; /* effective CAP_PERFMON or CAP_SYS_ADMIN: the perf limits do not apply */
	bool cap_sys_ptrace;
	bool cap_sys_resource;
	bool cap_syslog;             /* may see kernel addresses under kptr_restrict=1 */
	uint64_t nofile, nofile_max; /* RLIMIT_NOFILE, soft and hard; UINT64_MAX: unlimited */
	bool virtual_machine;        /* the CPU says that a hypervisor runs it */
	bool container;
	char self[128]; /* path of this program, for setcap; "ptop" where unknown */
};

/* Reads them from /proc; what cannot be read is as said above. */
void facts_read(struct facts *ret);

enum step { STEP_OPEN, STEP_MMAP, STEP_REDIRECT };

struct refusal {
	enum step step;
	int err;                   /* positive errno, of the step */
	const struct event *event; /* NULL: side-band only */
	bool wants_kernel;         /* kernel mode was not excluded */
	enum target_kind kind;
	uint32_t id;     /* the PID or TID refused; 0 where none */
	bool id_gone;    /* it does not exist (any more) */
	bool id_foreign; /* it runs as another user than ptop, or is protected (not dumpable) */
	uint64_t descriptors; /* needed in all; 0 where unknown */
	uint64_t ring_kb;     /* STEP_MMAP: what was asked for in all */
};

/* Writes the sentence into @why (may be NULL) and returns -r->err (-EPERM for an err of 0). */
int diagnose(const struct facts *f, const struct refusal *r, struct reason *why);

/* Whether kernel samples are refused by the facts alone: perf_event_paranoid and no capability. */
bool facts_no_kernel(const struct facts *f);
/* Whether whole-system sampling is. */
bool facts_no_system(const struct facts *f);
/* "kernel samples need more rights: sudo sysctl kernel.perf_event_paranoid=1" */
void diagnose_kernel_note(const struct facts *f, struct reason *why);

/* For a ring that could not be mapped: reads the facts and names mlock quota or memory. @err:
 * positive; @asked_kb: of all rings. */
int diagnose_mmap(int err, uint64_t asked_kb, struct reason *why);

#endif
