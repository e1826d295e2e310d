# SPDX-License-Identifier: GPL-2.0-or-later
"""Hard cases of unwinding, mapping and naming: many small programs, watched by one ptop.

A file of cases holds functions

    @case("5a", "a signal handler on the thread's stack")
    def signal_handler(c):
        c.start(c.cc("signal.c"), "normal")
        return whole("main", "spin")

which start one program each and return what must hold of its stacks. The number is that of the
case in doc/hard-cases.md. run(globals()) starts all programs stopped, lets them go, and asks one
ptop about them all: a few seconds for dozens of cases. A case that fails then gets a ptop of its
own, up to three times, with all others stopped: a busy machine fails nothing. Each case has
its own line of result, and skips with its own reason.
"""

import collections
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import ptop_support as ps

HERE = os.path.join(ps.TOP_SRCDIR, "tests/live/hard")
START_S = 30
TOGETHER_S = 2
ALONE_S = (0.7, 2, 4)
MIN_SAMPLES = 8
PSEUDO = ("[stack cut]", "[broken stack]", "[deep stack]")
NICE = 15  # dozens that never sleep: ptop and its loader go before them

Stack = collections.namedtuple("Stack", "frames modules samples")


def case(number, title, **ptop):
    """ptop: what else than the shared one this case needs.

    options=[...]: of a ptop of its own; alone: a ptop of its own, children included; own: the
    function itself runs ptop and returns what it found.
    """

    def mark(function):
        function.case = (number, title, ptop)
        return function

    return mark


# ---- what must hold ------------------------------------------------------------------------------


class Seen:
    """The stacks of a case: outermost function first."""

    def __init__(self, stacks, refresh):
        self.stacks = stacks
        self.refresh = refresh
        self.samples = sum(stack.samples for stack in stacks)

    def share(self, condition):
        """Percent of the samples whose stack fulfils it."""
        return 100 * sum(s.samples for s in self.stacks if condition(s)) / max(self.samples, 1)

    def most(self, number=6):
        stacks = sorted(self.stacks, key=lambda s: -s.samples)[:number]
        return "".join(f"\n    {s.samples:5} {';'.join(s.frames)}" for s in stacks)


def follows(frames, names):
    """Whether the names come one right after the other; "a|b" is one of both, "x*" begins so."""

    def fits(frame, name):
        return any(frame == n or (n[-1:] == "*" and frame.startswith(n[:-1]))
                   for n in name.split("|"))

    return any(all(fits(f, n) for f, n in zip(frames[i:], names))
               for i in range(len(frames) - len(names) + 1))


def whole(*names, share=95, over=None):
    """That share of the samples is a whole stack in which the names follow one another.

    over: only of the samples with that function in their stack, which must be there.
    """

    def check(seen):
        among = seen
        if over:
            among = Seen([s for s in seen.stacks if over in s.frames], seen.refresh)
            assert among.samples >= MIN_SAMPLES, f"{among.samples} samples in {over}{seen.most()}"
        got = among.share(lambda s: follows(s.frames, names) and s.frames[0] not in PSEUDO)
        assert got >= share, f"{got:.1f} % are whole and {' > '.join(names)}{among.most()}"
        return f"{got:.1f} % of {among.samples} whole, {' > '.join(names)}"

    return check


def ending(pseudo, *names, share=95):
    """That share of the samples is a stack that says how it ended, above the names."""

    def check(seen):
        got = seen.share(lambda s: s.frames[0] == pseudo and follows(s.frames, names))
        assert got >= share, f"{got:.1f} % are {pseudo} > .. > {' > '.join(names)}{seen.most()}"
        return f"{got:.1f} % of {seen.samples} {pseudo}, {' > '.join(names)}"

    return check


def named(name, module=None, share=60):
    """That share of the samples has that function, of that module, in a whole stack."""

    def check(seen):
        got = seen.share(lambda s: s.frames[0] not in PSEUDO and
                         any(follows([f], [name]) and module in (None, m)
                             for f, m in zip(s.frames, s.modules)))
        assert got >= share, f"{got:.1f} % are in {name} of {module}{seen.most()}"
        return f"{got:.1f} % of {seen.samples} in {name}"

    return check


