/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * getopt_long(3) over the rows of options.def; each value has one checker.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"

enum option_id {
#define X(id, letter, name, argument, values, group, help) OPTION_##id,
#include "options.def"
#undef X
	NR_OPTIONS,
};

static const struct option_row rows[] = {
#define X(id, letter, name, argument, values, group, help) \
	[OPTION_##id] = { letter, name, argument, values, group, help },
#include "options.def"
#undef X
};

/* What getopt_long() returns for row i: beyond any letter. */
#define LONG_BASE 256

const struct option_row *option_row(size_t i)
{
	return i < NR_OPTIONS ? &rows[i] : NULL;
}

static int bad_value(struct reason *why, enum option_id id, const char *value, const char *wanted)
{
	return reason_set(why, -EINVAL, "--%s %s: %s", rows[id].name, value, wanted);
}

/* The index of @value among the words of the row's list of values, or -1. */
static int value_index(enum option_id id, const char *value)
{
	const char *at = rows[id].values;

	for (int i = 0; *at; i++) {
		size_t len = strcspn(at, " ");

		if (strlen(value) == len && strncmp(at, value, len) == 0)
			return i;
		at += len + (at[len] == ' ');
	}
	return -1;
}

static int parse_choice(enum option_id id, const char *value, int *ret, struct reason *why)
{
	int i = value_index(id, value);

	if (i < 0)
		return reason_set(why, -EINVAL, "--%s %s: choose one of: %s", rows[id].name, value,
				  rows[id].values);
	*ret = i;
	return 0;
}

static int parse_user(struct options *o, const char *value, struct reason *why)
{
	struct passwd *pw = getpwnam(value);
	uint32_t uid;

	if (pw)
		uid = pw->pw_uid;
	else if (parse_u32(value, &uid) != 0)
		return bad_value(why, OPTION_USER, value, "no such user");
	o->target.kind = TARGET_USER;
	o->target.uid = uid;
	return 0;
}

static int parse_target_ids(struct options *o, enum option_id id, const char *value,
			    struct reason *why)
{
	enum target_kind kind = id == OPTION_PID ? TARGET_PIDS : TARGET_TIDS;

	if (o->target.kind != TARGET_SYSTEM && o->target.kind != kind)
		return reason_set(why, -EINVAL,
				  "-p, -t and -u exclude each other: give one kind of target");
	if (parse_ids(value, &o->target.ids) != 0)
		return bad_value(why, id, value, "give numbers, such as 4242 or 4242,4243");
	o->target.kind = kind;
	return 0;
}

static int parse_rate(struct options *o, enum option_id id, const char *value, struct reason *why)
{
	if (parse_u64(value, &o->sampling.rate) != 0 || o->sampling.rate == 0)
		return bad_value(why, id, value, "give a number above 0");
	o->sampling.by_frequency = id == OPTION_FREQUENCY;
	o->rate_given = true;
	return 0;
}

/* "auto", "dwarf", "dwarf,16384", "fp", "lbr", "none". */
static int parse_call_graph(struct options *o, const char *value, struct reason *why)
{
	static const enum call_graph modes[] = { CALL_GRAPH_AUTO, CALL_GRAPH_DWARF, CALL_GRAPH_FP,
						 CALL_GRAPH_LBR, CALL_GRAPH_NONE };
	uint32_t bytes;
	int choice = 0;

	o->sampling.stack_bytes = STACK_BYTES_DEFAULT;
	if (strncmp(value, "dwarf,", 6) == 0) {
		if (parse_u32(value + 6, &bytes) != 0 || bytes < 256 || bytes > STACK_BYTES_MOST)
			return reason_set(why, -EINVAL,
					  "--call-graph %s: give from 256 to %u bytes", value,
					  STACK_BYTES_MOST);
		o->sampling.stack_bytes = (bytes + 7) / 8 * 8;
		o->stack_bytes_given = true;
		value = "dwarf";
	}
	if (parse_choice(OPTION_CALL_GRAPH, value, &choice, why))
		return -EINVAL;
	o->sampling.call_graph = modes[choice];
	return 0;
}

static int parse_number(enum option_id id, const char *value, double least, double most,
			double *ret, struct reason *why)
{
	double x;

	if (parse_seconds(value, &x) != 0 || x < least || x > most)
		return reason_set(why, -EINVAL, "--%s %s: give a number from %.10g to %.10g%s",
				  rows[id].name, value, least, most,
				  id == OPTION_WINDOW ? ", or all" : "");
	*ret = x;
	return 0;
}

static int parse_window(struct options *o, const char *value, struct reason *why)
{
	o->window_given = true;
	if (strcmp(value, "all") == 0) {
		o->window_s = INFINITY;
		return 0;
	}
	return parse_number(OPTION_WINDOW, value, 0.1, 1e6, &o->window_s, why);
}

static int parse_display(struct options *o, enum option_id id, const char *value,
			 struct reason *why)
{
	double number = 0;
	uint64_t n;
	int choice = 0, err;

	switch (id) {
	case OPTION_DELAY:
		return parse_number(id, value, 0.1, 3600, &o->delay_s, why);
	case OPTION_WINDOW:
		return parse_window(o, value, why);
	case OPTION_MIN_PERCENT:
		return parse_number(id, value, 0, 100, &o->min_percent, why);
	case OPTION_HISTORY:
		err = parse_number(id, value, 1, 65536, &number, why);
		if (err == 0)
			o->history_bytes = (size_t)(number * 1e6);
		return err;
	case OPTION_VIEW:
	case OPTION_GROUP:
	case OPTION_FORMAT:
		err = parse_choice(id, value, &choice, why);
		if (err)
			return err;
		if (id == OPTION_VIEW) {
			o->view = (enum orientation)choice;
			o->view_given = true;
		} else if (id == OPTION_GROUP) {
			o->group = (enum grouping)choice;
		} else {
			o->format = (enum batch_format)choice;
		}
		return 0;
	case OPTION_COUNT:
	case OPTION_ROWS:
		if (parse_u64(value, &n) != 0 || n > 1000000000 || (n == 0 && id == OPTION_COUNT))
			return bad_value(why, id, value,
					 id == OPTION_COUNT ? "give a whole number above 0"
							    : "give a whole number");
		if (id == OPTION_COUNT)
			o->count = n;
		else
			o->rows = n ? (size_t)n : SIZE_MAX;
		return 0;
	default:
		return reason_set(why, -EINVAL, "--%s takes no value", rows[id].name);
	}
}

static int apply_flag(struct options *o, enum option_id id)
{
	switch (id) {
	case OPTION_EXCLUDE_KERNEL:
		o->sampling.exclude_kernel = true;
		break;
	case OPTION_EXCLUDE_USER:
		o->sampling.exclude_user = true;
		break;
	case OPTION_SELF:
		o->show_own = true;
		break;
	case OPTION_IDLE:
		o->show_idle = true;
		break;
	case OPTION_FULL_NAMES:
		o->full_names = true;
		break;
	case OPTION_NO_INLINE:
		o->no_inline = true;
		break;
	case OPTION_ASCII:
		o->ascii = true;
		break;
	case OPTION_BATCH:
		o->batch = true;
		break;
	case OPTION_NO_SANDBOX:
		o->no_sandbox = true;
		break;
	case OPTION_NO_CACHE:
		o->no_cache = true;
		break;
	case OPTION_DEBUGINFOD_AS_ROOT:
		o->debuginfod_as_root = true;
		/* fall through */
	case OPTION_DEBUGINFOD:
		o->debuginfod = true;
		break;
	case OPTION_DOCTOR:
		o->mode = RUN_DOCTOR;
		break;
	case OPTION_HELP:
		o->mode = RUN_HELP;
		break;
	default:
		o->mode = RUN_VERSION;
		break;
	}
	return 0;
}

static int apply(struct options *o, enum option_id id, const char *value, struct reason *why)
{
	switch (id) {
	case OPTION_PID:
	case OPTION_TID:
		return parse_target_ids(o, id, value, why);
	case OPTION_USER:
		if (o->target.kind != TARGET_SYSTEM)
			return reason_set(
				why, -EINVAL,
				"-p, -t and -u exclude each other: give one kind of target");
		return parse_user(o, value, why);
	case OPTION_CPU:
		if (parse_cpulist(value, &o->target.cpus) != 0 || o->target.cpus.nr == 0)
			return bad_value(why, id, value, "give CPUs such as 0-3,8");
		return 0;
	case OPTION_COMMAND_OUTPUT:
		o->command_output = value;
		return 0;
	case OPTION_EVENT:
		o->event_given = true;
		return event_parse(value, &o->sampling.event, why);
	case OPTION_FREQUENCY:
	case OPTION_PERIOD:
		return parse_rate(o, id, value, why);
	case OPTION_CALL_GRAPH:
		return parse_call_graph(o, value, why);
	case OPTION_SYSROOT:
		o->sysroot = value;
		return 0;
	case OPTION_KALLSYMS:
		o->kallsyms = value;
		return 0;
	case OPTION_INPUT:
		o->input = value;
		return 0;
	case OPTION_CACHE:
		if (value[0] != '/')
			return bad_value(why, id, value, "give a path from the root");
		o->cache = value;
		return 0;
	case OPTION_SPEED:
		if (strcmp(value, "max") != 0)
			return parse_number(id, value, 0.01, 10000, &o->speed, why);
		o->speed = INFINITY;
		return 0;
	case OPTION_OUTPUT:
		if (strcmp(value, "-") == 0)
			return bad_value(why, id, value,
					 "a recording goes to a file, not to standard output");
		o->output = value;
		return 0;
	case OPTION_COMPLETION:
		o->mode = RUN_COMPLETION;
		o->shell = value;
		return 0;
	default:
		return rows[id].argument ? parse_display(o, id, value, why) : apply_flag(o, id);
	}
}

static int unknown_option(const char *arg, struct reason *why)
{
	struct nearest near;
	char names[128], bare[64];
	size_t len = strcspn(arg, "=");

	if (arg[0] != '-' || arg[1] != '-')
		return reason_set(why, -EINVAL, "unknown option %s: see ptop --help", arg);
	snprintf(bare, sizeof(bare), "%.*s", (int)(len - 2), arg + 2);
	nearest_begin(&near, bare);
	for (size_t i = 0; i < NR_OPTIONS; i++)
		nearest_offer(&near, rows[i].name);
	nearest_end(&near, names, sizeof(names));
	if (names[0])
		return reason_set(why, -EINVAL,
				  "unknown option --%s: did you mean %s? See ptop --help", bare,
				  names);
	return reason_set(why, -EINVAL, "unknown option --%s: see ptop --help", bare);
}

/* getopt's '?': an option it does not know, or a value given to one that takes none. */
static int unknown_or_excess(const char *arg, int which, struct reason *why)
{
	char letter[] = { '-', (char)which, 0 };

	if (which >= LONG_BASE)
		return reason_set(why, -EINVAL, "--%s takes no value",
				  rows[which - LONG_BASE].name);
	return unknown_option(which ? letter : arg, why);
}

static int missing_value(const char *arg, int letter, struct reason *why)
{
	for (size_t i = 0; i < NR_OPTIONS; i++)
		if (letter == LONG_BASE + (int)i || (rows[i].letter && letter == rows[i].letter))
			return reason_set(why, -EINVAL, "--%s needs a value: %s", rows[i].name,
					  rows[i].argument ? rows[i].argument : "");
	return reason_set(why, -EINVAL, "%s needs a value", arg);
}

/* getopt's two tables from ours.  @letters holds ":" "+" and two bytes a row. */
static void getopt_tables(char letters[2 * NR_OPTIONS + 3], struct option longs[NR_OPTIONS + 1])
{
	size_t n = 0;

	letters[n++] = '+'; /* stop at CMD */
	letters[n++] = ':'; /* tell a missing value from an unknown option */
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].argument ? required_argument : no_argument,
			.val = LONG_BASE + (int)i,
		};
		if (!rows[i].letter)
			continue;
		letters[n++] = rows[i].letter;
		if (rows[i].argument)
			letters[n++] = ':';
	}
	letters[n] = 0;
	longs[NR_OPTIONS] = (struct option){ 0 };
}

