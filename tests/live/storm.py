# SPDX-License-Identifier: GPL-2.0-or-later
"""ptop under storms of processes, threads and samples: it answers, and its memory is bounded."""

import os
import resource
import subprocess
import time

import ptop_support as ps
from ptop_screen import observe

LONG_S = 60
MIB = 1 << 20


def _key_to_screen(terminal):
    """Seconds from a key to the screen it asks for; the help page, there and back."""
    start = time.monotonic()
    terminal.keys("?")
    terminal.wait_for(r"^Keys", LONG_S)
    terminal.keys("Escape")
    terminal.wait_for(lambda screen: "TOTAL" in screen, LONG_S)
    return time.monotonic() - start


def _answers(terminal, what):
    """Help comes and goes within two seconds: at best in 0.2 s, of which ESC takes 0.1 s."""

    def measure():
        seconds = _key_to_screen(terminal)
        assert seconds < 2, f"{seconds:.2f} s"
        return f"{seconds:.2f} s"

    ps.retry(3, what, measure)


def _bounded(pid):
    rss = ps.rss_bytes(pid)
    assert rss < 160 * MIB, f"{rss / MIB:.0f} MB"
    return rss


def test_a_fork_storm():
    ps.need_perf(system=True)
    with ps.Terminal(["-d", 0.5], cols=100) as terminal:
        terminal.wait_for(r"^ptop ", LONG_S)
        pid = terminal.pid()
        ps.wait_until(lambda: "TOTAL" in terminal.screen(), LONG_S, "a list")
        with ps.Workload("churn", 1000, 5) as churn:
            peak = 0
            while ps.is_running(churn.pid) and churn.process.poll() is None:
                _answers(terminal, "help in a fork storm")
                peak = max(peak, _bounded(pid))
            started = int(churn.wait(LONG_S).split()[1])
        terminal.wait_for(lambda screen: "TOTAL" in screen, LONG_S)
        print(f"  {started} processes, at most {peak / MIB:.1f} MB")
        assert started > 200, f"no storm: {started} processes in 5 s"
        terminal.keys("q")
        assert terminal.wait_exit(LONG_S) == 0
        terminal.check_restored()


def test_memory_is_flat_under_churn():
    ps.need_perf(system=True)

    def measure():
        with ps.Workload("churn", 180, 60) as churn:
            # Not the whole system: what else runs here has its own images and histories. And by
            # frame pointers: what is learned about unwinding fills its bounds more slowly.
            process = subprocess.Popen(
                [ps.PTOP, "-b", "-d", "1", "--call-graph", "fp", "-p", str(churn.pid)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            ps.at_end(process.wait)
            ps.at_end(process.kill)
            start = time.monotonic()

            def rss_at(seconds):
                ps.wait_until(lambda: time.monotonic() - start >= seconds, LONG_S)
                return ps.rss_bytes(process.pid)

            early = rss_at(8)
            late = rss_at(20)
            assert churn.process.poll() is None, "the churn ended too soon"
            process.terminate()
            process.wait(LONG_S)
        growth = (late - early) / MIB
        assert growth < 2, f"{growth:.2f} MB from {early / MIB:.1f} MB in 12 s"
        return f"{growth:.2f} MB in 12 s, {late / MIB:.1f} MB in all"

    ps.retry(2, "growth", measure)


def _raise_descriptors(wanted):
    try:
        with open("/proc/sys/fs/nr_open", encoding="ascii") as file:
            most = int(file.read())
    except OSError:
        most = 0
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < wanted and (os.getuid() or most < wanted):
        ps.skip(f"needs {wanted} descriptors, may have {hard}")


def test_two_thousand_threads_and_no_descriptor_is_leaked():
    ps.need_perf()
    cpus = os.cpu_count()
    _raise_descriptors(2001 * cpus * 3 + 200)
    with ps.Workload("many_threads", 2000, 300) as work:
        with ps.Terminal(["-e", "cpu-clock", "-d", 0.5, "-p", work.pid], cols=100) as terminal:
            terminal.wait_for(r"^ptop +cpu-clock", LONG_S)
            terminal.wait_for(r"spin_in_thread|thread_main|start_thread|nanosleep", LONG_S)
            pid = terminal.pid()
            _answers(terminal, "help with 2,000 threads")
            counts = []
            for _ in range(3):
                for key, event in ((">", "task-clock"), ("<", "cpu-clock")):
                    terminal.keys(key)
                    terminal.wait_for(rf"^ptop +{event} ", LONG_S)
                counts.append(ps.nr_descriptors(pid))
            print(f"  descriptors after each change and back: {counts}, "
                  f"{_bounded(pid) / MIB:.1f} MB")
            assert max(counts) - min(counts) <= 8, f"descriptors leak: {counts}"
            terminal.keys("q")
            assert terminal.wait_exit(LONG_S) == 0


def test_descriptors_stay_the_same_over_changes_of_everything():
    ps.need_perf(system=True)
    with ps.Terminal(["-e", "cpu-clock", "-F", 200, "-d", 0.2], cols=100) as terminal:
        terminal.wait_for(r"^ptop +cpu-clock 200Hz", LONG_S)
        pid = terminal.pid()
        counts = []
        for _ in range(4):
            for key, wanted in ((">", "task-clock "), ("<", "cpu-clock "), ("]", "400Hz"),
                                ("[", " 200Hz"), ("K", "user only"), ("K", r"user\+kernel"),
                                ("m", "Events:"), ("Escape", "TOTAL")):
                terminal.keys(key)
                terminal.wait_for(wanted, LONG_S)
            # Events and the like; files are held as programs come and go on this machine.
            counts.append(ps.nr_descriptors(pid, "anon_inode:"))
        assert counts[-1] <= counts[1], f"descriptors leak: {counts}"
        terminal.keys("q")
        assert terminal.wait_exit(LONG_S) == 0


def test_a_sample_every_nanosecond():
    ps.need_perf(system=True)
    with ps.Workload("workload", 300) as work:
        with ps.Terminal(["-e", "cpu-clock", "-c", 1, "-d", 0.5], cols=120) as terminal:
            terminal.wait_for(r"^ptop +cpu-clock", LONG_S)
            terminal.keys("1")
            terminal.wait_for(r"hot_a", LONG_S)
            pid = terminal.pid()
            _answers(terminal, "help at -c 1")
            observe(2, lambda: _bounded(pid))
            terminal.keys("!")
            terminal.wait_for(r"-c 1: .*every|cannot carry", LONG_S)
            terminal.keys("Escape")
            assert work.process.poll() is None
            terminal.keys("q")
            assert terminal.wait_exit(LONG_S) == 0
            terminal.check_restored()


if __name__ == "__main__":
    ps.main(globals())
