# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests that drive the real ptop share.

A test file holds functions named test_*, run in the order written by

    if __name__ == "__main__":
        ptop_support.main(globals())

A test fails by an exception, and skips by skip(reason). Nothing here sleeps for a fixed time: all
waits poll a condition and have a deadline. Only one live test runs at a time: main() takes a lock
in the build directory. A test whose figures depend on the machine's timing measures by retry().
"""

import ctypes
import fcntl
import json
import os
import platform
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time
import traceback

# pylint: disable=unused-import
from ptop_terminal import Pty, Terminal
from ptop_waiting import (DEADLINE_S, PTOP, TOP_BUILDDIR, TOP_SRCDIR, Skip, Timeout, at_end,
                          clean_up, retry, scratch_dir, skip, wait_until)

TEST_LIMIT_S = 300

# ---- needs ---------------------------------------------------------------------------------------

_SYS_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241}


def _perf_errno(pid, cpu):
    """0 if a cpu-clock event can be opened on (pid, cpu), else the kernel's errno."""
    number = _SYS_PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        skip(f"no perf_event_open number known for {platform.machine()}")
    # struct perf_event_attr, version 0 (64 bytes): PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
    # sample_period, exclude_kernel.
    attr = struct.pack("=IIQQQQQ", 1, 64, 0, 1000000, 1, 0, 1 << 5).ljust(64, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(
        ctypes.c_long(number),
        ctypes.create_string_buffer(attr, 64),
        ctypes.c_int(pid),
        ctypes.c_int(cpu),
        ctypes.c_int(-1),
        ctypes.c_ulong(0),
    )
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def need_perf(system=False):
    """Skips where the kernel lets this user sample nothing (system: not the whole machine)."""
    err = _perf_errno(-1, 0) if system else _perf_errno(0, -1)
    if err:
        whom = "the whole system" if system else "own processes"
        try:
            with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
                paranoid = file.read().strip()
        except OSError:
            paranoid = "unreadable"
        skip(
            f"the kernel refuses to sample {whom}: {os.strerror(err)} "
            f"(perf_event_paranoid is {paranoid}, uid {os.getuid()})"
        )


def need_tool(name):
    path = shutil.which(name)
    if not path:
        skip(f"{name} is not installed")
    return path


def need_root():
    if os.getuid() != 0:
        skip("needs root")


def need_cpus(number):
    have = len(os.sched_getaffinity(0))
    if have < number:
        skip(f"needs {number} processors, has {have}")


# ---- workloads -----------------------------------------------------------------------------------


def _stop(process):
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()

WORKLOAD_CFLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fno-omit-frame-pointer",
                   "-fno-optimize-sibling-calls", "-fno-inline", "-pthread"]


def build_c(source, output=None, flags=()):
    """Compiles a C file of tests/support (or any path) and returns the program's path."""
    source = os.path.join(TOP_SRCDIR, "tests/support", source)
    directory = os.path.join(TOP_BUILDDIR, "tests/support/programs")
    os.makedirs(directory, exist_ok=True)
    output = output or os.path.splitext(os.path.basename(source))[0]
    program = os.path.join(directory, output)
    if os.path.exists(program) and os.path.getmtime(program) > os.path.getmtime(source):
        return program
    compiler = shlex.split(os.environ.get("CC") or "cc")
    if not shutil.which(compiler[0]):
        skip(f"no C compiler ({compiler[0]})")
    temporary = f"{program}.{os.getpid()}"
    subprocess.run(
        compiler + WORKLOAD_CFLAGS + list(flags) + ["-o", temporary, source],
        check=True, stdin=subprocess.DEVNULL,
    )
    os.rename(temporary, program)
    return program


