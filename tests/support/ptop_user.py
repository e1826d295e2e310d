# SPDX-License-Identifier: GPL-2.0-or-later
"""ptop and its targets as an ordinary user: uid 65534 when the tests run as root."""

import ctypes
import os
import platform
import resource
import shutil
import struct
import subprocess

import ptop_support as ps

NOBODY = 65534


def _switch():
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}


def uid():
    return NOBODY if os.getuid() == 0 else os.getuid()


def paranoid():
    try:
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            return int(file.read())
    except OSError:
        ps.skip("kernel.perf_event_paranoid cannot be read")


def need_user_sampling():
    """Skips where an ordinary user can sample nothing, or more than own user code."""
    if paranoid() != 2:
        ps.skip(f"kernel.perf_event_paranoid is {paranoid()}: this test is about 2")
    ps.need_perf()


def public_dir():
    """A directory of this test that the ordinary user can write."""
    path = ps.scratch_dir()
    os.chmod(path, 0o755)
    if os.getuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    return path


class User:
    """Copies of ptop and of programs where the user can run them: build directories are private."""

    def __init__(self):
        self.directory = public_dir()
        self.ptop = self.install(ps.PTOP)

    def install(self, program):
        path = os.path.join(self.directory, os.path.basename(program))
        shutil.copyfile(program, path)
        os.chmod(path, 0o755)
        return path

    def popen(self, argv, limits=(), before=None, **options):
        """argv as the user. limits: (resource, soft, hard). before: done in the child, last."""

        def prepare():
            for what, soft, hard in limits:
                resource.setrlimit(what, (soft, hard))
            if before:
                before()

        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(
            [str(arg) for arg in argv], text=True, cwd=self.directory,
            preexec_fn=prepare, **_switch(), **options)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()

        ps.at_end(end)
        return process

    def run(self, args, **options):
        """ptop with these arguments to its end: (exit status, stdout, stderr)."""
        process = self.popen([self.ptop] + list(args), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **options)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def refused(self, args, *words, **options):
        """ptop ends with one plain sentence that has all the words; returns the sentence."""
        status, out, err = self.run(args, **options)
        assert status in (1, 2), f"exit status {status}: {out}{err}"
        assert out == "", out
        assert err.startswith("ptop: ") and err.count("\n") == 1, err
        for word in words:
            assert word in err, f"no {word!r} in: {err}"
        return err

    def workload(self, name, *args):
        """A program of tests/support run by the user; returns its Popen."""
        program = self.install(ps.build_c(name + ".c"))
        process = self.popen([program] + list(args), stdout=subprocess.PIPE)
        assert process.stdout.readline().startswith("ready"), f"{name} did not start"
        return process


# ---- a kernel that says no -----------------------------------------------------------------------

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 22, 38, 2


def refusing_perf(errno):
    """For User.popen(before=...): a seccomp filter by which perf_event_open fails with errno."""
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        ps.skip(f"no perf_event_open number known for {platform.machine()}")
    code = struct.pack("=HBBI", 0x20, 0, 0, 0)  # load the number of the system call
    code += struct.pack("=HBBI", 0x15, 0, 1, number)  # is it perf_event_open?
    code += struct.pack("=HBBI", 0x06, 0, 0, 0x00050000 | errno)  # then fail
    code += struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)  # else go on
    program = ctypes.create_string_buffer(code, len(code))
    fprog = ctypes.create_string_buffer(struct.pack("HL", 4, ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)

    def before():
        _ = program  # the filter points at it
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, fprog, 0, 0):
            os._exit(99)

    return before
