# SPDX-License-Identifier: GPL-2.0-or-later
"""`ptop -i FILE -b --format script` beside `perf script -i FILE`, for recordings made here: the
same samples in the same order, with the same comm, tid, CPU, time, period, event and addresses.
Prints how many lines were compared.

Explained differences: names of one address may be aliases; perf goes on with the mappings of before
an exec, so the few user frames under execve(2) differ; of stacks that were copied (--call-graph
dwarf) perf loses callers in programs without symbols, leaves out the first caller at times, takes
the trampoline of signal handlers for the byte before it, and ends with an address of all ones: each
frame that it found has to be among ptop's, in order, and on a program with symbols all of them are
the same; perf prints no frame at all where the kernel, following what is no frame pointer, came
upon a word that looks like a marker of contexts and is none."""

import os
import re
import struct
import subprocess
import tempfile

import ptop_support as ps

LOAD = ["sh", "-c",
        "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; ls -lR /usr/include >/dev/null"]
SHORT = ["ls", "/usr/include"]
CASES = {
    "frame pointers": ["-g"],
    "whole system": ["-a"],
    "several events": ["-g", "-e", "cpu-clock", "-e", "page-faults", "-e", "context-switches:u"],
    "a group": ["-g", "-e", "{cpu-clock,page-faults,minor-faults}"],
    "threads": ["-a", "--threads"],
    "a group read at its leader": ["-e", "{cpu-clock,page-faults}:S"],
    "tracepoint": ["-a", "-g", "-e", "sched:sched_switch"],
    "tracepoints": ["-a", "-e", "sched:*", "-e", "kmem:kfree", "-e", "raw_syscalls:sys_enter",
                    "-e", "raw_syscalls:sys_exit"],
    "tracepoints through a pipe": ["-a", "-e", "sched:sched_switch", "-e", "irq:*", "-o", "-"],
    "cgroups": ["-a", "--all-cgroups"],
    "compressed": ["-a", "-z", "-g"],
    "dwarf": ["--call-graph", "dwarf"],
    "dwarf, with symbols": ["--call-graph", "dwarf,16384"],
    "pipe": ["-g", "-e", "cpu-clock", "-e", "page-faults", "-o", "-"],
}
HEAD = re.compile(r"^\s*(.*?)\s+(-?\d+)\s+(?:\[(\d+)\]\s+)?(?:(\d+\.\d+):\s+)?(?:(\d+)\s+)?"
                  r"(\S.*?):\s(.*)$")
FRAME = re.compile(r"^\t *([0-9a-f]+) (.*) \((.*)\)$")


def parse(text):
    samples = []
    for line in text.splitlines():
        if line.startswith("\t"):
            samples[-1][1].append(FRAME.match(line).groups())
        elif line.strip():
            match = HEAD.match(line)
            assert match, f"no sample: {line!r}"
            samples.append((match.groups(), []))
    return samples


def same_place(own, theirs):
    """The same address, or the trampoline that perf takes for the byte before it."""
    return own[0] == theirs[0] or (own[1] == "__restore_rt+0x0" and
                                   int(own[0], 16) == int(theirs[0], 16) + 1)


def has_all(own, theirs):
    """Whether each frame of theirs that lies in a file is in own, in the same order. Where theirs
    stops short of where own ends, its last frame is the number that it could not go on from."""
    left = iter(own)
    if own and theirs and theirs[-1][0] != own[-1][0] and len(theirs) > 1:
        theirs = theirs[:-1]
    return all(any(same_place(mine, frame) for mine in left) for frame in theirs
               if frame[2].startswith(("/", "[kernel")) and not frame[2].startswith("//"))


def alike(own, theirs):
    """Whether two lists of frames have the same addresses, but for what is explained above."""
    if len(own) != len(theirs):
        return False
    kernel = [frame[1].split("+")[0] for frame in theirs if int(frame[0], 16) >= 1 << 63]
    in_exec = any("execve" in name for name in kernel)
    return all(same_place(a, b) or (in_exec and a[2] == "[unknown]")
               for a, b in zip(own, theirs))