class Workload:
    """A program of tests/support running in the background; use it as a context manager.

    Workload("workload", 30) is build/tests/support/programs/workload 30. It is known to run (it has
    said so) when the constructor returns, and is killed at the end.
    """

    def __init__(self, name, *args, ready=True, flags=()):
        program = build_c(name + ".c", flags=flags)
        self.process = subprocess.Popen(
            [program] + [str(arg) for arg in args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )
        at_end(lambda: _stop(self.process))
        self.pid = self.process.pid
        if ready:
            line = self.process.stdout.readline()
            if not line.startswith("ready"):
                raise AssertionError(f"{name} did not start: {line!r}")

    def wait(self, deadline_s):
        """Waits for its end and returns the rest of what it printed."""
        output, _ = self.process.communicate(timeout=deadline_s)
        return output

    def stop(self):
        _stop(self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


# Total and self shares of workload.c, in percent of its own samples.
WORKLOAD_SELF = {"hot_a": 50, "hot_b": 30, "hot_c": 20}
WORKLOAD_TOTAL = {"hot_a": 50, "hot_b": 30, "hot_c": 20, "caller_left": 60, "caller_right": 40}
WORKLOAD_EDGES = {
    ("caller_left", "hot_a"): 40, ("caller_left", "hot_b"): 20, ("caller_right", "hot_a"): 10,
    ("caller_right", "hot_b"): 10, ("caller_right", "hot_c"): 20,
}


# ---- batch and JSON ------------------------------------------------------------------------------


def run(args, deadline_s=60, stdin=subprocess.DEVNULL, env=None, **options):
    """Runs ptop to its end; returns the CompletedProcess with text output."""
    return subprocess.run(
        [PTOP] + [str(arg) for arg in args], stdin=stdin, capture_output=True, text=True,
        timeout=deadline_s, env=env, check=False, **options,
    )


sys.setrecursionlimit(20000)  # a call tree is as deep as the deepest stack


def run_json(args, deadline_s=60, env=None):
    """Runs ptop -b --format json with args; returns its objects, each checked by check_json()."""
    done = run(["-b", "--format", "json"] + list(args), deadline_s=deadline_s, env=env)
    if done.returncode != 0:
        raise AssertionError(f"ptop exited with {done.returncode}: {done.stderr.strip()}")
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert objects, f"ptop printed nothing: {done.stderr.strip()}"
    for refresh in objects:
        check_json(refresh)
    return objects


JSON_NAMES = ("version host target event exclude start_s duration_s samples weight cpus lost "
              "dropped throttled stacks unnamed own functions modules tree").split()
FUNCTION_NAMES = ("function module self_samples total_samples self_percent total_percent self_cpus "
                  "total_cpus").split()
MODULE_NAMES = ("module path build_id names names_why rows rows_why inlined inlined_why mend "
                "self_samples total_samples self_percent total_percent unnamed stacks ends").split()
TREE_NAMES = "function module self_samples total_samples total_percent children".split()


def check_json(refresh):
    """What holds for every refresh: the stable names, and total = self + children at every node."""
    missing = [name for name in JSON_NAMES if name not in refresh]
    assert not missing, f"JSON lacks {missing}"
    assert ("frequency_hz" in refresh) != ("period" in refresh), "one of frequency_hz and period"
    assert set(refresh["stacks"]) >= {"complete", "cut", "broken", "deep"}, refresh["stacks"]
    assert set(refresh["own"]) >= {"cpu_percent", "rss_bytes"}, refresh["own"]
    for function in refresh["functions"]:
        missing = [name for name in FUNCTION_NAMES if name not in function]
        assert not missing, f"a function lacks {missing}"
        samples = function["self_samples"], function["total_samples"], refresh["samples"]
        assert 0 <= samples[0] <= samples[1] <= samples[2], function
        assert 0 <= function["self_percent"] <= function["total_percent"] + 1e-6, function
        assert function["total_percent"] <= 100.001, function
    check_modules(refresh)
    check_tree(refresh["tree"])


def check_modules(refresh):
    """Samples by name and by end are no more than there are, for each module and for all."""
    for module in refresh["modules"]:
        missing = [name for name in MODULE_NAMES if name not in module]
        assert not missing, f"a module lacks {missing}"
        assert 0 <= module["self_samples"] <= module["total_samples"] <= refresh["samples"], module
        assert module["unnamed"] <= module["self_samples"], module
        ends = sum(module["stacks"].values())  # none where no stacks were asked for
        assert ends in (0, module["self_samples"]), module
    assert sum(module["unnamed"] for module in refresh["modules"]) <= refresh["unnamed"]
    for end, samples in refresh["stacks"].items():
        assert sum(module["ends"][end] for module in refresh["modules"]) <= samples, end


def _node_name(node):
    return node.get("group") or node["function"]


def check_tree(nodes):
    """A list of nodes, each total = self + sum of its children; returns the sum of totals.

    Children left out by --min-percent appear in the sum as a node of their own ("...") or as the
    parent's "omitted_samples". With --group the tops are groups, which have "group" for a name.
    """
    total = 0
    for node in nodes:
        wanted = TREE_NAMES if "group" not in node else TREE_NAMES[2:]
        missing = [name for name in wanted if name not in node]
        assert not missing, f"a node lacks {missing}"
        below = check_tree(node["children"]) + node.get("omitted_samples", 0)
        assert node["total_samples"] == node["self_samples"] + below, (
            f"{_node_name(node)}: total {node['total_samples']} is not self {node['self_samples']} "
            f"+ children {below}"
        )
        total += node["total_samples"]
    return total


def function_rows(refresh):
    """Function name -> row of one refresh."""
    return {row["function"]: row for row in refresh["functions"]}


def tree_edges(nodes, parent=None, edges=None):
    """(parent function, function) -> total_samples summed over the tree."""
    edges = {} if edges is None else edges
    for node in nodes:
        key = (parent, _node_name(node))
        edges[key] = edges.get(key, 0) + node["total_samples"]
        tree_edges(node["children"], _node_name(node), edges)
    return edges


# ---- processes -----------------------------------------------------------------------------------


def cpu_seconds(pid):
    """User and system time of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def status_value(pid, name):
    """A number of /proc/PID/status (VmRSS in KiB, Threads, voluntary_ctxt_switches...)."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    raise KeyError(name)


def rss_bytes(pid):
    return status_value(pid, "VmRSS") * 1024


def wakeups(pid):
    """Context switches of all threads of a process so far."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            total += status_value(f"{pid}/task/{task}", "voluntary_ctxt_switches")
        except (OSError, KeyError):
            continue  # a thread that has just ended
    return total


def nr_descriptors(pid, kind=""):
    """Open descriptors of a process; those of what /proc calls by a name that begins with @kind."""
    directory = f"/proc/{pid}/fd"
    if not kind:
        return len(os.listdir(directory))
    number = 0
    for descriptor in os.listdir(directory):
        try:
            number += os.readlink(f"{directory}/{descriptor}").startswith(kind)
        except OSError:
            continue  # closed since
    return number


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


# ---- running tests -------------------------------------------------------------------------------


def _lock_machine():
    """One live test at a time: timings of two at once would mean nothing."""
    if os.environ.get("PTOP_SANITIZED"):
        print("skip: sanitizers distort timing; live tests run in a plain build")
        sys.exit(77)
    os.makedirs(os.path.join(TOP_BUILDDIR, "tests"), exist_ok=True)
    path = os.path.join(TOP_BUILDDIR, "tests/live.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _overran(_number, _frame):
    raise Timeout(f"the test took more than {TEST_LIMIT_S} s")


def main(namespace, live=True):
    """Runs the test_* functions of a file, or those named on the command line, and exits."""
    lock = _lock_machine() if live else None
    tests = [(name, function) for name, function in namespace.items()
             if name.startswith("test_") and callable(function)]
    if len(sys.argv) > 1:
        tests = [test for test in tests if test[0] in sys.argv[1:]]
        if len(tests) != len(sys.argv) - 1:
            sys.exit("no such test")
    signal.signal(signal.SIGALRM, _overran)
    passed = failed = skipped = 0
    for name, function in tests:
        start = time.monotonic()
        signal.alarm(TEST_LIMIT_S)
        try:
            function()
        except Skip as reason:
            skipped += 1
            verdict = f"skip: {reason}"
        except Exception:  # pylint: disable=broad-except
            failed += 1
            verdict = "FAIL\n" + traceback.format_exc()
        else:
            passed += 1
            verdict = "ok"
        finally:
            signal.alarm(0)
            clean_up()
        print(f"{name}: {verdict} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    if lock is not None:
        os.close(lock)
    if failed or not tests:
        sys.exit(1)
    sys.exit(0 if passed else 77)
