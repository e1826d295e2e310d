# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that ptop makes (-o): perf and ptop -i count in them what ptop counted itself, whatever
ends the recording."""

import collections
import glob
import json
import os
import resource
import signal
import subprocess

import ptop_support as ps
from ptop_screen import LONG_S, Session

HOT = sorted(ps.WORKLOAD_SELF)


def perf_output(perf, *args):
    done = subprocess.run(
        [perf] + list(args), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=120, check=False, env=dict(os.environ, DEBUGINFOD_URLS="", PAGER="cat"))
    assert done.returncode == 0, f"perf {args}: {done.stderr[-500:]}"
    return done.stdout


def perf_stacks(perf, path):
    """The function names of each sample, innermost first."""
    text = perf_output(perf, "script", "-i", path, "-F", "comm,ip,sym")
    stacks = []
    for block in text.split("\n\n"):
        lines = [line.split(None, 1) for line in block.splitlines() if line.startswith("\t")]
        if block.strip():
            stacks.append([parts[1] if len(parts) > 1 else "" for parts in lines])
    return stacks


def self_counts(refresh):
    return {row["function"]: row["self_samples"] for row in refresh["functions"]
            if row["self_samples"]}


def check_counts(perf, path, refresh):
    """perf and ptop -i count in the file what the refresh of the ptop that wrote it says."""
    own = self_counts(refresh)
    stacks = perf_stacks(perf, path)
    theirs = collections.Counter(stack[0] for stack in stacks if stack)
    again = self_counts(ps.run_json(["-i", path, "-r", 0, "--min-percent", 0])[-1])
    assert refresh["samples"] > 100, f"{refresh['samples']} samples"
    assert len(stacks) == refresh["samples"], f"{len(stacks)} samples, not {refresh['samples']}"
    for name in HOT:
        assert own.get(name, 0) == theirs[name] == again.get(name, 0), (
            f"{name}: {own.get(name)}, perf has {theirs[name]}, ptop -i {again.get(name)}")
    assert own == again, set(own.items()) ^ set(again.items())
    report = perf_output(perf, "report", "-i", path, "--stdio", "--no-children", "-g", "none",
                         "-F", "sample,sym", "--percent-limit", "0")
    told = {line.split()[-1]: int(line.split()[0]) for line in report.splitlines()
            if line.split() and line.split()[0].isdigit()}
    for name in HOT:
        assert told.get(name, 0) == own.get(name, 0), f"perf report has {told.get(name)} of {name}"


def check_hotspot(path, samples):
    """Its parser reads as many samples, and finds the functions; nothing where it is not installed."""
    parser = glob.glob("/usr/lib/*/libexec/hotspot-perfparser") + \
        glob.glob("/usr/lib*/hotspot-perfparser")
    if not parser:
        print("hotspot is not installed: it is not asked")
        return
    result = path + ".hotspot"
    read = [parser[0], "--input", path, "--output", result]
    for more in ([], ["--print-stats"]):
        subprocess.run(read + more, check=True, timeout=120, stderr=subprocess.DEVNULL)
        with open(result, "rb") as out:
            said = out.read()
        if more:
            assert f"samples: {samples}\n".encode() in said, (samples, said[:200])
        else:
            assert all(name.encode() in said for name in HOT), f"{path}: hotspot finds no functions"


def test_a_command_by_each_kind_of_stack():
    ps.need_perf()
    perf = ps.need_tool("perf")
    program = ps.build_c("workload.c")
    for mode in ("fp", "dwarf"):
        path = os.path.join(ps.scratch_dir(), mode)

        def measure(mode=mode, path=path):
            # The names may come too late for the last refresh, on a busy machine.
            refresh = ps.run_json(["-o", path, "-w", "all", "-r", 0, "--min-percent", 0,
                                   "--call-graph", mode, "--", program, 2])[-1]
            check_counts(perf, path, refresh)
            return f"{refresh['samples']} samples, the same in ptop, perf and ptop -i"

        ps.retry(4, mode, measure)
        hot = [stack for stack in perf_stacks(perf, path) if stack and stack[0] in HOT]
        entry = {"start_thread"} if mode == "fp" else {"clone3", "clone"}
        whole = sum("worker" in stack and bool(entry & set(stack)) for stack in hot)
        assert whole > 0.9 * len(hot), f"{mode}: perf finds {whole} of {len(hot)} callers"
        header = perf_output(perf, "report", "--header-only", "-i", path)
        for fact in ("hostname", "os release", "cmdline", "nrcpus online", "clockid: monotonic"):
            assert fact in header, f"no {fact}:\n{header}"
        check_hotspot(path, len(perf_stacks(perf, path)))
        ids = perf_output(perf, "buildid-list", "-i", path)
        assert os.path.basename(program) in ids, ids


def test_what_was_there_before():
    """A process that ran already: nothing but what ptop tells of it names its functions."""
    ps.need_perf()
    perf = ps.need_tool("perf")
    path = os.path.join(ps.scratch_dir(), "before")
    with ps.Workload("workload", 300) as work:

        def measure():
            refresh = ps.run_json(["-o", path, "-n", 1, "-d", 1.5, "-w", "all", "-r", 0,
                                   "-p", work.pid])[-1]
            stacks = [stack for stack in perf_stacks(perf, path) if stack]
            hot = sum(stack[0] in HOT for stack in stacks)
            assert refresh["samples"] > 50, refresh["samples"]
            assert hot > 0.8 * len(stacks), f"{hot} of {len(stacks)} samples have a name"
            return f"{hot} of {len(stacks)} samples in the workload's functions"

        ps.retry(3, "a process from before", measure)
        comms = perf_output(perf, "script", "-i", path, "-F", "comm,tid")
        assert "work-1" in comms or "work-2" in comms, comms[:200]


def _record(path, *options):
    process = subprocess.Popen(
        [ps.PTOP, "-o", path, "-b", "-d", "0.5", "-F", "500", "--call-graph", "fp"] +
        [str(option) for option in options],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    ps.at_end(process.kill)

    def there():
        assert process.poll() is None, f"ended at once: {process.stderr.read()}"
        return os.path.exists(path)

    ps.wait_until(there, LONG_S, "a file")
    return process


def _samples(path):
    done = ps.run(["-i", path, "-b", "-f", "stats"])
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {name: int(count) for kind, name, count in rows if kind == "samples"}


def test_killed_in_the_middle_it_opens():
    ps.need_perf(system=True)
    perf = ps.need_tool("perf")
    folder = ps.scratch_dir()
    with ps.Workload("workload", 300):
        for number, grown in enumerate((0, 1, 20000, 200000)):
            path = os.path.join(folder, f"killed{number}")
            process = _record(path)
            start = os.path.getsize(path)
            ps.wait_until(lambda p=path, n=start + grown: os.path.getsize(p) >= n, LONG_S,
                          "a file that grows")
            process.kill()
            process.wait()
            process.stderr.close()
            stacks = len(perf_stacks(perf, path))
            counted = sum(_samples(path).values())
            assert stacks == counted, f"perf finds {stacks} samples, ptop {counted}"
            assert counted or not grown, "no sample in a file that grew"
            assert os.listdir(folder).count(os.path.basename(path)) == 1
        left = [name for name in os.listdir(folder) if name.startswith(".ptop-")]
        assert not left, left


def test_signals_finish_it():
    ps.need_perf()
    perf = ps.need_tool("perf")
    with ps.Workload("workload", 300) as work:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            path = os.path.join(ps.scratch_dir(), number.name)
            process = _record(path, "-p", work.pid)
            start = os.path.getsize(path)
            ps.wait_until(lambda p=path, n=start: os.path.getsize(p) > n + 10000, LONG_S,
                          "a file that grows")
            process.send_signal(number)
            _, said = process.communicate(timeout=LONG_S)
            assert process.returncode == 0, f"{process.returncode}: {said}"
            assert "workload" in perf_output(perf, "buildid-list", "-i", path)
            assert _samples(path)


def test_events_change_while_it_goes_on():
    ps.need_perf()
    perf = ps.need_tool("perf")
    path = os.path.join(ps.scratch_dir(), "events")
    with ps.Workload("workload", 300) as work:
        with Session(["-e", "cpu-clock", "-d", 0.3, "-o", path, "-p", work.pid],
                     cols=100) as terminal:
            terminal.see("worker|start_thread")
            terminal.press("]", r"1998Hz")
            terminal.press("c", r"Enter: take it|Period")
            terminal.text("3000000")
            terminal.press("Enter", r"every 3")
            terminal.press(">", r"^ptop +task-clock ")
            start = os.path.getsize(path)
            ps.wait_until(lambda: os.path.getsize(path) > start + 20000, LONG_S, "more records")
            terminal.keys("q")
            assert terminal.wait_exit(LONG_S) == 0
    names = perf_output(perf, "evlist", "-i", path).split()
    assert [name.split(":")[0] for name in names] == ["cpu-clock", "dummy", "task-clock"], names
    counted = _samples(path)
    lines = perf_output(perf, "script", "-i", path, "-F", "event,period").split("\n")
    theirs = collections.Counter()
    periods = set()
    for line in lines:
        if len(line.split()) == 2:
            period, event = line.split()
            theirs[event.rstrip(":")] += 1
            periods.add((event.split(":")[0], int(period)))
    assert dict(theirs) == counted, f"{dict(theirs)}, ptop counts {counted}"
    assert ("task-clock", 3000000) in periods, periods
    assert {("cpu-clock", 500500), ("cpu-clock", 1001001)} & periods, periods


def written_by_a_key(*args):
    """The path of what O writes, pressed once the workload is on the screen of ptop with args."""
    folder, before = ps.scratch_dir(), os.getcwd()
    os.chdir(folder)
    try:
        with Session(list(args), cols=120) as terminal:
            terminal.press("1", r"hot_a")
            terminal.press("O", r"the samples held are in ptop-[-0-9]*\.data, a recording")
            terminal.keys("q")
            assert terminal.wait_exit(LONG_S) == 0
    finally:
        os.chdir(before)
    name, = [name for name in os.listdir(folder) if name.endswith(".data")]
    return os.path.join(folder, name)


def test_a_key_writes_what_is_held():
    ps.need_perf()
    perf = ps.need_tool("perf")
    with ps.Workload("workload", 300) as work:
        path = written_by_a_key("-d", 0.3, "-F", 2000, "-p", work.pid)
    stacks = perf_stacks(perf, path)
    theirs = collections.Counter(stack[0] for stack in stacks if stack)
    refresh = ps.run_json(["-i", path, "-r", 0, "--min-percent", 0])[-1]
    again = self_counts(refresh)
    assert len(stacks) == refresh["samples"] > 20, (len(stacks), refresh["samples"])
    for name in HOT:
        assert theirs[name] == again.get(name, 0), f"{name}: {theirs[name]}, {again.get(name)}"
    hot = [stack for stack in stacks if stack and stack[0] in HOT]
    assert len(hot) > 0.8 * len(stacks), f"{len(hot)} of {len(stacks)}"
    assert all("worker" in stack and "round_of_work" in stack for stack in hot[:20]), hot[:20]


def test_a_key_writes_what_a_recording_holds():
    """The same counts by function, in ptop and in perf, and the machine that it is from."""
    ps.need_perf()
    perf = ps.need_tool("perf")
    folder = ps.scratch_dir()
    first = os.path.join(folder, "first.perf")
    with ps.Workload("workload", 300) as work:
        subprocess.run([perf, "record", "-q", "-g", "-F", "2000", "-o", first, "-p", str(work.pid),
                        "--", "sleep", "1"], check=True)
    expected = ps.run_json(["-i", first, "-r", 0, "--min-percent", 0])[-1]
    path = written_by_a_key("-i", first)
    refresh = ps.run_json(["-i", path, "-r", 0, "--min-percent", 0])[-1]
    assert refresh["samples"] == expected["samples"] > 100, (refresh["samples"], expected["samples"])
    assert self_counts(refresh) == self_counts(expected)
    check_hotspot(path, refresh["samples"])
    piped = os.path.join(folder, "piped.perf")
    with open(first, "rb") as recording:
        ps.run(["-i", "-", "-b", "-o", piped], stdin=recording)
    ps.run(["-i", first, "-b", "-o", first])  # its own name: the recording is first.perf.old then
    for same in (piped, first, first + ".old"):
        assert self_counts(ps.run_json(["-i", same, "-r", 0, "--min-percent", 0])[-1]) == \
            self_counts(expected), same
    theirs = collections.Counter(stack[0] for stack in perf_stacks(perf, path) if stack)
    for name in HOT:
        assert theirs[name] == self_counts(expected).get(name, 0), name
    assert perf_output(perf, "report", "-i", first, "--header-only").count(os.uname().nodename) == \
        perf_output(perf, "report", "-i", path, "--header-only").count(os.uname().nodename)


def test_a_full_disk():
    """The file may not grow beyond a megabyte: one sentence, the rest of it is there, and ptop goes
    on to its end."""
    ps.need_perf()
    perf = ps.need_tool("perf")
    path = os.path.join(ps.scratch_dir(), "full")
    limit = 1 << 20
    program = ps.build_c("workload.c")
    done = subprocess.run(
        [ps.PTOP, "-o", path, "-b", "-f", "json", "-d", "0.5", "--call-graph", "dwarf,32768", "-F", "4000",
         "--", program, "2"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    refreshes = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1 and "File too large" in done.stderr, done.stderr
    assert sum(refresh["samples"] for refresh in refreshes) > 100, done.stdout
    assert any("has stopped" in note for note in refreshes[-1].get("notes", [])), refreshes[-1]
    assert os.path.getsize(path) <= limit
    counted = sum(_samples(path).values())
    assert 5 < counted < sum(refresh["samples"] for refresh in refreshes), counted
    assert len(perf_stacks(perf, path)) == counted
    assert "hostname" in perf_output(perf, "report", "--header-only", "-i", path)


def test_what_had_the_name_before():
    ps.need_perf()
    folder = ps.scratch_dir()
    path = os.path.join(folder, "name")

    def record(expected, pattern=""):
        done = ps.run(["-o", path, "-b", "-n", 1, "-d", 0.2, "-p", os.getpid()])
        assert done.returncode == expected, done.stderr
        assert pattern in done.stderr, done.stderr

    with open(path, "w", encoding="ascii") as file:
        file.write("mine")
    record(0)
    with open(path + ".old", encoding="ascii") as file:
        assert file.read() == "mine"
    assert os.stat(path).st_mode & 0o777 == 0o600
    os.unlink(path)
    os.symlink("elsewhere", path)
    record(1, "symbolic link")
    assert not os.path.exists(os.path.join(folder, "elsewhere"))
    os.unlink(path)
    os.mkfifo(path)
    record(1, "no plain file")
    os.unlink(path)
    assert sorted(os.listdir(folder)) == ["name.old"], os.listdir(folder)


if __name__ == "__main__":
    ps.main(globals())