static int option_of(int letter)
{
	if (letter >= LONG_BASE)
		return letter - LONG_BASE;
	for (int i = 0; i < NR_OPTIONS; i++)
		if (rows[i].letter == letter)
			return i;
	return -1;
}

/* A recording was sampled already: nothing can be chosen of what only sampling decides. */
static int check_input(struct options *o, struct reason *why)
{
	struct stat st;

	if (!o->input && o->speed)
		return reason_set(why, -EINVAL, "--speed is of a recording: give -i FILE");
	if (o->speed && (o->format == FORMAT_STATS || o->format == FORMAT_SCRIPT))
		return reason_set(
			why, -EINVAL,
			"--speed is for refreshes: --format stats and script print all at once");
	if (!o->input && (o->format == FORMAT_STATS || o->format == FORMAT_SCRIPT))
		return reason_set(why, -EINVAL,
				  "--format stats and script are of a recording: give -i FILE");
	if (!o->input && (o->sysroot || o->kallsyms))
		return reason_set(why, -EINVAL,
				  "--sysroot and --kallsyms are of a recording: give -i FILE");
	if (!o->input)
		return 0;
	if (o->sysroot && stat(o->sysroot, &st) != 0)
		return reason_set(why, -EINVAL, "--sysroot %s: %s", o->sysroot, strerror(errno));
	if (o->sysroot && !S_ISDIR(st.st_mode))
		return reason_set(why, -EINVAL, "--sysroot %s: it is no directory", o->sysroot);
	if (o->kallsyms && access(o->kallsyms, R_OK) != 0)
		return reason_set(why, -EINVAL, "--kallsyms %s: %s", o->kallsyms, strerror(errno));
	if (o->command || o->target.kind != TARGET_SYSTEM || o->target.cpus.nr)
		return reason_set(why, -EINVAL,
				  "-i and a target exclude each other: a recording has its own");
	if (o->output && (o->format == FORMAT_STATS || o->format == FORMAT_SCRIPT))
		return reason_set(
			why, -EINVAL,
			"-o writes what refreshes are of: not with --format stats and script");
	if (o->event_given || o->rate_given)
		return reason_set(
			why, -EINVAL,
			"-i and -e, -F or -c exclude each other: a recording was sampled already");
	if (!o->window_given && !o->speed)
		o->window_s = INFINITY; /* it is there to be seen whole */
	return 0;
}

