/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "image/loader.h"
#include "kept.h"
#include "output/stats.h"
#include "record/decode.h"
#include "record/perfdata.h"
#include "recording_impl.h"
#include "recording_shares.h"

enum { OTHER_TYPES_MOST = 256 };

/* The name of a type of record that nobody knows, by its number. */
struct other_type {
	uint32_t type;
	uint64_t count;
	char name[24];
};

struct tally {
	uint64_t types[NR_PERFDATA_TYPES];
	VEC(struct other_type) others;
	VEC(uint64_t) events;
	uint64_t more_others; /* records of types past OTHER_TYPES_MOST */
	uint64_t no_event;
	struct map counts; /* of groups' samples */
};

static int open_input(const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? -errno : fd;
}

static int open_file(const struct options *o, struct perfdata **ret, struct reason *why)
{
	int fd = open_input(o->input), err;

	if (fd < 0)
		return reason_set(why, fd, "cannot open %s: %s", o->input, strerror(-fd));
	err = perfdata_open(ret, fd, why);
	return err ? reason_set(why, err, "%s: %s", o->input, why->text) : 0;
}

int recording_open(struct recording *r, const struct options *o,
		   const struct recording_helpers *with, struct notes *notes, struct reason *why)
{
	int err;

	*r = (struct recording){ .options = o, .notes = notes };
	err = open_file(o, &r->pd, why);
	if (err)
		return err;
	if (feed_init(r, with) || rnames_init(r)) {
		recording_close(r);
		return reason_set(why, -ENOMEM, "out of memory");
	}
	return 0;
}

void recording_close(struct recording *r)
{
	rnames_done(r);
	feed_done(r);
	perfdata_free(r->pd);
	r->pd = NULL;
}

int recording_verdict(const struct recording *r, struct reason *why)
{
	const char *text = perfdata_stopped(r->pd);
	struct reason told;

	why->text[0] = '\0';
	if (!text[0])
		return 0;
	reason_set(&told, 0, "%s: %s", r->options->input, text);
	text_scrub(why->text, sizeof(why->text), told.text, strlen(told.text), false);
	return perfdata_damaged(r->pd) ? -EBADMSG : 0;
}

/* A damaged recording may have any number of types: they are told apart up to a bound. */
static int count_other(struct tally *t, uint32_t type)
{
	struct other_type other = { .type = type, .count = 1 };

	for (size_t i = 0; i < t->others.nr; i++) {
		if (t->others.at[i].type == type) {
			t->others.at[i].count++;
			return 0;
		}
	}
	if (t->others.nr >= OTHER_TYPES_MOST) {
		t->more_others++;
		return 0;
	}
	snprintf(other.name, sizeof(other.name), "TYPE_%u", type);
	return vec_push(&t->others, other);
}

static int count_samples(struct tally *t, int event)
{
	while (t->events.nr <= (size_t)event)
		if (vec_push(&t->events, 0))
			return -ENOMEM;
	t->events.at[event]++;
	return 0;
}

static int count_record(struct tally *t, const struct perfdata *pd, const struct perfdata_record *r)
{
	struct share shares[SHARES_MOST];
	struct record record;
	size_t nr;
	int err = 0;

	if (perfdata_type_name(r->type))
		t->types[r->type]++;
	else if (count_other(t, r->type))
		return -ENOMEM;
	if (r->type != RECORD_SAMPLE)
		return 0;
	if (r->event < 0) {
		t->no_event++;
		return 0;
	}
	if (!shares_differ(pd, r->event) ||
	    record_decode(r->layout, r->bytes, r->size, &record) != 0)
		return count_samples(t, r->event);
	nr = shares_of(&t->counts, pd, &record, r->event, shares, SHARES_MOST);
	for (size_t i = 0; i < nr && !err; i++)
		err = count_samples(t, shares[i].event);
	return err;
}

static int print_tally(const struct tally *t, struct perfdata *pd)
{
	VEC(struct stats_row) rows = { 0 };
	VEC(char *) names = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < NR_PERFDATA_TYPES && !err; i++)
		err = vec_push(&rows, ((struct stats_row){ "records", perfdata_type_name(i),
							   t->types[i] }));
	for (size_t i = 0; i < t->others.nr && !err; i++)
		err = vec_push(&rows, ((struct stats_row){ "records", t->others.at[i].name,
							   t->others.at[i].count }));
	if (!err)
		err = vec_push(&rows, ((struct stats_row){ "records", "[of yet other types]",
							   t->more_others }));
	for (size_t i = 0; i < t->events.nr && !err; i++) {
		char *name = strdup(perfdata_event_report_name(pd, i));

		if (!name || vec_push(&names, name)) {
			free(name);
			err = -ENOMEM;
			break;
		}
		err = vec_push(&rows, ((struct stats_row){ "samples", name, t->events.at[i] }));
	}
	if (!err && t->no_event)
		err = vec_push(&rows,
			       ((struct stats_row){ "samples", "[of no event]", t->no_event }));
	if (!err)
		err = stats_write(stdout, rows.at, rows.nr);
	for (size_t i = 0; i < names.nr; i++)
		free(names.at[i]);
	vec_done(&names);
	vec_done(&rows);
	return err;
}

static int print_stats(struct perfdata *pd)
{
	struct tally t = { 0 };
	struct perfdata_record r;
	int got = 0, err = 0;

	while (!err && (got = perfdata_next(pd, &r)) > 0)
		err = count_record(&t, pd, &r);
	if (!err && got == -ENOMEM)
		err = got;
	if (!err)
		err = print_tally(&t, pd);
	vec_done(&t.events);
	vec_done(&t.others);
	map_done(&t.counts);
	return err;
}

/* What is to be said of the reading itself, once its results are out. */
static int conclude(const struct recording *r, int err, struct reason *why)
{
	fflush(stdout);
	if (err == -EPIPE)
		return 0; /* the reader had enough */
	if (err)
		return reason_set(why, err, "%s: %s", r->options->input, strerror(-err));
	err = recording_verdict(r, why);
	if (!err && why->text[0])
		fprintf(stderr, "ptop: %s\n", why->text);
	return err;
}

static int print_script(const struct options *o, struct reason *why)
{
	struct recording_helpers with = { .loader = NULL };
	struct notes notes = { 0 };
	struct recording r;
	int err = loader_start(&with.loader, !o->no_sandbox, why);

	if (err)
		return err;
	err = kept_open(&with.cache, o, why);
	if (!err)
		err = recording_open(&r, o, &with, &notes, why);
	if (!err) {
		r.each = recording_script;
		err = feed_all(&r);
		if (!err)
			err = r.error;
		err = conclude(&r, err, why);
		recording_close(&r);
	}
	cache_free(with.cache);
	loader_free(with.loader);
	return err;
}

static int print_counts(const struct options *o, struct reason *why)
{
	struct recording r = { .options = o };
	int err = open_file(o, &r.pd, why);

	if (err)
		return err;
	err = conclude(&r, print_stats(r.pd), why);
	perfdata_free(r.pd);
	return err;
}

int recording_print(const struct options *o, struct reason *why)
{
	return o->format == FORMAT_STATS ? print_counts(o, why) : print_script(o, why);
}
