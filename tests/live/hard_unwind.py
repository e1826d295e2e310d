# SPDX-License-Identifier: GPL-2.0-or-later
"""Hard cases of unwinding, one a test: doc/hard-cases.md has the numbers."""

import os

import ptop_hard as hard
from ptop_hard import both, case, ending, named, never, whole


@case("4a", "a call through a PLT stub")
def plt_stub(c):
    return _plt(c, "stub", "-Wl,-z,lazy")


@case("4b", "a call through a PLT stub with endbr64 (.plt.sec)")
def plt_stub_endbr(c):
    return _plt(c, "stub", "-Wl,-z,lazy", "-fcf-protection=full", "-Wl,-z,ibtplt")


@case("4c", "lazy binding")
def lazy_binding(c):
    return _plt(c, "resolve", "-Wl,-z,lazy")


def _plt(c, how, *flags):
    c.cc("plt_library.c", "-shared", "-fPIC", output="libplt.so")
    c.start(c.cc(["plt.c", c.path("libplt.so")], f"-Wl,-rpath,{c.directory}", "-Wl,-z,norelro",
                 *flags), how)
    if how == "resolve":
        return whole("main", "resolves", "_dl_runtime_resolve*", share=60)
    return both(whole("main", "calls_stub"), whole("calls_stub", "library_function@plt",
                                                   over="library_function@plt"))


@case("5a", "a signal handler on the thread's stack")
def signal_handler(c):
    c.start(c.cc("signal.c"), "normal")
    return whole("main", "interrupted", "fault_inside", "__restore_rt|libc.so.6*", "handler", "spin")


@case("5b", "a signal in the first instruction of a function: no byte back")
def signal_at_first(c):
    c.start(c.cc("signal.c"), "first")
    return both(whole("main", "interrupted", "fault_at_first", "__restore_rt|libc.so.6*", "handler",
                      "spin"), never("just_before"))


@case("6a", "a signal handler on an alternate stack")
def alternate_stack(c):
    c.start(c.cc("signal.c"), "alternate")
    return both(ending("[stack cut]", "handler", "spin"), never("[broken stack]"))


@case("6b", "a coroutine's own stack")
def coroutine(c):
    c.start(c.cc("frames.c"), "coroutine")
    return whole("__start_context|libc.so.6*", "coroutine", "spin", over="spin")


@case("7", "the vdso")
def vdso(c):
    c.start(c.cc("frames.c"), "vdso")
    return both(whole("main", "vdso"), named("clock_gettime|__vdso_clock_gettime", "[vdso]"))


@case("8", "a tail call: its caller is not on the stack, and none is invented")
def tail_call(c):
    c.start(c.cc("frames.c"), "tail")
    return both(whole("main", "callee_of_tail_call", "spin"), never("tail_call"))


@case("9", "a call at the very end of a function that does not return")
def noreturn_call(c):
    c.start(c.cc("frames.c"), "noreturn")
    return whole("main", "calls_at_its_end", "never_returns", "spin")


@case("10a", "a leaf in assembler without call frame information")
def asm_leaf(c):
    c.start(c.cc(["asm.c", "asm_code.S"]), "leaf")
    return whole("main", "calls_asm", "asm_leaf")


@case("10b", "assembler without call frame information that keeps the frame pointer")
def asm_chain(c):
    c.start(c.cc(["asm.c", "asm_code.S"]), "chain")
    return whole("main", "calls_asm", "asm_chain", "spin")


@case("10c", "assembler without call frame information whose stack can be followed")
def asm_plain(c):
    c.start(c.cc(["asm.c", "asm_code.S"]), "plain")
    return whole("main", "calls_asm", "asm_plain", "spin")


@case("10d", "assembler that tells nothing: the stack says that it is broken")
def asm_lost(c):
    c.start(c.cc(["asm.c", "asm_code.S"]), "lost")
    return ending("[broken stack]", "asm_lost", "spin")


@case("11a", "musl: the main thread of a dynamic program")
def musl_dynamic(c):
    c.start(c.build("musl-gcc", "frames.c", "-O2"), "big-frame")
    return whole("main", "big_frame", "spin")


@case("11b", "musl: a signal handler, whose trampoline has no call frame information")
def musl_signal(c):
    c.start(c.build("musl-gcc", "signal.c", "-O2"), "normal")
    return whole("main", "interrupted", "fault_inside", "__restore_rt|libc.so+*", "handler",
                 "spin")


@case("11c", "musl: a static program")
def musl_static(c):
    c.start(c.build("musl-gcc", "frames.c", "-O2", "-static"), "big-frame")
    return whole("main", "big_frame", "spin")


@case("11d", "musl: through its qsort() and back")
def musl_qsort(c):
    c.start(c.build("musl-gcc", "leaf_sort.c", "-O2"))
    return whole("main", "sorts", share=90)