/* What only the whole command line can tell. */
static int check_together(struct options *o, struct reason *why)
{
	if (o->sampling.exclude_kernel && o->sampling.exclude_user)
		return reason_set(why, -EINVAL,
				  "-K and -U together leave nothing to sample: give one");
	if (o->command && o->target.kind != TARGET_SYSTEM)
		return reason_set(why, -EINVAL,
				  "a command and -p, -t or -u exclude each other: give one target");
	if (o->cache && o->no_cache)
		return reason_set(why, -EINVAL, "--cache and --no-cache exclude each other");
	if (o->command_output && !o->command)
		return reason_set(why, -EINVAL,
				  "--command-output needs a command: ptop [options] -- CMD ARGS");
	return check_input(o, why);
}

int options_parse(struct options *o, int argc, char **argv, struct reason *why)
{
	char letters[2 * NR_OPTIONS + 3];
	struct option longs[NR_OPTIONS + 1];
	int letter, err;

	*o = (struct options){
		.sampling = { .by_frequency = true,
			      .rate = 999,
			      .call_graph = CALL_GRAPH_AUTO,
			      .stack_bytes = STACK_BYTES_DEFAULT },
		.argv = argv,
		.delay_s = 1,
		.window_s = 10,
		.view = QUERY_TREE,
		.rows = 40,
		.min_percent = 0.5,
	};
	getopt_tables(letters, longs);
	optind = 0;
	opterr = 0;
	for (;;) {
		int before = optind ? optind : 1;

		letter = getopt_long(argc, argv, letters, longs, NULL);
		if (letter < 0)
			break;
		if (letter == ':')
			return missing_value(argv[before], optopt, why);
		if (letter == '?')
			return unknown_or_excess(argv[before], optopt, why);
		err = apply(o, (enum option_id)option_of(letter), optarg, why);
		if (err)
			return err;
		if (o->mode != RUN_SAMPLE)
			return 0;
	}
	if (optind < argc)
		o->command = argv + optind;
	return check_together(o, why);
}

void options_done(struct options *o)
{
	target_done(&o->target);
}

void options_help(FILE *out)
{
	const char *group = "";

	fputs("Usage: ptop [options]                  the whole machine\n"
	      "       ptop [options] -p PID           a process\n"
	      "       ptop [options] -- CMD ARGS      a command, from its first instruction\n\n"
	      "A live profiler: which functions run now, and who calls them. Press ? inside for the keys.\n",
	      out);
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const struct option_row *r = &rows[i];
		char left[64], letter[4] = "   ";

		if (strcmp(group, r->group) != 0)
			fprintf(out, "\n%s\n", r->group);
		group = r->group;
		if (r->letter)
			snprintf(letter, sizeof(letter), "-%c,", r->letter);
		snprintf(left, sizeof(left), "  %s --%s %s", letter, r->name,
			 r->argument ? r->argument : "");
		if (strlen(left) > 31)
			fprintf(out, "%s\n%-32s%s\n", left, "", r->help);
		else
			fprintf(out, "%-32s%s\n", left, r->help);
	}
	fputs("\nThe manual: man ptop. What can be sampled here: ptop --doctor\n", out);
}
