# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions at the terminal: every key that matters, several sizes, a terminal left as found."""

import os
import re
import signal

import ptop_support as ps
from ptop_screen import LONG_S, Session, observe

ENTRY = "worker|start_thread"
ASCII = {"LC_ALL": "C", "LANG": "C"}


def _end(terminal, alternate=True):
    """q, and the terminal is as it was before."""
    terminal.keys("q")
    assert terminal.wait_exit(LONG_S) == 0
    _check_left_as_found(terminal, alternate)


def _check_left_as_found(terminal, alternate=True):
    terminal.see("^" + terminal.AFTER)
    assert terminal.errors() == "", terminal.errors()
    terminal.check_settings()
    if alternate:
        left = terminal.check_restored()
        assert left == [], f"lines left behind: {left}"
        return
    # A terminal without a second screen keeps the last picture: the rest is the same.
    assert terminal.query("cursor_flag") == "1", "the cursor is still hidden"
    last = [line for line in terminal.lines() if line][-1]
    assert last.startswith(terminal.AFTER), f"stray bytes after the end:\n{terminal.frame()}"


def _change_event(terminal):
    terminal.press(">", r"^ptop +task-clock ")
    terminal.press("m", r"Events: \d+ of \d+ can be")
    terminal.keys("Up")
    terminal.press("Enter", r"^ptop +cpu-clock ")
    terminal.see(lambda screen: "Events:" not in screen)


def _change_rate(terminal):
    terminal.press("]", r"400Hz")
    terminal.press("[", r"\b200Hz")
    terminal.press("f", r"Enter: take it|Frequency")
    terminal.text("500")
    terminal.press("Enter", r"\b500Hz")


def _exclude_kernel(terminal, wide):
    if wide:
        terminal.press("K", r"user only")
        terminal.press("K", r"user\+kernel")
    else:
        terminal.keys("K", "K")


def _views(terminal, wide):
    terminal.press("1", r"hot_a")
    terminal.see(lambda screen: "call tree" not in screen)
    terminal.press("3", r"FUNCTION: callers")
    terminal.press("2", r"FUNCTION: call tree")
    terminal.press("Tab", r"FUNCTION: callers")
    terminal.press("BTab", r"FUNCTION: call tree")
    terminal.keys("C")
    terminal.see(lambda screen: "worker" not in screen and re.search(r"^100", screen, re.M))
    terminal.press("x", r"hot_a|caller_left")
    terminal.keys("E", "Home")
    terminal.see(r"^100.*\n[\s\S]*worker")


def _group(terminal, wide):
    terminal.press("1", r"hot_a")
    terminal.press("g", r"work-1")
    terminal.press("g", r"workload\[\d+\]|by pr" if wide else "by p")
    terminal.press("g", r"work-2")
    terminal.press("g", r"^.{15,}hot_a")


def _search(terminal):
    terminal.press("1", r"hot_a")
    terminal.keys("/")
    terminal.see(r"^/")
    terminal.text("hot_c")
    terminal.see(r"^/hot_c")
    terminal.keys("Enter")
    ps.wait_until(lambda: "hot_c" in (terminal.selected() or ""), LONG_S, "hot_c under the cursor")
    terminal.keys("/")
    terminal.see(r"^/")
    terminal.text("zzz")
    terminal.press("Enter", r"No function")
    terminal.keys("Escape")


def _pause(terminal):
    terminal.press("Space", r"paused")
    frozen = terminal.calm_rows()

    def check():
        now = terminal.rows()
        assert now == frozen, f"a paused screen changed:\n{frozen}\n{now}"

    observe(1.5, check)
    terminal.keys("Space")
    terminal.see(lambda screen: "paused" not in screen)


def _help(terminal):
    terminal.press("?", r"^Keys")
    terminal.keys("NPage")
    terminal.see(lambda screen: "\nMoving" not in screen)
    terminal.keys("Escape")
    terminal.see(lambda screen: "TOTAL" in screen)


