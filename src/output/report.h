/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One refresh as plain data: what the wiring fills and every writer of output/ writes. All
 * pointers are borrowed for the call.  Strings may hold any bytes: the writers scrub them.
 *
 * Grouping: both answers are grouped or neither is.  A grouped answer's top rows are groups
 * (function UINT32_MAX).
 */
#ifndef PTOP_OUTPUT_REPORT_H
#define PTOP_OUTPUT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/query.h"
#include "profile/store.h"

/* What is known of a module besides its samples.  Never NULL. */
struct report_module {
	const char *name, *path, *build_id;
	const char *names, *names_why; /* where its names are from, and what is wrong with them */
	const char *rows, *rows_why;   /* "yes", "no", "wait", "-" */
	const char *inlined, *inlined_why; /* the same */
	const char *advice;                /* the command that mends missing names; "" */
};

/*
 * Names by the ids of the answers; borrowed until the next call of the same function; never
 * NULL.
 */
struct report_names {
	void *ctx;
	const char *(*function)(void *ctx, uint32_t function);
	const char *(*module)(void *ctx, uint32_t function); /* "" where there is none */
	const char *(*group)(void *ctx, uint32_t group);
	/* of an image: a row of .modules */
	void (*about)(void *ctx, uint32_t image, struct report_module *ret);
};

struct report_target {
	const char *kind;    /* "system", "pids", "tids", "user", "command" */
	const uint32_t *ids; /* PIDs or TIDs; of a command: its PID */
	size_t nr_ids;
	const char *command; /* the command line, or the name of the only process; NULL: none */
	const char *user;    /* NULL: none */
	const char *cpus;    /* the CPU list asked for, "0-3,8"; NULL: all */
	bool ended;          /* the target has exited */
	bool has_exit_status;
	int exit_status; /* of a command, as a shell tells it: 128 + n for signal n */
};

enum report_group {
	REPORT_GROUP_NONE,
	REPORT_GROUP_COMMAND,
	REPORT_GROUP_PROCESS,
	REPORT_GROUP_THREAD,
};

struct report {
	const char *version;
	const char *host;
	const char
		*machine; /* of a recording: system, CPUs, recorder; NULL or "" where not known */
	struct report_target target;

	const char *event; /* canonical, with modifiers */
	bool by_frequency;
	uint64_t rate;              /* Hz, or the period */
	const char *const *exclude; /* "kernel", "user", "idle", "self": what is left out */
	size_t nr_exclude;

	double start_s; /* Unix time at which the window begins; 0: not known */
	double duration_s;
	uint64_t samples, weight;     /* 100 % */
	double cpus;                  /* cores busy; NAN when the event does not measure time */
	uint64_t lost;                /* by the kernel: ring full */
	uint64_t dropped;             /* by ptop: lane full */
	uint64_t throttled;           /* times the kernel throttled the event */
	uint64_t ends[NR_STACK_ENDS]; /* samples by how their stack ended */
	uint64_t unnamed;             /* samples whose innermost function has no name */
	double hidden_idle_cpus;      /* of what is hidden, idle; NAN when not time-like */

	double own_cpu_percent; /* of one core */
	uint64_t own_rss_bytes;

	const char *const *notes; /* sentences: what is missing and what gives it */
	size_t nr_notes;

	enum report_group group;
	const struct answer *functions; /* QUERY_FUNCTIONS */
	const struct answer *tree;      /* QUERY_TREE; NULL: none */
	const struct answer *outline;   /* what text shows in place of functions; NULL: those */
	const struct answer *modules;   /* QUERY_MODULES; NULL: none */
	bool show_modules;              /* text shows them in place of functions */
	struct report_names names;

	size_t rows;        /* functions at most (of each group); 0: all */
	double min_percent; /* tree rows below are merged; 0: none */
};

/* The share of a weight or count, 0 when the whole is 0. */
static inline double report_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

#endif
