# SPDX-License-Identifier: GPL-2.0-or-later
"""ptop -- CMD: profiled from its first instruction, its output kept away, its end told."""

import os
import signal

import ptop_support as ps


def test_the_command_is_profiled_from_its_first_instruction():
    ps.need_perf()

    def measure():
        work = ps.build_c("workload.c")
        refresh, = ps.run_json(["-e", "page-faults", "-c", 1, "-n", 1, "-d", 2, "--min-percent", 0,
                                "--rows", 0, "--", work, 0.3])
        early = [row for row in refresh["functions"]
                 if row["module"].startswith("ld-") or row["module"].startswith("ld.so")]
        assert early, f"nothing of the dynamic loader: {refresh['functions'][:10]}"
        return f"{sum(row['self_samples'] for row in early)} samples in the dynamic loader"

    ps.retry(3, "first instructions", measure)


def test_the_commands_samples_and_its_childrens_are_all_there():
    ps.need_perf()
    work = ps.build_c("workload.c")
    script = f"'{work}' 1 1 & '{work}' 1 1; wait"

    def measure():
        refresh, = ps.run_json(["-n", 1, "-d", 2, "--min-percent", 0, "--rows", 0, "--",
                                "/bin/sh", "-c", script])
        rows = ps.function_rows(refresh)
        assert rows["worker"]["total_percent"] > 80, rows["worker"]
        assert refresh["samples"] > 100, f"{refresh['samples']} samples"
        return f"{refresh['samples']} samples, {rows['worker']['total_percent']} % in the children"

    ps.retry(3, "children", measure)


def _how(command, deadline_s=60):
    """The header ptop -b shows once `sh -c command` has ended."""
    done = ps.run(["-b", "-d", 0.3, "--", "/bin/sh", "-c", command], deadline_s=deadline_s)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
    headers = [line for line in done.stdout.splitlines() if line.startswith("ptop ")]
    assert headers, done.stdout
    return headers[-1]


def test_the_exit_status_is_shown():
    ps.need_perf()
    assert "status 7" in _how("exit 7")
    assert "status 0" in _how("exit 0")
    assert "TERM" in _how("kill -TERM $$")


def test_the_exit_status_is_in_json():
    ps.need_perf()
    objects = ps.run_json(["-d", 0.3, "--", "/bin/sh", "-c", "exit 7"])
    target = objects[-1]["target"]
    assert target["ended"] is True, target
    assert 7 in target.values(), target


def test_a_command_that_cannot_run_says_so():
    ps.need_perf()
    for command, reason in (("/no/such/command", "No such file"), ("/etc/passwd", "ermission")):
        done = ps.run(["-b", "-n", 1, "-d", 0.2, "--", command])
        assert done.returncode in (1, 2), done.returncode
        assert done.stdout == "", done.stdout
        assert done.stderr.startswith("ptop: ") and done.stderr.count("\n") == 1, done.stderr
        assert command in done.stderr and reason in done.stderr, done.stderr


def test_its_output_is_kept_away_or_in_the_file():
    ps.need_perf()
    script = "echo to-stdout; echo to-stderr >&2; read line; echo line=$line"
    plain = ps.run(["-b", "-d", 0.2, "--", "/bin/sh", "-c", script])
    headers = ("ptop ", "note:")
    for text in (plain.stdout, plain.stderr):
        shown = [line for line in text.splitlines() if not line.startswith(headers)]
        assert not [line for line in shown if "to-std" in line], text
    path = os.path.join(ps.scratch_dir(), "output")
    done = ps.run(["-b", "-d", 0.2, "-O", path, "--", "/bin/sh", "-c", script])
    assert done.returncode == 0, done.stderr
    with open(path, encoding="utf-8") as file:
        assert file.read() == "to-stdout\nto-stderr\nline=\n"


def test_an_output_file_that_cannot_be_written_is_said():
    ps.need_perf()
    done = ps.run(["-b", "-n", 1, "-O", "/no/such/directory/file", "--", "/bin/true"])
    assert done.returncode in (1, 2) and done.stdout == "", done
    assert done.stderr.startswith("ptop: ") and done.stderr.count("\n") == 1, done.stderr
    assert "/no/such/directory/file" in done.stderr, done.stderr


def test_the_command_ends_with_ptop():
    ps.need_perf()
    path = os.path.join(ps.scratch_dir(), "pid")
    script = f"echo $$ >{path}; exec sleep 300"
    with ps.Terminal(["--", "/bin/sh", "-c", script]) as terminal:

        def started():
            try:
                with open(path, encoding="ascii") as file:
                    return int(file.read() or 0)
            except FileNotFoundError:
                return 0

        pid = ps.wait_until(started, 30, "the command")
        terminal.wait_for("lost", 30)
        terminal.keys("q")
        assert terminal.wait_exit(30) == 0
        ps.wait_until(lambda: not ps.is_running(pid), 30, "the command's end")
        terminal.check_restored()


def test_a_target_that_ends_leaves_the_screen_to_browse():
    ps.need_perf()
    work = ps.build_c("workload.c")
    with ps.Terminal(["--", work, 1.2], cols=120) as terminal:
        terminal.wait_for(r"ended \(exit status 0\)", 60)
        terminal.keys("1")
        terminal.wait_for(r"hot_a", 30)
        terminal.keys("3")
        terminal.wait_for(r"callers", 30)
        terminal.keys("q")
        assert terminal.wait_exit(30) == 0
        terminal.check_restored()


def test_a_target_that_is_killed_is_told():
    ps.need_perf()
    with ps.Workload("workload", 300) as work:
        with ps.Terminal(["-p", work.pid], cols=120) as terminal:
            terminal.wait_for("worker|round_of_work", 30)
            os.kill(work.pid, signal.SIGKILL)
            work.process.wait()
            terminal.wait_for(r"\bended\b", 30)
            terminal.keys("q")
            assert terminal.wait_exit(30) == 0


if __name__ == "__main__":
    ps.main(globals())
