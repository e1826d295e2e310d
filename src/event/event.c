// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

#define ANYWHERE false
#define IN_KERNEL true

/* What a row stands for; the two tables run in step, both made from events.def. */
struct meaning {
	uint32_t type;
	uint64_t config;
	enum event_unit unit;
	bool kernel_only;
};

static const struct event_row rows[] = {
#define EVENT(row_name, row_alias, row_group, row_type, row_config, row_unit, row_place, row_help) \
	{ .name = row_name, .alias = row_alias, .group = row_group, .help = row_help },
#include "event/events.def"
};

static const struct meaning meanings[] = {
#define EVENT(row_name, row_alias, row_group, row_type, row_config, row_unit, row_place, row_help) \
	{ .type = PERF_TYPE_##row_type,                                                            \
	  .config = (row_config),                                                                  \
	  .unit = row_unit,                                                                        \
	  .kernel_only = row_place },
#include "event/events.def"
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(NR_ROWS == sizeof(meanings) / sizeof(meanings[0]), "one meaning a row");

const struct event_row *event_row(size_t i)
{
	return i < NR_ROWS ? &rows[i] : NULL;
}

const char *event_ladder(size_t i)
{
	static const char *const ladder[] = { "cycles:P", "cycles", "cpu-clock" };

	return i < sizeof(ladder) / sizeof(ladder[0]) ? ladder[i] : NULL;
}

bool event_is_clock(const struct event *e)
{
	return e->type == PERF_TYPE_SOFTWARE &&
	       (e->config == PERF_COUNT_SW_CPU_CLOCK || e->config == PERF_COUNT_SW_TASK_CLOCK);
}

static bool same_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && strncasecmp(name, text, len) == 0;
}

static int find_row(const char *text, size_t len, size_t *ret_row)
{
	for (size_t i = 0; i < NR_ROWS; i++) {
		if (same_name(rows[i].name, text, len) || same_name(rows[i].alias, text, len)) {
			*ret_row = i;
			return 0;
		}
	}
	return -ENOENT;
}

static int refuse_name(const char *text, size_t len, struct reason *why)
{
	struct nearest nearest;
	char word[sizeof(((struct event *)0)->name)], names[160];

	if (len == 0)
		return reason_set(why, -EINVAL,
				  "an event's name is missing: -e cpu-clock, for one");
	snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : sizeof(word) - 1),
		 text);
	nearest_begin(&nearest, word);
	for (size_t i = 0; i < NR_ROWS; i++) {
		nearest_offer(&nearest, rows[i].name);
		if (rows[i].alias)
			nearest_offer(&nearest, rows[i].alias);
	}
	nearest_end(&nearest, names, sizeof(names));
	if (names[0])
		return reason_set(why, -EINVAL, "there is no event \"%s\": did you mean %s?", word,
				  names);
	return reason_set(why, -EINVAL,
			  "there is no event \"%s\": ptop --doctor lists what this machine has",
			  word);
}

/* perf's modifiers: any of u, k, h leaves out the others; p, pp, ppp, P ask for precision. */
static int parse_modifiers(const char *text, struct event *e, struct reason *why)
{
	bool user = false, kernel = false, hv = false;

	if (!*text)
		return reason_set(
			why, -EINVAL,
			"\"%s:\" lacks its modifiers: u (user), k (kernel), h (hypervisor), p, P (precise)",
			e->name);
	for (const char *c = text; *c; c++) {
		if (*c == 'u' && !user)
			user = true;
		else if (*c == 'k' && !kernel)
			kernel = true;
		else if (*c == 'h' && !hv)
			hv = true;
		else if (*c == 'p' && e->precise < 3)
			e->precise++;
		else if (*c == 'P' && e->precise == 0)
			e->precise = PRECISE_MAX;
		else
			return reason_set(
				why, -EINVAL,
				"\"%s:%.16s\" has a modifier too many, \"%c\": u (user), k (kernel), "
				"h (hypervisor), p to ppp or P (precise) can follow an event",
				e->name, text, *c >= 0x20 && *c < 0x7f ? *c : '?');
	}
	if (user || kernel || hv) {
		e->exclude_user = !user;
		e->exclude_kernel = !kernel;
		e->exclude_hv = !hv;
	}
	return 0;
}

/* The canonical name: the row's own, modifiers in perf's order of listing. */
static void name_event(struct event *e)
{
	char modifiers[8];
	size_t n = 0;

	if (e->exclude_user || e->exclude_kernel || e->exclude_hv) {
		if (!e->exclude_user)
			modifiers[n++] = 'u';
		if (!e->exclude_kernel)
			modifiers[n++] = 'k';
		if (!e->exclude_hv)
			modifiers[n++] = 'h';
	}
	if (e->precise == PRECISE_MAX)
		modifiers[n++] = 'P';
	else
		for (int i = 0; i < e->precise; i++)
			modifiers[n++] = 'p';
	if (n) {
		size_t len = strlen(e->name);

		snprintf(e->name + len, sizeof(e->name) - len, ":%.*s", (int)n, modifiers);
	}
}

int event_parse(const char *text, struct event *ret, struct reason *why)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text), row;
	struct event e = { 0 };
	int err;

	if (find_row(text, len, &row))
		return refuse_name(text, len, why);
	e.type = meanings[row].type;
	e.config = meanings[row].config;
	e.unit = meanings[row].unit;
	e.kernel_only = meanings[row].kernel_only;
	snprintf(e.name, sizeof(e.name), "%s", rows[row].name);
	if (colon) {
		err = parse_modifiers(colon + 1, &e, why);
		if (err)
			return err;
	}
	name_event(&e);
	*ret = e;
	return 0;
}
