#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: fuzz.sh SECONDS PROGRAM...
# Fuzzes each target from its corpus. What is found new goes to fuzz-corpus/NAME and a crashing input to
# fuzz-crash-NAME-*, both in the build directory.
set -u

# one SECONDS PROGRAM
one()
{
	name=$(basename "$2")
	name=${name#fuzz_}
	if ! "./$2" -help=1 2>&1 | grep -q libFuzzer; then
		echo "$2 is not a libFuzzer program: configure with --enable-fuzzing CC=clang" >&2
		return 1
	fi
	mkdir -p "fuzz-corpus/$name"
	status=0
	"./$2" -max_total_time="$1" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="fuzz-crash-$name-" "fuzz-corpus/$name" \
		"${top_srcdir:?}/tests/fuzz/corpus/$name" >"fuzz-$name.log" 2>&1 || status=$?
	[ $status -eq 0 ] || tail -n 60 "fuzz-$name.log"
	units=$(sed -n 's/^stat::number_of_executed_units: //p' "fuzz-$name.log")
	echo "$name: exit status $status, $units inputs in $1 s"
	# A target that ran nothing has shown nothing.
	[ $status -eq 0 ] && [ "${units:-0}" -gt 0 ]
}

if [ "$1" = --one ]; then
	one "$2" "$3"
	exit
fi
seconds=$1
shift
[ $# -gt 0 ] || { echo "no fuzz target is built" >&2; exit 1; }
printf '%s\n' "$@" |
	xargs -P "$(getconf _NPROCESSORS_ONLN)" -I PROGRAM sh "$0" --one "$seconds" PROGRAM