def _resize(terminal, sizes):
    for cols, rows in sizes:
        terminal.resize(cols, rows)

        def fits(screen, cols=cols, rows=rows):
            lines = screen.split("\n")
            return (lines[0].startswith("ptop") and len(lines) == rows and lines[-1].strip() and
                    max(len(line) for line in lines) <= cols)

        terminal.see(fits)


def _session(cols, rows, **options):
    """Everything once; wide: the header has room for what is sampled."""
    wide = cols >= 60
    alternate = options.get("term", "").startswith(("xterm", "tmux", "screen"))
    with ps.Workload("workload", 300) as work:
        args = ["-e", "cpu-clock", "-F", 200, "-d", 0.5, "-p", work.pid]
        with Session(args, cols=cols, rows=rows, **options) as terminal:
            terminal.see(r"^ptop +cpu-clock 200Hz")
            terminal.see(ENTRY)
            _change_event(terminal)
            _change_rate(terminal)
            _exclude_kernel(terminal, wide)
            _views(terminal, wide)
            _group(terminal, wide)
            _search(terminal)
            _pause(terminal)
            _help(terminal)
            _resize(terminal, [(60, 12), (200, 50), (cols, rows)])
            if terminal.args and options.get("env") == ASCII:
                other = [char for char in terminal.screen() if ord(char) > 126]
                assert not other, f"not ASCII: {other[:10]}"
            _end(terminal, alternate)


def test_a_session_at_80x24():
    ps.need_perf()
    _session(80, 24, term="xterm-256color")


def test_a_session_at_40x10_on_the_console():
    ps.need_perf()
    _session(40, 10, term="linux")


def test_a_session_at_200x50_in_ascii_on_a_vt100():
    ps.need_perf()
    _session(200, 50, term="vt100", env=ASCII)


def test_no_colour_where_none_is_wanted():
    ps.need_perf()
    with ps.Workload("workload", 300) as work:
        for env, coloured in (({"NO_COLOR": "1"}, False), ({}, True)):
            with Session(["-p", work.pid], term="xterm-256color", env=env) as terminal:
                terminal.see(ENTRY)
                terminal.press("1", r"hot_a")
                codes = {code for part in terminal.screen(attributes=True).split("\x1b[")[1:]
                         for code in part.split("m")[0].split(";")}
                colours = {code for code in codes if code.isdigit() and
                           (30 <= int(code) <= 38 or 40 <= int(code) <= 48 or int(code) >= 90)}
                assert bool(colours) == coloured, (env, codes)
                _end(terminal)


def test_the_cursor_stays_on_its_function():
    ps.need_perf()
    with ps.Workload("workload", 300) as work:
        with Session(["-e", "cpu-clock", "-d", 0.2, "-p", work.pid], cols=100) as terminal:
            terminal.see(ENTRY)
            terminal.press("1", r"hot_c")
            for _ in range(12):
                if "hot_c" in (terminal.selected() or ""):
                    break
                before = terminal.selected()
                terminal.keys("Down")
                ps.wait_until(lambda b=before: terminal.selected() != b, LONG_S, "a moved cursor")
            assert "hot_c" in terminal.selected(), terminal.frame()
            for key in ("s", "s", "w", "W", "K", "K"):
                terminal.keys(key)
                ps.wait_until(lambda: "hot_c" in (terminal.selected() or ""), LONG_S,
                              f"hot_c under the cursor after {key}")
            _end(terminal)


def test_an_arrow_in_two_pieces_is_an_arrow():
    ps.need_perf()
    with ps.Workload("workload", 300) as work:
        with Session(["-e", "cpu-clock", "-F", 200, "-p", work.pid], cols=100) as terminal:
            terminal.see(ENTRY)
            terminal.press("1", r"hot_c")

            def measure():
                terminal.keys("Home")
                terminal.see(lambda _: terminal.selected() == terminal.rows()[0])
                terminal.tmux("send-keys", "-H", "1b", ";", "run-shell", "sleep 0.03", ";",
                              "send-keys", "-H", "5b", "42")
                terminal.see(lambda _: terminal.selected() == terminal.rows()[1], 5)
                assert "200Hz" in terminal.screen(), "[ was taken for a key"
                return "the cursor moved"

            ps.retry(3, "ESC, 30 ms, [B", measure)
            terminal.raw(b"\x1b[B\x1b[B\x1bOA")
            _end(terminal)


