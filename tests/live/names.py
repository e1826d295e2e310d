# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of functions whose files are gone, replaced, elsewhere, stripped, foreign, or no files."""

import os
import shutil
import subprocess

import ptop_support as ps

NAMED = r"""
#include <stdio.h>
#include <unistd.h>
volatile unsigned long sink;
__attribute__((noinline)) void FUNCTION(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sink += i * 3;
}
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		FUNCTION();
}
"""

LIBRARY = r"""
volatile unsigned long sink;
void library_spinner(void)
{
	for (int i = 0; i < 100000; i++)
		sink += i;
}
"""

USES = r"""
#include <stdio.h>
void library_spinner(void);
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		library_spinner();
}
"""

CPLUSPLUS = r"""
#include <cstdio>
#include <string>
namespace outer {
template <typename T> struct Spinner {
	volatile T sink = 0;
	__attribute__((noinline)) void spin(unsigned n, const std::string &)
	{
		for (unsigned i = 0; i < n; i++)
			sink = sink + i;
	}
};
}
int main()
{
	outer::Spinner<unsigned long> s;
	std::string name("x");
	puts("ready");
	fflush(stdout);
	for (;;)
		s.spin(100000, name);
}
"""

RUST = r"""
use std::io::Write;
mod outer {
    pub struct Spinner { pub sink: u64 }
    impl Spinner {
        #[inline(never)]
        pub fn spin<T: Into<u64> + Copy>(&mut self, n: u64, step: T) {
            for i in 0..n {
                self.sink = std::hint::black_box(self.sink.wrapping_mul(3) ^ (i + step.into()));
            }
        }
    }
}
fn main() {
    let mut s = outer::Spinner { sink: 1 };
    println!("ready");
    std::io::stdout().flush().unwrap();
    loop { s.spin(100000, 1u32); }
}
"""

GO = r"""
package main

import "fmt"

//go:noinline
func spinInGo(n int) (s int) {
	for i := 0; i < n; i++ {
		s = s*31 + i
	}
	return
}

func main() {
	sum := 0
	fmt.Println("ready")
	for {
		sum += spinInGo(100000)
	}
}
"""

JAVASCRIPT = r"""
function hotInJavaScript(n) {
	let s = 0;
	for (let i = 0; i < n; i++)
		s = (s * 31 + i) % 65521;
	return s;
}
console.log("ready");
let sum = 0;
for (;;) sum += hotInJavaScript(100000);
"""


def _compile(directory, name, text, compiler, *flags):
    suffix = {"rustc": ".rs", "g++": ".cc", "c++": ".cc"}.get(os.path.basename(compiler), ".c")
    source = os.path.join(directory, name + suffix)
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    program = os.path.join(directory, name)
    done = subprocess.run([compiler, *flags, "-o", program, source], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        ps.skip(f"{compiler} {' '.join(flags)} does not work here: {done.stderr.strip()[:300]}")
    return program


def _c(directory, function, *flags):
    return _compile(directory, function, NAMED.replace("FUNCTION", function), ps.need_tool("cc"),
                    "-O1", "-g", *flags)


def _start(argv, **options):
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                               **options)

    def end():
        process.kill()
        process.wait()
        process.stdout.close()

    ps.at_end(end)
    line = process.stdout.readline()
    assert line == "ready\n", f"{argv} did not start: {line!r}"
    return process


def _hottest(pid, *options):
    """The hottest function of a process and its share, in a short refresh."""
    refresh, = ps.run_json(["-n", 1, "-d", 0.5, "-K", "--rows", 0, "-p", pid, *options])
    assert refresh["samples"] > 20, f"{refresh['samples']} samples"
    top = max(refresh["functions"], key=lambda row: row["self_samples"])
    return top, refresh


def _expect(pid, wanted, what, *options):
    """Most samples of the process are in a function whose name has the wanted text."""

    def measure():
        top, _ = _hottest(pid, *options)
        assert wanted in top["function"], f"the hottest is {top['function']} of {top['module']}"
        assert top["self_percent"] > 60, top
        return f"{top['function']} of {top['module']}, {top['self_percent']} %"

    ps.retry(3, what, measure)


def test_a_binary_that_was_deleted():
    ps.need_perf()
    program = _c(ps.scratch_dir(), "deleted_spinner")
    process = _start([program])
    os.unlink(program)
    _expect(process.pid, "deleted_spinner", "deleted")


def test_a_binary_that_was_replaced():
    ps.need_perf()
    directory = ps.scratch_dir()
    old = _c(directory, "old_spinner")
    new = _c(directory, "new_spinner", "-O0")
    process = _start([old])
    os.rename(new, old)
    _expect(process.pid, "old_spinner", "replaced")


def test_pie_static_and_fixed_address():
    ps.need_perf()
    for function, flags in (("pie_spinner", ["-pie", "-fPIE"]), ("fixed_spinner", ["-no-pie"]),
                            ("static_spinner", ["-static"])):
        process = _start([_c(ps.scratch_dir(), function, *flags)])
        _expect(process.pid, function, " ".join(flags))
        process.kill()


