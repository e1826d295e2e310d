/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/doctor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { COLUMNS = 78, INDENT = 4 };

/* One paragraph, wrapped at words. */
struct wrap {
	FILE *out;
	size_t column;
};

static void wrap_word(struct wrap *w, const char *word, bool last)
{
	size_t len = strlen(word) + !last;

	if (w->column == 0 || w->column + 1 + len > COLUMNS) {
		fprintf(w->out, "%s%*s", w->column ? "\n" : "", INDENT, "");
		w->column = INDENT;
	} else {
		fputc(' ', w->out);
		w->column++;
	}
	fprintf(w->out, "%s%s", word, last ? "" : ",");
	w->column += len;
}

static bool same_group(const struct probed *a, const struct probed *b)
{
	return a->result == b->result && (a->result != PROBE_REFUSED ||
					  strcmp(probe_brief(a->err), probe_brief(b->err)) == 0);
}

/* All events whose probe ended as @like's did.  The many cache events are counted, not listed,
 * where they are refused. */
static void write_group(FILE *out, const struct probed *p, size_t nr, const struct probed *like)
{
	struct wrap w = { .out = out };
	size_t caches = 0, last = nr;
	char text[64];

	for (size_t i = 0; i < nr; i++) {
		if (!same_group(&p[i], like))
			continue;
		if (like->result == PROBE_REFUSED && strcmp(p[i].row->group, "cache") == 0)
			caches++;
		else
			last = i;
	}
	for (size_t i = 0; i < nr; i++)
		if (same_group(&p[i], like) &&
		    !(like->result == PROBE_REFUSED && strcmp(p[i].row->group, "cache") == 0))
			wrap_word(&w, p[i].row->name, i == last && !caches);
	if (caches) {
		snprintf(text, sizeof(text), "%zu cache events", caches);
		wrap_word(&w, text, true);
	}
	fputc('\n', out);
}

static void write_refused(FILE *out, const struct probed *p, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		bool first = p[i].result == PROBE_REFUSED;

		for (size_t j = 0; first && j < i; j++)
			first = !same_group(&p[i], &p[j]);
		if (!first)
			continue;
		fprintf(out, "  %s:\n", probe_brief(p[i].err));
		write_group(out, p, nr, &p[i]);
	}
}

static void write_events(FILE *out, const char *title, const struct probed *p, size_t nr)
{
	static const struct probed usable = { .result = PROBE_USABLE },
				   user = { .result = PROBE_USER_ONLY };
	size_t count[3] = { 0 };

	for (size_t i = 0; i < nr; i++)
		count[p[i].result]++;
	fprintf(out, "%s: %zu of %zu events can be sampled\n", title,
		count[PROBE_USABLE] + count[PROBE_USER_ONLY], nr);
	if (count[PROBE_USABLE]) {
		fprintf(out, "  kernel and user:\n");
		write_group(out, p, nr, &usable);
	}
	if (count[PROBE_USER_ONLY]) {
		fprintf(out, "  user only:\n");
		write_group(out, p, nr, &user);
	}
	if (count[PROBE_REFUSED])
		write_refused(out, p, nr);
}

static bool same_results(const struct doctor_case *c)
{
	for (size_t i = 0; i < c->nr; i++)
		if (c->system[i].result != c->own[i].result)
			return false;
	return true;
}

static bool any(const struct probed *p, size_t nr, enum probe_result result)
{
	for (size_t i = 0; i < nr; i++)
		if (p[i].result == result)
			return true;
	return false;
}

/* The first event of the table is cycles: all hardware follows it. */
static bool has_hardware(const struct doctor_case *c)
{
	for (size_t i = 0; i < c->nr; i++)
		if (strcmp(c->own[i].row->group, "hardware") == 0 &&
		    c->own[i].result != PROBE_REFUSED)
			return true;
	return false;
}

/* kallsyms_show_value(), kernel/ksyms_common.c: at level 0 to who may profile the kernel, at 1 to
 * CAP_SYSLOG, above to nobody. */
static bool kernel_names_shown(const struct facts *f)
{
	if (f->kptr_restrict > 1)
		return false;
	return f->cap_syslog || (f->kptr_restrict == 0 && f->paranoid <= 1);
}

/* The refusal that says most about the target: one of rights, where there is one. */
static const struct probed *telling(const struct probed *p, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (p[i].result == PROBE_REFUSED && (p[i].err == EACCES || p[i].err == EPERM))
			return &p[i];
	return &p[0];
}

static const char *paranoid_meaning(long level)
{
	return level <= -1  ? "everything is allowed"
	       : level == 0 ? "all but raw tracepoints"
	       : level == 1 ? "own processes, kernel and user"
	       : level == 2 ? "own processes, user only"
			    : "nothing without CAP_PERFMON";
}

