#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every fuzz target over its corpus, once. A target without a corpus, and a corpus without its target,
# are failures: they would test nothing.
set -u
source=${top_srcdir:?}/tests/fuzz
failed=0
for code in "$source"/fuzz_*.c; do
	[ -f "$code" ] || { echo "no fuzz target in $source"; exit 1; }
	name=$(basename "$code" .c)
	name=${name#fuzz_}
	program=${top_builddir:?}/tests/fuzz/fuzz_$name
	set -- "$source/corpus/$name"/*
	if [ ! -f "$1" ]; then
		echo "$name: no corpus in tests/fuzz/corpus/$name"
		failed=1
	elif [ ! -x "$program" ]; then
		echo "$name: not built: is it in tests/fuzz/local.mk?"
		failed=1
	elif ! "$program" "$@" 2>"fuzz-$name.err" >&2; then
		echo "$name: failed over its corpus:"
		tail -n 40 "fuzz-$name.err"
		failed=1
	else
		echo "$name: $# inputs"
	fi
	rm -f "fuzz-$name.err"
done
for corpus in "$source"/corpus/*; do
	[ -f "$source/fuzz_$(basename "$corpus").c" ] || {
		echo "corpus without a target: $corpus"
		failed=1
	}
done
exit $failed
