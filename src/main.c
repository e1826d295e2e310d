/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exit status: 0, 1 when something failed, 2 when the command line is wrong.
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "batch.h"
#include "config.h"
#include "event/doctor.h"
#include "history_save.h"
#include "kept.h"
#include "live.h"
#include "loop.h"
#include "options.h"
#include "recorder.h"
#include "recording.h"
#include "session.h"
#include "settle.h"

static int complain(const struct reason *why, int status)
{
	char text[2 * sizeof(why->text)];

	/* Names of files are in it, and those may be anything. */
	text_scrub(text, sizeof(text), why->text, strlen(why->text), false);
	fprintf(stderr, "ptop: %s\n", text);
	return status;
}

/* Whether all that was printed has arrived. */
static int finish_output(void)
{
	struct reason why;

	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	if (errno == EPIPE)
		return 0;
	reason_set(&why, 0, "cannot write standard output: %s", strerror(errno));
	return complain(&why, 1);
}

static int tell(const struct options *o)
{
	struct reason why;

	switch (o->mode) {
	case RUN_HELP:
		options_help(stdout);
		break;
	case RUN_VERSION:
		puts("ptop " PACKAGE_VERSION);
		break;
	case RUN_DOCTOR:
		if (doctor_write(stdout, PACKAGE_VERSION) == -ENOMEM) {
			reason_set(&why, 0, "out of memory");
			return complain(&why, 1);
		}
		kept_report(stdout, o);
		break;
	default:
		if (completion_write(stdout, o->shell, &why))
			return complain(&why, 2);
		break;
	}
	return finish_output();
}

/* Of a recording that is what is held of it, once it has been seen. */
static int write_held(const struct session *s, struct output_file *file, struct reason *why)
{
	const char *path = s->options->output;
	uint64_t samples;
	int err = history_write(s, output_take(file), &samples);
	int last = output_publish(file, path, why);

	if (last || !err)
		return last;
	return reason_set(why, err, "%s is not complete: %s; the rest can be read", path,
			  strerror(-err));
}

static int watch(const struct options *o)
{
	bool batch = o->batch || o->count || o->format != FORMAT_TEXT || !isatty(STDOUT_FILENO);
	struct output_file file = { .folder_fd = -1, .fd = -1 };
	struct recorder *recorder = NULL;
	struct session session;
	struct reason why;
	int err, status = 0;

	loop_block_signals();
	if (o->output && output_begin(&file, o->output, &why))
		return complain(&why, 1);
	err = session_open(&session, o, &why);
	if (err) {
		output_abandon(&file);
		return complain(&why, 1);
	}
	if (o->output && !o->input && recorder_open(&recorder, &session, o->output, &file, &why)) {
		session_close(&session);
		return complain(&why, 1);
	}
	err = batch ? batch_run(&session, &why) : live_run(&session, &why);
	if (err)
		status = complain(&why, 1);
	if (recorder && !batch)
		settle_records(&session);
	if (recorder_close(recorder, &why))
		status = complain(&why, 1);
	if (o->output && o->input && write_held(&session, &file, &why))
		status = complain(&why, 1);
	session_close(&session);
	return status;
}

/* What a recording holds, without a session. */
static int print(const struct options *o)
{
	struct reason why;

	return recording_print(o, &why) ? complain(&why, 1) : finish_output();
}

int main(int argc, char **argv)
{
	struct options o;
	struct reason why;
	int status;

	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	if (options_parse(&o, argc, argv, &why))
		status = complain(&why, 2);
	else if (o.mode != RUN_SAMPLE)
		status = tell(&o);
	else
		status = o.format == FORMAT_STATS || o.format == FORMAT_SCRIPT ? print(&o)
									       : watch(&o);
	options_done(&o);
	return status;
}
