# SPDX-License-Identifier: GPL-2.0-or-later
"""Shares of complete stacks of programs that ptop starts and watches, by its own count.

The first seconds, in which copies of stacks grow to what the program needs, are told apart. Bounds:
99 % of a program 20 functions deep and of python3, 98 % of gcc's cc1plus and 90 % of clang++ on a
file such as people write: many types, each in containers, algorithms, a variant and a regex. Shown
beside it is one of templates in templates in templates, on which compilers recurse deeper than the
kernel copies (65,528 bytes) or ptop counts (1024 frames): what is not complete is called so.
"""

import os
import shutil
import subprocess
import sys

import ptop_support as ps

SECONDS = int(os.environ.get("PTOP_BENCH_SECONDS", "6"))
WHOLE = 60   # a compiler runs to its end: it begins with what needs the deepest stacks
SETTLED = 4  # refreshes of a second
FUNCTIONS = 30  # of the ordinary file: some 20 seconds of compiling

HEADERS = ("algorithm", "map", "memory", "numeric", "regex", "string", "unordered_map",
           "variant", "vector")
ORDINARY = r"""
struct s@ { int a; std::string b; };
int f@(std::vector<s@> v)
{
	std::map<std::string, std::variant<int, std::string, s@>> m;
	std::unordered_map<int, std::shared_ptr<s@>> u;
	std::regex r("(a|b)+@");
	std::sort(v.begin(), v.end(), [](const s@ &x, const s@ &y) { return x.a < y.a; });
	for (auto &x : v) {
		m[x.b] = x;
		u[x.a] = std::make_shared<s@>(x);
	}
	std::stable_sort(v.begin(), v.end(), [](const s@ &x, const s@ &y) { return x.b > y.b; });
	return std::accumulate(v.begin(), v.end(), 0, [&](int n, const s@ &x) {
		return n + std::regex_match(x.b, r) + (int)m.size() + (int)u.size();
	});
}
"""
DEEP = r"""
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


def shares(argv, seconds):
    """Ends of stacks in percent, of all refreshes after the copies settled."""
    refreshes = ps.run_json(["-n", seconds + SETTLED, "-d", 1, "-K", "--rows", 1, "--",
                             *argv], deadline_s=120)
    settled = refreshes[SETTLED:] or refreshes[-1:]
    sums = {end: sum(r["stacks"][end] for r in settled) for end in settled[0]["stacks"]}
    total = sum(sums.values())
    return {end: 100 * n / max(total, 1) for end, n in sums.items()}, total


def main():
    directory = ps.scratch_dir()
    ordinary = os.path.join(directory, "ordinary.cc")
    with open(ordinary, "w", encoding="utf-8") as file:
        file.write("".join(f"#include <{name}>\n" for name in HEADERS))
        file.write("".join(ORDINARY.replace("@", str(n)) for n in range(FUNCTIONS)))
    nested = os.path.join(directory, "nested.cc")
    with open(nested, "w", encoding="utf-8") as file:
        file.write(DEEP)
    deep = os.path.join(ps.TOP_BUILDDIR, "tests/support/deep_stack")
    cc1plus = output_of("gcc", "-print-prog-name=cc1plus")
    multiarch = output_of("gcc", "-print-multiarch")
    gcc = [cc1plus, "-quiet", "-imultiarch", multiarch, "-D_GNU_SOURCE", "-std=c++17", "-O2",
           "-o", "/dev/null"]
    clang = [shutil.which("clang++"), "-std=c++17", "-O2", "-c", "-o", "/dev/null"]
    programs = [
        ("20 functions deep", 99, SECONDS, [deep, "60"]),
        ("python3", 99, SECONDS, [shutil.which("python3"), "-c", PYTHON]),
        ("cc1plus", 98, WHOLE, [*gcc, ordinary]),
        ("clang++", 90, WHOLE, [*clang, ordinary]),
        ("cc1plus, nested", None, SECONDS, [*gcc, nested]),
        ("clang++, nested", None, SECONDS, [*clang, nested]),
    ]
    failed = False
    for name, bound, seconds, argv in programs:
        if not argv[0] or not os.path.exists(argv[0]):
            print(f"{name}: not installed")
            continue
        got, total = shares(argv, seconds)
        told = f" (bound {bound})" if bound else ""
        print(f"{name:18} {got['complete']:6.2f} % complete{told}, {got['cut']:.2f} cut, "
              f"{got['broken']:.2f} broken, {got['deep']:.2f} deep, of {total}", flush=True)
        failed |= bound is not None and got["complete"] < bound
    sys.exit(failed)


if __name__ == "__main__":
    try:
        ps.need_perf()
        main()
    except ps.Skip as reason:
        print(f"skip: {reason}")
        sys.exit(77)
