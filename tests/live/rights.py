# SPDX-License-Identifier: GPL-2.0-or-later
"""ptop with small rights: what works, what is refused, and the sentence that says what mends it."""

import errno
import json
import os
import resource
import subprocess

import ptop_support as ps
import ptop_user as pu

NOFILE, MEMLOCK = resource.RLIMIT_NOFILE, resource.RLIMIT_MEMLOCK


def test_an_own_process_works_and_what_is_missing_is_said():
    pu.need_user_sampling()
    user = pu.User()
    work = user.workload("workload", 120)

    def measure():
        status, out, err = user.run(["-b", "--format", "json", "-n", 1, "-d", 1, "-p", work.pid])
        assert status == 0, err
        refresh = json.loads(out)
        ps.check_json(refresh)
        assert "kernel" in refresh["exclude"], refresh["exclude"]
        assert [note for note in refresh["notes"] if "perf_event_paranoid=1" in note], \
            refresh["notes"]
        rows = ps.function_rows(refresh)
        assert not [row for row in refresh["functions"] if row["module"] == "[kernel]"], rows
        percent = rows["hot_a"]["self_percent"]
        assert 40 <= percent <= 60, f"hot_a has {percent} %"
        return f"hot_a has {percent} %"

    ps.retry(3, "own process", measure)


def test_the_screen_says_what_is_missing():
    pu.need_user_sampling()
    user = pu.User()
    work = user.workload("workload", 120)
    program, args = user.ptop, ["-p", work.pid]
    if os.getuid() == 0:
        program = ps.need_tool("setpriv")
        args = [f"--reuid={pu.NOBODY}", f"--regid={pu.NOBODY}", "--clear-groups", user.ptop] + args
    with ps.Terminal(args, cols=120, program=program) as terminal:
        terminal.wait_for("user only", 30)
        terminal.keys("!")
        terminal.wait_for("Notes", 30)
        terminal.wait_for(r"perf_event_paranoid=1", 30)
        terminal.keys("Escape")
        terminal.wait_for(lambda screen: "─ Notes" not in screen, 30)
        terminal.keys("q")
        assert terminal.wait_exit(30) == 0
        terminal.check_restored()


def test_what_is_not_allowed_is_refused_in_a_sentence():
    pu.need_user_sampling()
    user = pu.User()
    user.refused(["-b", "-n", 1, "-d", 0.2], "whole system", "perf_event_paranoid", "sudo")
    user.refused(["-b", "-n", 1, "-d", 0.2, "-p", 1], "1", "another user", "sudo")
    user.refused(["-b", "-n", 1, "-d", 0.2, "-t", 1], "1", "another user", "sudo")
    user.refused(["-b", "-n", 1, "-d", 0.2, "-e", "context-switches", "-p", os.getpid()
                  if os.getuid() else user.workload("many_threads", 1, 120).pid],
                 "context-switches", "rights")
    if os.getuid() == 0:
        user.refused(["-b", "-n", 1, "-d", 0.2, "-u", "0"], "another user", "cap_perfmon")


def test_a_process_that_is_not_there_is_not_a_matter_of_rights():
    user = pu.User()
    user.refused(["-b", "-n", 1, "-d", 0.2, "-p", 4194999], "4194999", "no process")
    gone = user.popen(["/bin/true"])
    gone.wait()
    user.refused(["-b", "-n", 1, "-d", 0.2, "-p", gone.pid], str(gone.pid), "no process")


def test_a_kernel_or_container_without_perf_is_said():
    user = pu.User()
    work = user.workload("many_threads", 1, 120)
    args = ["-b", "-n", 1, "-d", 0.2, "-p", work.pid]
    for number, word in ((errno.EPERM, "seccomp"), (errno.ENOSYS, "")):
        said = user.refused(args, word, before=pu.refusing_perf(number))
        assert "errno" not in said and len(said) < 400, said
    for number in (errno.EPERM, errno.EACCES, errno.ENOSYS):
        status, out, _ = user.run(["--doctor"], before=pu.refusing_perf(number))
        assert status == 0 and "perf_event_paranoid" in out, out


def test_few_descriptors_are_raised_or_said():
    pu.need_user_sampling()
    user = pu.User()
    work = user.workload("many_threads", 60, 120)
    args = ["-b", "-n", 1, "-d", 0.2, "-p", work.pid]
    status, _, err = user.run(args, limits=[(NOFILE, 32, 4096)])
    assert status == 0, err
    user.refused(args, "descriptors", "ulimit -n", limits=[(NOFILE, 64, 64)])
    user.refused(args, "descriptors", "ulimit -n", limits=[(NOFILE, 16, 16)])


def test_little_locked_memory_gives_smaller_rings_and_says_so():
    pu.need_user_sampling()
    user = pu.User()
    work = user.workload("workload", 120)
    args = ["-b", "--format", "json", "-n", 1, "-d", 0.5, "-p", work.pid]
    others = 0

    def is_told():
        status, out, err = user.run(args, limits=[(MEMLOCK, 0, 0)])
        assert status == 0, err
        refresh = json.loads(out)
        assert refresh["samples"] > 0, "no samples through small rings"
        return [note for note in refresh["notes"] if "small rings" in note and "mlock_kb" in note]

    # On a machine of many processors the quota goes further: others use it up.
    while not is_told():
        others += 1
        assert others < 8, "the quota never got small"
        path = os.path.join(user.directory, f"ready-{others}")
        with open(path, "w", encoding="utf-8") as out:
            user.popen([user.ptop, "-b", "-d", 0.1, "-p", work.pid], limits=[(MEMLOCK, 0, 0)],
                       stdout=out)
        ps.wait_until(lambda where=path: os.path.getsize(where) > 0, 30, "another ptop's rings")


def test_no_locked_memory_left_is_said():
    pu.need_user_sampling()
    user = pu.User()
    work = user.workload("many_threads", 1, 300)
    path = os.path.join(user.directory, "out")
    for number in range(40):
        with open(f"{path}-{number}", "w", encoding="utf-8") as out:
            process = user.popen([user.ptop, "-b", "-d", 0.1, "-p", work.pid],
                                 limits=[(MEMLOCK, 0, 0)], stdout=out, stderr=subprocess.PIPE)
        ps.wait_until(lambda p=process, n=number: p.poll() is not None or
                      os.path.getsize(f"{path}-{n}") > 0, 30, "a refresh or a refusal")
        if process.poll() is not None:
            break
    err = process.communicate(timeout=30)[1]
    assert process.returncode == 1, f"{number} ptops have rings, the last ended: {err}"
    assert err.startswith("ptop: ") and err.count("\n") == 1, err
    assert "perf_event_mlock_kb" in err, err
    print(f"  {number} before it had rings")


def test_the_doctor_knows_this_user():
    user = pu.User()
    status, out, err = user.run(["--doctor"])
    assert status == 0 and err == "", err
    for word in (f"user {pu.uid()}", "perf_event_paranoid", "kptr_restrict", "mlock", "descriptors",
                 "own processes", "whole system"):
        assert word in out, f"no {word!r} in:\n{out}"
    if pu.paranoid() >= 1 and os.getuid() == 0:
        assert "cap_perfmon" in out, out
    assert "\x1b" not in out and len(out) < 10000, out


if __name__ == "__main__":
    ps.main(globals())
