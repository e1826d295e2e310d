#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: run.sh PROGRAM|SCRIPT...
# Runs each benchmark in turn. A benchmark prints its figures and exits non-zero when a bound is broken.
set -u
failed=0
for bench in "$@"; do
	echo "== $(basename "$bench")"
	case $bench in
	*.py) sh "${top_srcdir:?}/tests/support/run-python.sh" "$top_srcdir/$bench" ;;
	*.sh) sh "${top_srcdir:?}/$bench" ;;
	*) "./$bench" ;;
	esac
	status=$?
	if [ $status -ne 0 ] && [ $status -ne 77 ]; then
		echo "== $(basename "$bench"): exit status $status"
		failed=1
	fi
done
exit $failed
