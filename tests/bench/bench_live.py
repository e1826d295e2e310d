# SPDX-License-Identifier: GPL-2.0-or-later
"""ptop on a terminal of 80x24 beside `perf top --stdio`, in the same run on the same load.

CPU time at the same event and rate (ptop's with its loader), bytes to the terminal, and the time
from the start to the first screen that names a hot function. Medians of three rounds.

Unwind tables are compared on three loads: two plain busy threads, two processes that are twenty
functions deep in a program without frame pointers, and two compilers at work.

Bounds: with frame pointers at most a third of perf top's CPU time; with unwind tables at most a
tenth of that of perf top --call-graph dwarf; the first names within 0.3 s; 1 KB a refresh.

CPU time says little without what was done for it: perf top leaves out what it has no time for, and
perf 6.1's was seen to take every sample and to unwind none. So on the deep load both also tell the
samples that they counted, for each second of CPU, and whether the program's outermost function,
which all of its stacks have, is anywhere on the screen.
"""

import json
import os
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import fcntl
import termios
import time

import ptop_support as ps

TABLES_BOUND = 0.1

HEAVY = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <variant>
template <int N> struct twice { std::map<int, std::variant<int, std::string>> m;
  int f(std::string s) { std::regex r(s); m[N] = s;
    return std::regex_match(s, r) + twice<N - 1>().f(s); } };
template <> struct twice<0> { int f(std::string) { return 0; } };
int main(int c, char **v) { return twice<150>().f(v[0]); }
"""

ROUNDS = 3
SECONDS = 5
WARM_S = 2.5
RATES = (999, 4000)


class Watched:
    """A program on a terminal of 80x24 whose output is read as it comes."""

    def __init__(self, command):
        self.started = time.monotonic()
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execvp(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def watch(self, until, found=None):
        """Reads until a time, or until @found is in the output: then seconds since the start."""
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                self.output += os.read(self.fd, 65536)
            except OSError:
                break
            if found and found in self.output:
                return time.monotonic() - self.started
        return None

    def cpu(self):
        """CPU seconds of it and its children (ptop's loader)."""
        pids = [str(self.pid)]
        for pid in pids:
            try:
                children = open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read()
            except OSError:
                continue
            pids += children.split()
        total = 0
        for pid in pids:
            for task in os.listdir(f"/proc/{pid}/task") if os.path.isdir(f"/proc/{pid}") else ():
                try:
                    with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as stat:
                        total += int(stat.read().split()[0])
                except OSError:
                    pass
        return total / 1e9

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        self.watch(time.monotonic() + 0.2)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def cost(command):
    """(percent of a CPU, bytes a second, MB resident) once it has settled."""
    program = Watched(command)
    program.watch(time.monotonic() + WARM_S)
    cpu, at, size = program.cpu(), time.monotonic(), len(program.output)
    program.watch(at + SECONDS)
    wall = time.monotonic() - at
    result = ((program.cpu() - cpu) / wall * 100, (len(program.output) - size) / wall,
              ps.rss_bytes(program.pid) / 1e6)
    program.end()
    return result


def refreshes(program, size):
    """(samples, lost, seconds) of each whole refresh behind byte @size of its output."""
    text = program.output[size:].decode("utf-8", "replace")
    for rate, lost, dropped in re.findall(
            r"PerfTop:\s*(\d+) irqs/sec.*?lost: (\d+)/\d+ drop: (\d+)/\d+", text):
        yield int(rate), int(lost) + int(dropped), 1.0
    for line in text.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and "samples" in told:
            yield told["samples"], told["lost"] + told["dropped"], told["duration_s"]


def work(command, outermost):
    """What it did for its CPU time, as a line of text."""
    program = Watched(command)
    program.watch(time.monotonic() + WARM_S)
    cpu, at, size = program.cpu(), time.monotonic(), len(program.output)
    program.watch(at + SECONDS)
    cpu, wall = program.cpu() - cpu, time.monotonic() - at
    program.end()
    counted = list(refreshes(program, size))
    seconds = sum(each[2] for each in counted)
    if not seconds or not cpu:
        return "told no counts"
    rate = sum(each[0] for each in counted) / seconds
    seen = "with" if outermost in program.output[size:] else "WITHOUT"
    return (f"{rate:.0f} samples/s\t{rate * wall / cpu:.0f} samples a CPU second\t"
            f"lost {sum(each[1] for each in counted)}\t{seen} callers up to main()")


def first_names(command):
    program = Watched(command)
    seconds = program.watch(program.started + 20, b"hot_a")
    program.end()
    if seconds is None:
        sys.exit(f"{' '.join(command)}: hot_a was never shown")
    return seconds


class Load:
    """Processes that run until they are stopped, with all that they started."""

    def __init__(self, commands):
        self.processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, start_new_session=True)
                          for command in commands]
        ps.at_end(self.stop)

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def loads():
    """(name, commands) of the loads for unwind tables, besides the plain one."""
    deep = ps.build_c("deep_stack.c", output="deep_without_fp",
                      flags=("-O2", "-fomit-frame-pointer"))
    yield "deep", [[deep, "600"]] * 2
    if shutil.which("g++"):
        source = os.path.join(ps.scratch_dir(), "heavy.cc")
        with open(source, "w", encoding="ascii") as out:
            out.write(HEAVY)
        yield "g++ -O2", [["sh", "-c", f"while :; do g++ -std=c++17 -O2 -c {source} -o /dev/null;"
                                       " done"]] * 2


