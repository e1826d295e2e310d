# SPDX-License-Identifier: GPL-2.0-or-later
"""Hard cases of mappings and files, one a test: doc/hard-cases.md has the numbers."""

import os
import shutil
import subprocess

import ptop_hard as hard
import ptop_support as ps
import ptop_user
from ptop_hard import both, case, named, never, whole

SPINS = ("main", "calls", "own_page")


@case("22", "text whose file offset is not its address (lld)")
def offset_is_no_address(c):
    c.start(c.build("clang", "place.c", "-O2", f"-fuse-ld={_lld()}"))
    return whole(*SPINS)


def _lld():
    if not shutil.which("ld.lld") and not shutil.which("ld.lld-14"):
        ps.skip("lld is not installed")
    return "lld"


@case("23a", "two executable segments, far apart")
def two_segments(c):
    c.start(c.cc("segments.c", "-no-pie", "-fno-pie",
                 "-Wl,--section-start=.hot_segment=0x40000000"))
    return whole("main", "in_hot_segment", "spin")


@case("23b", "two executable segments of lld, at any address")
def two_segments_lld(c):
    script = c.write("order.ld", "SECTIONS { .hot_segment : { *(.hot_segment) } } "
                     "INSERT AFTER .bss;")
    c.start(c.build("clang", "segments.c", "-O2", f"-fuse-ld={_lld()}", f"-Wl,-T,{script}"))
    return whole("main", "in_hot_segment", "spin")


@case("24", "a file mapped twice, running in the second mapping")
def mapped_twice(c):
    c.start(c.cc("place.c"), "elsewhere")
    return whole(*SPINS)


@case("25a", "one page of text moved to anonymous memory")
def moved_page(c):
    c.start(c.cc("place.c"), "huge")
    return whole(*SPINS)


@case("25b", "all text moved to anonymous memory")
def moved_text(c):
    c.start(c.cc("place.c"), "whole")
    return whole(*SPINS)


@case("26a", "a program that was deleted with its directory")
def deleted(c):
    program = c.cc("place.c")
    os.mkdir(c.path("gone"))
    os.rename(program, c.path("gone/deleted"))
    c.start(c.path("gone/deleted"))
    shutil.rmtree(c.path("gone"))
    return whole(*SPINS)


@case("26b", "a program whose name another file has now")
def replaced(c):
    program = c.cc("place.c")
    other = c.cc("segments.c", output="other")
    c.start(program)
    os.rename(other, program)
    return whole(*SPINS)


@case("26c", "a library that was deleted and whose name another file has")
def replaced_library(c):
    library = c.cc("constructor.c", "-shared", "-fPIC", output="libctor.so")
    other = c.cc("plt_library.c", "-shared", "-fPIC", output="libother.so")
    c.start(c.cc(["frames.c", library], "-Wl,--no-as-needed", f"-Wl,-rpath,{c.directory}"))
    os.rename(other, library)
    return whole("constructor", "spin")


def _library(c, function, padding, output):
    return c.cc("churned_library.c", "-shared", "-fPIC", f"-DFUNCTION={function}",
                f"-DPADDING={padding}", output=output)


@case("27", "a program run from a memfd")
def memfd(c):
    c.start(c.cc("place.c"), "memfd")
    return whole(*SPINS)


@case("27b", "code made at run time in a memfd mapped twice, with a perf map")
def jit_memfd(c):
    return _jit(c, "memfd")


@case("38", "code in a mapping of a device")
def jit_device(c):
    return _jit(c, "zero")


def _jit(c, how):
    process = c.start(c.cc("jit.c"), how, "map")
    c.at_end(lambda: os.unlink(f"/tmp/perf-{process.pid}.map"))
    return whole("main", "calls_jit", "jitted_outer", "jitted_inner", "spin")


