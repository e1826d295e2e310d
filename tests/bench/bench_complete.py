# SPDX-License-Identifier: GPL-2.0-or-later
"""Shares of complete stacks of programs that ptop starts and watches, by its own count.

The first seconds, in which copies of stacks grow to what the program needs, are told apart. Bounds:
99 % of a program 20 functions deep and of python3, 98 % of gcc's cc1plus, 90 % of clang++.
"""

import os
import shutil
import subprocess
import sys

import ptop_support as ps

SECONDS = int(os.environ.get("PTOP_BENCH_SECONDS", "6"))
SETTLED = 4  # refreshes of a second

SOURCE = r"""
#include <map>
#include <regex>
#include <variant>
template <int K, int N> struct t {
	std::map<int, std::variant<int, std::string, t<K, N - 1> *>> m;
	int f(std::string s)
	{
		std::regex r(s);
		m[N] = s;
		return std::regex_match(s, r) + t<K, N - 1>().f(s);
	}
};
template <int K> struct t<K, 0> { int f(std::string) { return K; } };
template <int K> int all(std::string s) { return t<K, 30>().f(s) + all<K - 1>(s); }
template <> int all<0>(std::string) { return 0; }
int main(int c, char **v) { return c + all<30>(v[0]); }
"""

PYTHON = ("def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
          "while True: sorted([f(k % 15) for k in range(40)], key=lambda x: -x)")


def output_of(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def shares(argv, options=()):
    """Complete and cut stacks in percent, of all refreshes after the copies settled."""
    refreshes = ps.run_json(["-n", SECONDS + SETTLED, "-d", 1, "-K", "--rows", 1, *options, "--",
                             *argv], deadline_s=120)
    settled = refreshes[SETTLED:] or refreshes[-1:]
    sums = {end: sum(r["stacks"][end] for r in settled) for end in settled[0]["stacks"]}
    total = sum(sums.values())
    return {end: 100 * n / max(total, 1) for end, n in sums.items()}, total


def main():
    directory = ps.scratch_dir()
    source = os.path.join(directory, "heavy.cc")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    deep = os.path.join(ps.TOP_BUILDDIR, "tests/support/deep_stack")
    cc1plus = output_of("gcc", "-print-prog-name=cc1plus")
    multiarch = output_of("gcc", "-print-multiarch")
    programs = [
        ("20 functions deep", 99, [deep, "60"]),
        ("python3", 99, [shutil.which("python3"), "-c", PYTHON]),
        ("cc1plus", 98, [cc1plus, "-quiet", "-imultiarch", multiarch, "-std=c++17", "-O2", source,
                         "-o", "/dev/null"]),
        ("clang++", 90, [shutil.which("clang++"), "-std=c++17", "-O2", "-c", source, "-o",
                         "/dev/null"]),
    ]
    failed = False
    for name, bound, argv in programs:
        if not argv[0] or not os.path.exists(argv[0]):
            print(f"{name}: not installed")
            continue
        got, total = shares(argv)
        print(f"{name:18} {got['complete']:6.2f} % complete (bound {bound}), {got['cut']:.2f} cut, "
              f"{got['broken']:.2f} broken, {got['deep']:.2f} deep, of {total}", flush=True)
        failed |= got["complete"] < bound
    sys.exit(failed)


if __name__ == "__main__":
    try:
        ps.need_perf()
        main()
    except ps.Skip as reason:
        print(f"skip: {reason}")
        sys.exit(77)
