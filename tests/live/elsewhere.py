# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings as if they were of another machine: the same bytes with another host's name.  Which
files give names, what the rows and notes say of the others, --sysroot, --kallsyms, and formats of
tracepoints that an enemy wrote."""

import json
import os
import random
import shutil
import socket
import subprocess
import tempfile

import ptop_support as ps

LOAD = ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; ls -lR /usr >/dev/null 2>&1"]


def record(path, *options):
    ps.need_tool("perf")
    done = subprocess.run(["perf", "record", "-q", "-o", path, *options, "--", *LOAD],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        ps.skip(f"perf record cannot: {done.stderr.strip()[:100]}")


def move(path):
    """Gives the recording another host: the name stands in a field of its own, behind the data."""
    name = socket.gethostname().encode() + b"\0"
    with open(path, "rb") as f:
        data = f.read()
    at = data.rfind(name)
    assert at > 0, "the recording does not name its host"
    with open(path, "wb") as f:
        f.write(data[:at] + b"z" * (len(name) - 1) + data[at + len(name) - 1:])


def report(path, home, *options):
    done = subprocess.run([os.environ["PTOP"], "-i", path, "-b", "-f", "json", *options],
                          capture_output=True, text=True, check=True,
                          env={**os.environ, "HOME": home})
    return json.loads(done.stdout.splitlines()[0])


def rows(answer, module):
    return {row["function"] for row in answer["functions"] if row["module"] == module}


def named(answer, module):
    return {name for name in rows(answer, module) if not name.startswith(module)}


def test_kernel_of_this_boot():
    ps.need_perf(system=True)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/perf.data"
        record(path, "-g")
        answer = report(path, folder)
        assert named(answer, "[kernel]"), rows(answer, "[kernel]")
        assert answer["machine"].startswith("Linux " + os.uname().release), answer["machine"]


def test_without_build_ids_files_are_not_believed():
    ps.need_perf(system=True)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/perf.data"
        record(path, "-N", "--no-buildid")
        move(path)
        answer = report(path, folder)
        assert rows(answer, "libc.so.6") == {"libc.so.6 [no build-id recorded]"}, answer
        assert rows(answer, "[kernel]") == {"[kernel]"}, answer
        notes = " ".join(answer["notes"])
        assert "--sysroot DIR" in notes and "--kallsyms FILE" in notes, notes
        answer = report(path, folder, "--sysroot", "/", "--kallsyms", "/proc/kallsyms")
        assert named(answer, "libc.so.6"), rows(answer, "libc.so.6")
        assert named(answer, "[kernel]"), rows(answer, "[kernel]")
        assert not answer["notes"], answer["notes"]


def test_another_build_is_refused():
    ps.need_perf(system=True)
    with tempfile.TemporaryDirectory() as folder:
        path, root = f"{folder}/perf.data", f"{folder}/root"
        program = f"{folder}/spin"
        for number in (1, 2):
            with open(f"{folder}/spin.c", "w", encoding="ascii") as f:
                f.write(f"int spin_{number}(void) {{ volatile unsigned i = 0;"
                        f" while (i < 300000000u) i++; return (int)i; }}\n"
                        f"int main(void) {{ return !spin_{number}(); }}\n")
            done = subprocess.run(["cc", "-O1", "-g", "-fno-inline", "-Wl,--build-id",
                                   f"{folder}/spin.c", "-o", program],
                                  capture_output=True, check=False)
            if done.returncode:
                ps.skip("no compiler here")
            if number == 1:
                done = subprocess.run(["perf", "record", "-q", "-N", "-o", path, program],
                                      capture_output=True, check=False)
                if done.returncode:
                    ps.skip("perf record cannot")
                os.makedirs(root + folder)
                shutil.copy(program, root + folder)
        answer = report(path, folder)
        assert rows(answer, "spin") == {"spin [another build here]"}, rows(answer, "spin")
        assert any("another build here" in note for note in answer["notes"]), answer["notes"]
        answer = report(path, folder, "--sysroot", root)
        assert "spin_1" in rows(answer, "spin"), rows(answer, "spin")


def test_registers_of_another_machine():
    ps.need_perf(system=True)
    name = os.uname().machine.encode()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/perf.data"
        record(path, "--call-graph", "dwarf", "-e", "cpu-clock:u")
        answer = report(path, folder)
        assert answer["stacks"]["complete"] > 0, answer["stacks"]
        assert not any("registers" in note for note in answer["notes"]), answer["notes"]
        with open(path, "rb") as f:
            data = bytearray(f.read())
        at = data.rfind(name + bytes(64 - len(name)))
        assert at > 0, "the recording does not name its architecture"
        data[at:at + 64] = b"riscv64".ljust(64, b"\0")
        with open(path, "wb") as f:
            f.write(data)
        answer = report(path, folder)
        assert answer["stacks"]["complete"] == 0, answer["stacks"]
        assert any("riscv64" in note for note in answer["notes"]), answer["notes"]


def test_events_of_one_name_and_members_of_groups():
    ps.need_perf(system=True)
    with tempfile.TemporaryDirectory() as folder:
        for options in (["-e", "cpu-clock", "-e", "cpu-clock:u", "-e", "cpu-clock"],
                        ["-e", "{cpu-clock,page-faults}:S"]):
            path = f"{folder}/perf.data"
            record(path, *options)
            command = [os.environ["PTOP"], "-i", path, "-b", "--idle", "-f"]
            stats, shown = (subprocess.run([*command, to], capture_output=True, text=True,
                                           check=True).stdout for to in ("stats", "json"))
            counts = [int(line.split("\t")[2]) for line in stats.splitlines()
                      if line.startswith("samples")]
            answers = [json.loads(line) for line in shown.splitlines()]
            names = [answer["event"] for answer in answers]
            assert len(set(names)) == len(names) == len(counts), (names, stats)
            assert [answer["samples"] for answer in answers] == counts, (names, stats)
        assert "page-faults" in names, names


def test_hostile_formats_of_tracepoints():
    ps.need_perf(system=True)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/perf.data"
        record(path, "-a", "-e", "sched:sched_switch", "-e", "sched:sched_waking")
        with open(path, "rb") as f:
            data = f.read()
        at = data.find(b"\x17\x08\x44tracing")
        if at < 0:
            ps.skip("the recording holds no formats")
        whole = subprocess.run([os.environ["PTOP"], "-i", path, "-b", "-f", "script"],
                               capture_output=True, check=True).stdout.count(b"\n")
        chance = random.Random(1)
        for _ in range(10):
            bad = bytearray(data)
            for _ in range(chance.choice([2, 20, 200])):
                bad[chance.randrange(at + 10, len(data))] = chance.choice(b'\0\xff("{},-%')
            with open(path, "wb") as f:
                f.write(bad)
            done = subprocess.run([os.environ["PTOP"], "-i", path, "-b", "-f", "script"],
                                  capture_output=True, check=False, timeout=60)
            assert done.returncode == 0, done
            assert done.stdout.count(b"\n") == whole, "samples are missing"


if __name__ == "__main__":
    ps.main(globals())
