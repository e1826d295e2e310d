#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Stacks of a program 20 functions deep, recorded with registers and copies of the stack, unwound by ptop
# and by perf script without names: user time, of which nearly all is unwinding in perf's case.
#
# Bound: ptop, which also names and adds up, takes at most a twentieth of perf script's user time.
# usage: bench_script.sh  (PTOP_BENCH_SECONDS=6)
set -u
seconds=${PTOP_BENCH_SECONDS:-6}
program=${top_builddir:?}/tests/support/deep_stack
for tool in perf python3; do
	command -v $tool >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
[ -x "$program" ] || { echo "SKIP: $program is not built"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
file=$scratch/perf.data
perf record -q -F 4000 --call-graph dwarf,8192 -o "$file" -- "$program" "$seconds" >/dev/null 2>&1 || {
	echo "SKIP: perf record --call-graph dwarf does not work here"
	exit 77
}
FILE=$file PTOP=${PTOP:?} python3 - <<'PYTHON'
import os, subprocess, sys

file, ptop = os.environ["FILE"], os.environ["PTOP"]
runs = {
    "ptop -i FILE -b": [ptop, "-i", file, "-b"],
    "perf script -F ip --no-inline": ["perf", "script", "-i", file, "-F", "ip", "--no-inline"],
}
stats = subprocess.run([ptop, "-i", file, "-f", "stats"], capture_output=True, text=True).stdout
samples = sum(int(line.split("\t")[2]) for line in stats.splitlines()
              if line.startswith("samples\t"))
users = {}
for name, command in runs.items():
    best = None
    for _ in range(3 if command[0] == ptop else 1):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status:
            sys.exit(f"{name}: status {status}")
        best = min(used.ru_utime, best or used.ru_utime)
    users[name] = best
    print(f"{name:34} {best:7.3f} s user time, {1e6 * best / samples:7.1f} us a sample "
          f"({samples} samples)", flush=True)
own, theirs = users.values()
print(f"perf script takes {theirs / max(own, 1e-3):.1f} times the user time (bound 20)")
sys.exit(theirs < 20 * own)
PYTHON
