#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The code is as clang-format 14 with .clang-format leaves it. Other versions differ in details, so the
# check asks for that one.
set -eu
cd "${top_srcdir:-$(dirname "$0")/../..}"
formatter=
for name in clang-format-14 clang-format; do
	if command -v $name >/dev/null 2>&1 && $name --version | grep -q 'version 14\.'; then
		formatter=$name
		break
	fi
done
[ -n "$formatter" ] || {
	echo "skip: clang-format 14 is not installed"
	exit 77
}
files=$(find src tests -name '*.[ch]' | sort)
[ -n "$files" ] || { echo "no file found"; exit 1; }
# shellcheck disable=SC2086
wrong=$($formatter --dry-run -Werror $files 2>&1) && {
	echo "$(echo "$files" | wc -l) files"
	exit 0
}
echo "$wrong" | grep 'error:' | cut -d: -f1 | sort | uniq -c
echo "mend with: $formatter -i FILE"
exit 1
