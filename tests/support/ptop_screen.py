# SPDX-License-Identifier: GPL-2.0-or-later
"""A screen of ptop that is looked at row by row, and a terminal whose settings are compared."""

import os
import re
import shlex
import time

import ptop_support as ps
from ptop_waiting import wait_until

LONG_S = 40


class Session(ps.Terminal):
    """ptop under a shell that keeps the terminal's settings from before and after.

    The shell prints the settings to files of the scratch directory; check_settings() compares.
    """

    def __init__(self, args, **options):
        directory = ps.scratch_dir()
        self._before = os.path.join(directory, "before")
        self._after = os.path.join(directory, "after")
        command = " ".join(shlex.quote(str(arg)) for arg in [ps.PTOP] + list(args))
        script = (f"stty -g >{self._before}; {command}; status=$?; stty -g >{self._after}; "
                  "exit $status")
        self._mark = f"PTOP_TEST_SESSION={directory}"
        options["env"] = dict(options.get("env") or {}, PTOP_TEST_SESSION=directory)
        super().__init__(["-c", script], program="/bin/sh", **options)

    def ptop_pid(self):
        """The process id of ptop itself."""

        def find():
            for entry in os.listdir("/proc"):
                if not entry.isdigit():
                    continue
                try:
                    if os.path.realpath(f"/proc/{entry}/exe") != os.path.realpath(ps.PTOP):
                        continue
                    with open(f"/proc/{entry}/environ", "rb") as file:
                        if self._mark.encode() in file.read().split(b"\0"):
                            return int(entry)
                except OSError:
                    continue
            return None

        return wait_until(find, LONG_S, "a running ptop")

    def check_settings(self):
        with open(self._before, encoding="ascii") as file:
            before = file.read()
        with open(self._after, encoding="ascii") as file:
            after = file.read()
        assert before == after, f"terminal settings: {before} before, {after} after"

    def see(self, wanted, deadline_s=LONG_S):
        return self.wait_for(wanted, deadline_s)

    def press(self, key, wanted, deadline_s=LONG_S):
        """Types the key, and waits for what it brings on the screen."""
        self.keys(key)
        return self.see(wanted, deadline_s)

    def title_row(self):
        """The number of the row with the columns' titles."""
        for number, line in enumerate(self.lines()):
            if re.match(r"[ ▾*]TOTAL", line):
                return number
        return None

    def rows(self):
        """What stands between the titles and the bottom line."""
        lines = self.lines()
        title = next((n for n, line in enumerate(lines) if re.match(r"[ ▾*]TOTAL", line)), None)
        return lines[title + 1:-1] if title is not None else []

    def calm_rows(self):
        """The rows once nothing changes them any more: a frame was painted to its end."""
        last = [None]

        def calm():
            now = self.rows()
            same = now and now == last[0]
            last[0] = now
            return same

        wait_until(calm, LONG_S, "the same rows twice")
        return last[0]

    def selected(self):
        """The text of the row under the cursor: it alone has another background, or is reversed."""
        title = self.title_row()
        if title is None:
            return None
        marked = False
        for number, line in enumerate(self.screen(attributes=True).split("\n")):
            marked, here, text = _marked_at_start(line, marked)
            if number > title and here:
                return text
        return None


def _marked_at_start(line, marked):
    """Whether a line is marked after it and in its column 3, and its plain text."""
    here, text = False, ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        attributes = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not attributes:
            text += part
            here = here or (marked and len(text) - len(part) <= 3 < len(text))
            continue
        for code in attributes[1].split(";"):
            if code in ("", "0", "27", "49"):
                marked = False
            elif code == "7" or (code.isdigit() and 40 <= int(code) <= 48):
                marked = True
    return marked, here, text


def observe(seconds, check):
    """Does check() again and again for that long: for what must not happen."""
    end = time.monotonic() + seconds

    def over():
        check()
        return time.monotonic() >= end

    wait_until(over, seconds + LONG_S, "the time of observation")
