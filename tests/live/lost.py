# SPDX-License-Identifier: GPL-2.0-or-later
"""More samples than can be carried: what is lost is said, and ptop backs off. (That the figure is
the kernel's is tested by test_lost.c.)"""

import json
import os
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
            _stop_while_the_target_runs(process.pid, work.pid, seconds)
            count = len(refreshes())
            ps.wait_until(lambda least=count + 3: len(refreshes()) >= least, LONG_S, "refreshes")
            if refreshes()[-1]["frequency_hz"] < 20000:
                break
        seen = refreshes()
        assert any(refresh["lost"] for refresh in seen), "no loss although the rings were full"
        ps.wait_until(lambda: refreshes()[-1]["frequency_hz"] < 20000, LONG_S, "a lower rate")
        last = refreshes()[-1]
        assert [note for note in last["notes"] if "cannot carry the rate" in note], last["notes"]
        process.terminate()
        process.wait(LONG_S)
        for refresh in refreshes():
            ps.check_json(refresh)
        print(f"  lost {[r['lost'] for r in seen]}, now {last['frequency_hz']} Hz")


def test_the_screen_shows_what_is_lost():
    ps.need_perf()
    with ps.Workload("workload", 300, 4) as work:
        with ps.Terminal(["-e", "cpu-clock", "-F", 20000, "--call-graph", "fp", "-d", 0.5, "-p",
                          work.pid], cols=120) as terminal:
            terminal.wait_for(r"^ptop +cpu-clock[\s\S]*worker", LONG_S)
            pid = terminal.pid()
            for seconds in range(1, 7):
                _stop_while_the_target_runs(pid, work.pid, seconds)
                terminal.keys("?")
                terminal.wait_for("^Keys", LONG_S)
                terminal.keys("Escape")
                terminal.wait_for("TOTAL", LONG_S)
                if "20000Hz" not in terminal.screen():
                    break
            terminal.wait_for(r"lost [1-9]", LONG_S)
            terminal.keys("!")
            terminal.wait_for(r"cannot carry the rate", LONG_S)
            terminal.keys("Escape")
            terminal.wait_for(r"TOTAL", LONG_S)
            terminal.keys("q")
            assert terminal.wait_exit(LONG_S) == 0
            terminal.check_restored()


if __name__ == "__main__":
    ps.main(globals())
