# SPDX-License-Identifier: GPL-2.0-or-later
"""Terminals to run ptop in: a tmux server of its own, and a bare pseudo-terminal."""

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios

from ptop_waiting import DEADLINE_S, POLL_S, PTOP, Skip, Timeout, at_end, scratch_dir, wait_until


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


class Terminal:
    """ptop in a tmux server of its own.

    Before ptop starts the terminal shows the line BEFORE, and after its end AFTER and its exit
    status; what then still reaches the terminal as input is echoed, so that stray bytes are seen in
    screen(). There is no job control: to test Ctrl-Z, run an interactive shell as the program.
    """

    BEFORE = "before-ptop"
    AFTER = "after-ptop"
    _count = 0

    def __init__(self, args=(), cols=80, rows=24, term="tmux-256color", env=None, program=None,
                 stderr=True):
        """args: ptop's arguments. env: variables to set (None as a value: to unset)."""
        if not shutil.which("tmux"):
            raise Skip("tmux is not installed")
        Terminal._count += 1
        self.label = f"ptop-test-{os.getpid()}-{Terminal._count}"
        self.directory = scratch_dir()
        at_end(self.close)
        self._status = os.path.join(self.directory, "status")
        self._errors = os.path.join(self.directory, "stderr")
        self.args = [program or PTOP] + [str(arg) for arg in args]
        script = os.path.join(self.directory, "script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(self._script(term, env or {}, stderr))
        config = os.path.join(self.directory, "tmux.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write("set -g status off\nset -s escape-time 0\nset -g history-limit 5000\n")
        environment = {name: value for name, value in os.environ.items() if name != "TMUX"}
        environment.update({"LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", "TERM": "xterm-256color"})
        subprocess.run(
            ["tmux", "-u", "-L", self.label, "-f", config, "new-session", "-d", "-x", str(cols),
             "-y", str(rows), f"exec /bin/sh {shlex.quote(script)}"],
            check=True, env=environment, stdin=subprocess.DEVNULL,
        )

    def _script(self, term, env, stderr):
        lines = ["unset TMUX TMUX_PANE LINES COLUMNS NO_COLOR",
                 f"TERM={shlex.quote(term)}; export TERM"]
        for name, value in env.items():
            if value is None:
                lines.append(f"unset {name}")
            else:
                lines.append(f"{name}={shlex.quote(value)}; export {name}")
        command = " ".join(shlex.quote(arg) for arg in self.args)
        redirect = f" 2>{shlex.quote(self._errors)}" if stderr else ""
        lines += [f"echo {self.BEFORE}",
                  # A job that is stopped and goes on, as under an interactive shell.
                  f"{command}{redirect}",
                  "status=$?",
                  f"echo $status >{shlex.quote(self._status)}.new",
                  f"mv {shlex.quote(self._status)}.new {shlex.quote(self._status)}",
                  f"echo {self.AFTER} $status", "exec cat"]
        return "\n".join(lines) + "\n"

    def tmux(self, *args):
        return subprocess.run(
            ["tmux", "-L", self.label] + list(args), check=True, capture_output=True, text=True,
            stdin=subprocess.DEVNULL,
        ).stdout

    def close(self):
        subprocess.run(["tmux", "-L", self.label, "kill-server"], check=False, capture_output=True,
                       stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- looking

    def screen(self, attributes=False):
        """What is on the screen, as lines without trailing blanks."""
        options = ["-e"] if attributes else []
        return self.tmux("capture-pane", "-p", *options).rstrip("\n")

    def lines(self):
        return self.screen().split("\n")

    def query(self, format_name):
        """A tmux format of the pane: cursor_y, alternate_on, cursor_flag, pane_width..."""
        return self.tmux("display-message", "-p", "#{" + format_name + "}").strip()

    def wait_for(self, wanted, deadline_s=DEADLINE_S):
        """Waits until the screen matches: a regular expression, or a predicate of its text.

        Returns the match object, or what the predicate returned."""
        if isinstance(wanted, str):
            test, what = re.compile(wanted, re.M).search, f"/{wanted}/"
        else:
            test, what = wanted, getattr(wanted, "__name__", "the predicate")
        try:
            return wait_until(lambda: test(self.screen()), deadline_s, f"{what} on the screen")
        except Timeout as timeout:
            raise Timeout(f"{timeout}; the screen:\n{self.frame()}") from None

    def frame(self):
        return "\n".join("  |" + line for line in self.lines())

    def errors(self):
        """What ptop wrote to stderr."""
        try:
            with open(self._errors, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def record_bytes(self, path):
        """From now on, everything ptop sends to the terminal also goes to the file."""
        self.tmux("pipe-pane", "-O", f"exec cat >{shlex.quote(path)}")

    # -- acting

    def keys(self, *names):
        """Keys by tmux's names: "q", "Down", "PPage", "Enter", "C-c", "Escape"."""
        self.tmux("send-keys", *names)

    def text(self, text):
        """Characters typed as they are."""
        self.tmux("send-keys", "-l", text)

    def raw(self, data):
        """Bytes, in one write: raw(b"\\x1b[B")."""
        self.tmux("send-keys", "-H", *[f"{byte:02x}" for byte in data])

    def resize(self, cols, rows):
        self.tmux("resize-window", "-x", str(cols), "-y", str(rows))

    # -- the process

    def pid(self, deadline_s=DEADLINE_S):
        """ptop's process id, once it runs."""
        shell = int(self.query("pane_pid"))
        program = os.path.realpath(shutil.which(self.args[0]) or self.args[0])

        def find():
            for child in _children(shell):
                try:
                    if os.path.realpath(f"/proc/{child}/exe") == program:
                        return child
                except OSError:
                    continue
            return None

        return wait_until(find, deadline_s, f"a process of {self.args[0]}")

    def signal(self, number):
        os.kill(self.pid(), number)

    def ended(self):
        return os.path.exists(self._status)

    def wait_exit(self, deadline_s=DEADLINE_S):
        """Waits for ptop's end; returns its exit status (128 + N for signal N)."""
        try:
            wait_until(self.ended, deadline_s, "the end of ptop")
        except Timeout as timeout:
            raise Timeout(f"{timeout}; the screen:\n{self.frame()}") from None
        with open(self._status, encoding="ascii") as file:
            return int(file.read())

    def check_restored(self):
        """After the end: normal screen, visible cursor, nothing left behind, no stray bytes."""
        self.wait_for("^" + self.AFTER)
        assert self.query("alternate_on") == "0", "the alternate screen is still on"
        assert self.query("cursor_flag") == "1", "the cursor is still hidden"
        assert self.query("keypad_flag") == "0", "the keypad is still in application mode"
        assert self.query("mouse_any_flag") == "0", "the mouse is still reported"
        text = self.screen()
        lines = [line for line in text.split("\n") if line]
        before, after = lines[0], lines[-1]
        assert before == self.BEFORE, f"the first line is {before!r}:\n{self.frame()}"
        assert after.startswith(self.AFTER), f"stray bytes after the end:\n{self.frame()}"
        return lines[1:-1]


class Pty:
    """A program on a bare pseudo-terminal: for counting bytes, hang-ups and stop/continue."""

    def __init__(self, args=(), cols=80, rows=24, term="xterm-256color", env=None, program=None):
        environment = dict(os.environ, TERM=term, LC_ALL="C.UTF-8", **(env or {}))
        argv = [program or PTOP] + [str(arg) for arg in args]
        size = struct.pack("HHHH", rows, cols, 0, 0)
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                os.execvpe(argv[0], argv, environment)
            finally:
                os._exit(127)
        os.set_blocking(self.master, False)
        self.output = b""
        self.status = None
        at_end(self.close)

    def pump(self, seconds=0.0):
        """Reads what is there, waiting at most that long for a first byte; returns the new bytes."""
        new = b""
        while self.master is not None:
            ready, _, _ = select.select([self.master], [], [], 0 if new else seconds)
            if not ready:
                break
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: the other side is closed
                data = b""
            if not data:
                break
            new += data
        self.output += new
        return new

    def wait_output(self, pattern, deadline_s=DEADLINE_S):
        expression = re.compile(pattern, re.S)

        def found():
            self.pump(POLL_S)
            return expression.search(self.output)

        return wait_until(found, deadline_s, f"{pattern!r} in the output")

    def write(self, data):
        os.write(self.master, data)

    def resize(self, cols, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def hang_up(self):
        """The far end of the line goes away."""
        os.close(self.master)
        self.master = None

    def wait_exit(self, deadline_s=DEADLINE_S):
        """The exit status, negative for a signal, as subprocess has it."""

        def ended():
            if self.status is None:
                self.pump()
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.status = os.waitstatus_to_exitcode(status)
            return self.status is not None

        wait_until(ended, deadline_s, "the end of the program")
        return self.status

    def close(self):
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self.master is not None:
            self.hang_up()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
