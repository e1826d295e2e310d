# SPDX-License-Identifier: GPL-2.0-or-later
"""A program on a file system that answers nobody but the program: ptop names it as well as it can,
goes on, and ends when told to."""

import os
import subprocess
import sys
import time

import ptop_support as ps

LONG_S = 60
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support")


class Silent:
    """The spinning workload, run from such a file system."""

    def __init__(self):
        ps.need_root()
        if not os.path.exists("/dev/fuse"):
            ps.skip("no /dev/fuse")
        directory = ps.scratch_dir()
        source = os.path.join(directory, "spin.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("volatile unsigned long sink;\n"
                       "__attribute__((noinline)) void spin_unseen(void)\n"
                       "{ for (int i = 0; i < 100000; i++) sink += i; }\n"
                       "int main(void) { for (;;) spin_unseen(); }\n")
        program = ps.build_c(source, os.path.join(directory, "spin"))
        mount = os.path.join(directory, "mount")
        os.mkdir(mount)
        self.server = subprocess.Popen([sys.executable, os.path.join(HERE, "silent_fuse.py"),
                                        program, mount], stdout=subprocess.PIPE, text=True)
        ps.at_end(self.stop)
        line = self.server.stdout.readline()
        if not line:
            ps.skip("a file system of our own cannot be mounted here")
        self.pid = int(line)
        ps.wait_until(lambda: os.readlink(f"/proc/{self.pid}/exe").startswith(mount), LONG_S,
                      "the program did not start")

    def stop(self):
        # The program first: its exit asks the server.
        try:
            os.kill(self.pid, 9)
        except (ProcessLookupError, AttributeError):
            pass
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()


def test_the_screen_lives_and_ends():
    ps.need_perf(system=True)
    silent = Silent()
    with ps.Workload("workload", 600, 2) as work:
        with ps.Terminal(["-e", "cpu-clock", "-d", 0.5, "-K", "-V", "functions", "-p",
                          f"{silent.pid},{work.pid}"], cols=100) as terminal:
            # The other program's names come, the silent one's functions show as one.
            terminal.wait_for(r"spin_|work", LONG_S)
            terminal.wait_for(r"program +program", LONG_S)
            terminal.keys("?")
            terminal.wait_for("Moving", LONG_S)
            terminal.keys("Escape")
            terminal.wait_for("TOTAL", LONG_S)
            first = terminal.frame()
            ps.wait_until(lambda: terminal.frame() != first, LONG_S, "the screen stands still")
            start = time.monotonic()
            terminal.keys("q")
            assert terminal.wait_exit(LONG_S) == 0
            print(f"  it ended in {time.monotonic() - start:.2f} s")


def test_the_reason_is_told():
    """And openings left behind are few."""
    ps.need_perf(system=True)
    silent = Silent()
    done = ps.run(["-b", "-n", 3, "-d", 2, "-e", "cpu-clock", "-K", "-p", silent.pid])
    assert done.returncode == 0, done.stderr
    assert "program" in done.stdout, done.stdout
    assert "spin_unseen" not in done.stdout, done.stdout
    stuck = subprocess.run(["pgrep", "-c", "ptop-opener"], capture_output=True, text=True,
                           check=False).stdout.strip()
    print(f"  {stuck} openers left")


if __name__ == "__main__":
    ps.main(globals())