def never(name):
    """No sample has that function."""

    def check(seen):
        got = seen.share(lambda s: any(follows([f], [name]) for f in s.frames))
        assert got == 0, f"{got:.1f} % are in {name}{seen.most()}"
        return f"no {name}"

    return check


def both(*checks):

    def check(seen):
        return "; ".join(check(seen) for check in checks)

    return check


def _behind():
    """In a process group, for signals; no session, which would be scheduled as if alone."""
    os.setpgid(0, 0)
    os.nice(NICE)


_built = {}  # command -> a Future of the file
_built_lock = threading.Lock()


def _compile(argv, output):
    done = subprocess.run([argv[0], "-o", output, *argv[1:]], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(argv)}: {done.stderr.strip()[-2000:]}")
    return output


def _compiled(argv):
    """The file that a compiler's command makes."""
    with _built_lock:
        mine = argv not in _built
        if mine:
            _built[argv] = concurrent.futures.Future()
            output = os.path.join(_built_directory(), str(len(_built)))
    if mine:
        try:
            _built[argv].set_result(_compile(argv, output))
        except Exception as failure:  # pylint: disable=broad-except
            _built[argv].set_exception(failure)
    return _built[argv].result()


def _built_directory():
    if not hasattr(_built_directory, "path"):
        _built_directory.path = ps.scratch_dir()
    return _built_directory.path


# ---- a case --------------------------------------------------------------------------------------


class Case:
    """What a case's function starts its program with, and what came of it."""

    def __init__(self, function):
        self.function = function
        self.number, self.title, self.ptop = function.case
        self.name = function.__name__
        self.pids = []
        self.groups = []
        self.cleanups = []
        self.check = None
        self.verdict = None
        self.directory = tempfile.mkdtemp(prefix="ptop-hard-")
        os.chmod(self.directory, 0o755)

    # -- programs --

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text, mode="w"):
        with open(self.path(name), mode, encoding=None if "b" in mode else "utf-8") as file:
            file.write(text)
        return self.path(name)

    def build(self, compiler, sources, *flags, output=None):
        """Compiles files of tests/live/hard (or paths); returns the program, named as the case.

        What several cases build alike is compiled once: each has a copy, a file of its own.
        """
        sources = [sources] if isinstance(sources, str) else sources
        program = self.path(output or self.name[:15])
        argv = [ps.need_tool(compiler), "-g", "-I", HERE, *flags,
                *[os.path.join(HERE, source) for source in sources]]
        # By a process of its own: a file that this one writes may be open in a child just forked.
        self.run("cp", _compiled(tuple(argv)), program)
        return program

    def cc(self, sources, *flags, **options):
        return self.build("gcc", sources, "-O2", *flags, **options)

    def run(self, *argv):
        """A tool that must be there, to its end."""
        done = subprocess.run([ps.need_tool(argv[0]), *argv[1:]], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr.strip()}"
        return done.stdout

    def start(self, *argv, pid=None, **options):
        """Starts it, waits until it says ready, and stops it. pid(process): whom to watch."""
        process = subprocess.Popen([str(arg) for arg in argv], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True, preexec_fn=_behind,
                                   **options)
        self.groups.append(process)
        timer = threading.Timer(START_S, process.kill)
        timer.start()
        line = process.stdout.readline()
        timer.cancel()
        if line.startswith("skip"):
            ps.skip(line[4:].strip(" :\n"))
        assert line == "ready\n", f"{argv} did not start: {line!r}"
        self.pids.append(pid(process) if pid else process.pid)
        self.signal(signal.SIGSTOP)
        return process

    def signal(self, number):
        for process in self.groups:
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass

    def done(self):
        self.signal(signal.SIGKILL)
        for process in self.groups:
            process.wait()
            process.stdout.close()
        for action in reversed(self.cleanups):
            action()
        shutil.rmtree(self.directory, ignore_errors=True)

    def at_end(self, action):
        self.cleanups.append(action)


def first_child(process):
    """The child of unshare --fork or chroot: the program itself."""

    def child():
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]

    return ps.wait_until(child, START_S, "a child")[0]


