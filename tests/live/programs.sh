#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The live tests written in C, one after another: alone, and not under sanitizers.
set -u
[ -z "${PTOP_SANITIZED-}" ] || {
	echo "skip: sanitizers distort timing; live tests run in a plain build"
	exit 77
}
cd "${top_builddir:?}" || exit 1
[ -n "${PTOP_LIVE_PROGRAMS-}" ] || {
	echo "skip: built without cmocka"
	exit 77
}
passed=0
failed=0
for program in $PTOP_LIVE_PROGRAMS; do
	echo "== $program"
	flock tests/live.lock timeout 300 "$program"
	status=$?
	case $status in
	0) passed=$((passed + 1)) ;;
	77) echo "== $program: skipped" ;;
	*)
		echo "== $program: exit status $status"
		failed=1
		;;
	esac
done
[ $failed -eq 0 ] || exit 1
[ $passed -gt 0 ] || exit 77
