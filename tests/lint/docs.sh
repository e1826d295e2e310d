#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The manual names every row of the tables: options, keys, events, columns. --help and the completions of
# the built ptop name every option.
set -u
cd "${top_srcdir:-$(dirname "$0")/../..}" || exit 1
for tool in mandoc "${CC:-cc}"; do
	command -v "${tool%% *}" >/dev/null 2>&1 || {
		echo "skip: $tool is not installed"
		exit 77
	}
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

mandoc -T utf8 -O width=1000 doc/ptop.1 2>/dev/null | sed 's/.\x08//g' >"$scratch/manual"
[ -s "$scratch/manual" ] || { echo "doc/ptop.1 is empty or missing"; exit 1; }

# table FILE MACRO PARAMETERS EXPRESSION: the string in EXPRESSION for each row, one a line.
table()
{
	printf '#define %s(%s) @@ %s @@\n#include "%s"\n' "$2" "$3" "$4" "$1" |
		${CC:-cc} -E -P -Isrc -xc - | tr '\n' ' ' | sed 's/@@ *@@/\n/g; s/@@/\n/g' |
		sed -n 's/" *"//g; s/^ *"\(.*\)" *$/\1/p' >"$scratch/rows"
	[ -s "$scratch/rows" ] || {
		echo "$1: no rows found"
		failed=1
	}
	cat "$scratch/rows"
}

# named FILE WHAT: is every line of stdin a word of the text?
named()
{
	while IFS= read -r word; do
		grep -qF -- "$word" "$1" && grep -F -- "$word" "$1" |
			grep -qE -- "(^|[^[:alnum:]_-])$(printf '%s' "$word" |
				sed 's/[][\.*^$+?(){}|]/\\&/g')([^[:alnum:]_-]|$)" || {
			echo "$2: no $word"
			echo missing >>"$scratch/missing"
		}
	done
}

table src/options.def X 'id,letter,name,...' name | sed 's/^/--/' >"$scratch/options"
named "$scratch/manual" "doc/ptop.1 (options.def)" <"$scratch/options"
table src/event/events.def EVENT 'name,...' name >"$scratch/events"
named "$scratch/manual" "doc/ptop.1 (events.def)" <"$scratch/events"
table src/view/columns.def COLUMN 'id,title,...' title | grep . >"$scratch/columns"
named "$scratch/manual" "doc/ptop.1 (columns.def)" <"$scratch/columns"

# Keys by the names that help and manual use.
cat >"$scratch/keys.c" <<'END'
#include <stdio.h>
#include "view/key.h"
int main(void)
{
	const uint32_t keys[] = {
#define COMMAND(id, key1, key2, key3, ...) key1, key2, key3,
#include "view/commands.def"
	};
	char name[32];
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i])
			puts(ui_key_name(keys[i], name, sizeof(name)));
	return 0;
}
END
if ${CC:-cc} -D_GNU_SOURCE -Isrc -o "$scratch/keys" "$scratch/keys.c" src/view/key.c; then
	"$scratch/keys" | sort -u >"$scratch/key-names"
	[ -s "$scratch/key-names" ] || failed=1
	# The section on keys: a single letter is a word of any text.
	awk '/^[A-Z]/ { inside = /KEYS/ } inside' "$scratch/manual" >"$scratch/keys-section"
	named "$scratch/keys-section" "doc/ptop.1, section KEYS (commands.def)" <"$scratch/key-names"
else
	failed=1
fi

ptop=${PTOP-}
if [ -x "$ptop" ]; then
	"$ptop" --help >"$scratch/help" || failed=1
	named "$scratch/help" "--help (options.def)" <"$scratch/options"
	for shell in bash zsh fish; do
		"$ptop" --completion $shell >"$scratch/completion" || failed=1
		# fish names long options without their dashes.
		[ $shell = fish ] && dashes='--' || dashes=
		sed "s/^$dashes//" "$scratch/options" | named "$scratch/completion" "--completion $shell"
	done
fi
[ ! -f "$scratch/missing" ] || failed=1
echo "$(wc -l <"$scratch/options") options, $(wc -l <"$scratch/events") events"
exit $failed
