/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bottom line: the keys that matter now, from the table.  The ones of best rank get a place,
 * drawn in the table's order so that they do not move about.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/commands.h"
#include "view/model.h"

#define ITEMS 24

struct item {
	const struct command *command;
	char key[16];
	const char *label;
	enum role role;
	int width;
};

static int rank_of(const struct ui *ui, const struct command *command)
{
	if (ui_is_flat(ui) && command->run == cmd_hottest)
		return 0;
	if (ui->search[0] && (command->run == cmd_search_next || command->run == cmd_clear))
		return 3;
	return command->rank;
}

static void item_set(const struct ui *ui, const struct command *command, struct item *ret)
{
	ret->command = command;
	ret->label = command->label;
	if (command->run == cmd_pause && ui->paused)
		ret->label = "resume";
	else if (command->run == cmd_toggle && ui_is_flat(ui))
		ret->label = ui->view == QUERY_MODULES ? "detail" : "callers";
	ret->role = command->run == cmd_pause && ui->paused ? ROLE_PAUSED : ROLE_LABEL;
	ui_key_name(command->keys[0], ret->key, sizeof(ret->key));
	ret->width = (int)(strlen(ret->key) + 1 + strlen(ret->label));
}

/* The items of rank @rank and better, as far as there are places. */
static int collect(const struct ui *ui, int rank, struct item *items)
{
	int nr = 0;

	for (size_t i = 0; i < nr_commands && nr < ITEMS; i++) {
		int own = rank_of(ui, &commands[i]);

		if (own && own <= rank && commands[i].contexts & ui_context(ui))
			item_set(ui, &commands[i], &items[nr++]);
	}
	return nr;
}

static int width_of(const struct item *items, int nr)
{
	int sum = 1;

	for (int i = 0; i < nr; i++)
		sum += items[i].width + 2;
	return sum;
}

void footer_draw(struct ui *ui, struct canvas *c, int row)
{
	struct item items[ITEMS];
	int nr, rank = 99, at = 1;

	do
		nr = collect(ui, rank, items);
	while (width_of(items, nr) - 1 > c->columns && --rank > 0);
	canvas_fill(c, row, 0, c->columns, ROLE_LABEL, ' ');
	for (int i = 0; i < nr; i++) {
		at += canvas_text(c, row, at, c->columns - at, ROLE_KEY, items[i].key) + 1;
		at += canvas_text(c, row, at, c->columns - at, items[i].role, items[i].label) + 2;
	}
}
