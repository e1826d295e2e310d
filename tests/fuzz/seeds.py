# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the seeds of the fuzz corpora anew: python3 tests/fuzz/seeds.py tests/fuzz/corpus

Files found by fuzzing are added beside them under names of their own and stay.
"""

import os
import struct
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]

# PERF_SAMPLE_* bits
(IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH_STACK, REGS_USER,
 STACK_USER, WEIGHT, DATA_SRC, IDENTIFIER, TRANSACTION, REGS_INTR, PHYS_ADDR, AUX, CGROUP,
 DATA_PAGE_SIZE, CODE_PAGE_SIZE, WEIGHT_STRUCT) = (1 << bit for bit in range(25))


def write(target, name, data):
    directory = os.path.join(ROOT, target)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def layout(sample_type, read_format=0, branch=0, user=0, intr=0, flags=1):
    return struct.pack("<6Q", sample_type, read_format, branch, user, intr, flags)


def record(kind, body, misc=0, swap=False):
    body += b"\0" * (-len(body) % 8)
    return struct.pack(">IHH" if swap else "<IHH", kind, misc, 8 + len(body)) + body


def name(text):
    data = text.encode() + b"\0"
    return data + b"\0" * (-len(data) % 8)


def decode_seeds():
    common = IDENTIFIER | TID | TIME | CPU
    ident = struct.pack("<IIQIIQ", 42, 43, 1000, 1, 0, 7)  # TID TIME CPU IDENTIFIER
    side = [
        record(10, struct.pack("<IIQQQIIQQII", 42, 42, 0x400000, 0x1000, 0, 8, 1, 99, 0, 5, 2)
               + name("/usr/bin/a-program") + ident, 2),
        record(10, struct.pack("<IIQQQB3x20sII", 42, 42, 0x400000, 0x1000, 0, 20, bytes(range(20)), 5, 2)
               + name("/usr/lib/x.so") + ident, 2 | 1 << 14),
        record(1, struct.pack("<IIQQQ", 42, 42, 0x400000, 0x1000, 0) + name("//anon") + ident, 2),
        record(3, struct.pack("<II", 42, 42) + name("comm") + ident, 1 << 13),
        record(7, struct.pack("<IIIIQ", 44, 42, 44, 42, 999) + ident),
        record(4, struct.pack("<IIIIQ", 44, 42, 44, 42, 1001) + ident),
        record(2, struct.pack("<QQ", 7, 12) + ident),
        record(13, struct.pack("<Q", 3) + ident),
        record(5, struct.pack("<QQQ", 1000, 7, 7) + ident),
        record(6, struct.pack("<QQQ", 1000, 7, 7) + ident),
        record(8, struct.pack("<IIQ", 42, 43, 5) + ident),
        record(11, struct.pack("<QQQ", 0, 64, 1) + ident),
        record(12, struct.pack("<II", 42, 43) + ident),
        record(14, ident, 1 << 13),
        record(15, struct.pack("<II", 42, 43) + ident, 1 << 14),
        record(16, struct.pack("<IIQ", 42, 43, 2) + struct.pack("<4Q", 1, 2, 3, 4) + ident),
        record(17, struct.pack("<QIHH", 0xffffffffc0000000, 64, 1, 0) + name("bpf_prog_x") + ident),
        record(18, struct.pack("<HHI8s", 1, 0, 3, b"12345678") + ident),
        record(19, struct.pack("<Q", 9) + name("/user.slice") + ident),
        record(20, struct.pack("<QHH", 0xffffffff81000000, 2, 2) + b"\x0f\x1f\x66\x90" + ident),
        record(21, struct.pack("<Q", 3) + ident),
        record(22, struct.pack("<QQ", 5, 2) + struct.pack("<2Q", 0x401000, 0x401100) + ident),
        record(99, b"unknown type" + ident),
    ]
    write("decode", "side-band", layout(common) + b"".join(side))
    stack = (struct.pack("<Q", 4) + struct.pack("<4Q", 2**64 - 128, 0xffffffff81000010,
                                               2**64 - 512, 0x401234))
    head = struct.pack("<QQIIQ", 7, 0x401234, 42, 43, 1000)  # IDENTIFIER IP TID TIME
    plain = head + struct.pack("<IIQ", 1, 0, 1001001) + stack
    write("decode", "callchain", layout(common | IP | PERIOD | CALLCHAIN) + record(9, plain, 2) * 3)
    group = struct.pack("<QQQ", 2, 10, 9) + struct.pack("<6Q", 1, 7, 0, 2, 8, 0)
    rich = (head + struct.pack("<QQIIQ", 0xdead, 7, 1, 0, 5) + group + stack
            + struct.pack("<I", 12) + b"twelve bytes"                      # RAW
            + struct.pack("<QQ", 2, 3) + struct.pack("<6Q", 1, 2, 3, 4, 5, 6)  # BRANCH_STACK
            + struct.pack("<QQQQ", 2, 1, 2, 3)                             # REGS_USER
            + struct.pack("<Q", 16) + b"s" * 16 + struct.pack("<Q", 8)     # STACK_USER
            + struct.pack("<QQQ", 11, 12, 13)                              # WEIGHT DATA_SRC TRANSACTION
            + struct.pack("<QQ", 2, 4)                                     # REGS_INTR
            + struct.pack("<QQQQ", 0x1000, 9, 4096, 4096))                 # PHYS CGROUP DATA CODE
    everything = (common | IP | ADDR | ID | STREAM_ID | PERIOD | READ | CALLCHAIN | RAW
                  | BRANCH_STACK | REGS_USER | STACK_USER | WEIGHT | DATA_SRC | TRANSACTION
                  | REGS_INTR | PHYS_ADDR | CGROUP | DATA_PAGE_SIZE | CODE_PAGE_SIZE)
    write("decode", "all-fields", layout(everything, 0x1f, 1 << 17, 0b111, 0b1) + record(9, rich, 2))
    write("decode", "size-zero", layout(common) + struct.pack("<IHH", 9, 0, 0) + ident)
    write("decode", "size-beyond", layout(common) + struct.pack("<IHH", 9, 0, 0xfff8) + ident)
    write("decode", "huge-callchain",
          layout(common | IP | CALLCHAIN) + record(9, head + struct.pack("<IIQ", 1, 0, 2**61), 2))
    swapped = struct.pack(">QQIIQIIQQ", 7, 0x401234, 42, 43, 1000, 1, 0, 1, 0x401234)
    write("decode", "swapped", layout(common | IP | CALLCHAIN, flags=3) + record(9, swapped, 2, True))


MAPS = r"""00400000-00401000 r--p 00000000 fe:01 1234                               /usr/bin/a program
00401000-00403000 r-xp 00001000 fe:01 1234                               /usr/bin/a program
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7f1000000000-7f1000010000 r-xp 00002000 fe:01 99                   /tmp/new\012line.so (deleted)
7ffff7fc5000-7ffff7fc7000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
"""
STATUS = "Name:\ta\\nb\nUmask:\t0022\nTgid:\t42\nPid:\t42\nNSpid:\t42\t7\t1\nUid:\t1000\t0\t0\t0\n" \
         "Threads:\t3\n"
KALLSYMS = """ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t __pfx_do_work
ffffffff81000110 t do_work
ffffffff81000110 W alias_of_work
ffffffff81000200 D some_data
ffffffff81e00000 T _etext
ffffffffc0000000 t nf_hook\t[nf_tables]
ffffffffc0001000 t bpf_prog_6deef7357e7b4530_name\t[bpf]
"""


def text_seeds():
    write("advice", "debian", 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n'
          "VERSION_CODENAME=bookworm\n")
    write("advice", "mint", "ID='mint'\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=$(x)\n")
    write("advice", "list", "/.\n/bin\n/bin/ldd\n/usr/bin/ldd\n")
    write("advice", "package", "g++-12:amd64.list")
    write("advice", "comm", "java")
    write("procfs", "maps", MAPS)
    write("procfs", "status", STATUS)
    write("procfs", "bad-lines", "x-y r-xp\n\n4-3 r-xp 0 0:0 0\n-\n" + "f" * 40 + "-0 r-xp 0 0:0 0 /x")
    write("kallsyms", "usual", KALLSYMS)
    write("kallsyms", "hidden", KALLSYMS.replace("ffffffff8", "000000000").replace("1000", "0000"))
    write("kallsyms", "bad-lines", "zz T x\nffff\nffffffff81000000 T \nffffffff81000000 T x\t[\n")
    write("text", "escape", b"\x1b[2J\x1b]0;title\x07name\x9b31m\x7f")
    write("text", "wide", "函数名 e\u0301 \u202e rtl \u200b zero \U0001f525")
    write("text", "broken-utf8", b"\xff\xfe\xc3\xe2\x82\xf0\x9f\x94 \xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80")
    for index, text in enumerate(("0-3,8", "18446744073709551615", "0.5", "1e3", "deadbeefcafef00d")):
        write("text", f"number-{index}", text)
    for index, text in enumerate(("cycles:P", "cycles:uppp", "cpu-clock:k", "L1-dcache-load-misses",
                                  "LLC-loads:u", "context-switches", "cylces", "cycles:uukkx", ":", "")):
        write("event", f"name-{index}", text)


SOURCE = """
int shared_name(int x) { return x + 1; }
static int hidden(int x) { return x * 3; }
int work(int x) __attribute__((weak));
int work(int x) { return hidden(x) + shared_name(x); }
int entry_point(int x) __attribute__((alias("work")));
"""


def elf_seeds():
    with tempfile.TemporaryDirectory() as scratch:
        source, out = os.path.join(scratch, "a.c"), os.path.join(scratch, "a.so")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        small = ["-O1", "-nostdlib", "-Wl,-z,noseparate-code", "-fno-asynchronous-unwind-tables"]
        kinds = {
            "shared": ["-shared", "-fPIC", "-Wl,--build-id=sha1"],
            "stripped": ["-shared", "-fPIC", "-s", "-Wl,--hash-style=gnu"],
            "static": ["-static", "-Wl,-e,work"],
            "debug": ["-shared", "-fPIC", "-g", "-Wl,--compress-debug-sections=zlib"],
            "lazy-plt": ["-shared", "-fPIC", "-Wl,-z,lazy"],
        }
        for kind, flags in kinds.items():
            subprocess.run(["cc"] + small + flags + ["-o", out, source], check=True)
            with open(out, "rb") as file:
                write("elf", kind, file.read())
                if kind == "shared":
                    packed = os.path.join(scratch, "packed")
                    subprocess.run(["eu-elfcompress", "-q", "-f", "-n", ".symtab", "-n", ".strtab",
                                    "-o", packed, out], check=True)
                    with open(packed, "rb") as packed_file:
                        write("elf", "packed", packed_file.read())
        subprocess.run(["cc", "-c", "-o", out, source], check=True)
        with open(out, "rb") as file:
            write("elf", "object", file.read())
    write("elf", "magic-only", b"\x7fELF\2\1\1" + b"\0" * 57)


def small_elf(sections, entry=0):
    """A program of these (name, type, flags, address, bytes), with 2 KB of code at 0x1000."""
    sections = [("", 0, 0, 0, b"")] + sections
    names = b"\0".join(name.encode() for name, *_ in sections) + b"\0.shstrtab\0"
    sections.append((".shstrtab", 3, 0, 0, names))
    body, headers = b"", b""
    for text, kind, flags, addr, data in sections:
        size = 0x800 if text == ".text" else len(data)
        headers += struct.pack("<IIQQQQIIQQ", names.index(text.encode() + b"\0") if text else 0, kind,
                               flags, addr, 120 + len(body), size, 0, 0, 8, 24 if kind == 4 else 0)
        body += data + b"\0" * (-len(data) % 8)
    return (struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, entry, 64, 120 + len(body), 0,
                        64, 56, 1, 64, len(sections), len(sections) - 1)
            + struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x1000, 0x1000, 0x800, 0x800, 0x1000) + body + headers)


def go_table(magic, text):
    """.gopclntab of two functions; @text None: the layouts of whole addresses."""
    names, starts = b"_rt0_amd64_linux\0main.main\0", (0, 0x40, 0x80)
    width = 8 if text is None else 4
    functab, records, offsets = b"", b"", (0, 17)
    header = 16 if magic == 0xfffffffb else 8 + 7 * 8 if text is None else 8 + 8 * 8
    base = 0 if magic == 0xfffffffb else header + len(names)
    at = (header if magic == 0xfffffffb else 0) + 5 * width
    for index in range(3):
        functab += ((0x1000 if text is None else 0) + starts[index]).to_bytes(width, "little")
        if index < 2:
            functab += (at + 16 * index).to_bytes(width, "little")
            name_at = offsets[index] + (at + 32 if magic == 0xfffffffb else 0)
            records += starts[index].to_bytes(width, "little") + struct.pack("<I", name_at)
            records += b"\0" * (16 - width - 4)
    front = struct.pack("<IHBB", magic, 0, 1, 8)
    if magic == 0xfffffffb:
        return front + struct.pack("<Q", 2) + functab + records + names
    words = [2, 1] + ([] if text is None else [text]) + [header, 0, 0, 0, base]
    return front + struct.pack(f"<{len(words)}Q", *words) + names + functab + records


def go_seeds():
    text = (".text", 1, 6, 0x1000, b"")
    for name, magic, start in (("go1.2", 0xfffffffb, None), ("go1.16", 0xfffffffa, None),
                               ("go1.18", 0xfffffff0, 0x1000), ("go1.20", 0xfffffff1, 0x1000)):
        write("elf", name, small_elf([text, (".gopclntab", 1, 2, 0x5000, go_table(magic, start))]))
    table = go_table(0xfffffff1, 0)
    write("elf", "go1.26", small_elf([text, (".gopclntab", 1, 2, 0x5000, table)], 0x1000))
    relocation = struct.pack("<QQq", 0x5000 + 24, 8, 0x1000)
    write("elf", "go-pie", small_elf([text, (".data.rel.ro", 1, 2, 0x5000, table),
                                      (".go.buildinfo", 1, 2, 0x9000, b"x"),
                                      (".rela.dyn", 4, 2, 0x400, relocation)]))


def jitdump_seeds():
    def one(kind, time, body):
        return struct.pack("<IIQ", kind, 16 + len(body), time) + body

    def load(time, addr, size, text):
        return one(0, time, struct.pack("<IIQQQQ", 42, 42, addr, addr, size, 1) + text + b"\0" + b"\xcc" * 16)

    header = struct.pack("<6I2Q", 0x4a695444, 1, 40, 62, 0, 42, 0, 0)
    move = one(1, 30, struct.pack("<IIQQQQQ", 42, 42, 0x3000, 0x1000, 0x3000, 64, 1))
    usual = load(10, 0x1000, 64, b"first") + load(20, 0x2000, 64, b"second") + move
    write("jitdump", "usual", header + usual + one(2, 31, b"l" * 24) + one(4, 32, b"u" * 16) + one(3, 40, b""))
    write("jitdump", "overlaps", header + load(1, 0x1000, 256, b"a") + load(1, 0x1010, 16, b"b")
          + load(1, 0x10f0, 64, b"c") + load(9, 0xff0, 4096, b"d"))
    write("jitdump", "unfinished", header + usual[:-7])
    write("jitdump", "other-clock", header[:32] + struct.pack("<Q", 1) + usual)
    write("jitdump", "other-order", struct.pack(">6I2Q", 0x4a695444, 1, 40, 62, 0, 42, 0, 0) + usual)


def table_seeds():
    names = b"\0outer\0inner\0last\0"
    symbols = struct.pack("<QIIIBB2x", 0x1000, 0x100, 1, 2**32 - 1, 0, 1)
    symbols += struct.pack("<QIIIBB2x", 0x1020, 0x10, 7, 0, 0, 0)
    symbols += struct.pack("<QIIIBB2x", 0x1200, 0x40, 13, 2**32 - 1, 3, 1)
    segment = struct.pack("<4Q", 0, 0x2000, 0x1000, 0x2000)

    def table(magic=0x31656c6261747470, version=2, nr=3, extra=b""):
        header = 88
        at = header, header + len(segment), header + len(segment) + len(symbols)
        size = at[2] + len(names)
        return struct.pack("<QIIQIIQQQQ20sB3x", magic, version, 4, size, 1, nr, *at, len(names),
                           bytes(range(20)), 20) + segment + symbols + names + extra

    write("table", "good", table())
    write("table", "too-many-symbols", table(nr=2**32 - 1))
    write("table", "other-version", table(version=1))
    write("table", "trailing-bytes", table(extra=b"more"))


def inlines_seeds():
    names = b"\0outer\0inner\0"
    scopes = struct.pack("<6I", 1, 2**32 - 1, 7, 0, 1, 1)
    steps = struct.pack("<8I", 0x10, 0, 0x20, 1, 0x30, 2, 0x40, 2**32 - 1)
    spans = struct.pack("<4Q", 0x1000, 0x1100, 0x2000, 0x2010)

    def table(version=1, nr_steps=4, spans=spans, scopes=scopes):
        at = [80]
        for part in (spans, steps, scopes, names):
            at.append(at[-1] + len(part))
        return struct.pack("<QIIQQIIQQQQQ", 0x316c6e6970747470, version, len(spans) // 16,
                           at[4], 0x1000, nr_steps, len(scopes) // 8, *at[:4],
                           len(names)) + spans + steps + scopes + names

    write("inlines", "good", table())
    write("inlines", "other-version", table(version=2))
    write("inlines", "too-many-steps", table(nr_steps=2**31))
    write("inlines", "no-spans", table(spans=b""))
    write("inlines", "one-in-itself", table(scopes=struct.pack("<6I", 1, 0, 7, 1, 1, 2)))


def entry(body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<I", len(body)) + body


def frames(augmentation, encoding, ra, initial, code):
    """One CIE and one function of 64 bytes at 0x100 of a section at 0x1000."""
    cie = entry(struct.pack("<IB", 0, 1) + augmentation + b"\0\1\x78" + bytes([ra, 1, encoding]) + initial)
    return cie + entry(struct.pack("<Iii", len(cie) + 4, 0x100 - 0x1000 - len(cie) - 8, 64) + b"\0" + code)


def rows_seeds():
    with tempfile.TemporaryDirectory() as scratch:
        source, out = os.path.join(scratch, "a.c"), os.path.join(scratch, "a.so")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        subprocess.run(["cc", "-O1", "-nostdlib", "-shared", "-fPIC", "-s", "-Wl,-z,lazy",
                        "-Wl,-z,noseparate-code", "-o", out, source], check=True)
        with open(out, "rb") as file:
            write("rows", "program", file.read())
        section = os.path.join(scratch, "section")
        subprocess.run(["objcopy", "-O", "binary", "-j", ".text", out, section], check=True)
        with open(section, "rb") as file:
            write("code", "functions", file.read())
        subprocess.run(["objcopy", "-O", "binary", "-j", ".eh_frame", out, section], check=True)
        with open(section, "rb") as file:
            write("rows", "eh-frame", file.read())
    realigned = b"\x45\x0c\x0a\0\x49\x10\6\2\x76\0\x42\x0f\3\x76\x78\6\x0a\x44\x0c\7\x08\x42\x0b"
    write("rows", "realigned", frames(b"zR", 0x1b, 16, b"\x0c\7\x08\x90\1", realigned))
    signal = b"\x0f\4\x77\xa0\1\6\x10\x10\3\x77\xa8\1\x10\7\3\x77\xa0\1"
    write("rows", "signal", frames(b"zRS", 0x1b, 16, b"", signal))
    write("rows", "aarch64", frames(b"zR", 0x1b, 30, b"\x0c\x1f\0", b"\x41\x2d\x41\x0e\x20\x9d\4\x9e\3\x41\x0d\x1d"))
    cie = entry(struct.pack("<IB", 2**32 - 1, 4) + b"\0\x08\0\1\x78\x10\x0c\7\x08\x90\1")
    write("rows", "debug-frame", cie + entry(struct.pack("<IQQ", 0, 0x100, 64) + b"\x41\x0e\x10\x86\2"))
    rule = struct.pack("<BBBBBBhiiii", 1, 7, 1, 0, 0, 0, 0, 16, -8, 0, 0)
    body = struct.pack("<4Q", 0, 0x2000, 0x1000, 0x2000) + bytes(24) + rule + struct.pack("<IIHHI", 0x10, 0x20, 1, 0, 0)
    at = 80
    write("rows", "rows", struct.pack("<QIIQQIIIIQQQQ", 0x31776f7270747470, 1, 0, at + 96, 0x1000, 2, 2, 1, 0,
                                      at, at + 80, at + 88, at + 32) + body)


def code_seeds():
    restorer = b"\x48\xc7\xc0\x0f\0\0\0\x0f\5"
    write("code", "signal-return", b"\x55\x5d\xc3\x90" + restorer + b"\x53\x5b\xc3")
    frame = b"\x55\x48\x89\xe5\x48\x83\xe4\xe0\x53\xe8\7\0\0\0\x5b\xc9\xc3"
    write("code", "frame-pointer", frame + b"\xcc" * 4 + b"\x48\x83\xec\x18\x74\2\xeb\xfc\x48\x83\xc4\x18\xc3")
    write("code", "switch", b"\x53\x48\x83\xec\x20\x3e\xff\xe0\x31\xc0\xeb\5\xb8\1\0\0\0\x48\x83\xc4\x20\x5b\xc3")


decode_seeds()
code_seeds()
text_seeds()
elf_seeds()
go_seeds()
jitdump_seeds()
table_seeds()
inlines_seeds()
rows_seeds()
