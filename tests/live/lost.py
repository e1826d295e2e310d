# SPDX-License-Identifier: GPL-2.0-or-later
"""More samples than can be carried: what is lost is said, and ptop backs off. (That the figure is
the kernel's is tested by test_lost.c.)"""

import ctypes
import errno
import json
import os
import re
import signal
import subprocess

import ptop_support as ps

LONG_S = 60


def _stop_while_the_target_runs(pid, work_pid, cpu_seconds):
    os.kill(pid, signal.SIGSTOP)
    before = ps.cpu_seconds(work_pid)
    try:
        ps.wait_until(lambda: ps.cpu_seconds(work_pid) - before > cpu_seconds, LONG_S,
                      "the target's work")
    finally:
        os.kill(pid, signal.SIGCONT)


PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def _ptrace(request, tid):
    if LIBC.ptrace(request, tid, None, None) == 0:
        return
    if ctypes.get_errno() == errno.EPERM:
        ps.skip("ptrace(2) of a child is refused here")
    raise OSError(ctypes.get_errno(), "ptrace")


def _hold_readers_while_the_target_runs(pid, work_pid, cpu_seconds):
    """As on a machine that does not let them run: nothing tells ptop of it."""
    readers = [int(tid) for tid in os.listdir(f"/proc/{pid}/task") if int(tid) != pid]
    assert readers
    before = ps.cpu_seconds(work_pid)
    for tid in readers:
        _ptrace(PTRACE_SEIZE, tid)
        _ptrace(PTRACE_INTERRUPT, tid)
        os.waitpid(tid, WALL)
    try:
        ps.wait_until(lambda: ps.cpu_seconds(work_pid) - before > cpu_seconds, LONG_S,
                      "the target's work")
    finally:
        for tid in readers:
            _ptrace(PTRACE_DETACH, tid)


def test_a_loss_is_told_and_the_rate_goes_down():
    ps.need_perf()
    path = os.path.join(ps.scratch_dir(), "out")
    with ps.Workload("workload", 300, 4) as work:
        with open(path, "w", encoding="utf-8") as out:
            process = subprocess.Popen(
                [ps.PTOP, "-b", "--format", "json", "-e", "cpu-clock", "-F", "20000", "-d", "0.5",
                 "--call-graph", "fp", "-p", str(work.pid)], stdin=subprocess.DEVNULL, stdout=out)
        ps.at_end(process.wait)
        ps.at_end(process.kill)

        def refreshes():
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")[:-1]
            return [json.loads(line) for line in lines]

        first = ps.wait_until(refreshes, LONG_S, "a refresh")[0]
        assert first["samples"] > 0, first
        for seconds in range(1, 7):  # a small loss would not make it back off
            _hold_readers_while_the_target_runs(process.pid, work.pid, seconds)
            count = len(refreshes())
            ps.wait_until(lambda least=count + 3: len(refreshes()) >= least, LONG_S, "refreshes")
            if refreshes()[-1]["frequency_hz"] < 20000:
                break
        ps.wait_until(lambda: refreshes()[-1]["frequency_hz"] < 20000, LONG_S, "a lower rate")
        seen = refreshes()
        assert any(refresh["lost"] for refresh in seen), "a lower rate without a loss"
        last = seen[-1]
        assert [note for note in last["notes"] if "cannot carry the rate" in note], last["notes"]
        process.terminate()
        process.wait(LONG_S)
        for refresh in refreshes():
            ps.check_json(refresh)
        print(f"  lost {[r['lost'] for r in seen]}, now {last['frequency_hz']} Hz")


def test_what_is_lost_while_ptop_is_stopped_is_shown_and_no_reason_to_back_off():
    ps.need_perf()
    with ps.Workload("workload", 300, 4) as work:
        with ps.Terminal(["-e", "cpu-clock", "-F", 20000, "--call-graph", "fp", "-d", 0.5, "-p",
                          work.pid], cols=120) as terminal:
            terminal.wait_for(r"^ptop +cpu-clock 20000Hz[\s\S]*worker", LONG_S)
            pid = terminal.pid()
            for seconds in range(1, 7):
                _stop_while_the_target_runs(pid, work.pid, seconds)
                terminal.keys("?")
                terminal.wait_for("^Keys", LONG_S)
                terminal.keys("Escape")
                terminal.wait_for("TOTAL", LONG_S)
                if re.search(r"lost [1-9]", terminal.screen()):
                    break
            terminal.wait_for(r"lost [1-9]", LONG_S)
            # It was stopped by a person: the machine carries the rate.
            assert "cpu-clock 20000Hz" in terminal.screen(), terminal.screen()
            terminal.keys("q")
            assert terminal.wait_exit(LONG_S) == 0
            terminal.check_restored()


if __name__ == "__main__":
    ps.main(globals())
