#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What ptop answers to command lines that it cannot follow, and to output that goes nowhere: one plain
# sentence on stderr, nothing on stdout, exit status 1 or 2, at once.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
ptop=${PTOP:?}
failed=0
number=0

fail()
{
	echo "FAIL: $*"
	[ -s out ] && sed 's/^/  stdout: /' out
	[ -s err ] && sed 's/^/  stderr: /' err
	failed=1
}

# refuses PATTERN ARGUMENT...: ptop with these arguments fails with one sentence that has the pattern.
refuses()
{
	pattern=$1
	shift
	number=$((number + 1))
	timeout 20 "$ptop" "$@" </dev/null >out 2>err
	status=$?
	[ $status -eq 1 ] || [ $status -eq 2 ] || fail "ptop $*: exit status $status, not 1 or 2"
	[ ! -s out ] || fail "ptop $*: something on stdout"
	[ "$(wc -l <err)" -eq 1 ] || fail "ptop $*: not one line on stderr"
	grep -q '^ptop: ' err || fail "ptop $*: the sentence does not begin with ptop:"
	grep -qE -- "$pattern" err || fail "ptop $*: no /$pattern/ in the sentence"
}

# accepts PATTERN ARGUMENT...: exit status 0 and the pattern on stdout.
accepts()
{
	pattern=$1
	shift
	number=$((number + 1))
	timeout 20 "$ptop" "$@" </dev/null >out 2>err
	status=$?
	[ $status -eq 0 ] || fail "ptop $*: exit status $status"
	grep -qE -- "$pattern" out || fail "ptop $*: no /$pattern/ on stdout"
}

# unwritable ARGUMENT...: fails where stdout is full, and where it is closed.
unwritable()
{
	number=$((number + 2))
	: >out
	timeout 20 "$ptop" "$@" </dev/null >/dev/full 2>err
	status=$?
	[ $status -eq 1 ] || fail "ptop $* >/dev/full: exit status $status, not 1"
	timeout 20 "$ptop" "$@" </dev/null >&- 2>err
	status=$?
	[ $status -eq 1 ] || fail "ptop $* >&-: exit status $status, not 1"
}

refuses 'unknown option --frequncy.*frequency' --frequncy 99
refuses 'unknown option --zzzzzzzz' --zzzzzzzz
refuses 'unknown option -Z' -Z
refuses 'unknown option -Z' -bZ
refuses 'needs a value' -F
refuses 'needs a value' --event
refuses 'value' --batch=yes

refuses 'frequency' -F 0
refuses 'frequency' -F fast
refuses 'frequency' -F -5
refuses 'frequency' -F 99999999999999999999999
refuses 'period' -c 0
refuses 'period' -c 1e6
refuses 'delay' -d 0
refuses 'delay' -d nan
refuses 'delay' -d -1
refuses 'delay' -d 1s
refuses 'call-graph' --call-graph backwards
refuses 'window yesterday: .*1000000, or all' -w yesterday
refuses 'count 0: give a whole number above 0' -n 0
refuses 'count' -n 1.5
refuses 'rows' -r many
refuses 'min-percent' --min-percent 101
refuses 'history' --history 0
refuses 'format.*text.*json.*folded' --format xml
refuses 'view.*functions.*tree.*callers' --view sideways
refuses 'group.*process' --group galaxy
refuses 'call-graph.*fp.*none' --call-graph magic
refuses 'completion|bash' --completion csh

refuses 'cylces.*cycles' -e cylces
refuses 'context-swithces.*context-switches' -e context-swithces
refuses 'event' -e ''
refuses 'modifier|cycles:x' -e cycles:x
refuses '-K and -U|nothing to sample' -K -U

refuses 'cpu' -C 3-1
refuses 'cpu' -C zero
refuses 'pid' -p abc
refuses 'pid' -p ''
refuses 'pid' -p 12,,13
refuses 'pid' -p -1
refuses 'tid' -t 1.5
refuses 'no-such-user-here' -u no-such-user-here
refuses 'exclude each other' -p 1 -u 0
refuses 'exclude each other' -p 1 -t 1
refuses 'exclude each other' -p 1 -- true
refuses 'command' -O file

# No process can have this id: the kernel's limit is 4194304.
refuses 'a recording goes to a file' -o -
refuses 'not with --format stats and script' -i some.data -o other.data --format stats
refuses 'folder.*No such file' -b -n 1 -o nowhere/recording
refuses 'name a file' -b -n 1 -o ./
ln -s elsewhere link
refuses 'symbolic link' -b -n 1 -o link
rm link
refuses '4194999' -b -n 1 -d 0.1 -p 4194999
refuses '4194999' -b -n 1 -d 0.1 -t 4194999

accepts '^ptop 0\.[0-9]+\.[0-9]+' --version
accepts '--frequency' --help
accepts '--frequency' -h
accepts 'perf_event_paranoid' --doctor
for shell in bash zsh fish; do
	accepts 'call-graph' --completion $shell
	if command -v $shell >/dev/null 2>&1; then
		$shell -n out || fail "--completion $shell: not a script $shell can read"
	fi
done
unwritable --help
unwritable --version
unwritable --doctor
unwritable --completion bash

echo "$number command lines"
exit $failed
