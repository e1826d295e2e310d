/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line, parsed and checked: after options_parse() every value is in range.
 */
#ifndef PTOP_OPTIONS_H
#define PTOP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/reason.h"
#include "event/event.h"
#include "event/sampler.h"
#include "profile/query.h"

enum run_mode { RUN_SAMPLE, RUN_HELP, RUN_VERSION, RUN_DOCTOR, RUN_COMPLETION };
enum batch_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_FOLDED, FORMAT_STATS, FORMAT_SCRIPT };
enum grouping { GROUP_NONE, GROUP_COMMAND, GROUP_PROCESS, GROUP_THREAD };

struct options {
	enum run_mode mode;
	struct target target;
	char **command; /* CMD ARGS, NULL-terminated, borrowed from argv; NULL without */
	char **argv;    /* all words of the command line, NULL-terminated */
	const char *command_output;     /* NULL: discarded */
	const char *output;             /* a recording to make; NULL: none */
	const char *input;              /* a recording, "-": standard input; NULL: live */
	const char *sysroot, *kallsyms; /* of the recorded machine; NULL: not given */
	double speed; /* to play it at; INFINITY: as fast as it goes; 0: it is shown whole */
	struct sampling sampling;
	bool event_given; /* else the ladder of default events */
	bool rate_given;
	bool no_sandbox;
	bool no_cache;
	bool debuginfod, debuginfod_as_root;
	const char *cache; /* a directory; NULL: the usual one */
	bool view_given;
	bool stack_bytes_given; /* --call-graph dwarf,BYTES */
	double delay_s;
	double window_s; /* INFINITY: all */
	bool window_given;
	enum orientation view;
	enum grouping group;
	bool show_own, show_idle, full_names, no_inline, ascii, batch;
	size_t history_bytes; /* 0: by the number of CPUs */
	uint64_t count;       /* refreshes; 0: no end */
	enum batch_format format;
	size_t rows; /* SIZE_MAX: all */
	double min_percent;
	const char *shell; /* RUN_COMPLETION */
};

/* 0, or -EINVAL with a sentence.  Borrows from argv. */
int options_parse(struct options *o, int argc, char **argv, struct reason *why);
void options_done(struct options *o);

void options_help(FILE *out);

/* One row of options.def, for the completions; NULL past the end. */
struct option_row {
	char letter;
	const char *name, *argument, *values, *group, *help;
};
const struct option_row *option_row(size_t i);

/* Writes a completion script for "bash", "zsh" or "fish" from the tables; -EINVAL for another
 * shell. */
int completion_write(FILE *out, const char *shell, struct reason *why);

#endif
