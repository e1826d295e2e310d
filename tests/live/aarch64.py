# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of an aarch64 machine, made by hand, unwound and named here: its registers by its own
numbers, its program from a --sysroot by build-id."""

import json
import os
import re
import shutil
import struct
import subprocess
import tempfile

import ptop_support as ps

SOURCE = """
	.globl	_start
	.type	_start, %function
_start:	.cfi_startproc
	.cfi_undefined x30
	bl	outer
back_1:	nop
	.cfi_endproc
	.size	_start, . - _start
	.type	outer, %function
outer:	.cfi_startproc
	stp	x29, x30, [sp, -48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	bl	inner
back_2:	ldp	x29, x30, [sp], 48
	ret
	.cfi_endproc
	.size	outer, . - outer
	.type	inner, %function
inner:	.cfi_startproc
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
here:	nop
	ldp	x29, x30, [sp], 32
	ret
	.cfi_endproc
	.size	inner, . - inner
"""
IP, TID, TIME, REGS, STACK = 1 << 0, 1 << 1, 1 << 2, 1 << 12, 1 << 13
ALL_REGS = (1 << 33) - 1
USER, MMAP2_BUILD_ID = 2, 1 << 14
SP, PID = 0xffffc000, 77
ARCH = 6


def build(folder):
    """The program, its symbols' addresses, its build-id and its PF_X segment."""
    for tool in ("clang", "ld.lld", "readelf"):
        if not shutil.which(tool):
            ps.skip(f"no {tool} here")
    source, program = f"{folder}/a.s", f"{folder}/root/opt/program"
    os.makedirs(os.path.dirname(program))
    with open(source, "w", encoding="ascii") as f:
        f.write(SOURCE)
    done = subprocess.run(["clang", "--target=aarch64-linux-gnu", "-nostdlib", "-static",
                           "-fuse-ld=lld", "-Wl,--build-id=sha1", source, "-o", program],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        ps.skip(f"clang makes no programs for aarch64: {done.stderr.strip()[:100]}")
    text = subprocess.run(["readelf", "-sWln", program], capture_output=True, text=True,
                          check=True).stdout
    symbols = {name: int(addr, 16) for addr, name in
               re.findall(r"^\s*\d+: ([0-9a-f]+).* (\w+)$", text, re.M)}
    offset, addr = re.search(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x\w+ 0x\w+ R E", text).groups()
    return symbols, bytes.fromhex(re.search(r"Build ID: (\w+)", text).group(1)), \
        int(offset, 16), int(addr, 16)


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def recording(symbols, build_id, offset, addr, arch):
    kind = IP | TID | TIME | REGS | STACK
    flags = 1 << 8 | 1 << 18  # mmap, sample_id_all
    attr = struct.pack("<IIQQQQQ", 1, 112, 0, 1000000, kind, 0, flags).ljust(80, b"\0")
    attr = (attr + struct.pack("<QI", ALL_REGS, 128)).ljust(112, b"\0")
    page = addr & ~0xfff
    who = struct.pack("<IIQ", PID, PID, 5)
    name = b"/opt/program\0\0\0\0"
    mapping = struct.pack("<IIQQQ", PID, PID, page, 0x1000, offset & ~0xfff) \
        + struct.pack("<B3x20s", 20, build_id) + struct.pack("<II", 5, 2) + name + who
    stack = struct.pack("<QQQQ", 0x1111, symbols["back_2"], 0, 0) \
        + struct.pack("<QQQQQQ", 0, symbols["back_1"], 0, 0, 0, 0)
    stack = stack.ljust(128, b"\0")
    regs = [0] * 33
    regs[29], regs[30], regs[31], regs[32] = 0x2222, symbols["back_2"], SP, symbols["here"]
    sample = struct.pack("<QIIQ", symbols["here"], PID, PID, 10) + struct.pack("<Q33Q", 2, *regs) \
        + struct.pack("<Q", len(stack)) + stack + struct.pack("<Q", len(stack))
    data = record(10, USER | MMAP2_BUILD_ID, mapping) + record(9, USER, sample)
    start = 104 + len(attr) + 16
    text = arch.encode().ljust(64, b"\0")
    feature = struct.pack("<I", len(text)) + text
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ4Q", 104, len(attr) + 16, 104, len(attr) + 16,
                                       start, len(data), 0, 0, 1 << ARCH, 0, 0, 0)
    section = struct.pack("<QQ", start + len(data) + 16, len(feature))
    return header + attr + struct.pack("<QQ", 0, 0) + data + section + feature


def answer(path, root):
    done = subprocess.run([os.environ["PTOP"], "-i", path, "-b", "-f", "json", "--sysroot", root],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[0])


def test_unwound_and_named():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/perf.data"
        made = build(folder)
        with open(path, "wb") as f:
            f.write(recording(*made, "aarch64"))
        got = answer(path, f"{folder}/root")
        assert {row["function"] for row in got["functions"]} == {"inner", "outer", "_start"}, got
        assert got["stacks"]["complete"] == got["samples"] == 1, got
        with open(path, "wb") as f:
            f.write(recording(*made, "loongarch64"))
        got = answer(path, f"{folder}/root")
        assert got["stacks"]["broken"] == 1, got
        assert any("loongarch64" in note for note in got["notes"]), got["notes"]


if __name__ == "__main__":
    ps.main(globals())
