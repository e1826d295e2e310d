#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: fuzz.sh SECONDS PROGRAM...
# Fuzzes each target from its corpus. What is found new goes to fuzz-corpus/NAME and a crashing input to
# fuzz-crash-NAME-*, both in the build directory.
set -u
seconds=$1
shift
[ $# -gt 0 ] || { echo "no fuzz target is built" >&2; exit 1; }
failed=0
for program in "$@"; do
	name=$(basename "$program")
	name=${name#fuzz_}
	if ! "./$program" -help=1 2>&1 | grep -q libFuzzer; then
		echo "$program is not a libFuzzer program: configure with --enable-fuzzing CC=clang" >&2
		exit 1
	fi
	mkdir -p "fuzz-corpus/$name"
	echo "fuzzing $name for $seconds s"
	"./$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="fuzz-crash-$name-" "fuzz-corpus/$name" \
		"${top_srcdir:?}/tests/fuzz/corpus/$name" >"fuzz-$name.log" 2>&1 || {
		failed=1
		tail -n 60 "fuzz-$name.log"
	}
	grep -E 'number_of_executed_units|average_exec_per_sec' "fuzz-$name.log"
done
exit $failed
