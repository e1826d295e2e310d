# SPDX-License-Identifier: GPL-2.0-or-later
"""What perf says about a recording, to compare with ptop."""

import math
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


def allowed(points, percent, *samples):
    """How far a share may be off: points, or what chance makes of so few samples (4 sigma)."""
    share = min(max(percent / 100, 0.01), 0.99)
    variance = share * (1 - share) * sum(1 / max(number, 1) for number in samples)
    return max(points, 400 * math.sqrt(variance))


def compare(refresh, theirs, functions, edges, points):
    """All these functions and edges are as perf has them; returns the largest difference."""
    rows = ps.function_rows(refresh)
    ours = ps.tree_edges(refresh["tree"])
    none = {"self_percent": 0, "total_percent": 0}
    pairs = []
    for name in functions:
        row = rows.get(name, none)
        pairs.append((f"self of {name}", row["self_percent"], theirs.self_percent.get(name, 0)))
        pairs.append((f"total of {name}", row["total_percent"], theirs.total_percent.get(name, 0)))
    for edge in edges:
        percent = 100 * ours.get(edge, 0) / refresh["samples"]
        pairs.append((f"{edge[0]} -> {edge[1]}", percent, theirs.edges.get(edge, 0)))
    for what, mine, other in pairs:
        limit = allowed(points, other, refresh["samples"], theirs.samples)
        assert abs(mine - other) <= limit, f"{what}: {mine:.2f} %, perf says {other:.2f} %"
    return max(abs(mine - other) for _, mine, other in pairs)
