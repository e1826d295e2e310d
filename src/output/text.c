/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rendered into memory first: a refresh goes out in one write, and a failed one is noticed. */
#include "output/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "output/emit.h"
#include "output/modules.h"

#define NO_ROW UINT32_MAX
#define NAME_COLUMNS_MIN 20
#define NAME_COLUMNS_MAX 60

struct page {
	const struct report *r;
	FILE *f;
	bool ascii, failed;
	struct scratch scratch;
	size_t name_columns;
};

/* A string from outside; good for one use. */
static const char *clean(struct page *p, const char *text)
{
	const char *s = scrubbed(&p->scratch, text, p->ascii);

	if (!s)
		p->failed = true;
	return s ? s : "";
}

static void print_target(struct page *p)
{
	const struct report_target *t = &p->r->target;

	if (t->user)
		fprintf(p->f, "user %s", clean(p, t->user));
	else
		fputs(t->command ? clean(p, t->command) : t->kind, p->f);
	if (t->nr_ids) {
		/* A command or a process has its PID in brackets, a list is a list. */
		fputs(t->command ? "[" : " ", p->f);
		for (size_t i = 0; i < t->nr_ids; i++)
			fprintf(p->f, "%s%" PRIu32, i ? "," : "", t->ids[i]);
		if (t->command)
			fputc(']', p->f);
	}
	if (t->cpus)
		fprintf(p->f, "  CPUs %s", clean(p, t->cpus));
	if (t->has_exit_status)
		fprintf(p->f, "  exited with status %d", t->exit_status);
	else if (t->ended)
		fputs("  ended", p->f);
}

static bool excludes(const struct report *r, const char *what)
{
	for (size_t i = 0; i < r->nr_exclude; i++)
		if (strcmp(r->exclude[i], what) == 0)
			return true;
	return false;
}

static const char *modes(const struct report *r)
{
	if (excludes(r, "kernel"))
		return "user";
	return excludes(r, "user") ? "kernel" : "user+kernel";
}

static void print_first_line(struct page *p)
{
	const struct report *r = p->r;
	time_t start = (time_t)r->start_s;
	char stamp[32] = "";
	struct tm tm;

	if (start && localtime_r(&start, &tm))
		strftime(stamp, sizeof(stamp), "  %Y-%m-%d %H:%M:%S", &tm);
	fprintf(p->f, "ptop%s  %s", stamp, clean(p, r->host));
	fprintf(p->f, "  %s", clean(p, r->event));
	if (r->rate) /* a member of a group has none */
		fprintf(p->f, " %s%" PRIu64 "%s", r->by_frequency ? "" : "period ", r->rate,
			r->by_frequency ? "Hz" : "");
	fprintf(p->f, "  %s  ", modes(r));
	print_target(p);
	fputc('\n', p->f);
}

/* As in the header of the screen: from half a percent on. */
static void print_share(struct page *p, uint64_t part, uint64_t whole, const char *what)
{
	double percent = round(report_percent(part, whole));

	if (percent >= 1)
		fprintf(p->f, "  %.0f%% %s", percent, what);
}

static void print_machine(struct page *p)
{
	if (p->r->machine && p->r->machine[0])
		fprintf(p->f, "recorded on %s\n", clean(p, p->r->machine));
}

static void print_second_line(struct page *p)
{
	const struct report *r = p->r;
	uint64_t stacks = 0;
	char rss[16];

	for (size_t i = 0; i < NR_STACK_ENDS; i++)
		stacks += r->ends[i];
	text_bytes(rss, r->own_rss_bytes);
	fprintf(p->f, "%.1fs window  %" PRIu64 " samples", r->duration_s, r->samples);
	if (isfinite(r->cpus))
		fprintf(p->f, "  %.2f CPUs", r->cpus);
	if (isfinite(r->hidden_idle_cpus) && r->hidden_idle_cpus > 0)
		fprintf(p->f, "  %.2f idle hidden", r->hidden_idle_cpus);
	if (stacks) {
		fprintf(p->f, "  stacks %.0f%% complete",
			floor(report_percent(r->ends[STACK_COMPLETE], stacks)));
		print_share(p, r->ends[STACK_BROKEN], stacks, "broken");
		print_share(p, r->ends[STACK_CUT], stacks, "cut");
		print_share(p, r->ends[STACK_DEEP], stacks, "deep");
	}
	print_share(p, r->unnamed, r->samples, "unnamed");
	fprintf(p->f, "  lost %" PRIu64 "  dropped %" PRIu64 "  throttled %" PRIu64, r->lost,
		r->dropped, r->throttled);
	fprintf(p->f, "  ptop %.1f%% %s\n", r->own_cpu_percent, rss);
	for (size_t i = 0; i < r->nr_notes; i++)
		fprintf(p->f, "note: %s\n", clean(p, r->notes[i]));
}

