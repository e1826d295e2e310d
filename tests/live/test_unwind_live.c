/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of real programs sampled now: how many are complete, and whether libdwfl sees the same
 * frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/dwfl_oracle.h"

enum { FRAMES = 512 };

struct shares { /* in percent of the samples */
	double agreed, complete, cut, broken, waiting, frames;
};

/* Skips the test where no such samples can be had. */
static struct shares shares_of(const struct stack_taking *how)
{
	size_t agreed = 0, ends[UNWIND_WAIT + 1] = { 0 }, frames = 0, nr;
	static struct place places[FRAMES];
	static uint64_t addrs[FRAMES];
	struct dwfl_oracle *oracle;
	struct stack_samples s;
	struct unwinder *u;
	struct reason why;
	double percent;
	int err = stack_samples_take(how, &s, &why);

	if (err == -ECHILD || err == -ETIMEDOUT)
		fail_msg("%s", why.text);
	if (err) {
		print_message("skip: %s\n", why.text);
		skip();
	}
	u = unwinder_new(s.images);
	oracle = dwfl_oracle_new(s.pid);
	assert_non_null(u);
	assert_non_null(oracle);
	nr = s.at.nr;
	for (size_t i = 0; i < nr; i++) {
		struct unwound w = stack_samples_unwind(&s, u, i, places, FRAMES);
		uint32_t other = dwfl_oracle_unwind(oracle, &s.at.at[i], addrs, FRAMES);
		enum chain_kind kind = chain_compare(&s, &w, places, addrs, other);

		agreed += kind != CHAIN_DIFFERENT;
		ends[w.end]++;
		frames += w.nr;
	}
	dwfl_oracle_free(oracle);
	unwinder_free(u);
	stack_samples_done(&s);
	percent = 100.0 / (double)nr;
	print_message("%s: %zu samples, %.1f frames; as libdwfl or provably better %.2f %%, "
		      "complete %.2f, cut %.2f, broken %.2f\n",
		      how->argv[0], nr, (double)frames / (double)nr, percent * (double)agreed,
		      percent * (double)ends[UNWIND_COMPLETE], percent * (double)ends[UNWIND_CUT],
		      percent * (double)ends[UNWIND_BROKEN]);
	return (struct shares){ percent * (double)agreed,
				percent * (double)ends[UNWIND_COMPLETE],
				percent * (double)ends[UNWIND_CUT],
				percent * (double)ends[UNWIND_BROKEN],
				percent * (double)ends[UNWIND_WAIT],
				(double)frames / (double)nr };
}

/* 20 functions without frame pointers, qsort(), signals: 8 KiB of stack hold it all. */
static void deep_stack(void **state)
{
	char *argv[] = { "./tests/support/deep_stack", NULL };
	struct stack_taking how = { argv, 8192, 4000, 2000, 50, true };
	struct shares s = shares_of(&how);

	(void)state;
	assert_true(s.agreed >= 99.9);
	assert_true(s.complete >= 99);
	assert_true(s.frames >= 23);
	assert_true(s.waiting == 0);
}

/* 1 KiB holds no whole stack of it: all are cut, and say so. */
static void cut_stacks(void **state)
{
	char *argv[] = { "./tests/support/deep_stack", NULL };
	struct stack_taking how = { argv, 1024, 4000, 500, 50, true };
	struct shares s = shares_of(&how);

	(void)state;
	assert_true(s.cut >= 99);
	assert_true(s.complete <= 1);
}

static void python(void **state)
{
	char *argv[] = { "/usr/bin/python3", "-c",
			 "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
			 "while True: sorted([f(k % 15) for k in range(40)], key=lambda x: -x)",
			 NULL };
	struct stack_taking how = { argv, 65528, 2000, 1000, 200, true };
	struct shares s;

	(void)state;
	if (access(argv[0], X_OK) != 0) {
		print_message("skip: no %s\n", argv[0]);
		skip();
	}
	s = shares_of(&how);
	assert_true(s.agreed >= 99.9);
	assert_true(s.complete >= 99);
}

static void node(void **state)
{
	char *argv[] = { "/usr/bin/node", "-e",
			 "function f(n){return n<2?[n]:f(n-1).concat(f(n-2)).sort((a,b)=>a-b)"
			 ".slice(0,9)}for(;;)f(14)",
			 NULL };
	struct stack_taking how = { argv, 65528, 2000, 1000, 300, true };
	struct shares s;

	(void)state;
	if (access(argv[0], X_OK) != 0) {
		print_message("skip: no %s\n", argv[0]);
		skip();
	}
	s = shares_of(&how);
	assert_true(s.agreed >= 98.8);
	assert_true(s.complete >= 98);
}

static char source[] = "/tmp/test-unwind-XXXXXX.cc";

static void write_source(void)
{
	static const char text[] =
		"#include <map>\n#include <regex>\n#include <variant>\n"
		"template <int N> struct t { std::map<int, std::variant<int, std::string>> m;\n"
		"  int f(std::string s) { std::regex r(s); m[N] = s; return std::regex_match(s, r)"
		" + t<N - 1>().f(s); } };\n"
		"template <> struct t<0> { int f(std::string) { return 0; } };\n"
		"int main(int c, char **v) { return c + t<600>().f(v[0]); }\n";
	int fd = mkstemps(source, 3);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
}

static int remove_source(void **state)
{
	(void)state;
	unlink(source);
	return 0;
}

/* The first line that a command prints. */
static void line_of(const char *command, char *ret, size_t room)
{
	FILE *f = popen(command, "r");

	ret[0] = '\0';
	if (f == NULL)
		return;
	if (fgets(ret, (int)room, f) != NULL)
		ret[strcspn(ret, "\n")] = '\0';
	pclose(f);
}

static void compilers(void **state)
{
	char cc1plus[512], arch[64];
	char *gcc[] = { cc1plus, "-quiet", "-imultiarch", arch,        "-std=c++17",
			"-O2",   source,   "-o",          "/dev/null", NULL };
	char *clang[] = { "/usr/bin/clang++", "-std=c++17", "-O2", "-c", source, "-o",
			  "/dev/null",        NULL };
	struct stack_taking how = { gcc, 65528, 1000, 600, 400, true };
	struct shares s;
	bool any = false;

	(void)state;
	write_source();
	line_of("gcc -print-prog-name=cc1plus 2>/dev/null", cc1plus, sizeof(cc1plus));
	line_of("gcc -print-multiarch 2>/dev/null", arch, sizeof(arch));
	if (access(cc1plus, X_OK) == 0) {
		s = shares_of(&how);
		assert_true(s.agreed >= 99.9);
		assert_true(s.complete >= 98);
		any = true;
	}
	how.argv = clang;
	if (access(clang[0], X_OK) == 0) {
		s = shares_of(&how);
		assert_true(s.agreed >= 99.9);
		assert_true(s.complete + s.cut >= 99.9);
		any = true;
	}
	if (!any) {
		print_message("skip: neither gcc's cc1plus nor clang++\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_stack),
		cmocka_unit_test(cut_stacks),
		cmocka_unit_test(python),
		cmocka_unit_test(node),
		cmocka_unit_test_teardown(compilers, remove_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
