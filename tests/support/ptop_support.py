# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests that drive the real ptop share.

A test file holds functions named test_*, run in the order written by

    if __name__ == "__main__":
        ptop_support.main(globals())

A test fails by an exception, and skips by skip(reason). Nothing here sleeps for a fixed time: all waits
poll a condition and have a deadline. Only one live test runs at a time on a machine: importing this
module takes a lock in the build directory.
"""

import atexit
import ctypes
import errno
import fcntl
import json
import os
import platform
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

TOP_SRCDIR = os.environ.get("top_srcdir") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
TOP_BUILDDIR = os.environ.get("top_builddir") or os.path.join(TOP_SRCDIR, "build")
PTOP = os.environ.get("PTOP") or os.path.join(TOP_BUILDDIR, "ptop")
POLL_S = 0.02
DEADLINE_S = 10.0
TEST_LIMIT_S = 300


class Skip(Exception):
    """The machine cannot run this test; the text says why."""


class Timeout(AssertionError):
    """A condition did not come true before its deadline."""


def skip(reason):
    raise Skip(reason)


# ---- waiting -------------------------------------------------------------------------------------


def wait_until(condition, deadline_s=DEADLINE_S, what="condition"):
    """Polls condition() until it is true; returns its value."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Timeout(f"{what} did not come true within {deadline_s:g} s")
        time.sleep(POLL_S)


def retry(times, what, measure):
    """For measurements that depend on the machine's timing: measure() may fail all but once.

    Every attempt is printed, so that a test which needs more than one is seen in its log. Returns what
    measure() returned; after `times` failures raises the last one.
    """
    for attempt in range(1, times + 1):
        try:
            value = measure()
        except AssertionError as failure:
            print(f"  {what}: attempt {attempt} of {times}: {failure}", flush=True)
            if attempt == times:
                raise
        else:
            print(f"  {what}: attempt {attempt} of {times}: passed: {value}", flush=True)
            return value


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


# ---- cleaning up ---------------------------------------------------------------------------------

_cleanups = []


def _clean_up():
    while _cleanups:
        try:
            _cleanups.pop()()
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()


atexit.register(_clean_up)


def scratch_dir():
    """A directory of this test, removed at its end."""
    path = tempfile.mkdtemp(prefix="ptop-test-")
    _cleanups.append(lambda: shutil.rmtree(path, ignore_errors=True))
    return path


def _stop(process):
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()


# ---- workloads -----------------------------------------------------------------------------------

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
        _cleanups.append(lambda: _stop(self.process))
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


JSON_NAMES = ("version host target event exclude start_s duration_s samples weight cpus lost dropped "
              "throttled stacks unnamed own functions tree").split()
FUNCTION_NAMES = ("function module self_samples total_samples self_percent total_percent self_cpus "
                  "total_cpus").split()
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
        assert 0 <= function["self_samples"] <= function["total_samples"] <= refresh["samples"], function
        assert 0 <= function["self_percent"] <= function["total_percent"] + 1e-6, function
        assert function["total_percent"] <= 100.001, function
    check_tree(refresh["tree"])