@case("28a", "a container: mount and pid namespace, its own /tmp, a chroot, a perf map")
def container(c):
    """The program's path, its library's and its perf map's mean other files outside."""
    ps.need_root()
    unshare = hard.need_unshare("--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
    program = c.cc("jit.c", "-static")
    root = c.path("root")
    for directory in ("bin", "tmp", "proc"):
        os.makedirs(os.path.join(root, directory))
    shutil.move(program, os.path.join(root, "bin/inner"))
    script = (f"mount -t tmpfs none {root}/tmp && "
              f"exec chroot {root} /bin/inner anonymous map")
    c.start(*unshare, "/bin/sh", "-c", script, pid=hard.first_child)
    assert not os.listdir(os.path.join(root, "tmp")), "the container's /tmp is seen from outside"
    return whole("main", "calls_jit", "jitted_outer", "jitted_inner", "spin")


@case("28b", "a program on an overlay that nobody else sees")
def overlay(c):
    ps.need_root()
    unshare = hard.need_unshare("--mount", "--pid", "--fork", "--kill-child")
    program = c.cc("place.c")
    for directory in ("lower", "upper", "work", "merged"):
        os.mkdir(c.path(directory))
    shutil.move(program, c.path("lower/inner"))
    script = (f"cd {c.directory} && mount -t tmpfs none upper && mkdir upper/u upper/w && "
              "mount -t overlay overlay -o lowerdir=lower,upperdir=upper/u,workdir=upper/w merged"
              " && exec merged/inner")
    try:
        c.start(*unshare, "/bin/sh", "-c", script, pid=hard.first_child,
                stderr=subprocess.DEVNULL)
    except AssertionError:
        ps.skip("an overlay cannot be mounted here")
    assert not os.listdir(c.path("merged")), "the overlay is seen from outside"
    return whole(*SPINS)


@case("28c", "a chroot")
def chroot(c):
    ps.need_root()
    program = c.cc("frames.c", "-static")
    os.makedirs(c.path("root/bin"))
    shutil.move(program, c.path("root/bin/inner"))
    c.start(ps.need_tool("chroot"), c.path("root"), "/bin/inner", "tail")
    return whole("main", "callee_of_tail_call", "spin")


@case("29", "a debug file behind an absolute symbolic link inside a root")
def link_inside_root(c):
    ps.need_root()
    program = c.cc("frames.c", "-static")
    for directory in ("root/bin", "root/usr/lib/debug/bin", "root/elsewhere"):
        os.makedirs(c.path(directory))
    c.run("objcopy", "--only-keep-debug", program, c.path("root/elsewhere/inner.debug"))
    # The link leads to the wrong file, or to none, by ptop's own root.
    os.symlink("/elsewhere/inner.debug", c.path("root/usr/lib/debug/bin/inner.debug"))
    c.run("objcopy", "--strip-all", f"--add-gnu-debuglink={c.path('root/elsewhere/inner.debug')}",
          program, c.path("root/bin/inner"))
    c.start(ps.need_tool("chroot"), c.path("root"), "/bin/inner", "tail")
    return whole("main", "callee_of_tail_call", "spin")


@case("30", "a file of a btrfs subvolume: mappings tell another device than fstat()")
def btrfs(c):
    ps.need_root()
    unshare = hard.need_unshare("--mount")
    mkfs = ps.need_tool("mkfs.btrfs")
    image = c.write("image", "")
    os.truncate(image, 128 << 20)
    c.run(mkfs, "-q", image)
    os.mkdir(c.path("mnt"))
    program = c.cc("place.c")
    script = (f"mount -o loop {image} {c.path('mnt')} && cd {c.path('mnt')} && "
              f"btrfs -q subvolume create sub && cp {program} sub/inner && exec sub/inner")
    c.start(*unshare, "/bin/sh", "-c", script)
    return whole(*SPINS)


@case("32", "libraries that come and go at the same addresses")
def churned_libraries(c):
    first = _library(c, "function_of_first", "", "libfirst.so")
    second = _library(c, "function_of_second", "for (int i = 0; i < 9; i++) sink *= sink + 3",
                      "libsecond.so")
    c.start(c.cc("churn_libraries.c"), first, second)
    return both(whole("calls_library", "entry", "function_of_first", over="function_of_first",
                      share=99),
                whole("calls_library", "entry", "function_of_second", over="function_of_second",
                      share=99),
                lambda seen: _both_there(seen, "function_of_first", "function_of_second"),
                never("padding"))


def _both_there(seen, *functions):
    """Both have a fair part: the names of one do not stand for the other's code."""
    shares = [seen.share(lambda s, f=f: f in s.frames) for f in functions]
    assert all(15 < share < 85 for share in shares), f"{shares}{seen.most()}"
    return " and ".join(f"{share:.0f} %" for share in shares)


@case("33", "fork and exec: what runs before and after the exec has its own names",
      alone=True)
def fork_and_exec(c):
    other = c.cc("execs.c", "-DFUNCTION=after_exec", output="after")
    c.start(c.cc("execs.c"), other)
    return both(whole("main", "before_exec", over="before_exec", share=99),
                whole("main", "after_exec", over="after_exec", share=98),
                lambda seen: _both_there(seen, "before_exec", "after_exec"))


@case("36", "thousands of executable mappings, and code in one of them", seconds=2)
def many_maps(c):
    c.start(c.cc("many_maps.c"), "20000")
    return both(named("[jit]", share=20), _cheap)


def _cheap(seen):
    cost = seen.refresh["own"]["cpu_percent"]
    assert cost < 60, f"ptop took {cost} % of a processor"
    return f"ptop took {cost} %"


# ---- as an ordinary user -------------------------------------------------------------------------


@case("37", "as an ordinary user: own programs with names, those of others refused in a sentence",
      own=True)
def ordinary_user(c):
    """ptop without rights on a program of its user, with a perf map; and on one of root."""
    ptop_user.need_user_sampling()
    user = ptop_user.User()
    program = user.install(c.cc("jit.c"))
    process = user.popen([program, "anonymous", "map"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    c.at_end(lambda: os.unlink(f"/tmp/perf-{process.pid}.map"))
    status, out, err = user.run(["-b", "-n", 2, "-d", 1, "-f", "json", "-p", process.pid])
    assert status == 0, err
    told = whole("main", "calls_jit", "jitted_outer", "jitted_inner", "spin")(hard.last(out))
    if os.getuid() == 0:
        told += "; " + user.refused(["-b", "-n", 1, "-p", os.getpid()], str(os.getpid())).strip()
    return told


if __name__ == "__main__":
    hard.run(globals())
