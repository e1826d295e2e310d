#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# At most 600 lines a file and 100 columns a line. A line with a string literal may be longer: a sentence
# for people is not cut in two. Every source file names its licence in its first two lines.
set -eu
cd "${top_srcdir:-$(dirname "$0")/../..}"
export LC_ALL=C.UTF-8

failed=0
number=0
for file in $(find src tests -name '*.[ch]' -o -name '*.def' -o -name '*.py' -o -name '*.sh' | sort); do
	number=$((number + 1))
	lines=$(wc -l <"$file")
	if [ "$lines" -gt 600 ]; then
		echo "$file: $lines lines, 600 at most"
		failed=1
	fi
	long=$(expand "$file" | grep -nE '^.{101,}' | grep -v '"' | cut -d: -f1 | tr '\n' ' ') || true
	case $file in
	*.sh) long= ;;
	esac
	if [ -n "$long" ]; then
		echo "$file: more than 100 columns on line $long"
		failed=1
	fi
	if ! head -n 2 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-or-later'; then
		echo "$file: no SPDX line"
		failed=1
	fi
done
[ "$number" -gt 0 ] || { echo "no file found"; exit 1; }
echo "$number files"
exit $failed
