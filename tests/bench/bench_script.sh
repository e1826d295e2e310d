#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Stacks of a program 20 functions deep, recorded with registers and copies of the stack, unwound by ptop
# and by perf script without names. Of perf script nearly all user time is unwinding; of ptop, which also
# reads names, adds up and prints, a profile of it tells the part. User time is counted by ticks, so runs
# are many.
#
# Bound: ptop's unwinding takes at most a twentieth of perf script's user time.
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
import json, os, subprocess, sys

file, ptop = os.environ["FILE"], os.environ["PTOP"]
runs = {
    "ptop -b --no-inline": (20, [ptop, "-b", "--no-inline", "-i"]),
    "perf script -F ip --no-inline": (4, ["perf", "script", "-F", "ip", "--no-inline", "-i"]),
}


def user_s(command, times):
    total = 0
    for _ in range(times):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status:
            sys.exit(f"{command}: status {status}")
        total += used.ru_utime
    return total / times


stats = subprocess.run([ptop, "-i", file, "-f", "stats"], capture_output=True, text=True).stdout
samples = sum(int(line.split("\t")[2]) for line in stats.splitlines()
              if line.startswith("records\tSAMPLE\t"))
own, theirs = (user_s(command + [file], times) for times, command in runs.values())
command = f"while :; do '{ptop}' -b --no-inline -i '{file}' >/dev/null; done"
watched = subprocess.run([ptop, "-b", "-n", "1", "-d", "5", "-F", "2000", "-K", "-r", "0", "-f", "json", "-O",
                          "/dev/null", "--", "sh", "-c", command], capture_output=True, text=True)
refresh = json.loads(watched.stdout.splitlines()[-1])
part = sum(row["total_percent"] for row in refresh["functions"] if row["function"] == "unwind_user") / 100
if not part:
    sys.exit("no unwind_user in ptop's profile of itself")
for name, user in (("ptop -b --no-inline", own), ("of that, unwinding", own * part),
                   ("perf script -F ip --no-inline", theirs)):
    print(f"{name:32} {1e3 * user:6.1f} ms user time, {1e6 * user / samples:6.2f} us a sample", flush=True)
print(f"{samples} samples: perf script takes {theirs / own:.1f} times the user time of all that ptop does, "
      f"{theirs / own / part:.1f} times that of unwinding (bound 20)")
sys.exit(theirs < 20 * own * part)
PYTHON