def need_unshare(*flags):
    done = subprocess.run([ps.need_tool("unshare"), *flags, "true"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        ps.skip(f"unshare {' '.join(flags)}: {done.stderr.strip()}")
    return ["unshare", *flags]


# ---- ptop ----------------------------------------------------------------------------------------


def flatten(nodes, path=(), modules=()):
    """The rows of a tree with samples of their own, as stacks."""
    for node in nodes:
        frames = path + (node["function"],)
        where = modules + (node["module"],)
        if node["self_samples"]:
            yield Stack(frames, where, node["self_samples"])
        yield from flatten(node["children"], frames, where)


def last(output):
    """The stacks of a JSON output's last refresh, all processes together."""
    refresh = json.loads(output.splitlines()[-1])
    return Seen(list(flatten(refresh["tree"])), refresh)


def watch(cases, seconds, options=()):
    """{case: Seen} of one ptop over all of them: of its second refresh, when files were read."""
    pids = [pid for c in cases for pid in c.pids]
    for c in cases:
        c.signal(signal.SIGCONT)
    try:
        refresh = ps.run_json(["-n", 2, "-d", seconds, "-g", "process", "--rows", 1,
                               "--min-percent", 0, *options, "-p", ",".join(map(str, pids))])[-1]
    finally:
        for c in cases:
            c.signal(signal.SIGSTOP)
    seen = {}
    for c in cases:
        mine = [f"[{pid}]" for pid in c.pids]
        stacks = [stack for node in refresh["tree"]
                  if len(cases) == 1 or any(node["group"].endswith(pid) for pid in mine)
                  for stack in flatten(node["children"])]
        seen[c] = Seen(stacks, refresh)
    return seen


def judge(c, seen):
    """None where the case holds, else why not; notes the good verdict."""
    try:
        assert seen.samples >= MIN_SAMPLES, f"{seen.samples} samples"
        c.verdict = f"ok: {c.check(seen)}"
    except AssertionError as failure:
        return str(failure)
    return None


def guarded(c, action):
    """What it returns; None where it skips or fails for good."""
    try:
        return action()
    except ps.Skip as reason:
        c.verdict = f"skip: {reason}"
    except Exception:  # pylint: disable=broad-except
        c.verdict = "FAIL\n" + traceback.format_exc()
    return None


def prepare(c):
    if not c.ptop.get("own"):
        c.check = guarded(c, lambda: c.function(c))


def once(c, seconds):
    """None where the case holds, else why not."""
    if not c.ptop.get("own"):
        return judge(c, watch([c], seconds, c.ptop.get("options", ()))[c])
    try:
        c.verdict = f"ok: {c.function(c)}"
    except AssertionError as failure:
        return str(failure)
    return None


def attempts(c, why):
    """A ptop of its own for a case that failed, or that wants one."""
    for seconds in ALONE_S:
        if why:
            print(f"  {c.name}: again, alone: {why}", flush=True)
        why = guarded(c, lambda: once(c, seconds))  # pylint: disable=cell-var-from-loop
        if why is None:
            return
    c.verdict = f"FAIL: {why}"


def tell(c):
    print(f"{c.number:>4} {c.name} ({c.title}): {c.verdict}", flush=True)


def run_all(cases):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(prepare, cases))
    waiting = [c for c in cases if c.verdict is None]
    shared = [c for c in waiting if not c.ptop]
    failed = {}
    if shared:
        seen = watch(shared, TOGETHER_S)
        failed = {c: judge(c, seen[c]) for c in shared}
    for c in cases:
        if c.verdict is None:
            attempts(c, failed.get(c))
        tell(c)


def run(namespace):
    """Runs the cases of a file, or those named on the command line, and exits."""
    sys.setrecursionlimit(20000)  # trees of deep recursions
    lock = ps._lock_machine()  # pylint: disable=protected-access
    functions = [f for f in namespace.values() if callable(f) and hasattr(f, "case")]
    cases = [Case(f) for f in functions if len(sys.argv) == 1 or f.__name__ in sys.argv[1:]]
    start = time.monotonic()
    try:
        ps.need_perf()
        run_all(cases)
    except ps.Skip as reason:
        print(f"skip: {reason}")
        sys.exit(77)
    finally:
        for c in cases:
            c.done()
        ps.clean_up()
    verdicts = [c.verdict.split(":")[0].split("\n")[0] for c in cases]
    counts = {word: verdicts.count(word) for word in ("ok", "FAIL", "skip")}
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped "
          f"({time.monotonic() - start:.1f} s)")
    os.close(lock)
    sys.exit(1 if counts["FAIL"] or not cases else 0 if counts["ok"] else 77)
