/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/commands.h"

const struct command commands[] = {
#define COMMAND(id, key1, key2, key3, label_, help_, group_, contexts_, rank_) \
	{ .name = #id,                                                         \
	  .keys = { key1, key2, key3 },                                        \
	  .label = (label_),                                                   \
	  .help = (help_),                                                     \
	  .group = COMMAND_##group_,                                           \
	  .contexts = (contexts_),                                             \
	  .rank = (rank_),                                                     \
	  .run = cmd_##id },
#include "view/commands.def"
#undef COMMAND
};

const size_t nr_commands = sizeof(commands) / sizeof(commands[0]);

const char *const command_groups[NR_COMMAND_GROUPS] = {
	[COMMAND_MOVE] = "Moving",
	[COMMAND_FOLD] = "Opening and closing rows",
	[COMMAND_VIEW] = "What is shown, of the past too",
	[COMMAND_SAMPLE] = "What is sampled",
	[COMMAND_MENU] = "In menus and pages",
	[COMMAND_PROGRAM] = "The program",
};

const struct command *command_find(uint32_t key, unsigned context)
{
	if (key == UIKEY_NONE)
		return NULL;
	for (size_t i = 0; i < nr_commands; i++) {
		if (!(commands[i].contexts & context))
			continue;
		for (int k = 0; k < COMMAND_KEYS; k++) {
			if (commands[i].keys[k] == key)
				return &commands[i];
		}
	}
	return NULL;
}