def test_help_and_menus_stop_nothing():
    ps.need_perf()
    for key, wanted in (("?", r"^Keys"), ("m", r"Events:")):
        with ps.Workload("workload", 300) as work:
            with Session(["-e", "cpu-clock", "-d", 0.5, "-p", work.pid], cols=120) as terminal:
                terminal.see(ENTRY)
                terminal.press(key, wanted)
                os.kill(work.pid, signal.SIGKILL)
                work.process.wait()
                terminal.see(r"\bended\b")
                assert terminal.see(wanted)
                terminal.keys("Escape")
                terminal.see(lambda screen: "TOTAL" in screen and "Events:" not in screen)
                _end(terminal)


def test_the_terminal_is_restored_by_every_end():
    ps.need_perf()
    with ps.Workload("many_threads", 1, 300) as work:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with Session(["-p", work.pid], term="xterm-256color") as terminal:
                terminal.see(r"^ptop ")
                os.kill(terminal.ptop_pid(), number)
                assert terminal.wait_exit(LONG_S) in (0, 128 + number), number
                _check_left_as_found(terminal)
        with Session(["-p", work.pid], term="xterm-256color") as terminal:
            terminal.see(r"^ptop ")
            terminal.keys("?")
            terminal.see(r"^Keys")
            terminal.keys("C-c")
            assert terminal.wait_exit(LONG_S) == 0
            _check_left_as_found(terminal)


def test_control_z_gives_the_terminal_back_and_fg_takes_it_again():
    ps.need_perf()
    shell = ps.need_tool("bash")
    with ps.Workload("workload", 300) as work:
        with ps.Terminal(["--norc", "--noprofile", "-i"], program=shell, cols=100, stderr=False,
                         term="xterm-256color", env={"PS1": "prompt> "}) as terminal:
            terminal.wait_for(r"prompt> *$", LONG_S)
            terminal.text(f"stty -g | md5sum; '{ps.PTOP}' -e cpu-clock -p {work.pid}")
            terminal.keys("Enter")
            terminal.wait_for(r"^ptop +cpu-clock[\s\S]*worker", LONG_S)
            for _ in range(2):
                terminal.keys("C-z")
                terminal.wait_for(r"Stopped[\s\S]*prompt> *$", LONG_S)
                assert terminal.query("alternate_on") == "0", "the alternate screen is still on"
                assert terminal.query("cursor_flag") == "1", "the cursor is still hidden"
                terminal.text("fg")
                terminal.keys("Enter")
                terminal.wait_for(r"^ptop +cpu-clock[\s\S]*worker", LONG_S)
                terminal.keys("1")
                terminal.wait_for(r"hot_a", LONG_S)
                terminal.keys("2")
                terminal.wait_for(r"call tree", LONG_S)
            terminal.keys("q")
            terminal.wait_for(r"prompt> *$", LONG_S)
            terminal.text("echo status $?; stty -g | md5sum; exit")
            terminal.keys("Enter")
            assert terminal.wait_exit(LONG_S) == 0
            text = terminal.screen()
            assert "status 0" in text, text
            sums = [line.split()[0] for line in terminal.lines() if line.endswith("  -")]
            assert len(sums) == 2 and sums[0] == sums[1], f"settings {sums}:\n{terminal.frame()}"


def test_tiny_windows_do_no_harm():
    ps.need_perf()
    with ps.Workload("workload", 300) as work:
        args = ["-d", 0.2, "-p", work.pid]
        with Session(args, cols=20, rows=5, term="xterm-256color") as terminal:
            terminal.see(r"^ptop")
            for cols, rows in ((10, 3), (2, 2), (1, 1), (300, 3), (9, 100), (80, 24)):
                terminal.resize(cols, rows)
                terminal.keys("Down", "?", "Escape", "m", "Escape", "/", "Escape", "2")
            terminal.see(r"^ptop[\s\S]*TOTAL[\s\S]*100")
            _end(terminal)


if __name__ == "__main__":
    ps.main(globals())
