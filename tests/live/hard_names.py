# SPDX-License-Identifier: GPL-2.0-or-later
"""Hard cases of names, one a test: doc/hard-cases.md has the numbers."""

import lzma
import os
import shutil
import subprocess

import ptop_hard as hard
import ptop_support as ps
from ptop_hard import both, case, named, never, whole

PYTHON = """
import sys
def hot_in_python(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
print("ready", flush=True)
while True:
    hot_in_python(10000)
"""

JAVA = """
public class Spin {
	static long hotInJava(long n) {
		long sum = 0;
		for (long i = 0; i < n; i++)
			sum += i ^ sum * 31;
		return sum;
	}
	public static void main(String[] args) {
		long sum = 0;
		long end = System.nanoTime() + 1_500_000_000L;
		while (System.nanoTime() < end)
			sum += hotInJava(100000);
		System.out.println("ready");
		System.out.flush();
		for (;;)
			sum += hotInJava(100000);
	}
}
"""


@case("40", "a function of several names")
def aliases(c):
    c.start(c.cc("alias.c"), "alias")
    return both(whole("main", "calls", "plain_name", "spin"), never("__plain_name"),
                never("__GI___plain_name"))


@case("41a", "code between symbols is not the symbol before it")
def gap_between_symbols(c):
    c.start(c.cc("alias.c", "-no-pie", "-fno-pie"), "gap")
    return both(whole("calls", "gap_between_sy*"), never("small_function"))


@case("41b", "a symbol without a size")
def unsized_symbol(c):
    c.start(c.cc("alias.c", "-no-pie", "-fno-pie"), "asm")
    return both(whole("main", "calls", "unsized_function"), never("after_unsized"))


@case("42", "a stripped libc: memmove()'s code is a local symbol, and takes no neighbour's name")
def stripped_libc(c):
    c.start(c.cc("alias.c"), "copy")
    return both(never("__nss_database_lookup"), whole("copies", "__memmove*|__memcpy*|memmove|"
                                                      "memcpy|libc.so.6+*", over="copies"))


@case("43", "the unlikely part of a function, moved away by the compiler")
def cold_part(c):
    c.start(c.cc("alias.c"), "cold")
    return whole("main", "calls", "whole_function|whole_function.cold", "spin")


@case("45", "a debug file by build-id")
def debug_by_build_id(c):
    """Below the program's own root, so that nothing is written to the machine's."""
    ps.need_root()
    program = c.cc("frames.c", "-static", "-Wl,--build-id=0x1122334455667788")
    for directory in ("root/bin", "root/usr/lib/debug/.build-id/11"):
        os.makedirs(c.path(directory))
    c.run("objcopy", "--only-keep-debug", program,
          c.path("root/usr/lib/debug/.build-id/11/22334455667788.debug"))
    c.run("objcopy", "--strip-all", program, c.path("root/bin/inner"))
    c.start(ps.need_tool("chroot"), c.path("root"), "/bin/inner", "tail")
    return whole("main", "callee_of_tail_call", "spin")


@case("46", "symbols in .gnu_debugdata")
def mini_debug_info(c):
    program = c.cc("frames.c")
    c.run("objcopy", "--only-keep-debug", program, c.path("debug"))
    c.run("objcopy", "-S", "--remove-section=.gnu_debuglink", "--keep-symbol=callee_of_tail_call",
          "--keep-symbol=spin", "--keep-symbol=main", c.path("debug"), c.path("mini"))
    with open(c.path("mini"), "rb") as file:
        c.write("mini.xz", lzma.compress(file.read()), "wb")
    c.run("objcopy", "--strip-all", f"--add-section=.gnu_debugdata={c.path('mini.xz')}", program)
    c.start(program, "tail")
    return whole("main", "callee_of_tail_call", "spin")


@case("52", "the kernel's functions under the program's")
def kernel_functions(c):
    with open("/proc/kallsyms", encoding="ascii") as file:
        if int(file.readline().split()[0], 16) == 0:
            ps.skip("the kernel hides its addresses (kernel.kptr_restrict)")
    c.start(c.cc("alias.c"), "kernel")
    return whole("main", "calls", "calls_kernel", "getppid|__getppid|pread*|__libc_pread*",
                 "entry_SYSCALL_64*|*", share=20)


