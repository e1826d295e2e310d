# SPDX-License-Identifier: GPL-2.0-or-later
"""The test helpers tested: without ptop, so that a broken helper is not taken for a broken ptop."""

import os
import signal

import ptop_support as ps


def test_workload_does_exactly_what_it_says():
    with ps.Workload("workload", 0.2, 2) as work:
        output = work.wait(10)
    done = {line.split()[0]: int(line.split()[1]) for line in output.splitlines()}
    total = sum(done.values())
    assert total > 0
    for function, percent in ps.WORKLOAD_SELF.items():
        assert done[function] * 100 == total * percent, (function, done)


def test_workload_edges_add_up():
    for function, percent in ps.WORKLOAD_TOTAL.items():
        below = [share for (parent, _), share in ps.WORKLOAD_EDGES.items() if parent == function]
        above = [share for (_, child), share in ps.WORKLOAD_EDGES.items() if child == function]
        assert sum(below or above) == percent, function


def test_churn_starts_processes():
    with ps.Workload("churn", 100, 0.3) as churn:
        started = int(churn.wait(10).split()[1])
    assert 1 <= started <= 31, started


def test_many_threads_has_its_threads():
    with ps.Workload("many_threads", 50, 30) as threads:
        assert ps.status_value(threads.pid, "Threads") == 51


def test_workload_refuses_bad_arguments():
    for program in ("workload", "churn", "many_threads"):
        assert os.spawnv(os.P_WAIT, ps.build_c(program + ".c"), [program, "no"]) == 2


def test_terminal_types_shows_resizes_and_ends():
    program = "printf 'hello '; stty size; read -r line; echo \"got <$line>\"; stty size; exit 3"
    with ps.Terminal(["-c", program], cols=50, rows=10, program="/bin/sh") as terminal:
        terminal.wait_for("hello 10 50")
        assert ps.is_running(terminal.pid())
        terminal.resize(60, 12)
        terminal.text("a b")
        terminal.keys("Enter")
        assert terminal.wait_exit() == 3
        assert "got <a b>" in "\n".join(terminal.check_restored())
        assert "12 60" in terminal.screen()


def test_terminal_sends_raw_bytes_as_they_are():
    program = "stty raw -echo; echo go; dd bs=1 count=3 2>/dev/null | od -An -tx1; stty sane"
    with ps.Terminal(["-c", program], program="/bin/sh") as terminal:
        terminal.wait_for("go")
        terminal.raw(b"\x1b[B")
        terminal.wait_for("1b 5b 42")
        assert terminal.wait_exit() == 0


def test_terminal_sees_what_is_not_restored():
    with ps.Terminal(["-c", "printf '\\033[?25l'"], program="/bin/sh") as terminal:
        terminal.wait_exit()
        try:
            terminal.check_restored()
        except AssertionError as failure:
            assert "cursor" in str(failure)
        else:
            raise AssertionError("a hidden cursor went unnoticed")


def test_terminal_sees_stray_bytes():
    with ps.Terminal(["-c", "exit 0"], program="/bin/sh") as terminal:
        terminal.wait_exit()
        terminal.check_restored()
        terminal.text("stray")
        terminal.wait_for("stray")
        try:
            terminal.check_restored()
        except AssertionError as failure:
            assert "stray" in str(failure)
        else:
            raise AssertionError("stray bytes went unnoticed")


def test_pty_reads_writes_and_reports_signals():
    program = "stty size; read x; kill -TERM $$"
    with ps.Pty(["-c", program], cols=77, rows=11, program="/bin/sh") as shell:
        shell.wait_output(b"11 77")
        shell.write(b"go\n")
        assert shell.wait_exit() == -signal.SIGTERM


def test_tree_check_can_fail():
    leaf = {"function": "f", "module": "m", "self_samples": 2, "total_samples": 2,
            "total_percent": 1, "children": []}
    node = dict(leaf, function="g", self_samples=1, total_samples=3, children=[leaf])
    assert ps.check_tree([node]) == 3
    node["total_samples"] = 4
    try:
        ps.check_tree([node])
    except AssertionError:
        return
    raise AssertionError("a wrong total went unnoticed")


def test_retry_gives_up_after_the_last_attempt():
    tries = []

    def measure():
        tries.append(1)
        assert len(tries) == 2, "not yet"
        return len(tries)

    assert ps.retry(3, "second time", measure) == 2
    tries.clear()
    try:
        ps.retry(1, "once", measure)
    except AssertionError:
        return
    raise AssertionError("a failed measurement passed")


if __name__ == "__main__":
    ps.main(globals(), live=False)