@case("11e", "musl: a thread's first function")
def musl_thread(c):
    c.start(c.build("musl-gcc", "frames.c", "-O2", "-pthread"), "thread")
    return whole("in_a_thread", "spin")


@case("12a", "a static program")
def static(c):
    c.start(c.cc("frames.c", "-static"), "big-frame")
    return whole("_start", "__libc_start_main*", "__libc_start_call_main", "main", "big_frame",
                 "spin")


@case("12b", "a static program at any address")
def static_pie(c):
    c.start(c.cc("frames.c", "-static-pie", "-fPIE"), "big-frame")
    return whole("_start", "__libc_start_main*", "__libc_start_call_main", "main", "big_frame",
                 "spin")


@case("12c", "a program at a fixed address")
def no_pie(c):
    c.start(c.cc("frames.c", "-no-pie", "-fno-pie"), "big-frame")
    return whole("_start", "__libc_start_main*", "__libc_start_call_main", "main", "big_frame",
                 "spin")


@case("14", "vfork(): the return address is in a register")
def vfork(c):
    c.start(c.cc("frames.c"), "vfork")
    return whole("main", "vforking", "vfork|__vfork", over="vfork")


@case("15a", "a realigned stack with room of a size known at run time")
def realigned(c):
    c.start(c.cc("frames.c"), "realigned")
    return whole("main", "realigned", "spin")


@case("15b", "a realigned leaf")
def realigned_leaf(c):
    c.start(c.cc("frames.c"), "realigned-leaf")
    return whole("main", "realigned_leaf")


@case("16a", "a frame of 6000 bytes")
def big_frame(c):
    c.start(c.cc("frames.c"), "big-frame")
    return whole("main", "big_frame", "spin")


@case("16b", "a frame beyond any copy: the stack says that it is cut")
def beyond_the_copy(c):
    c.start(c.cc("frames.c"), "beyond")
    return ending("[stack cut]", "beyond_the_copy", "spin")


@case("17", "recursion beyond the limit of frames", options=["--call-graph", "dwarf,65000"])
def recursion(c):
    c.start(c.cc("frames.c", "-fno-optimize-sibling-calls"), "recursion")
    return ending("[deep stack]", "recursion", "recursion", share=90)


@case("18a", "code made at run time, in anonymous memory")
def jit(c):
    process = c.start(c.cc("jit.c"), "anonymous", "map")
    c.at_end(lambda: _remove_map(process.pid))
    return whole("main", "calls_jit", "jitted_outer", "jitted_inner", "spin")


@case("18b", "code made at run time, without a perf map")
def jit_bare(c):
    c.start(c.cc("jit.c"), "anonymous", "bare")
    return whole("main", "calls_jit", "[jit]", "[jit]", "spin")


def _remove_map(pid):
    try:
        os.unlink(f"/tmp/perf-{pid}.map")
    except FileNotFoundError:
        pass


@case("21a", "a thread's first function")
def thread(c):
    c.start(c.cc("frames.c", "-pthread"), "thread")
    return whole("clone3|__clone3", "start_thread", "in_a_thread", "spin")


@case("21b", "a leaf of an optimizing compiler")
def optimized_leaf(c):
    c.start(c.cc("frames.c"), "leaf")
    return whole("__libc_start_call_main", "main", "leaf")


@case("21c", "a library's constructor under the dynamic linker")
def constructor(c):
    c.cc("constructor.c", "-shared", "-fPIC", output="libctor.so")
    c.start(c.cc(["frames.c", c.path("libctor.so")], "-Wl,--no-as-needed",
                 f"-Wl,-rpath,{c.directory}"))
    return both(whole("_dl_start_user", "_dl_init", "call_init*"), whole("constructor", "spin"))


@case("21d", "a program of one function")
def bare_start(c):
    c.start(c.cc("bare_start.c", "-nostdlib", "-static", "-O1"))
    return whole("_start")


@case("21e", "a handler of an exception")
def exception_caught(c):
    return _exception(c, "catch", "main*", "catcher*", "spin_for_good*", "spin_of_it*")


@case("21f", "a destructor while the stack is unwound")
def exception_destructor(c):
    return _exception(c, "destructor", "main*", "catcher*", "guarded*", "Guard::~Guard*",
                      "spin_for_good*")


@case("21g", "a terminate handler below the unwinder")
def exception_terminates(c):
    return _exception(c, "terminate", "main*", "must_not_throw*", "thrower*", "__cxa_throw")


def _exception(c, how, *names):
    c.start(c.build("g++", "landing.cc", "-O2"), how)
    return whole(*names)


if __name__ == "__main__":
    hard.run(globals())