static void print_shares(struct page *p, const struct row *row, bool with_self)
{
	const struct report *r = p->r;

	fprintf(p->f, "%6.1f%%", report_percent(row->total, r->weight));
	if (with_self)
		fprintf(p->f, " %6.1f%%", report_percent(row->self, r->weight));
	if (isfinite(r->cpus))
		fprintf(p->f, " %6.2f",
			r->weight ? r->cpus * (double)row->total / (double)r->weight : 0);
}

/* The module behind @blanks, where there is one. */
static void print_module(struct page *p, const struct row *row, const char *blanks)
{
	const struct report *r = p->r;
	const char *module = "";

	if (row->function != UINT32_MAX)
		module = clean(p, r->names.module(r->names.ctx, row->function));
	if (*module)
		fprintf(p->f, "%s%s", blanks, module);
}

static void print_row(struct page *p, const struct row *row)
{
	const char *name = clean(p, row_name(p->r, row));
	size_t columns = text_width(name);
	char blanks[NAME_COLUMNS_MAX + 3];

	print_shares(p, row, true);
	fprintf(p->f, "  %s", name);
	snprintf(blanks, sizeof(blanks), "%*s",
		 columns < p->name_columns ? (int)(p->name_columns - columns) + 2 : 2, "");
	print_module(p, row, blanks);
	fputc('\n', p->f);
}

/* Calls @fn for each row shown: with grouping, each group and then its functions. */
static void for_each_row(struct page *p, void (*fn)(struct page *, const struct row *))
{
	const struct answer *a = p->r->functions;
	size_t limit = p->r->rows ? p->r->rows : SIZE_MAX, left = limit;

	for (uint32_t i = a->first; i != NO_ROW && left; i = a->rows[i].next) {
		fn(p, &a->rows[i]);
		if (!a->grouped) {
			left--;
			continue;
		}
		size_t below = limit;

		for (uint32_t k = a->rows[i].first_child; k != NO_ROW && below;
		     k = a->rows[k].next) {
			fn(p, &a->rows[k]);
			below--;
		}
	}
}

static void measure_row(struct page *p, const struct row *row)
{
	size_t columns = text_width(clean(p, row_name(p->r, row)));

	if (columns > NAME_COLUMNS_MAX)
		columns = NAME_COLUMNS_MAX;
	if (columns > p->name_columns)
		p->name_columns = columns;
}

/* A tree, indented by depth; rows below .min_percent are left out with all below them. */
static void print_outline(struct page *p)
{
	const struct answer *a = p->r->outline;
	uint32_t i = a->first;
	/* What a caller did itself is no part of how often it called. */
	bool with_self = a->orientation != QUERY_CALLERS;
	const char *name;

	fprintf(p->f, "\n  TOTAL%s%s  FUNCTION\n", with_self ? "    SELF" : "",
		isfinite(p->r->cpus) ? "   CPUs" : "");
	while (i != NO_ROW) {
		const struct row *row = &a->rows[i];
		bool shown = report_percent(row->total, p->r->weight) >= p->r->min_percent;

		if (shown) {
			print_shares(p, row, with_self);
			name = clean(p, row_name(p->r, row));
			fprintf(p->f, "  %*s%s", (int)(row->depth < 200 ? row->depth * 2 : 400), "",
				name);
			print_module(p, row, "  ");
			fputc('\n', p->f);
		}
		if (shown && row->first_child != NO_ROW) {
			i = row->first_child;
			continue;
		}
		while (i != NO_ROW && a->rows[i].next == NO_ROW)
			i = a->rows[i].parent;
		if (i != NO_ROW)
			i = a->rows[i].next;
	}
	fputc('\n', p->f);
}

static void print_table(struct page *p)
{
	fprintf(p->f, "\n  TOTAL    SELF%s  ", isfinite(p->r->cpus) ? "   CPUs" : "");
	p->name_columns = NAME_COLUMNS_MIN;
	if (p->r->functions)
		for_each_row(p, measure_row);
	fprintf(p->f, "%-*s  MODULE\n", (int)p->name_columns, "FUNCTION");
	if (p->r->functions)
		for_each_row(p, print_row);
	fputc('\n', p->f);
}

int text_write(FILE *out, const struct report *r, bool ascii)
{
	struct page p = { .r = r, .ascii = ascii };
	char *bytes = NULL;
	size_t len = 0;
	int err = 0;

	p.f = open_memstream(&bytes, &len);
	if (!p.f)
		return -ENOMEM;
	print_first_line(&p);
	print_machine(&p);
	print_second_line(&p);
	if (r->outline)
		print_outline(&p);
	else if (r->show_modules && r->modules)
		p.failed |= modules_text(p.f, r, &p.scratch, ascii) != 0;
	else
		print_table(&p);
	if (fclose(p.f) != 0 || p.failed)
		err = -ENOMEM;
	if (!err)
		err = emit(out, bytes, len);
	free(bytes);
	scratch_done(&p.scratch);
	return err;
}