def compare_tables(name, ptop, perf):
    """Prints both costs at each rate on the load that runs; True where the bound is broken."""
    broken = False
    for rate in map(str, RATES):
        commands = (ptop + ["-F", rate, "--call-graph", "dwarf"],
                    perf + ["-F", rate, "--call-graph", "dwarf"])
        rows = [[], []]
        for _ in range(ROUNDS):
            for i, command in enumerate(commands):
                rows[i].append(cost(command))
        ours, theirs = (medians(each)[0] for each in rows)
        print(f"{name}\t-F {rate}\tptop tables {ours:.2f} %\tperf top dwarf {theirs:.2f} %\t"
              f"ratio {ours / theirs:.3f} (bound {TABLES_BOUND})", flush=True)
        broken |= ours > TABLES_BOUND * theirs
    return broken


def tell_work(ptop, perf):
    for rate in map(str, RATES):
        how = ["-F", rate, "--call-graph", "dwarf"]
        print(f"work\t-F {rate}\tptop tables\t{work(ptop + ['-b', '-f', 'json'] + how, b'main')}")
        print(f"work\t-F {rate}\tperf top dwarf\t{work(perf + how, b'] main')}", flush=True)


def medians(rows):
    return [statistics.median(column) for column in zip(*rows)]


def main():
    ps.need_perf(system=True)
    ps.need_tool("perf")
    workload = ps.build_c("workload.c", flags=("-O1", "-fno-omit-frame-pointer",
                                                            "-fno-inline", "-pthread"))
    load = Load([[workload, "600", "2"]])
    perf = ["perf", "top", "--stdio", "-d", "1", "-e", "cpu-clock"]
    ptop = [ps.PTOP, "-e", "cpu-clock"]
    failed = False
    for rate in RATES:
        rate = str(rate)
        commands = {
            "ptop fp": ptop + ["-F", rate, "--call-graph", "fp"],
            "perf top fp": perf + ["-F", rate, "-g"],
            "ptop tables": ptop + ["-F", rate, "--call-graph", "dwarf"],
            "perf top dwarf": perf + ["-F", rate, "--call-graph", "dwarf"],
        }
        rows = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                rows[name].append(cost(command))
        found = {name: medians(measured) for name, measured in rows.items()}
        for name, (cpu, size, rss) in found.items():
            print(f"{name:16} -F {rate}\t{cpu:.2f} % of a CPU\t{size:.0f} bytes/s\t{rss:.0f} MB",
                  flush=True)
        fp = found["ptop fp"][0] / found["perf top fp"][0]
        tables = found["ptop tables"][0] / found["perf top dwarf"][0]
        print(f"ratio -F {rate}\tfp {fp:.2f} (bound 0.33)\ttables {tables:.3f} (bound {TABLES_BOUND})",
              flush=True)
        failed |= fp > 0.34 or tables > TABLES_BOUND or found["ptop tables"][1] > 1024
    start = [(first_names(ptop + ["-V", "functions"]), first_names(perf)) for _ in range(ROUNDS)]
    ours, theirs = medians(start)
    print(f"first names\tptop {ours:.2f} s (bound 0.3)\tperf top {theirs:.2f} s")
    failed |= ours > 0.3
    load.stop()
    for name, commands in loads():
        load = Load(commands)
        failed |= compare_tables(name, ptop, perf)
        if name == "deep":
            tell_work(ptop, perf)
        load.stop()
    ps.clean_up()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except ps.Skip as reason:
        print(f"SKIP: {reason}")
        sys.exit(77)