@case("55a", "python with -X perf", alone=True)
def python_perf(c):
    python = _python_with_perf()
    process = c.start(python, "-X", "perf", "-c", PYTHON)
    c.at_end(lambda: _remove(f"/tmp/perf-{process.pid}.map"))
    return named("py::hot_in_python*", share=80)


def _python_with_perf():
    for name in ("python3.14", "python3.13", "python3.12", "python3"):
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", "import sys; sys.exit(sys.version_info < (3, 12)"
                                    " or not sys.is_stack_trampoline_active)"],
                                   capture_output=True, check=False).returncode == 0:
            return path
    ps.skip("no python of 3.12 or later")
    return None


def _remove(path):
    if os.path.exists(path):
        os.unlink(path)


@case("55b", "java with a perf map of jcmd", alone=True)
def java_perf_map(c):
    java, jcmd = ps.need_tool("java"), ps.need_tool("jcmd")
    ps.need_tool("javac")
    c.write("Spin.java", JAVA)
    c.run("javac", "-d", c.directory, c.path("Spin.java"))
    process = c.start(java, "-XX:+PreserveFramePointer", "-XX:TieredStopAtLevel=4", "-cp",
                      c.directory, "Spin")
    c.signal(hard.signal.SIGCONT)
    c.at_end(lambda: _remove(f"/tmp/perf-{process.pid}.map"))
    c.run(jcmd, str(process.pid), "Compiler.perfmap")
    return named("long Spin.hotInJava*|Spin::hotInJava*|Spin.hotInJava*", share=60)


def _hostile(c):
    """A function whose name has control characters, escape sequences and a change of direction."""
    program = c.cc("hostile.c")
    c.run("objcopy", "--redefine-sym",
          "plain_function=evil\x1b]0;pwned\x07\x1b[2J\n\r\u202e", program)
    return program


@case("57a", "names of a thread and a function that would do things to a terminal", own=True)
def hostile_names(c):
    c.start(_hostile(c))
    c.signal(hard.signal.SIGCONT)
    bad = 0
    for form in ("text", "json", "folded"):
        done = subprocess.run([ps.PTOP, "-b", "-n", "1", "-d", "0.7", "-f", form, "-g", "thread",
                               "-p", str(c.pids[0])], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode("utf-8")
        assert "evil" in text, text
        wild = [ch for ch in text if (ch < " " and ch != "\n") or "\x7f" <= ch < "\xa0" or
                "\u202a" <= ch <= "\u202e" or "\u2066" <= ch <= "\u2069"]
        assert not wild, f"{form} has {wild!r}: {text!r}"
        bad += len(text)
    return f"{bad} characters, none of control"


@case("57b", "a program whose file's name would do things to a terminal")
def hostile_file(c):
    name = "evil\x1b[2J\n\u202e.bin"
    os.rename(_hostile(c), c.path(name))
    c.start(c.path(name))
    return lambda seen: _clean(seen)


def _clean(seen):
    for stack in seen.stacks:
        for text in stack.frames + stack.modules:
            assert text.isprintable(), repr(text)
    return seen.most(1).strip()


# ---- the process that reads files ----------------------------------------------------------------


def _descendants(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(child) for child in file.read().split()]
    except OSError:
        return []
    return children + [below for child in children for below in _descendants(child)]


@case("-", "a loader killed in the middle of its work: names and stacks come all the same", own=True)
def loader_killed(c):
    c.start(c.cc("frames.c"), "tail")
    c.signal(hard.signal.SIGCONT)
    with subprocess.Popen([ps.PTOP, "-b", "-n", "4", "-d", "1", "-f", "json", "-p",
                           str(c.pids[0])], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) as ptop:
        first = ps.wait_until(lambda: _descendants(ptop.pid)[1:], hard.START_S, "a worker")[-1]
        os.kill(first, hard.signal.SIGKILL)
        second = ps.wait_until(lambda: [pid for pid in _descendants(ptop.pid)[1:] if pid != first],
                               hard.START_S, "another worker")[-1]
        output = ptop.communicate(timeout=60)[0]
    assert ptop.returncode == 0
    told = whole("main", "callee_of_tail_call", "spin")(hard.last(output))
    return f"{told}, with workers {first} (killed) and {second}"


if __name__ == "__main__":
    hard.run(globals())
