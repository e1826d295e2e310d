# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording in the screens and in batch: shown whole, played, and through a pipe that is slow."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import threading

import ptop_support as ps

LONG_S = 60
EVENTS = ["-e", "cpu-clock", "-e", "page-faults"]
LOAD = ["sh", "-c",
        "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; ls -R /usr/include >/dev/null"]
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER)
_made = {}


def recording(kind="file"):
    """A perf.data of LOAD; kind "pipe": as perf record writes it into a pipe."""
    ps.need_tool("perf")
    ps.need_perf()
    if kind not in _made:
        _made[kind] = os.path.join(FOLDER, kind)
        where = ["-o", _made[kind]] if kind == "file" else ["-o", "-"]
        with open(os.devnull if kind == "file" else _made[kind], "wb") as out:
            subprocess.run(["perf", "record", "-q", "-F", "2000", "-g"] + EVENTS + where + LOAD,
                           stdout=out, stderr=subprocess.DEVNULL, check=True)
    return _made[kind]


def refreshes(path, *options):
    done = subprocess.run([ps.PTOP, "-i", path, "-b", "--format", "json", *options],
                          capture_output=True, text=True, check=True, timeout=LONG_S)
    return [json.loads(line) for line in done.stdout.splitlines()]


def told(refresh):
    """All but ptop's own cost."""
    return {key: value for key, value in refresh.items() if key != "own"}


def test_what_is_played_does_not_depend_on_the_speed():
    path = recording()
    whole = refreshes(path)
    fast, faster = (refreshes(path, "--speed", speed, "-d", "0.1") for speed in ("8", "max"))
    assert [told(r) for r in fast] == [told(r) for r in faster]
    assert len({r["event"] for r in whole}) == len(EVENTS) // 2, whole
    for one in whole:
        parts = [r for r in faster if r["event"] == one["event"]]
        assert len(parts) > 1, parts
        assert sum(r["samples"] for r in parts) == one["samples"]
        assert sum(r["weight"] for r in parts) == one["weight"]
        for r in parts:
            ps.check_json(r)
    print(f"  {len(faster)} refreshes of {sum(r['samples'] for r in whole)} samples")


def test_stacks_are_those_of_their_time_whenever_files_are_read():
    """Programs that replace each other while the files of their stacks are still being read."""
    path = os.path.join(ps.scratch_dir(), "short")
    load = "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done; ls /usr/lib >/dev/null"
    subprocess.run(["perf", "record", "-q", "-F", "4000", "--call-graph", "dwarf", "-e",
                    "cpu-clock", "-o", path, "sh", "-c", load],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    seen = {"\n".join(sorted(ps.run(["-i", path, "-b", "--format", "folded", *options])
                             .stdout.splitlines()))
            for options in (["--no-cache"], ["--no-cache"], ["--no-sandbox", "--no-cache"], [])}
    assert len(seen) == 1, seen


def test_a_count_ends_the_playing():
    assert len(refreshes(recording(), "--speed", "max", "-d", "0.1", "-n", "1")) <= 2


def test_the_screen_shows_the_whole_recording():
    path = recording()
    samples = {r["event"]: r["samples"] for r in refreshes(path)}
    with ps.Terminal(["-i", path], cols=100) as terminal:
        terminal.wait_for(r"^ptop +cpu-clock.* file of [\s\S]* recording$", LONG_S)
        terminal.wait_for(r"\bdash\b|\bsh\b", LONG_S)
        terminal.keys("m")
        for event, count in samples.items():
            terminal.wait_for(rf"{event}\S* .*\b{count} samples", LONG_S)
        terminal.keys("Escape", ">")
        terminal.wait_for(r"^ptop +page-faults", LONG_S)
        terminal.keys("]")
        terminal.wait_for("its rate and stacks stay what they were", LONG_S)
        terminal.keys("K")
        terminal.wait_for("user only", LONG_S)
        terminal.keys("q")
        assert terminal.wait_exit(LONG_S) == 0
        terminal.check_restored()


def test_the_screen_plays():
    with ps.Terminal(["-i", recording(), "--speed", "0.2", "-d", "0.1"], cols=100) as terminal:
        terminal.wait_for(r"playing 0\.2x$", LONG_S)
        terminal.keys("Space")
        terminal.wait_for(r"paused$", LONG_S)
        terminal.keys("Space")
        terminal.wait_for(r"playing 0\.2x$|recording$", LONG_S)
        terminal.keys("q")
        assert terminal.wait_exit(LONG_S) == 0


class SlowPipe:
    """A FIFO that gives all but the end of a file, and that when it is told to."""

    def __init__(self, path):
        self.path = os.path.join(ps.scratch_dir(), "fifo")
        os.mkfifo(self.path)
        self._go = threading.Event()
        self._thread = threading.Thread(target=self._write, args=(path,), daemon=True)
        self._thread.start()

    def _write(self, path):
        with open(path, "rb") as file, open(self.path, "wb") as fifo:
            data = file.read()
            fifo.write(data[:len(data) * 3 // 4])
            fifo.flush()
            self._go.wait(LONG_S)
            fifo.write(data[len(data) * 3 // 4:])

    def go(self):
        self._go.set()
        self._thread.join(LONG_S)


def test_a_slow_pipe_does_not_hold_up_the_keys():
    path = recording("pipe")
    whole = refreshes(path)
    pipe = SlowPipe(path)
    with ps.Terminal(["-i", pipe.path], cols=100) as terminal:
        terminal.wait_for(r"kB, \d.* samples +reading$|MB, \d.* samples +reading$", LONG_S)
        terminal.keys("?")
        terminal.wait_for("^Keys", LONG_S)
        terminal.keys("Escape")
        terminal.wait_for("TOTAL", LONG_S)
        pipe.go()
        terminal.wait_for(r" recording$", LONG_S)
        terminal.keys("m")
        for r in whole:
            terminal.wait_for(rf"{r['event']}\S* .*\b{r['samples']} samples", LONG_S)
        terminal.keys("Escape", "q")
        assert terminal.wait_exit(LONG_S) == 0


def test_a_recording_without_times_is_not_played():
    path = os.path.join(ps.scratch_dir(), "untimed")
    subprocess.run(["perf", "record", "-q", "--no-timestamp", "-e", "cpu-clock", "-o", path] + LOAD,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    done = ps.run(["-i", path, "--speed", "max", "-b"])
    if done.returncode == 0:
        raise ps.Skip("perf record writes times whatever it is told")
    assert "leave --speed out" in done.stderr, done.stderr
    assert refreshes(path)[0]["samples"] > 0


def test_a_damaged_recording_is_told_on_the_screen():
    path = os.path.join(ps.scratch_dir(), "damaged")
    shutil.copy(recording(), path)
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) * 2 // 3)
    with ps.Terminal(["-i", path], cols=100) as terminal:
        terminal.wait_for(r" recording$", LONG_S)
        terminal.wait_for(r"^reading stopped at byte \d+: ", LONG_S)
        terminal.keys("q")
        assert terminal.wait_exit(LONG_S) == 1


if __name__ == "__main__":
    ps.main(globals())
