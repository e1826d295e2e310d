/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `ptop --doctor`: what this machine and this user can sample, and the commands that would unlock
 * the rest, in at most 40 lines.
 */
#ifndef PTOP_EVENT_DOCTOR_H
#define PTOP_EVENT_DOCTOR_H

#include <stddef.h>
#include <stdio.h>

#include "event/diagnose.h"
#include "event/probe.h"

/* Reads the facts, probes and writes the report.  0, -ENOMEM or -EIO (@out failed). */
int doctor_write(FILE *out, const char *version);

/* What doctor_write() writes, from given facts: for tests. @system, @own: probes of the whole
 * system and of an own process. */
struct doctor_case {
	const char *version, *kernel, *machine;
	unsigned nr_cpus;
	const struct facts *facts;
	const struct probed *system, *own; /* @nr each, in the same order */
	size_t nr;
};
int doctor_report(FILE *out, const struct doctor_case *c);

#endif
