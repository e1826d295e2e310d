# SPDX-License-Identifier: GPL-2.0-or-later
"""The view of modules: what is known of a stripped program, of one with names, and of JIT code."""

import os
import platform
import re
import subprocess

import ptop_support as ps

SPINS = r"""
#include <stdio.h>
volatile unsigned long sink;
__attribute__((noinline)) void spinner(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sink += i * 3;
}
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		spinner();
}
"""

# Code in anonymous memory, under a name that says which runtime made it.
MAKES_CODE = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#if defined(__x86_64__)
static const unsigned char code[] = { 0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
#else
static const unsigned code[] = { 0x71000400, 0x54ffffe1, 0xd65f03c0 };
#endif
int main(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*spin)(int);

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof(code));
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache(at, (char *)at + sizeof(code));
	memcpy(&spin, &at, sizeof(at));
	prctl(PR_SET_NAME, "java");
	printf("%p\n", at);
	fflush(stdout);
	for (;;)
		spin(1000000);
}
"""


def _compile(name, text, *flags):
    directory = ps.scratch_dir()
    source = os.path.join(directory, name + ".c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    program = os.path.join(directory, name)
    subprocess.run([ps.need_tool("cc"), "-O1", "-Wl,--build-id", *flags, "-o", program, source],
                   check=True)
    return program


def _start(program):
    process = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               text=True)

    def end():
        process.kill()
        process.wait()
        process.stdout.close()

    ps.at_end(end)
    line = process.stdout.readline()
    assert line, f"{program} did not start"
    return process, line.strip()


def _module(pid, name):
    """The module of a refresh with some samples, once it has been read."""
    refresh, = ps.run_json(["-n", 1, "-d", 0.5, "--rows", 0, "-p", pid])
    assert refresh["samples"] > 20, f"{refresh['samples']} samples"
    found = [module for module in refresh["modules"] if name in module["module"]]
    assert found, [module["module"] for module in refresh["modules"]]
    assert found[0]["names"] != "wait", found[0]
    assert found[0]["self_percent"] > 50, found[0]
    return found[0]


def _tell(module):
    return f"{module['module']}: {module['names']}, {module['mend']}"


def test_a_stripped_program():
    ps.need_perf()
    for flags, names in (([], "none"), (["-rdynamic"], "dynsym")):
        program = _compile("bare", SPINS, "-s", *flags)
        process, _ = _start(program)

        def measure():
            module = _module(process.pid, "bare")
            assert module["path"] == program, module
            assert module["names"] == names, module
            assert module["names_why"], module
            assert re.fullmatch("[0-9a-f]{40}", module["build_id"]), module
            if names == "none":
                assert module["unnamed"] == module["self_samples"], module
            wanted = f".build-id/{module['build_id'][:2]}/{module['build_id'][2:]}.debug"
            assert wanted in module["mend"], module
            return _tell(module)

        ps.retry(5, " ".join(["stripped", *flags]), measure)
        process.kill()


def test_a_program_with_names():
    ps.need_perf()
    process, _ = _start(_compile("named", SPINS))

    def measure():
        module = _module(process.pid, "named")
        assert module["names"] == "symtab" and module["mend"] is None, module
        assert module["unnamed"] == 0, module
        assert module["rows"] == "yes", module
        return _tell(module)

    ps.retry(5, "with symbols", measure)


def test_code_made_while_it_runs():
    ps.need_perf()
    if platform.machine() not in ("x86_64", "aarch64"):
        ps.skip(f"no code at hand for {platform.machine()}")
    process, address = _start(_compile("maker", MAKES_CODE))

    def without():
        module = _module(process.pid, "[jit]")
        assert module["module"] == f"[jit] java[{process.pid}]", module
        assert module["names"] == "none" and module["rows"] is None, module
        assert module["mend"].startswith(f"jcmd {process.pid} Compiler.perfmap"), module
        assert module["unnamed"] == module["self_samples"], module
        return _tell(module)

    ps.retry(5, "without a perf map", without)
    name = f"/tmp/perf-{process.pid}.map"
    with open(name, "w", encoding="ascii") as file:
        ps.at_end(lambda: os.unlink(name))
        file.write(f"{int(address, 16):x} 1000 made_code\n")

    def with_map():
        module = _module(process.pid, "[jit]")
        assert module["names"] == "perf map" and module["mend"] is None, module
        assert module["unnamed"] == 0, module
        return _tell(module)

    ps.retry(5, "with a perf map", with_map)


def test_text_and_screen():
    ps.need_perf()
    process, _ = _start(_compile("seen", SPINS, "-s"))

    def text():
        done = ps.run(["-b", "-n", 1, "-d", 0.5, "-V", "modules", "-p", process.pid])
        assert re.search(r"TOTAL +SELF +UNNAMED +BROKEN .*NAMES +ROWS +MODULE", done.stdout), done
        assert re.search(r"^ *\d+\.\d% .* none +\w+ +seen$", done.stdout, re.M), done.stdout
        assert re.search(r"^ +to mend: .*\.build-id/", done.stdout, re.M), done.stdout
        return "found"

    ps.retry(5, "text", text)
    with ps.Terminal(["-V", "modules", "-p", process.pid]) as terminal:
        terminal.wait_for(r"none +(yes|wait|no|-)")
        terminal.wait_for(r"to mend .*\n(.*\n)?.*\.build-id/")
        terminal.resize(40, 10)
        terminal.wait_for(r"UNNAMED +MODULE")
        terminal.keys("Enter")
        terminal.wait_for(r"names +none")
        for _ in range(12):  # a line at a time: there is room for five
            if "to mend" in terminal.screen():
                break
            before = terminal.screen()
            terminal.keys("Down")
            terminal.wait_for(lambda screen, seen=before: screen != seen)
        assert "to mend" in terminal.screen(), terminal.frame()
        terminal.keys("Enter")
        terminal.wait_for(r"Enter detail")
        terminal.keys("2")
        terminal.wait_for(r"FUNCTION: call tree")
        terminal.keys("M")
        terminal.wait_for(r"UNNAMED +MODULE")
        terminal.keys("q")
        assert terminal.wait_exit() == 0


if __name__ == "__main__":
    ps.main(globals())
