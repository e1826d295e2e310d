# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code that programs make at run time: by jitdumps, by perf maps, and without either."""

import json
import os
import re
import subprocess
import time

import ptop_support as ps

SPINS = ("jit_first", "jit_second", "jit_third")

JAVA = r"""
public class Spin {
    static long hotInJava(int n) {
        long s = 0;
        for (int i = 0; i < n; i++)
            s = (s * 31 + i) % 65521;
        return s;
    }
    public static void main(String[] args) {
        long sum = 0;
        for (int i = 0; i < 2000; i++)
            sum += hotInJava(100000);
        System.out.println("ready");
        System.out.flush();
        for (;;)
            sum += hotInJava(100000);
    }
}
"""


def _functions(pid, *options):
    """The rows of functions of a process, in a short refresh."""
    refresh, = ps.run_json(["-n", 1, "-d", 1, "-K", "--rows", 0, "-p", pid, *options])
    assert refresh["samples"] > 20, f"{refresh['samples']} samples"
    return refresh["functions"]


def _shares(rows):
    return {name: sum(row["self_percent"] for row in rows if row["function"] == name)
            for name in SPINS}


def _each_a_third(rows):
    shares = _shares(rows)
    assert all(12 < share < 60 for share in shares.values()), shares
    return str(shares)


def test_a_dump_is_read_by_time():
    ps.need_perf()
    with ps.Workload("jit_spinner", ps.scratch_dir()) as work:
        ps.retry(4, "jitdump", lambda: _each_a_third(_functions(work.pid)))
        ps.retry(4, "jitdump, frame pointers",
                 lambda: _each_a_third(_functions(work.pid, "--call-graph", "fp")))


