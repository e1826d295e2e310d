# SPDX-License-Identifier: GPL-2.0-or-later
"""ptop ends when told to, at any rate, and never spins or floods where nobody looks."""

import os
import signal
import subprocess
import time

import ptop_support as ps

# What is promised is 0.2 s; a busy machine of two processors gets more, and the figure is printed.
QUIT_S = 1.0
SCREEN = rb"ptop.*lost"
BATCH = ["-b", "-e", "cpu-clock"]


def _quit_in_time(args, stop, statuses=(0,)):
    """Starts ptop in a terminal, ends it by stop(pty), and returns the seconds that took."""
    with ps.Pty(args) as pty:
        pty.wait_output(SCREEN, 30)
        pty.output = b""
        pty.wait_output(rb"[0-9]", 30)  # of the next refresh: it is at work
        start = time.monotonic()
        stop(pty)
        status = pty.wait_exit(30)
        seconds = time.monotonic() - start
        assert status in statuses, f"exit status {status}"
        assert seconds <= QUIT_S, f"it took {seconds:.2f} s to end"
        return f"{seconds:.3f} s"


def _press_q(pty):
    pty.write(b"q")


def _press_control_c(pty):
    pty.write(b"\x03")


def _sender(number):
    return lambda pty: os.kill(pty.pid, number)


def test_q_and_signals_end_it_at_once():
    ps.need_perf(system=True)
    ps.retry(3, "q", lambda: _quit_in_time([], _press_q))
    ps.retry(3, "Ctrl-C", lambda: _quit_in_time([], _press_control_c))
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        number = getattr(signal, name)
        ps.retry(3, name, lambda n=number: _quit_in_time([], _sender(n), (0, -n, 128 + n)))


def test_q_and_sigterm_end_it_at_a_flood_of_samples():
    ps.need_perf(system=True)
    flood = ["-e", "cpu-clock", "-F", 20000]
    with ps.Workload("workload", 120, 4):
        ps.retry(3, "q at -F 20000", lambda: _quit_in_time(flood, _press_q))
        ps.retry(3, "SIGTERM at -F 20000", lambda: _quit_in_time(
            flood, _sender(signal.SIGTERM), (0, -signal.SIGTERM, 128 + signal.SIGTERM)))


def _popen(args, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    process = subprocess.Popen([ps.PTOP] + [str(arg) for arg in args], **options)

    def end():
        if process.poll() is None:
            process.kill()
        process.wait()

    ps.at_end(end)
    return process


def test_no_terminal_means_batch_and_no_spinning():
    ps.need_perf()
    with ps.Workload("many_threads", 1, 120) as work:
        path = os.path.join(ps.scratch_dir(), "out")
        with open(path, "w", encoding="utf-8") as out:
            process = _popen(["-d", 0.5, "-p", work.pid], stdout=out, start_new_session=True)
        ps.wait_until(lambda: open(path, encoding="utf-8").read().count("window") >= 6, 60,
                      "six refreshes")
        used = ps.cpu_seconds(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        assert used < 0.6, f"{used} s of CPU time in three seconds"
        with open(path, encoding="utf-8") as out:
            text = out.read()
        assert "\x1b" not in text, "escape sequences in a file"
        assert len(text) < 200000, f"{len(text)} bytes for a few refreshes"


def test_without_input_the_screen_works_and_does_not_spin():
    ps.need_perf()
    with ps.Workload("many_threads", 1, 120) as work:
        command = f"exec '{ps.PTOP}' -d 0.2 -p {work.pid} </dev/null"
        with ps.Pty(["-c", command], program="/bin/sh") as pty:
            pty.wait_output(SCREEN, 30)
            before, start = ps.cpu_seconds(pty.pid), time.monotonic()
            ps.wait_until(lambda: pty.pump(0.1) is None or time.monotonic() > start + 1.5, 30)
            used, wall = ps.cpu_seconds(pty.pid) - before, time.monotonic() - start
            assert used < 0.3 * wall, f"{used:.2f} s of CPU time in {wall:.2f} s"
            pty.write(b"q")
            assert pty.wait_exit(30) == 0


def test_a_hang_up_of_the_line_ends_it():
    ps.need_perf(system=True)
    with ps.Pty([]) as pty:
        pty.wait_output(SCREEN, 30)
        pty.hang_up()
        pty.wait_exit(30)


def test_a_reader_that_has_enough_ends_it_quietly():
    ps.need_perf(system=True)
    command = f"{{ '{ps.PTOP}' -d 0.1; echo status $? >&2; }} | head -1"
    done = subprocess.run(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.stdout.startswith("ptop "), done.stdout
    assert done.stdout.count("\n") == 1, done.stdout
    assert done.stderr == "status 0\n", done.stderr


def test_output_that_cannot_be_written_is_an_error():
    ps.need_perf(system=True)
    for where in (">&-", ">/dev/full"):
        command = f"exec '{ps.PTOP}' -b -n 1 -d 0.1 {where}"
        done = subprocess.run(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1, f"{where}: exit status {done.returncode}"
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("ptop: "), done.stderr


def test_a_screen_without_a_terminal_to_read_from_is_refused():
    ps.need_perf(system=True)
    master, slave = os.openpty()
    ps.at_end(lambda: os.close(master))
    process = _popen([], stdout=slave, stderr=subprocess.PIPE, text=True, start_new_session=True)
    os.close(slave)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (1, 2), process.returncode
    assert errors.startswith("ptop: ") and errors.count("\n") == 1, errors
    assert "terminal" in errors, errors


def test_terminals_that_cannot_show_a_screen_are_refused_in_a_sentence():
    ps.need_perf(system=True)
    for term in ("no-such-terminal", "dumb"):
        with ps.Terminal([], term=term) as terminal:
            status = terminal.wait_exit(30)
            errors = terminal.errors()
            assert status in (1, 2), f"{term}: exit status {status}"
            assert errors.startswith("ptop: ") and errors.count("\n") == 1, f"{term}: {errors!r}"
            assert term in errors, errors
            terminal.check_restored()


if __name__ == "__main__":
    ps.main(globals())
