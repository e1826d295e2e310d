# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings as no recorder makes them: of one moment, of years, of times that cannot be, of texts
that mean something to a terminal."""

import json
import os
import struct
import subprocess

import ptop_support as ps

LONG_S = 60
NS = 10**9
BEGIN = 1000 * NS
MS = 10**6
YEAR = 365 * 24 * 3600 * NS
LAST = 2**64 - 1
IP, TID, TIME, CPU, PERIOD, IDENTIFIER = 1, 2, 4, 128, 256, 1 << 16
TYPE = IP | TID | TIME | CPU | PERIOD | IDENTIFIER
ATTR = struct.pack("<IIQQQQQ", 1, 136, 0, MS, TYPE, 0, 1 << 18 | 1 << 9 | 1 << 8).ljust(136, b"\0")


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def padded(text):
    return text + b"\0" * (8 - len(text) % 8)


def sample(time, pid=100):
    """A millisecond of cpu-clock."""
    return record(9, 2, struct.pack("<QQIIQIIQ", 1, 0x401000, pid, pid, time, 0, 0, MS))


def comm(time, name, pid=100):
    tail = struct.pack("<IIQIIQ", pid, pid, time, 0, 0, 1)
    return record(3, 0, struct.pack("<II", pid, pid) + padded(name) + tail)


def feature(text):
    return struct.pack("<I", len(padded(text))) + padded(text)


def recording(records, features=()):
    """Writes a file of the records; @features: (number, bytes)."""
    path = os.path.join(ps.scratch_dir(), "made")
    data = b"".join(records)
    at = 104 + 8 + 152 + len(data) + 16 * len(features)
    sections, bits = b"", 0
    for number, body in sorted(features):
        bits |= 1 << number
        sections += struct.pack("<QQ", at, len(body))
        at += len(body)
    with open(path, "wb") as file:
        file.write(b"PERFILE2" + struct.pack("<QQQQQQQQ4Q", 104, 152, 112, 152, 264, len(data),
                                             0, 0, bits, 0, 0, 0))
        file.write(struct.pack("<Q", 1) + ATTR + struct.pack("<QQ", 104, 8) + data + sections)
        file.write(b"".join(body for _, body in sorted(features)))
    return path


def refreshes(path, *options):
    done = subprocess.run([ps.PTOP, "-i", path, "-b", "--format", "json", *options],
                          capture_output=True, text=True, check=True, timeout=LONG_S)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_years_without_a_record_are_one_refresh():
    path = recording([comm(BEGIN, b"a")] +
                     [sample(BEGIN + i * MS) for i in range(100)] +
                     [sample(BEGIN + 3 * YEAR + i * MS) for i in range(100)])
    seen = [refreshes(path, "--speed", speed, "-d", "0.1") for speed in ("max", "100")]
    for parts in seen:
        assert len(parts) < 10, len(parts)
        assert sum(r["samples"] for r in parts) == 200
        assert max(r["duration_s"] for r in parts if r["samples"]) < 0.2, parts
        assert abs(sum(r["duration_s"] for r in parts) - 3 * YEAR / NS) < 1, parts
    assert seen[0][0]["start_s"] is None, "nothing tells it before the end"
    assert [r["samples"] for r in seen[0]] == [r["samples"] for r in seen[1]]


def test_no_refresh_goes_back_from_the_last_record_to_the_last_sample():
    path = recording([sample(BEGIN + i * MS) for i in range(300)] +
                     [comm(BEGIN + i * NS, b"a") for i in range(1, 5)])
    for r in refreshes(path, "--speed", "max", "-d", "0.1"):
        assert r["duration_s"] > 0.05, r


def test_times_at_the_end_of_all_time():
    for times, shown in (([LAST] * 3, 0), ([LAST - 1] * 3, 3), ([BEGIN, LAST - 1], 2),
                         ([BEGIN, LAST], 1)):
        path = recording([comm(0, b"a")] + [sample(time) for time in times])
        whole = refreshes(path)
        assert sum(r["samples"] for r in whole) == shown, (times, whole)
        assert whole[0]["dropped"] == times.count(LAST), whole
        if shown:
            played = refreshes(path, "--speed", "max")
            assert sum(r["samples"] for r in played) == shown, (times, played)


def test_one_moment_is_no_time_to_divide_by():
    path = recording([sample(BEGIN) for _ in range(100)])
    (one,) = refreshes(path)
    assert one["samples"] == 100 and one["cpus"] is None, one


def test_a_screen_rests_once_all_is_played():
    path = recording([sample(BEGIN + i * MS) for i in range(300)])
    with ps.Terminal(["-i", path, "--speed", "max"], cols=100) as terminal:
        terminal.wait_for(r" recording$", LONG_S)
        pid = terminal.pid()
        first = ps.wakeups(pid)
        terminal.keys("?")
        terminal.wait_for("^Keys", LONG_S)
        terminal.keys("Escape")
        terminal.wait_for("TOTAL", LONG_S)
        assert ps.wakeups(pid) - first < 100, "refreshes go on as fast as it was played"
        terminal.keys("q")
        assert terminal.wait_exit(LONG_S) == 0


if __name__ == "__main__":
    ps.main(globals())
