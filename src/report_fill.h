/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session's refresh as the plain data that output/ writes.
 */
#ifndef PTOP_REPORT_FILL_H
#define PTOP_REPORT_FILL_H

#include "ask.h"
#include "base/notes.h"
#include "output/report.h"

/* A report with what it points to; stays where it is while it is used. */
struct filled {
	struct report report;
	struct answer functions, tree, outline, modules;
	struct names *names;
	struct modules *about;
	enum ui_grouping grouping;
	char user[32], cpus[256], group[96];
	char *command_line;
	const char *exclude[4];
	const char *notes[NOTES_MAX];
};

/* What ptop itself used, between two refreshes. */
struct own_cost {
	uint64_t cpu_ns, wall_ns; /* as of the last look */
	double percent;           /* of one core, between the last two looks */
};
void own_cost_look(struct own_cost *c, const struct session *s, uint64_t now_ns);

/*
 * Answers @q: functions, which text shows unless @q asks for another orientation; with @with_tree
 * also the tree and modules.  0 or -ENOMEM.
 */
int fill_report(struct filled *f, struct asker *a, const struct ui_question *q,
		const struct own_cost *cost, bool with_tree);
void filled_done(struct filled *f);

#endif
