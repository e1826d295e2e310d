/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/modules.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define NO_ROW UINT32_MAX

struct page {
	const struct report *r;
	FILE *f;
	struct scratch *scratch;
	bool ascii, failed;
};

/* A string from outside; good for one use. */
static const char *clean(struct page *p, const char *text)
{
	const char *s = scrubbed(p->scratch, text, p->ascii);

	if (!s)
		p->failed = true;
	return s ? s : "";
}

static void print_numbers(struct page *p, const struct row *row, const struct module_row *m)
{
	const struct report *r = p->r;
	uint64_t broken = m->ends[STACK_BROKEN] + m->ends[STACK_CUT] + m->ends[STACK_DEEP];

	fprintf(p->f, "%6.1f%% %6.1f%%", report_percent(row->total, r->weight),
		report_percent(row->self, r->weight));
	if (row->function == UINT32_MAX)
		fprintf(p->f, " %8s %7s", "", "");
	else
		fprintf(p->f, " %7.1f%% %6.1f%%", report_percent(m->unnamed, r->samples),
			report_percent(broken, r->samples));
	if (isfinite(r->cpus))
		fprintf(p->f, " %6.2f",
			r->weight ? r->cpus * (double)row->self / (double)r->weight : 0);
}

static void print_row(struct page *p, const struct row *row, const struct module_row *m)
{
	struct report_module about;

	print_numbers(p, row, m);
	if (row->function == UINT32_MAX) {
		fprintf(p->f, "  %-15s  %-4s  %s\n", "", "", clean(p, row_name(p->r, row)));
		return;
	}
	p->r->names.about(p->r->names.ctx, row->function, &about);
	fprintf(p->f, "  %-15s  %-4s  %s%s\n", about.names, about.rows,
		p->r->modules->grouped ? "  " : "", clean(p, about.name));
}

/* Two lines at most: what is wrong, and what mends it. */
static void print_why(struct page *p, const struct row *row, const struct module_row *m)
{
	struct report_module about;
	bool rows;

	(void)m;
	if (row->function == UINT32_MAX)
		return;
	p->r->names.about(p->r->names.ctx, row->function, &about);
	rows = !strcmp(about.rows, "no");
	if (!*about.names_why && !rows && !*about.advice)
		return;
	fprintf(p->f, "%s", clean(p, *about.path ? about.path : about.name));
	if (*about.build_id)
		fprintf(p->f, " (build-id %s)", about.build_id);
	fputs(":\n", p->f);
	if (*about.names_why)
		fprintf(p->f, "    names %s: %s\n", about.names, clean(p, about.names_why));
	if (rows)
		fprintf(p->f, "    no unwind rows: %s\n", clean(p, about.rows_why));
	if (*about.advice)
		fprintf(p->f, "    to mend: %s\n", clean(p, about.advice));
}

typedef void print_fn(struct page *p, const struct row *row, const struct module_row *m);

/* Calls @fn for each row shown: with grouping, each group and then its modules. */
static void for_each_row(struct page *p, print_fn *fn)
{
	const struct answer *a = p->r->modules;
	size_t limit = p->r->rows ? p->r->rows : SIZE_MAX, left = limit;

	for (uint32_t i = a->first; i != NO_ROW && left; i = a->rows[i].next) {
		size_t below = limit;

		fn(p, &a->rows[i], &a->modules[i]);
		left -= !a->grouped;
		for (uint32_t k = a->rows[i].first_child; k != NO_ROW && below;
		     k = a->rows[k].next) {
			fn(p, &a->rows[k], &a->modules[k]);
			below--;
		}
	}
}

int modules_text(FILE *out, const struct report *r, struct scratch *scratch, bool ascii)
{
	struct page p = { .r = r, .f = out, .scratch = scratch, .ascii = ascii };

	fprintf(out, "\n  TOTAL    SELF  UNNAMED  BROKEN%s  %-15s  ROWS  MODULE\n",
		isfinite(r->cpus) ? "   CPUs" : "", "NAMES");
	for_each_row(&p, print_row);
	fputc('\n', out);
	for_each_row(&p, print_why);
	fputc('\n', out);
	return p.failed ? -ENOMEM : 0;
}