def test_the_dump_of_a_process_with_a_root_of_its_own():
    ps.need_perf()
    ps.need_root()
    unshare = ps.need_tool("unshare")
    program = ps.build_c("jit_spinner.c")
    place = os.path.join(ps.scratch_dir(), "place")
    os.mkdir(place)
    flags = ["--pid", "--fork", "--mount", "--mount-proc", "--kill-child"]
    if subprocess.run([unshare, *flags, "true"], stdin=subprocess.DEVNULL, capture_output=True,
                      check=False).returncode:
        ps.skip("unshare of mounts and processes does not work here")
    process = subprocess.Popen(
        [unshare, *flags, "/bin/sh", "-c",
         f"mount -t tmpfs none {place} && exec {program} {place}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    ps.at_end(lambda: (process.kill(), process.wait(), process.stdout.close()))
    assert process.stdout.readline() == "ready\n"
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        inner = int(file.read().split()[0])
    assert not os.listdir(place), "the dump is seen from outside"
    ps.retry(4, "jitdump elsewhere", lambda: _each_a_third(_functions(inner)))


def test_a_dump_names_a_recording():
    ps.need_perf()
    ps.need_root()
    perf = ps.need_tool("perf")
    directory = ps.scratch_dir()
    data = os.path.join(directory, "perf.data")
    with ps.Workload("jit_spinner", directory) as work:
        done = subprocess.run([perf, "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "997",
                               "-g", "-o", data, "-p", str(work.pid), "--", "sleep", "2"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False)
    if done.returncode:
        ps.skip(f"perf record cannot: {done.stderr.strip()[:200]}")
    done = subprocess.run([os.environ["PTOP"], "-i", data, "-b", "-f", "json", "--rows", "0"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          check=True)
    rows = json.loads(done.stdout.splitlines()[-1])["functions"]
    print("  " + _each_a_third(rows))


def _jit_range(pid):
    """Where the anonymous code of a jit_spinner is."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        for line in file:
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rwxp 0+ 00:00 0\s*$", line)
            if match:
                return int(match[1], 16), int(match[2], 16)
    raise AssertionError("no anonymous code")


def test_without_a_map_there_is_one_row():
    ps.need_perf()
    with ps.Workload("jit_spinner") as work:
        for mode in ("auto", "fp", "none"):

            def one_row(mode=mode):
                rows = [row for row in _functions(work.pid, "--call-graph", mode)
                        if row["module"] == "[jit]"]
                assert [row["function"] for row in rows] == ["[jit]"], rows
                assert rows[0]["self_percent"] > 60, rows
                return f"{rows[0]['self_percent']} %"

            ps.retry(3, f"no map, {mode}", one_row)


def _refreshes(pid):
    """Refreshes of one ptop, a second each."""
    process = subprocess.Popen(
        [os.environ["PTOP"], "-b", "-f", "json", "-d", "1", "-w", "1", "-K", "--rows", "0", "-n", "60",
         "-p", str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    ps.at_end(lambda: (process.kill(), process.wait(), process.stdout.close()))
    for line in process.stdout:
        yield json.loads(line)


def _until_named(refreshes, name):
    deadline = time.monotonic() + 45
    for refresh in refreshes:
        if any(row["function"] == name and row["self_percent"] > 12 for row in refresh["functions"]):
            return
        assert time.monotonic() < deadline, f"no {name}: {refresh['functions']}"
    raise AssertionError("ptop ended")


def test_a_map_that_is_written_anew():
    """Names that are missed are looked for again, in a file that is cut short or another."""
    ps.need_perf()
    with ps.Workload("jit_spinner") as work:
        start, end = _jit_range(work.pid)
        path = f"/tmp/perf-{work.pid}.map"
        ps.at_end(lambda: os.path.exists(path) and os.unlink(path))

        def write_map(to, name):
            """Names the second half, which a third of the samples are in."""
            with open(to, "w", encoding="utf-8") as file:
                file.write(f"{(start + end) // 2:x} {(end - start) // 2:x} {name}\n")

        write_map(path, "a_longer_name_at_first")
        refreshes = _refreshes(work.pid)
        _until_named(refreshes, "a_longer_name_at_first")
        write_map(path, "short")
        _until_named(refreshes, "short")
        write_map(path + ".new", "another")
        os.rename(path + ".new", path)
        _until_named(refreshes, "another")


def _spins_in_bpf(refresh):
    rows = [row for row in refresh["functions"] if re.fullmatch("bpf_prog_[0-9a-f]{16}_spin",
                                                                row["function"])]
    share = sum(row["self_percent"] for row in rows)
    assert share > 50, [row["function"] for row in refresh["functions"][:5]]
    assert rows[0]["module"] == "[bpf]", rows
    return f"{rows[0]['function']}, {share:.1f} %"


def test_names_of_bpf_programs():
    """Of one that was there before, and of one that is loaded while ptop watches."""
    ps.need_perf()
    ps.need_root()
    for setting in ("bpf_jit_enable", "bpf_jit_kallsyms"):
        try:
            with open(f"/proc/sys/net/core/{setting}", encoding="ascii") as file:
                if file.read().strip() == "0":
                    ps.skip(f"net.core.{setting} is 0")
        except OSError as error:
            ps.skip(str(error))
    program = ps.build_c("bpf_spinner.c")
    process = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    ps.at_end(lambda: (process.kill(), process.communicate()))
    if process.stdout.readline() != "ready\n":
        ps.skip(f"no BPF programs here: {process.stderr.read().strip()}")
    ps.retry(3, "BPF", lambda: _spins_in_bpf(ps.run_json(["-n", 1, "-d", 1, "--rows", 0, "-p",
                                                          process.pid])[0]))
    process.kill()
    ps.retry(3, "BPF, loaded later", lambda: _spins_in_bpf(
        ps.run_json(["-n", 1, "-d", 2, "--rows", 0, "--", program])[0]))


def test_names_of_java():
    ps.need_perf()
    javac, java, jcmd = (ps.need_tool(tool) for tool in ("javac", "java", "jcmd"))
    directory = ps.scratch_dir()
    with open(os.path.join(directory, "Spin.java"), "w", encoding="utf-8") as file:
        file.write(JAVA)
    done = subprocess.run([javac, "-d", directory, os.path.join(directory, "Spin.java")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode:
        ps.skip(f"javac does not work here: {done.stderr.strip()[:200]}")
    process = subprocess.Popen([java, "-XX:+PreserveFramePointer", "-cp", directory, "Spin"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    ps.at_end(lambda: (process.kill(), process.wait(), process.stdout.close()))
    assert process.stdout.readline() == "ready\n"
    done = subprocess.run([jcmd, str(process.pid), "Compiler.perfmap"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    path = f"/tmp/perf-{process.pid}.map"
    ps.at_end(lambda: os.path.exists(path) and os.unlink(path))
    if done.returncode or not os.path.exists(path):
        ps.skip(f"this Java writes no map: {done.stdout.strip()[:200]}")

    def measure():
        rows = [row for row in _functions(process.pid) if "hotInJava" in row["function"]]
        share = sum(row["self_percent"] for row in rows)
        assert share > 50, rows
        return f"{rows[0]['function']}, {share:.1f} %"

    ps.retry(3, "Java", measure)


if __name__ == "__main__":
    ps.main(globals())
