/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion scripts for bash, zsh and fish, made from options.def and the event table.
 */
#include <errno.h>
#include <string.h>

#include "event/event.h"
#include "options.h"

static void write_events(FILE *out)
{
	const struct event_row *e;

	for (size_t i = 0; (e = event_row(i)); i++)
		fprintf(out, "%s%s", i ? " " : "", e->name);
}

static bool is_kind(const struct option_row *r, const char *kind)
{
	return r->values && strcmp(r->values, kind) == 0;
}

static void bash_case(FILE *out, const struct option_row *r)
{
	if (!r->argument)
		return;
	fprintf(out, "\t--%s", r->name);
	if (r->letter)
		fprintf(out, "|-%c", r->letter);
	fputs(")\n\t\t", out);
	if (is_kind(r, "<file>"))
		fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", out);
	else if (is_kind(r, "<user>"))
		fputs("COMPREPLY=($(compgen -u -- \"$cur\"))", out);
	else if (is_kind(r, "<pid>"))
		fputs("COMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$cur\"))", out);
	else if (is_kind(r, "<event>")) {
		fputs("COMPREPLY=($(compgen -W \"", out);
		write_events(out);
		fputs("\" -- \"$cur\"))", out);
	} else if (r->values)
		fprintf(out, "COMPREPLY=($(compgen -W \"%s\" -- \"$cur\"))", r->values);
	else
		fputs("COMPREPLY=()", out);
	fputs("\n\t\treturn\n\t\t;;\n", out);
}

static void bash_write(FILE *out)
{
	const struct option_row *r;

	fputs("# bash completion for ptop\n_ptop()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal i\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	      "\t\t\tCOMPREPLY=($(compgen -c -f -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n\tdone\n"
	      "\tcase $prev in\n",
	      out);
	for (size_t i = 0; (r = option_row(i)); i++)
		bash_case(out, r);
	fputs("\tesac\n\tCOMPREPLY=($(compgen -W \"", out);
	for (size_t i = 0; (r = option_row(i)); i++)
		fprintf(out, "%s--%s", i ? " " : "", r->name);
	fputs("\" -- \"$cur\"))\n}\ncomplete -F _ptop ptop\n", out);
}

/* Help texts hold no quotes but the apostrophe of "ptop's"; colons and brackets mean something to
 * zsh. */
static void zsh_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:", *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void zsh_action(FILE *out, const struct option_row *r)
{
	if (!r->argument)
		return;
	fputc(':', out);
	zsh_text(out, r->argument);
	fputc(':', out);
	if (is_kind(r, "<file>"))
		fputs("_files", out);
	else if (is_kind(r, "<user>"))
		fputs("_users", out);
	else if (is_kind(r, "<pid>"))
		fputs("_pids", out);
	else if (is_kind(r, "<event>")) {
		fputc('(', out);
		write_events(out);
		fputc(')', out);
	} else if (r->values)
		fprintf(out, "(%s)", r->values);
}

static void zsh_write(FILE *out)
{
	const struct option_row *r;

	fputs("#compdef ptop\n_arguments -s -S \\\n", out);
	for (size_t i = 0; (r = option_row(i)); i++) {
		const char *form[2] = { NULL, NULL };
		char letter[3] = { '-', r->letter, 0 };

		form[0] = r->letter ? letter : NULL;
		form[1] = r->name;
		for (int k = 0; k < 2; k++) {
			if (!form[k])
				continue;
			fprintf(out, "  '%s%s[", k ? "--" : "", form[k]);
			zsh_text(out, r->help);
			fputc(']', out);
			zsh_action(out, r);
			fputs("' \\\n", out);
		}
	}
	fputs("  '*::command:_normal'\n", out);
}

static void fish_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void fish_write(FILE *out)
{
	const struct option_row *r;

	for (size_t i = 0; (r = option_row(i)); i++) {
		fputs("complete -c ptop", out);
		if (r->letter)
			fprintf(out, " -s %c", r->letter);
		fprintf(out, " -l %s", r->name);
		if (r->argument)
			fputs(is_kind(r, "<file>") ? " -r -F" : " -x", out);
		if (is_kind(r, "<user>"))
			fputs(" -a '(__fish_complete_users)'", out);
		else if (is_kind(r, "<pid>"))
			fputs(" -a '(__fish_complete_pids)'", out);
		else if (is_kind(r, "<event>")) {
			fputs(" -a '", out);
			write_events(out);
			fputc('\'', out);
		} else if (r->values && r->values[0] != '<')
			fprintf(out, " -a '%s'", r->values);
		fputs(" -d '", out);
		fish_text(out, r->help);
		fputs("'\n", out);
	}
}

int completion_write(FILE *out, const char *shell, struct reason *why)
{
	static const struct {
		const char *shell;
		void (*write)(FILE *out);
	} writers[] = { { "bash", bash_write }, { "zsh", zsh_write }, { "fish", fish_write } };

	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		if (strcmp(writers[i].shell, shell) != 0)
			continue;
		writers[i].write(out);
		return 0;
	}
	return reason_set(why, -EINVAL, "--completion %s: choose one of: bash zsh fish", shell);
}
