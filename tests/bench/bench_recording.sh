#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A recording of half a gigabyte with callchains, read by ptop, perf report and perf script: samples
# and megabytes a second of CPU time (other load on the machine cannot move that as it moves wall
# time), and peak memory. The file is a short recording's data repeated, in a temporary folder.
#
# Bound: ptop takes at most a tenth of the CPU time of perf report, and no more memory.
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
import os, subprocess, sys

big, samples = os.environ["BIG"], int(os.environ["SAMPLES"])
megabytes = os.stat(big).st_size / 1e6
runs = {
    "ptop -i FILE -b": [os.environ["PTOP"], "-i", big, "-b"],
    "perf report --stdio --no-children": ["perf", "report", "-i", big, "--stdio", "--no-children"],
    "perf script": ["perf", "script", "-i", big],
}
cost = {}
for name, command in runs.items():
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{name}: status {status}")
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1000
    cost[name] = cpu, peak
    print(f"{name:34} {cpu:7.2f} s CPU {samples / cpu / 1e6:6.2f} M samples/s "
          f"{megabytes / cpu:7.0f} MB/s {peak:6.0f} MB peak", flush=True)
own, theirs = cost["ptop -i FILE -b"], cost["perf report --stdio --no-children"]
print(f"perf report takes {theirs[0] / own[0]:.1f} times the CPU and {theirs[1] / own[1]:.1f} times the memory "
      f"(bounds 10 and 1)")
sys.exit(theirs[0] < 10 * own[0] or theirs[1] < own[1])
PYTHON
