# SPDX-License-Identifier: GPL-2.0-or-later
"""What perf says about a recording, to compare with ptop."""

import os
import re
import subprocess

import ptop_support as ps


class PerfShares:
    """Shares of samples in percent: by perf report for functions, by perf script for edges."""

    def __init__(self, perf, data):
        self._perf, self._data = perf, data
        self.self_percent, self.total_percent = self._report()
        self.samples, self.edges = self._script()

    def _output(self, *args):
        done = subprocess.run(
            [self._perf] + list(args) + ["-i", self._data], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120, check=False,
            env=dict(os.environ, DEBUGINFOD_URLS="", PAGER="cat"))
        if done.returncode:
            ps.skip(f"perf {args[0]} cannot read what perf record wrote")
        return done.stdout

    def _report(self):
        text = self._output("report", "--stdio", "--children", "-g", "none", "--percent-limit", "0",
                            "-F", "overhead_children,overhead,sym")
        own, total = {}, {}
        for line in text.splitlines():
            row = re.match(r"\s*([\d.]+)%\s+([\d.]+)%\s+\[.\]\s+(\S+)", line)
            if row:
                total[row[3]] = float(row[1])
                own[row[3]] = float(row[2])
        assert total, f"perf report was not understood:\n{text[:2000]}"
        return own, total

    def _script(self):
        """The number of samples, and (caller, callee) -> percent of all samples."""
        counts, samples = {}, 0
        for block in self._output("script", "-F", "comm,tid,ip,sym").split("\n\n"):
            stack = re.findall(r"^\s+[0-9a-f]+ (\S+)", block, re.M)
            if not stack:
                continue
            samples += 1
            for edge in zip(stack[1:], stack):
                counts[edge] = counts.get(edge, 0) + 1
        assert samples, "perf script shows no stacks"
        return samples, {edge: 100 * count / samples for edge, count in counts.items()}


def difference(refresh, theirs, functions, edges):
    """The largest difference, in points, of any of these functions and edges."""
    rows = ps.function_rows(refresh)
    ours = ps.tree_edges(refresh["tree"])
    worst = 0.0
    for name in functions:
        row = rows.get(name, {"self_percent": 0, "total_percent": 0})
        worst = max(worst, abs(row["self_percent"] - theirs.self_percent.get(name, 0)),
                    abs(row["total_percent"] - theirs.total_percent.get(name, 0)))
    for edge in edges:
        percent = 100 * ours.get(edge, 0) / refresh["samples"]
        worst = max(worst, abs(percent - theirs.edges.get(edge, 0)))
    return worst
