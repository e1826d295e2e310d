# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile of a workload whose shares are known, against the truth and against perf."""

import os
import subprocess

import ptop_support as ps
from ptop_shares import PerfShares, allowed, compare

POINTS = 2.0


def _check_shares(refresh):
    """Self, total and edges of workload.c in one refresh; returns the largest error in points."""
    rows = ps.function_rows(refresh)
    worst = 0.0
    for wanted, column in ((ps.WORKLOAD_SELF, "self_percent"),
                           (ps.WORKLOAD_TOTAL, "total_percent")):
        for name, percent in wanted.items():
            assert name in rows, f"no function {name}: {sorted(rows)}"
            off = abs(rows[name][column] - percent)
            limit = allowed(POINTS, percent, refresh["samples"])
            assert off <= limit, f"{column} of {name} is {rows[name][column]}, not {percent}"
            worst = max(worst, off)
    edges = ps.tree_edges(refresh["tree"])
    for edge, percent in ps.WORKLOAD_EDGES.items():
        off = abs(100 * edges.get(edge, 0) / refresh["samples"] - percent)
        limit = allowed(POINTS, percent, refresh["samples"])
        assert off <= limit, f"{edge} is off its {percent} % by {off:.2f} points"
        worst = max(worst, off)
    return worst


def test_shares_and_edges_are_those_of_the_workload():
    ps.need_perf()
    with ps.Workload("workload", 120) as work:

        def measure():
            refresh, = ps.run_json(["-F", 2999, "-n", 1, "-d", 5, "--min-percent", 0,
                                    "-p", work.pid])
            assert refresh["samples"] > 500, f"{refresh['samples']} samples"
            assert 4.5 <= refresh["duration_s"] <= 10, refresh["duration_s"]
            assert refresh["target"]["pids"] == [work.pid], refresh["target"]
            return f"{refresh['samples']} samples, at most {_check_shares(refresh):.2f} points off"

        ps.retry(3, "shares", measure)


def test_every_refresh_adds_up_and_keeps_every_sample():
    ps.need_perf()
    with ps.Workload("workload", 120) as work:
        objects = ps.run_json(["-n", 6, "-d", 0.3, "--min-percent", 0, "--rows", 0, "-p", work.pid])
        assert len(objects) == 6, len(objects)
        for refresh in objects:
            in_tree = sum(node["total_samples"] for node in refresh["tree"])
            assert in_tree == refresh["samples"], f"{in_tree} of {refresh['samples']} in the tree"
            by_self = sum(row["self_samples"] for row in refresh["functions"])
            assert by_self <= refresh["samples"], f"{by_self} of {refresh['samples']}"
        assert sum(refresh["samples"] for refresh in objects) > 100


def test_recursion_is_counted_once():
    ps.need_perf()
    depth = 40
    with ps.Workload("workload", 120, 2, depth) as work:

        def measure():
            refresh, = ps.run_json(["-n", 1, "-d", 1, "--min-percent", 0, "-p", work.pid])
            total = ps.function_rows(refresh)["descend"]["total_percent"]
            assert 98 <= total <= 100.001, f"descend() is {total} %"
            below = ps.tree_edges(refresh["tree"])[("descend", "descend")] / refresh["samples"]
            assert depth * 0.97 <= below <= depth * 1.001, f"{below:.2f} levels, not {depth}"
            return f"{total:.1f} %, {below:.1f} levels"

        ps.retry(3, "recursion", measure)


def test_folded_stacks_hold_every_sample():
    ps.need_perf()
    with ps.Workload("workload", 120) as work:
        done = ps.run(["-b", "-n", 1, "-d", 1, "--format", "folded", "-p", work.pid])
        assert done.returncode == 0, done.stderr
        ends = {}
        for line in done.stdout.splitlines():
            stack, count = line.rsplit(" ", 1)
            assert stack and ";" in stack, line
            leaf = stack.rsplit(";", 1)[1].split("`")[-1]
            ends[leaf] = ends.get(leaf, 0) + int(count)
        hot = sum(count for leaf, count in ends.items() if leaf.startswith("hot_"))
        assert hot > 0.8 * sum(ends.values()), ends


def test_the_same_as_perf_on_the_same_seconds():
    ps.need_perf()
    perf = ps.need_tool("perf")
    data = os.path.join(ps.scratch_dir(), "perf.data")
    with ps.Workload("workload", 120) as work:

        def measure():
            recorder = subprocess.Popen(
                [perf, "record", "-q", "-N", "-B", "-g", "-e", "cpu-clock", "-F", "2999", "-p",
                 str(work.pid), "-o", data, "--", "sleep", "3"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True)
            ps.at_end(recorder.kill)
            refresh, = ps.run_json(["-e", "cpu-clock", "-F", 2999, "-n", 1, "-d", 3,
                                    "--min-percent", 0, "-p", work.pid])
            said, _ = recorder.communicate(timeout=60)
            if recorder.returncode:
                ps.skip(f"perf record cannot do it here: {said.strip()}")
            theirs = PerfShares(perf, data)
            worst = compare(refresh, theirs, ps.WORKLOAD_TOTAL, ps.WORKLOAD_EDGES, POINTS)
            return f"{refresh['samples']} and {theirs.samples} samples, {worst:.2f} points apart"

        ps.retry(3, "ptop and perf", measure)


if __name__ == "__main__":
    ps.main(globals())
