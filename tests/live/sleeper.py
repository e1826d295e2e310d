# SPDX-License-Identifier: GPL-2.0-or-later
"""Watching a process that sleeps costs next to nothing."""

import os
import subprocess
import time

import ptop_support as ps

LONG_S = 60
SECONDS = 4


def test_watching_a_sleeper_wakes_seldom_and_costs_nothing():
    ps.need_perf()
    sleeper = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL)
    ps.at_end(sleeper.wait)
    ps.at_end(sleeper.kill)
    with ps.Pty(["-p", sleeper.pid]) as pty:
        pty.wait_output(rb"ptop.*lost", 30)
        pty.output = b""
        pty.wait_output(rb"[0-9]", 30)  # the start is over: this is the next refresh

        def measure():
            cpu, woken, start = (ps.cpu_seconds(pty.pid), ps.wakeups(pty.pid), time.monotonic())
            ps.wait_until(lambda: pty.pump(0.1) is None or time.monotonic() - start >= SECONDS,
                          LONG_S)
            wall = time.monotonic() - start
            percent = 100 * (ps.cpu_seconds(pty.pid) - cpu) / wall
            each = (ps.wakeups(pty.pid) - woken) / wall / os.cpu_count()
            assert each <= 10, f"{each:.1f} wakeups a second for each CPU"
            assert percent <= 1, f"{percent:.2f} % of a CPU"
            return f"{each:.1f} wakeups a second for each CPU, {percent:.2f} % of a CPU"

        ps.retry(3, "sleeper", measure)
        pty.write(b"q")
        assert pty.wait_exit(30) == 0


if __name__ == "__main__":
    ps.main(globals())
