#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every header compiles alone, twice in a row, without a warning.
set -eu
cd "${top_srcdir:-$(dirname "$0")/../..}"
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null 2>&1 || {
	echo "skip: no C compiler ($compiler)"
	exit 77
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
number=0
cmocka=$(printf '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>
#include <cmocka.h>\n' | $compiler -E -xc - >"$scratch/cmocka" 2>/dev/null && echo yes) || true
for header in $(find src tests -name '*.h' | sort); do
	number=$((number + 1))
	case $header in
	src/*) name=${header#src/} ;;
	*) name=${header#tests/} ;;
	esac
	: >"$scratch/alone.c"
	# What cmocka.h itself wants before it comes with it to the helpers of unit tests.
	if [ "$name" != "${name#unit/}" ] || [ "$name" != "${name#live/}" ]; then
		[ -n "$cmocka" ] || continue
		printf '#include <%s>\n' stdarg.h stddef.h setjmp.h stdint.h cmocka.h >"$scratch/alone.c"
	fi
	printf '#include "%s"\n#include "%s"\n' "$name" "$name" >>"$scratch/alone.c"
	# shellcheck disable=SC2086
	$compiler -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Werror -Isrc -Itests \
		${PTOP_LIB_CFLAGS-} "$scratch/alone.c" 2>"$scratch/errors" || {
		echo "$header does not compile alone:"
		cat "$scratch/errors"
		failed=1
	}
done
[ "$number" -gt 0 ] || { echo "no header found"; exit 1; }
echo "$number headers"
exit $failed