def test_a_library_beside_its_program():
    ps.need_perf()
    directory = ps.scratch_dir()
    with open(os.path.join(directory, "lib.c"), "w", encoding="utf-8") as file:
        file.write(LIBRARY)
    library = os.path.join(directory, "libspin.so")
    subprocess.run([ps.need_tool("cc"), "-O1", "-shared", "-fPIC", "-o", library,
                    os.path.join(directory, "lib.c")], check=True)
    subprocess.run([ps.need_tool("strip"), library], check=True)  # .dynsym is left
    source = os.path.join(directory, "uses.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(USES)
    program = os.path.join(directory, "uses")
    subprocess.run([ps.need_tool("cc"), "-o", program, source, library,
                    f"-Wl,-rpath,{directory}"], check=True)
    process = _start([program])
    _expect(process.pid, "library_spinner", "library")


def test_a_debug_file_beside_a_stripped_binary():
    ps.need_perf()
    objcopy = ps.need_tool("objcopy")
    directory = ps.scratch_dir()
    program = _c(directory, "stripped_spinner")
    debug = program + ".debug"
    subprocess.run([objcopy, "--only-keep-debug", program, debug], check=True)
    subprocess.run([objcopy, "--strip-all", f"--add-gnu-debuglink={debug}", program], check=True)
    process = _start([program])
    _expect(process.pid, "stripped_spinner", "debuglink")


def test_a_binary_in_another_root():
    ps.need_perf()
    ps.need_root()
    directory = ps.scratch_dir()
    program = _c(directory, "chroot_spinner", "-static")
    os.makedirs(os.path.join(directory, "root/bin"))
    shutil.move(program, os.path.join(directory, "root/bin/inner"))
    process = _start([ps.need_tool("chroot"), os.path.join(directory, "root"), "/bin/inner"])
    _expect(process.pid, "chroot_spinner", "chroot")


def _need_unshare(*flags):
    unshare = ps.need_tool("unshare")
    done = subprocess.run([unshare, *flags, "true"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        ps.skip(f"unshare {' '.join(flags)}: {done.stderr.strip()}")
    return [unshare, *flags]


def test_a_binary_on_a_mount_nobody_else_sees():
    ps.need_perf()
    ps.need_root()
    unshare = _need_unshare("--mount")
    directory = ps.scratch_dir()
    program = _c(directory, "mounted_spinner")
    place = os.path.join(directory, "place")
    os.mkdir(place)
    script = f"mount -t tmpfs none {place} && cp {program} {place}/inner && exec {place}/inner"
    process = _start([*unshare, "/bin/sh", "-c", script])
    assert not os.listdir(place), "the mount is seen from outside"
    _expect(process.pid, "mounted_spinner", "mount namespace")


def test_parts_that_a_compiler_makes():
    ps.need_perf()
    text = NAMED.replace("void FUNCTION(void)", "void FUNCTION(void) __asm__(\"split_spinner.part.0\");\n"
                         "void FUNCTION(void)").replace("FUNCTION", "spinner")
    process = _start([_compile(ps.scratch_dir(), "parts", text, ps.need_tool("cc"), "-O1")])
    _expect(process.pid, "split_spinner", "part")
    top, _ = _hottest(process.pid)
    assert top["function"] == "split_spinner", top
    _expect(process.pid, "split_spinner.part.0", "part, full names", "--full-names")


def test_names_of_cplusplus():
    ps.need_perf()
    process = _start([_compile(ps.scratch_dir(), "spin", CPLUSPLUS, ps.need_tool("g++"), "-O1")])
    _expect(process.pid, "outer::Spinner<unsigned long>::spin", "C++")


def test_names_of_rust():
    ps.need_perf()
    rustc = ps.need_tool("rustc")
    for mangling in ("v0", "legacy"):
        flags = ["-O"] + (["-C", "symbol-mangling-version=v0"] if mangling == "v0" else [])
        process = _start([_compile(ps.scratch_dir(), "spin", RUST, rustc, *flags)])
        name = "outer::Spinner>::spin" if mangling == "v0" else "outer::Spinner::spin"
        _expect(process.pid, name, f"Rust {mangling}")
        process.kill()


def test_names_of_stripped_go():
    ps.need_perf()
    go = ps.need_tool("go")
    directory = ps.scratch_dir()
    for name, text in (("go.mod", "module spin\n"), ("main.go", GO)):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text)
    environment = {**os.environ, "GOCACHE": os.path.join(directory, "cache"), "GOFLAGS": "-mod=mod",
                   "GO111MODULE": "on", "GOTOOLCHAIN": "local", "HOME": directory}
    for mode in ("exe", "pie"):
        done = subprocess.run([go, "build", f"-buildmode={mode}", "-ldflags=-s -w", "-o", mode, "."],
                              cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            ps.skip(f"go build -buildmode={mode} does not work here: {done.stderr.strip()[:300]}")
        process = _start([os.path.join(directory, mode)])
        _expect(process.pid, "main.spinInGo", f"Go, {mode}")
        process.kill()


def _expect_javascript(pid):

    def measure():
        _, refresh = _hottest(pid)
        named = [row for row in refresh["functions"] if "hotInJavaScript" in row["function"]]
        share = sum(row["self_percent"] for row in named)
        assert share > 50, f"{share} %: {[row['function'] for row in refresh['functions'][:5]]}"
        return f"{named[0]['function']}, {share:.1f} %"

    ps.retry(3, "JavaScript", measure)


def test_names_of_javascript():
    ps.need_perf()
    node = ps.need_tool("node")
    process = _start([node, "--perf-basic-prof", "-e", JAVASCRIPT])
    ps.at_end(lambda: os.path.exists(f"/tmp/perf-{process.pid}.map") and
              os.unlink(f"/tmp/perf-{process.pid}.map"))
    _expect_javascript(process.pid)


def test_names_of_javascript_in_a_pid_namespace():
    ps.need_perf()
    ps.need_root()
    node = ps.need_tool("node")
    unshare = _need_unshare("--pid", "--fork", "--mount", "--mount-proc", "--kill-child")
    script = f"mount -t tmpfs none /tmp && exec {node} --perf-basic-prof -e '{JAVASCRIPT}'"
    process = _start([*unshare, "/bin/sh", "-c", script])
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        inner = int(file.read().split()[0])
    assert not os.path.exists(f"/tmp/perf-{inner}.map")
    _expect_javascript(inner)


if __name__ == "__main__":
    ps.main(globals())