def compare(path, tracepoint, dwarf, same=alike):
    inline = ["--no-inline"] if dwarf else []
    own, theirs = (parse(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                   for command in ([os.environ["PTOP"], "-i", path, "-b", "-f", "script"],
                                   ["perf", "script", *inline, "-i", path]))
    assert len(own) == len(theirs), f"{len(own)} samples, perf has {len(theirs)}"
    assert own, "no sample: this compares nothing"
    lines = names = alike_names = given_up = 0
    for (head, frames), (perf_head, perf_frames) in zip(own, theirs):
        assert head[:6] == perf_head[:6], f"{head}\nperf: {perf_head}"
        if tracepoint:
            assert head[6].split() == perf_head[6].split(), f"{head}\nperf: {perf_head}"
        elif not frames and not dwarf:
            assert head[6].split()[:1] == perf_head[6].split()[:1], f"{head}\nperf: {perf_head}"
        lines += 1
        if frames and not perf_frames and not dwarf:
            given_up += 1
            continue
        assert same(frames, perf_frames), f"{head}\n{frames}\nperf: {perf_frames}"
        lines += len(frames)
        if same is alike:
            for mine, perfs in zip(frames, perf_frames):
                names += 1
                alike_names += mine[1].split("@")[0] == perfs[1].split("@")[0]
    assert given_up <= 1 + len(own) // 50, f"perf gave up {given_up} of {len(own)} stacks"
    return lines, names, alike_names


def prints_traces():
    """Whether this ptop was built with what prints tracepoints."""
    try:
        with open(f"{ps.TOP_BUILDDIR}/config.h", encoding="ascii") as f:
            return "#define HAVE_TRACEEVENT 1" in f.read()
    except FileNotFoundError:
        return True


def test_same_lines_as_perf_script():
    ps.need_tool("perf")
    ps.need_perf(system=True)
    deep = ps.build_c("deep_stack.c", flags=["-O2", "-fomit-frame-pointer"])
    with tempfile.TemporaryDirectory() as folder:
        for number, (what, options) in enumerate(CASES.items()):
            if "tracepoint" in what and not prints_traces():
                print(f"{what}: built without libtraceevent")
                continue
            path = f"{folder}/{number}.data"
            pipe = "-o" in options
            command = ["perf", "record", "-q", *options]
            if not pipe:
                command += ["-o", path]
            with open(path, "wb") if pipe else open(os.devnull, "wb") as out:
                load = ([deep, "1"] if "with symbols" in what else
                        SHORT if "tracepoint" in what else LOAD)
                done = subprocess.run([*command, "--", *load], stdout=out, stderr=subprocess.PIPE,
                                      check=False)
            if done.returncode:
                why = done.stderr.decode(errors="replace").strip()[:120]
                print(f"{what}: perf record cannot: {why}")
                continue
            lines, names, same = compare(path, "tracepoint" in what, "dwarf" in what,
                                         has_all if what == "dwarf" else alike)
            print(f"{what}: {lines} lines compared; "
                  f"of {names} names of frames {same} are spelled alike")


def each_source():
    """Values of PERF_SAMPLE_DATA_SRC: each bit of its parts, and some together."""
    bits = [1 << bit for bit in range(43)]
    numbers = [number << 33 for number in range(16)]
    hops = [hop << 43 | 1 << 33 for hop in range(5)]
    return bits + numbers + hops + [0, 0x140, 0x680, 0x1c0, 0x6, 0x300000, 0x3000000, 0x68000000,
                                    0x118000000, 0xc000000000, 0x4000200000, 0x60000000000,
                                    0x3600000040, 0x82000000000, 0x1e05080021]


def as_of_a_processor(path):
    """Makes the sampled event one of the processor's own, and its sources of data various."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    attr_size, attrs, attrs_size, at, size = struct.unpack_from("<QQQQQ", data, 16)
    for attr in range(attrs, attrs + attrs_size, attr_size):
        if struct.unpack_from("<Q", data, attr + 8)[0] == 2:  # page-faults
            struct.pack_into("<I", data, attr, 4)
    sources, end, used = each_source(), at + size, 0
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == 9:  # IP, TID, TIME, ADDR, then WEIGHT_STRUCT and DATA_SRC
            struct.pack_into("<IHH", data, at + 40, 7 + used, 9 + used, 0)
            struct.pack_into("<Q", data, at + 48, sources[used % len(sources)])
            used += 1
        at += length
    with open(path, "wb") as f:
        f.write(data)
    return used


def about_memory(text):
    """What lies between the event and the address, and behind the module."""
    return [re.search(r"page-faults:(.*\|BLK [^0-9]*\d+ +\d+) +[0-9a-f]+ .*\)(.*)$", line).groups()
            for line in text.splitlines()]


def test_what_a_processor_says_of_memory():
    perf = ps.need_tool("perf")
    ps.need_perf()
    path = os.path.join(ps.scratch_dir(), "memory.data")
    done = subprocess.run([perf, "record", "-q", "-e", "page-faults", "-c", "1", "-d", "-W",
                           "--phys-data", "--data-page-size", "--code-page-size", "-o", path,
                           "--", "sh", "-c", "ls /usr/include; ls /usr/include"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        ps.skip(f"perf record cannot: {done.stderr.decode(errors='replace').strip()[:120]}")
    used = as_of_a_processor(path)
    assert used >= len(each_source()), used
    own = about_memory(ps.run(["-i", path, "-f", "script"]).stdout)
    theirs = subprocess.run([perf, "script", "-i", path], capture_output=True, text=True,
                            check=True).stdout
    if "|LVL core, same node L1|" not in theirs:
        ps.skip("this perf has other words for where data came from")
    theirs = about_memory(theirs)
    assert len(own) == len(theirs) == used, (len(own), len(theirs), used)
    for mine, perfs in zip(own, theirs):
        assert mine == perfs, f"{mine}\nperf: {perfs}"
    print(f"{used} samples with what a processor says of memory")


if __name__ == "__main__":
    ps.main(globals())
