#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A recording of half a gigabyte with callchains, read by ptop, perf report and perf script: samples
# and megabytes a second, CPU time and peak memory, the best of three runs of each, in turns. The file is
# a short recording's data repeated, in a temporary folder.
#
# Bound: ptop is at least ten times as fast as perf report, and takes no more memory.
# usage: bench_recording.sh  (PTOP_BENCH_MB=500)
set -u
ptop=${PTOP:?}
megabytes=${PTOP_BENCH_MB:-500}
repeat=${top_builddir:?}/tests/bench/repeat_recording
for tool in perf python3; do
	command -v $tool >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
small=$scratch/small.data
big=$scratch/big.data
perf record -q -F 4000 -a -g -o "$small" -- sh -c \
	'for j in 1 2 3; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; ls -lR /usr/include >/dev/null; done' \
	2>/dev/null || { echo "SKIP: perf record -a does not work here"; exit 77; }
"$repeat" "$small" "$big" "$megabytes" || exit 1
samples=$("$ptop" -i "$big" -f stats | awk -F '\t' '$1 == "samples" { n += $3 } END { print n }')
SAMPLES=$samples BIG=$big PTOP=$ptop python3 - <<'PYTHON'
import os, subprocess, sys, time

big, samples = os.environ["BIG"], int(os.environ["SAMPLES"])
megabytes = os.stat(big).st_size / 1e6
runs = {
    "ptop -i FILE -b": [os.environ["PTOP"], "-i", big, "-b"],
    "perf report --stdio --no-children": ["perf", "report", "-i", big, "--stdio", "--no-children"],
    "perf script": ["perf", "script", "-i", big],
}
cost = {name: (float("inf"), 0, 0) for name in runs}
for name, command in 3 * list(runs.items()):
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{name}: status {status}")
    took = time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000
    cost[name] = min(cost[name], took)
for name, (wall, cpu, peak) in cost.items():
    print(f"{name:34} {wall:7.2f} s {samples / wall / 1e6:6.2f} M samples/s {megabytes / wall:7.0f} MB/s "
          f"{cpu:7.2f} s CPU {peak:6.0f} MB peak")
own, theirs = cost["ptop -i FILE -b"], cost["perf report --stdio --no-children"]
print(f"perf report takes {theirs[0] / own[0]:.1f} times the time, {theirs[1] / own[1]:.1f} times the CPU and "
      f"{theirs[2] / own[2]:.1f} times the memory (bounds: 10 of the time, 1 of the memory)")
sys.exit(theirs[0] < 10 * own[0] or theirs[2] < own[2])
PYTHON
