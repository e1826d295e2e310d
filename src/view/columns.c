/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/column.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"

const struct column columns[NR_COLUMNS] = {
#define COLUMN(id_, title_, width_, align_, views_, drop_, from_, help_) \
	[COLUMN_##id_] = { .name = #id_,                                 \
			   .title = (title_),                            \
			   .help = (help_),                              \
			   .width = (width_),                            \
			   .align = COLUMN_##align_,                     \
			   .views = (views_),                            \
			   .drop = (drop_),                              \
			   .from = (from_) },
#include "view/columns.def"
#undef COLUMN
};

#define FUNCTION_ROOM 24 /* columns are dropped until the function has so many */

void column_percent(uint64_t part, uint64_t whole, char *out, size_t size)
{
	double percent = whole ? (double)part * 100.0 / (double)whole : 0.0;

	if (part && percent < 0.05)
		snprintf(out, size, "<0.1%%");
	else
		snprintf(out, size, "%.1f%%", percent);
}

static void cpus_text(double cpus, char *out, size_t size)
{
	snprintf(out, size, cpus >= 1000.0 ? "%.0f" : cpus >= 100.0 ? "%.1f" : "%.2f", cpus);
}

/* What is nothing is not written out: the eye finds the rest. */
static void share_text(uint64_t part, const struct column_base *base, char *out, size_t size)
{
	if (part)
		column_percent(part, base->samples, out, size);
	else
		snprintf(out, size, "-");
}

void column_number(enum column_id id, const struct row *row, const struct column_base *base,
		   char *out, size_t size)
{
	bool by_self = base->by_self && row->function != UINT32_MAX; /* groups have no self */
	uint64_t sorted = by_self ? row->self : row->total;
	char count[8];

	out[0] = '\0';
	switch (id) {
	case COLUMN_total:
		column_percent(row->total, base->weight, out, size);
		break;
	case COLUMN_self:
		column_percent(row->self, base->weight, out, size);
		break;
	case COLUMN_unnamed:
		if (base->is_module)
			share_text(base->unnamed, base, out, size);
		break;
	case COLUMN_broken:
		if (base->is_module)
			share_text(base->broken, base, out, size);
		break;
	case COLUMN_cpus:
		if (!isnan(base->cpus) && base->weight)
			cpus_text(base->cpus * (double)sorted / (double)base->weight, out, size);
		break;
	case COLUMN_samples:
		text_count(count, by_self ? row->self_samples : row->total_samples);
		snprintf(out, size, "%s", count);
		break;
	default:
		break;
	}
}

static int width_of(enum column_id id, int terminal)
{
	if (id == COLUMN_build_id)
		return terminal >= 160 ? 40 : columns[id].width;
	if (id != COLUMN_module)
		return columns[id].width;
	return terminal >= 160 ? 32 : terminal >= 110 ? 22 : columns[id].width;
}

static int taken(const struct column_layout *l)
{
	int sum = 0;

	for (int i = 0; i < NR_COLUMNS; i++)
		sum += l->width[i] ? l->width[i] + (i > COLUMN_function ? 2 : 1) : 0;
	return sum + 1; /* two blanks before the function */
}

/* Of modules, self is what matters most, and the total least. */
static int drop_of(enum orientation view, int id)
{
	if (view == QUERY_MODULES && (id == COLUMN_total || id == COLUMN_self))
		return id == COLUMN_total ? 5 : 0;
	return columns[id].drop;
}

/* The shown column that is missed least, or NR_COLUMNS. */
static int least(enum orientation view, const struct column_layout *l)
{
	int found = NR_COLUMNS;

	for (int i = 0; i < NR_COLUMNS; i++) {
		if (l->width[i] && drop_of(view, i) &&
		    (found == NR_COLUMNS || drop_of(view, i) > drop_of(view, found)))
			found = i;
	}
	return found;
}

void column_layout(enum orientation view, int terminal, bool has_cpus, struct column_layout *ret)
{
	int at = 0, gone;

	*ret = (struct column_layout){ 0 };
	for (int i = 0; i < NR_COLUMNS; i++) {
		if (i != COLUMN_function && (columns[i].views & 1u << view) &&
		    terminal >= columns[i].from && (has_cpus || i != COLUMN_cpus))
			ret->width[i] = width_of((enum column_id)i, terminal);
	}
	while (terminal - taken(ret) < FUNCTION_ROOM && (gone = least(view, ret)) != NR_COLUMNS)
		ret->width[gone] = 0;
	ret->width[COLUMN_function] = terminal - taken(ret);
	if (ret->width[COLUMN_function] < 1)
		ret->width[COLUMN_function] = 1;
	for (int i = 0; i < NR_COLUMNS; i++) {
		if (!ret->width[i])
			continue;
		at += i >= COLUMN_function;
		ret->at[i] = at;
		at += ret->width[i] + (i != COLUMN_function);
		at += i == COLUMN_function;
	}
}