def check_tree(nodes):
    """A list of nodes, each total = self + sum of its children; returns the sum of totals.

    Children left out by --min-percent appear in the sum as a node of their own ("...") or as the
    parent's "omitted_samples".
    """
    total = 0
    for node in nodes:
        missing = [name for name in TREE_NAMES if name not in node]
        assert not missing, f"a node lacks {missing}"
        below = check_tree(node["children"]) + node.get("omitted_samples", 0)
        assert node["total_samples"] == node["self_samples"] + below, (
            f"{node['function']}: total {node['total_samples']} is not self {node['self_samples']} "
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
        key = (parent, node["function"])
        edges[key] = edges.get(key, 0) + node["total_samples"]
        tree_edges(node["children"], node["function"], edges)
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


def nr_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


# ---- a terminal ----------------------------------------------------------------------------------


class Terminal:
    """ptop in a tmux server of its own.

    Before ptop starts the terminal shows the line BEFORE, and after its end AFTER and its exit status;
    what then still reaches the terminal as input is echoed, so that stray bytes are seen in screen().
    """

    BEFORE = "before-ptop"
    AFTER = "after-ptop"
    _count = 0

    def __init__(self, args=(), cols=80, rows=24, term="tmux-256color", env=None, program=None,
                 stderr=True):
        """args: ptop's arguments. env: variables to set (None as a value: to unset)."""
        need_tool("tmux")
        Terminal._count += 1
        self.label = f"ptop-test-{os.getpid()}-{Terminal._count}"
        self.directory = scratch_dir()
        _cleanups.append(self.close)
        self._status = os.path.join(self.directory, "status")
        self._errors = os.path.join(self.directory, "stderr")
        self.args = [program or PTOP] + [str(arg) for arg in args]
        script = os.path.join(self.directory, "script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(self._script(term, env or {}, stderr))
        config = os.path.join(self.directory, "tmux.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write("set -g status off\nset -s escape-time 0\nset -g history-limit 5000\n")
        environment = {name: value for name, value in os.environ.items() if name != "TMUX"}
        environment.update({"LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", "TERM": "xterm-256color"})
        subprocess.run(
            ["tmux", "-u", "-L", self.label, "-f", config, "new-session", "-d", "-x", str(cols),
             "-y", str(rows), f"exec /bin/sh {shlex.quote(script)}"],
            check=True, env=environment, stdin=subprocess.DEVNULL,
        )

    def _script(self, term, env, stderr):
        lines = ["unset TMUX TMUX_PANE LINES COLUMNS NO_COLOR",
                 f"TERM={shlex.quote(term)}; export TERM"]
        for name, value in env.items():
            if value is None:
                lines.append(f"unset {name}")
            else:
                lines.append(f"{name}={shlex.quote(value)}; export {name}")
        command = " ".join(shlex.quote(arg) for arg in self.args)
        redirect = f" 2>{shlex.quote(self._errors)}" if stderr else ""
        lines += [f"echo {self.BEFORE}",
                  # A job that is stopped and goes on, as under an interactive shell.
                  f"{command}{redirect}",
                  "status=$?",
                  f"echo $status >{shlex.quote(self._status)}.new",
                  f"mv {shlex.quote(self._status)}.new {shlex.quote(self._status)}",
                  f"echo {self.AFTER} $status", "exec cat"]
        return "\n".join(lines) + "\n"

    def tmux(self, *args):
        return subprocess.run(
            ["tmux", "-L", self.label] + list(args), check=True, capture_output=True, text=True,
            stdin=subprocess.DEVNULL,
        ).stdout

    def close(self):
        subprocess.run(["tmux", "-L", self.label, "kill-server"], check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- looking

    def screen(self, attributes=False):
        """What is on the screen, as lines without trailing blanks."""
        options = ["-e"] if attributes else []
        return self.tmux("capture-pane", "-p", *options).rstrip("\n")

    def lines(self):
        return self.screen().split("\n")

    def query(self, format_name):
        """A tmux format of the pane: cursor_y, alternate_on, cursor_flag, pane_width..."""
        return self.tmux("display-message", "-p", "#{" + format_name + "}").strip()

    def wait_for(self, wanted, deadline_s=DEADLINE_S):
        """Waits until the screen matches: a regular expression, or a predicate of its text.

        Returns the match object, or what the predicate returned."""
        if isinstance(wanted, str):
            test, what = re.compile(wanted, re.M).search, f"/{wanted}/"
        else:
            test, what = wanted, getattr(wanted, "__name__", "the predicate")
        try:
            return wait_until(lambda: test(self.screen()), deadline_s, f"{what} on the screen")
        except Timeout as timeout:
            raise Timeout(f"{timeout}; the screen:\n{self.frame()}") from None

    def frame(self):
        return "\n".join("  |" + line for line in self.lines())

    def errors(self):
        """What ptop wrote to stderr."""
        try:
            with open(self._errors, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def record_bytes(self, path):
        """From now on, everything ptop sends to the terminal also goes to the file."""
        self.tmux("pipe-pane", "-O", f"exec cat >{shlex.quote(path)}")

    # -- acting

    def keys(self, *names):
        """Keys by tmux's names: "q", "Down", "PPage", "Enter", "C-c", "Escape"."""
        self.tmux("send-keys", *names)

    def text(self, text):
        """Characters typed as they are."""
        self.tmux("send-keys", "-l", text)

    def raw(self, data):
        """Bytes, in one write: raw(b"\\x1b[B")."""
        self.tmux("send-keys", "-H", *[f"{byte:02x}" for byte in data])

    def resize(self, cols, rows):
        self.tmux("resize-window", "-x", str(cols), "-y", str(rows))

    # -- the process

    def pid(self, deadline_s=DEADLINE_S):
        """ptop's process id, once it runs."""
        shell = int(self.query("pane_pid"))
        program = os.path.realpath(shutil.which(self.args[0]) or self.args[0])

        def find():
            for child in _children(shell):
                try:
                    if os.path.realpath(f"/proc/{child}/exe") == program:
                        return child
                except OSError:
                    continue
            return None

        return wait_until(find, deadline_s, f"a process of {self.args[0]}")

    def signal(self, number):
        os.kill(self.pid(), number)

    def ended(self):
        return os.path.exists(self._status)

    def wait_exit(self, deadline_s=DEADLINE_S):
        """Waits for ptop's end; returns its exit status (128 + N for signal N)."""
        try:
            wait_until(self.ended, deadline_s, "the end of ptop")
        except Timeout as timeout:
            raise Timeout(f"{timeout}; the screen:\n{self.frame()}") from None
        with open(self._status, encoding="ascii") as file:
            return int(file.read())

    def check_restored(self):
        """After the end: normal screen, visible cursor, nothing left behind, no stray bytes."""
        self.wait_for("^" + self.AFTER)
        assert self.query("alternate_on") == "0", "the alternate screen is still on"
        assert self.query("cursor_flag") == "1", "the cursor is still hidden"
        assert self.query("keypad_flag") == "0", "the keypad is still in application mode"
        assert self.query("mouse_any_flag") == "0", "the mouse is still reported"
        text = self.screen()
        lines = [line for line in text.split("\n") if line]
        before, after = lines[0], lines[-1]
        assert before == self.BEFORE, f"the first line is {before!r}:\n{self.frame()}"
        assert after.startswith(self.AFTER), f"stray bytes after the end:\n{self.frame()}"
        return lines[1:-1]


class Pty:
    """A program on a bare pseudo-terminal: for counting bytes, hang-ups and stop/continue."""

    def __init__(self, args=(), cols=80, rows=24, term="xterm-256color", env=None, program=None):
        environment = dict(os.environ, TERM=term, LC_ALL="C.UTF-8", **(env or {}))
        argv = [program or PTOP] + [str(arg) for arg in args]
        size = struct.pack("HHHH", rows, cols, 0, 0)
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                os.execvpe(argv[0], argv, environment)
            finally:
                os._exit(127)
        os.set_blocking(self.master, False)
        self.output = b""
        self.status = None
        _cleanups.append(self.close)

    def pump(self, seconds=0.0):
        """Reads what is there, waiting at most that long for the first byte; returns the new bytes."""
        new = b""
        while self.master is not None:
            ready, _, _ = select.select([self.master], [], [], 0 if new else seconds)
            if not ready:
                break
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: the other side is closed
                data = b""
            if not data:
                break
            new += data
        self.output += new
        return new

    def wait_output(self, pattern, deadline_s=DEADLINE_S):
        expression = re.compile(pattern, re.S)

        def found():
            self.pump(POLL_S)
            return expression.search(self.output)

        return wait_until(found, deadline_s, f"{pattern!r} in the output")

    def write(self, data):
        os.write(self.master, data)

    def resize(self, cols, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def hang_up(self):
        """The far end of the line goes away."""
        os.close(self.master)
        self.master = None

    def wait_exit(self, deadline_s=DEADLINE_S):
        """The exit status, negative for a signal, as subprocess has it."""

        def ended():
            if self.status is None:
                self.pump()
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.status = os.waitstatus_to_exitcode(status)
            return self.status is not None

        wait_until(ended, deadline_s, "the end of the program")
        return self.status

    def close(self):
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self.master is not None:
            self.hang_up()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- running tests -------------------------------------------------------------------------------


def _lock_machine():
    """One live test at a time: timings of two at once would mean nothing."""
    if os.environ.get("PTOP_SANITIZED"):
        print("skip: sanitizers distort timing; live tests run in a plain build")
        sys.exit(77)
    os.makedirs(os.path.join(TOP_BUILDDIR, "tests"), exist_ok=True)
    descriptor = os.open(os.path.join(TOP_BUILDDIR, "tests/live.lock"), os.O_RDWR | os.O_CREAT, 0o666)
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
            _clean_up()
        print(f"{name}: {verdict} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    if lock is not None:
        os.close(lock)
    if failed or not tests:
        sys.exit(1)
    sys.exit(0 if passed else 77)
