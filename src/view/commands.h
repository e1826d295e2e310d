/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of keys made from commands.def, and the functions behind it.  Each cmd_*() changes
 * the model and returns enum ui_flags.
 */
#ifndef PTOP_VIEW_COMMANDS_H
#define PTOP_VIEW_COMMANDS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/query.h"
#include "view/key.h"

struct ui;

/* Where a key has a meaning: the list views, by orientation, then the pages over them. */
enum command_context {
	IN_FUNCTIONS = 1 << QUERY_FUNCTIONS,
	IN_TREE = 1 << QUERY_TREE,
	IN_CALLERS = 1 << QUERY_CALLERS,
	IN_MODULES = 1 << QUERY_MODULES,
	IN_HELP = 1 << 4,
	IN_EVENTS = 1 << 5,
	IN_NOTES = 1 << 6,
	IN_DETAIL = 1 << 7,
	IN_STACKS = IN_FUNCTIONS | IN_TREE | IN_CALLERS,
	IN_LISTS = IN_STACKS | IN_MODULES,
	IN_PAGES = IN_HELP | IN_EVENTS | IN_NOTES | IN_DETAIL,
	IN_ALL = IN_LISTS | IN_PAGES,
};

enum command_group {
	COMMAND_MOVE,
	COMMAND_FOLD,
	COMMAND_VIEW,
	COMMAND_SAMPLE,
	COMMAND_MENU,
	COMMAND_PROGRAM,
	NR_COMMAND_GROUPS,
};

#define COMMAND_KEYS 3

struct command {
	const char *name;
	uint32_t keys[COMMAND_KEYS];
	const char *label, *help;
	enum command_group group;
	unsigned contexts;
	int rank;
	int (*run)(struct ui *ui, uint64_t now_ns);
};

extern const struct command commands[];
extern const size_t nr_commands;
extern const char *const command_groups[NR_COMMAND_GROUPS];

const struct command *command_find(uint32_t key, unsigned context); /* NULL: no meaning there */

#define COMMAND(id, key1, key2, key3, label, help, group, contexts, rank) \
	int cmd_##id(struct ui *ui, uint64_t now_ns);
#include "view/commands.def"
#undef COMMAND

#endif
