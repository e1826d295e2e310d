# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that the compiler put into others are frames of their own, with their known shares."""

import subprocess

import ptop_support as ps

SECONDS = 300
POINTS = 4
# inlined.c: what each function takes of work(), with what is inlined in it
SHARES = {"work": 100, "both": 75, "three_parts": 75, "one_part": 25}
EDGES = {("work", "both"): 75, ("both", "three_parts"): 75, ("three_parts", "churn"): 75,
         ("work", "one_part"): 25, ("one_part", "churn"): 25}


def _near(what, got, wanted):
    assert abs(got - wanted) <= POINTS, f"{what} has {got:.1f} %, not {wanted}"


def _check(refresh):
    assert refresh["samples"] > 300, f"{refresh['samples']} samples"
    rows = ps.function_rows(refresh)
    edges = ps.tree_edges(refresh["tree"])
    work = rows["work"]["total_samples"]
    for name, percent in SHARES.items():
        assert name in rows, f"no function {name}: {sorted(rows)}"
        _near(name, 100 * rows[name]["total_samples"] / work, percent)
        assert rows[name]["module"] == rows["work"]["module"], rows[name]
    for edge, percent in EDGES.items():
        _near(edge, 100 * edges.get(edge, 0) / work, percent)
    module = next(m for m in refresh["modules"] if m["module"] == "inlined")
    assert module["inlined"] == "yes" and module["inlined_why"] is None, module
    # All the work is in the innermost.
    _near("churn, self", 100 * rows["churn"]["self_samples"] / work, 100)
    return f"{refresh['samples']} samples"


def test_inlined_functions_are_rows_with_their_shares():
    ps.need_perf()
    with ps.Workload("inlined", SECONDS) as work:

        def once():
            return _check(ps.run_json(["-F", 2999, "-n", 2, "-d", 3, "--min-percent", 0,
                                       "-p", work.pid])[-1])

        ps.retry(3, "inlined", once)


def test_without_them_the_outer_function_has_it_all():
    ps.need_perf()
    with ps.Workload("inlined", SECONDS) as work:

        def once():
            refresh, = ps.run_json(["-F", 2999, "-n", 1, "-d", 3, "--no-inline", "-p", work.pid])
            rows = ps.function_rows(refresh)
            assert "churn" not in rows and "both" not in rows, sorted(rows)
            assert rows["work"]["self_percent"] > 90, rows["work"]

        ps.retry(3, "not inlined", once)


def test_recordings_have_them_too():
    ps.need_perf()
    ps.need_tool("perf")
    with ps.Workload("inlined", SECONDS) as work:
        path = f"{ps.scratch_dir()}/perf.data"
        subprocess.run(["perf", "record", "-q", "-F", "2999", "-g", "-o", path, "-p", str(work.pid),
                        "--", "sleep", "2"], check=True, stdin=subprocess.DEVNULL,
                       capture_output=True)
        refresh = ps.run_json(["-i", path, "--min-percent", 0], deadline_s=120)[-1]
        rows = ps.function_rows(refresh)
        for name, percent in SHARES.items():
            assert name in rows, f"no function {name}: {sorted(rows)}"
            _near(name, 100 * rows[name]["total_samples"] / rows["work"]["total_samples"], percent)
        assert "churn" not in ps.function_rows(ps.run_json(["-i", path, "--no-inline"])[-1])


if __name__ == "__main__":
    ps.main(globals())