static void write_limit(FILE *out, const char *name, uint64_t value)
{
	if (value == UINT64_MAX)
		fprintf(out, "%s unlimited", name);
	else
		fprintf(out, "%s %llu", name, (unsigned long long)value);
}

static void write_machine(FILE *out, const struct doctor_case *c)
{
	const struct facts *f = c->facts;

	fprintf(out, "ptop %s on %s (%s), %u CPUs%s%s\n", c->version, c->kernel, c->machine,
		c->nr_cpus, f->virtual_machine ? ", virtual machine" : "",
		f->container ? ", container" : "");
	fprintf(out, "user %u: %s%s\n", (unsigned int)f->euid,
		f->cap_perfmon ? "CAP_PERFMON" : "no CAP_PERFMON",
		f->cap_sys_ptrace ? ", CAP_SYS_PTRACE" : "");
	if (f->paranoid == PARANOID_ABSENT)
		fprintf(out,
			"kernel.perf_event_paranoid         absent: this kernel has no perf events\n");
	else
		fprintf(out, "kernel.perf_event_paranoid         %ld: %s%s\n", f->paranoid,
			paranoid_meaning(f->paranoid),
			f->cap_perfmon ? " (not for you: CAP_PERFMON)" : "");
	fprintf(out, "kernel.kptr_restrict               %ld: kernel names are %s\n",
		f->kptr_restrict, kernel_names_shown(f) ? "shown" : "hidden");
	fprintf(out, "kernel.perf_event_mlock_kb         %ld KiB of rings a CPU\n", f->mlock_kb);
	fprintf(out, "kernel.perf_event_max_sample_rate  %ld Hz\n", f->max_sample_rate);
	write_limit(out, "descriptors                       ", f->nofile);
	write_limit(out, ", at most", f->nofile_max);
	fprintf(out, "\nhardware counters                  %s\n",
		has_hardware(c) ? "yes" : "no: cpu-clock stands in for cycles");
}

static void write_fixes(FILE *out, const struct doctor_case *c)
{
	const struct facts *f = c->facts;
	bool system = any(c->system, c->nr, PROBE_USABLE) || any(c->system, c->nr, PROBE_USER_ONLY);
	bool nothing = true;

	fprintf(out, "to unlock the rest:\n");
	if (!f->cap_perfmon && f->paranoid != PARANOID_ABSENT &&
	    (facts_no_system(f) || facts_no_kernel(f))) {
		nothing = false;
		if (f->paranoid > 1)
			fprintf(out,
				"  sudo sysctl kernel.perf_event_paranoid=1    kernel samples of own processes\n");
		fprintf(out,
			"  sudo sysctl kernel.perf_event_paranoid=0    the whole system\n"
			"  sudo setcap cap_perfmon,cap_sys_ptrace=ep %s    everything, for this program\n",
			f->self);
	} else if (!system && c->nr) {
		nothing = false;
		fprintf(out, "  %s\n", telling(c->system, c->nr)->why.text);
	}
	if (!kernel_names_shown(f) && f->kptr_restrict > 0) {
		nothing = false;
		fprintf(out,
			"  sudo sysctl kernel.kptr_restrict=0          names of kernel functions\n");
	}
	if (!has_hardware(c) && f->virtual_machine) {
		nothing = false;
		fprintf(out,
			"  hardware events: give this virtual machine a PMU (QEMU: -cpu host,pmu=on)\n");
	}
	if (nothing)
		fprintf(out, "  nothing is locked\n");
}

int doctor_report(FILE *out, const struct doctor_case *c)
{
	write_machine(out, c);
	if (same_results(c)) {
		write_events(out, "whole system and own processes", c->own, c->nr);
	} else {
		if (any(c->system, c->nr, PROBE_USABLE) || any(c->system, c->nr, PROBE_USER_ONLY))
			write_events(out, "whole system", c->system, c->nr);
		else
			fprintf(out, "whole system: refused, %s\n",
				probe_brief(telling(c->system, c->nr)->err));
		write_events(out, "own processes", c->own, c->nr);
	}
	write_fixes(out, c);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

int doctor_write(FILE *out, const char *version)
{
	struct probed *system = NULL, *own = NULL;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname name = { 0 };
	struct facts f;
	size_t nr = 0;
	int err;

	uname(&name);
	facts_read(&f);
	err = probe_all(TARGET_SYSTEM, &system, &nr);
	if (!err)
		err = probe_all(TARGET_PIDS, &own, &nr);
	if (!err) {
		struct doctor_case c = {
			.version = version,
			.kernel = name.release,
			.machine = name.machine,
			.nr_cpus = cpus > 0 ? (unsigned int)cpus : 1,
			.facts = &f,
			.system = system,
			.own = own,
			.nr = nr,
		};

		err = doctor_report(out, &c);
	}
	free(system);
	free(own);
	return err;
}
