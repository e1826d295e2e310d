/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real stacks of real programs: what a frame costs by rows and by a kept libdwfl, on the same
 *samples, and whether both see the same frames.
 *
 *	bench_unwind			deep_stack, and what of cc1plus, clang++ and node is there
 *	bench_unwind deep|node|compilers	those only
 *	bench_unwind PROGRAM ARG...	that program
 *
 * From memory: one pass over all samples, after other memory was read; hot: few samples again and
 * again.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/dwfl_oracle.h"
#include "support/stack_samples.h"

enum { FRAMES = 512, HOT = 100, HOT_ROUNDS = 300, FLUSH_BYTES = 96 << 20 };
enum { HOT_PASSES = 15, MEMORY_PASSES = 5 };

struct bed {
	struct stack_samples samples;
	struct unwinder *unwinder;
	struct dwfl_oracle *oracle;
	struct place places[FRAMES];
	uint64_t addrs[FRAMES];
	uint8_t *flush;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Pushes everything else out of the caches. */
static void flush(struct bed *b)
{
	volatile uint8_t *bytes = b->flush;

	for (size_t i = 0; i < FLUSH_BYTES; i += 64)
		bytes[i]++;
}

static void show(struct bed *b, size_t i, const struct unwound *u, uint32_t nr)
{
	printf("  sample %zu: rows %u (end %d), libdwfl %u\n", i, u->nr, u->end, nr);
	for (uint32_t k = 0; k < nr || k < u->nr; k++) {
		struct place p = { 0 };

		if (k < nr)
			p = space_resolve(b->samples.space, b->samples.pid, b->addrs[k]);
		printf("    %3u  %u+%#llx  %u+%#llx\n", k, k < u->nr ? b->places[k].image : 0,
		       k < u->nr ? (unsigned long long)b->places[k].offset : 0, p.image,
		       (unsigned long long)p.offset);
	}
}

/* The share of chains that are equal or better, in percent; fills the images and the memory of
 * places on the way. */
static double equality(struct bed *b)
{
	size_t kinds[NR_CHAIN_KINDS] = { 0 }, ends[5] = { 0 }, frames = 0, guesses = 0, shown = 0;
	size_t nr = b->samples.at.nr;
	const char *verbose = getenv("BENCH_SHOW");

	for (size_t i = 0; i < nr; i++) {
		struct unwound u =
			stack_samples_unwind(&b->samples, b->unwinder, i, b->places, FRAMES);
		uint32_t other =
			dwfl_oracle_unwind(b->oracle, &b->samples.at.at[i], b->addrs, FRAMES);
		enum chain_kind kind = chain_compare(&b->samples, &u, b->places, b->addrs, other);

		kinds[kind]++;
		ends[u.end]++;
		frames += u.nr;
		guesses += u.by_guess;
		if (kind == CHAIN_DIFFERENT && verbose && shown++ < (size_t)atoi(verbose))
			show(b, i, &u, other);
	}
	printf("  %zu samples, %.1f frames each, %.2f %% by guess;", nr,
	       (double)frames / (double)nr, 100.0 * (double)guesses / (double)frames);
	printf(" complete %.2f %% cut %.2f broken %.2f deep %.2f\n",
	       100.0 * (double)ends[0] / (double)nr, 100.0 * (double)ends[1] / (double)nr,
	       100.0 * (double)ends[2] / (double)nr, 100.0 * (double)ends[3] / (double)nr);
	printf("  chains equal to libdwfl's: %.3f %%\n",
	       100.0 * (double)kinds[CHAIN_SAME] / (double)nr);
	for (int k = CHAIN_SAME + 1; k < NR_CHAIN_KINDS; k++) {
		if (kinds[k] != 0)
			printf("    %.3f %% %s\n", 100.0 * (double)kinds[k] / (double)nr,
			       chain_kind_names[k]);
	}
	return 100.0 * (1.0 - (double)kinds[CHAIN_DIFFERENT] / (double)nr);
}

/* ns a frame over samples [0, nr), once. */
static double pass(struct bed *b, size_t nr, bool by_dwfl)
{
	uint64_t frames = 0;
	double from = now_ns();

	for (size_t i = 0; i < nr; i++) {
		if (by_dwfl)
			frames += dwfl_oracle_unwind(b->oracle, &b->samples.at.at[i], b->addrs,
						     FRAMES);
		else
			frames +=
				stack_samples_unwind(&b->samples, b->unwinder, i, b->places, FRAMES)
					.nr;
	}
	return (now_ns() - from) / (double)frames;
}

/* Rounds of 100 samples that take either of them about as long. */
static int rounds_of(bool by_dwfl, bool hot)
{
	return !hot ? 1 : by_dwfl ? 10 : HOT_ROUNDS;
}

static double one(struct bed *b, bool by_dwfl, bool hot)
{
	int rounds = rounds_of(by_dwfl, hot);
	double sum = 0;

	if (hot)
		pass(b, HOT, by_dwfl);
	else
		flush(b);
	for (int k = 0; k < rounds; k++)
		sum += pass(b, hot ? HOT : b->samples.at.nr, by_dwfl);
	return sum / rounds;
}

/* The best of both, in turns: what else the machine does meets both. */
static void best(struct bed *b, bool hot, double *ret, double *ret_dwfl)
{
	int passes = hot ? HOT_PASSES : MEMORY_PASSES;

	*ret = *ret_dwfl = 1e9;
	for (int i = 0; i < passes; i++) {
		double ours = one(b, false, hot), theirs = one(b, true, hot);

		*ret = ours < *ret ? ours : *ret;
		*ret_dwfl = theirs < *ret_dwfl ? theirs : *ret_dwfl;
	}
}

static size_t allocated(void)
{
	return mallinfo2().uordblks;
}

/* What a program's figures must hold.  Stacks of clang++ are the hard case from memory: a kilobyte
 * a frame. */
struct bounds {
	double equal_percent, memory_ns, hot_ns, memory_times, hot_times;
};

static bool figures(struct bed *b, const struct bounds *bounds)
{
	double memory, hot, dwfl_memory, dwfl_hot;
	size_t before, after;

	best(b, false, &memory, &dwfl_memory);
	best(b, true, &hot, &dwfl_hot);
	before = allocated();
	pass(b, b->samples.at.nr, false);
	after = allocated();
	printf("  unwind_ns_per_frame_memory %8.1f      bound %.0f; libdwfl %.0f, %.1f times (bound %.0f)\n",
	       memory, bounds->memory_ns, dwfl_memory, dwfl_memory / memory, bounds->memory_times);
	printf("  unwind_ns_per_frame_hot    %8.1f      bound %.0f; libdwfl %.0f, %.1f times (bound %.0f)\n",
	       hot, bounds->hot_ns, dwfl_hot, dwfl_hot / hot, bounds->hot_times);
	printf("  unwind_allocated_bytes     %8zd      bound 0\n", (ssize_t)(after - before));
	return memory <= bounds->memory_ns && hot <= bounds->hot_ns &&
	       dwfl_memory >= bounds->memory_times * memory &&
	       dwfl_hot >= bounds->hot_times * hot && before == after;
}

/* false: a bound is broken. */
static bool run(const char *name, const struct stack_taking *how, struct bounds bounds)
{
	struct bed b = { .unwinder = NULL };
	struct reason why = { "" };
	bool good = true;

	printf("%s, %u KiB of stack\n", name, how->stack_bytes >> 10);
	if (stack_samples_take(how, &b.samples, &why)) {
		printf("  skipped: %s\n", why.text);
		return true;
	}
	b.unwinder = unwinder_new(b.samples.images);
	b.oracle = dwfl_oracle_new(b.samples.pid);
	b.flush = calloc(1, FLUSH_BYTES);
	if (b.unwinder == NULL || b.oracle == NULL || b.flush == NULL) {
		printf("  skipped: libdwfl does not take the process\n");
	} else {
		good = equality(&b) >= bounds.equal_percent;
		good &= figures(&b, &bounds);
	}
	free(b.flush);
	dwfl_oracle_free(b.oracle);
	unwinder_free(b.unwinder);
	stack_samples_done(&b.samples);
	return good;
}

static const char source[] =
	"#include <algorithm>\n#include <functional>\n#include <iostream>\n#include <map>\n"
	"#include <random>\n#include <regex>\n#include <unordered_map>\n#include <variant>\n"
	"template <class T, int N> struct twice { std::map<int, std::variant<T, std::string>> m;\n"
	"  int f(std::string s) { std::regex r(s); m[N] = s;\n"
	"    return std::regex_match(s, r) + twice<T, N - 1>().f(s); } };\n"
	"template <class T> struct twice<T, 0> { int f(std::string) { return 0; } };\n"
	"int main(int c, char **v) { return twice<int, 200>().f(v[0]) + twice<long, 200>().f(v[0]); }\n";

static bool compilers(void)
{
	char path[] = "/tmp/bench-unwind-XXXXXX.cc", cc1plus[256] = "";
	char *clang[] = { "clang++", "-std=c++17", "-O2", "-c", path, "-o", "/dev/null", NULL };
	char *gcc[] = { cc1plus, "-quiet", "-imultiarch", "x86_64-linux-gnu", "-std=c++17",
			"-O2",   path,     "-o",          "/dev/null",        NULL };
	struct stack_taking how = { gcc, 65528, 2000, 1500, 500, true };
	FILE *asked = popen("gcc -print-prog-name=cc1plus 2>/dev/null", "r");
	int fd = mkstemps(path, 3);
	bool good = true;

	if (asked && fgets(cc1plus, sizeof(cc1plus), asked))
		cc1plus[strcspn(cc1plus, "\n")] = '\0';
	if (asked)
		pclose(asked);
	if (fd < 0 || write(fd, source, strlen(source)) < 0)
		return false;
	close(fd);
	if (access(cc1plus, X_OK) == 0)
		good &= run("cc1plus", &how, (struct bounds){ 99.9, 60, 20, 10, 30 });
	how.argv = clang;
	if (access("/usr/bin/clang++", X_OK) == 0)
		good &= run("clang++", &how, (struct bounds){ 99.9, 60, 20, 10, 30 });
	unlink(path);
	return good;
}

static bool node(void)
{
	char script[] =
		"function f(n){return n<2?[n]:f(n-1).concat(f(n-2)).sort((a,b)=>a-b).slice(0,9)}"
		"for(;;){f(18);JSON.parse(JSON.stringify(f(12).map(x=>({x,y:[x]}))))}";
	char *argv[] = { "node", "-e", script, NULL };
	struct stack_taking how = { argv, 65528, 2000, 1500, 500, true };

	return access("/usr/bin/node", X_OK) != 0 ||
	       run("node", &how, (struct bounds){ 98.8, 60, 20, 10, 30 });
}

int main(int argc, char **argv)
{
	char *deep[] = { "./tests/support/deep_stack", NULL };
	struct stack_taking how = { deep, 8192, 4000, 4000, 50, true };
	bool good;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "deep") == 0)
		return run("deep_stack", &how, (struct bounds){ 99.9, 60, 20, 10, 30 }) ? 0 : 1;
	if (argc == 2 && strcmp(argv[1], "node") == 0)
		return node() ? 0 : 1;
	if (argc == 2 && strcmp(argv[1], "compilers") == 0)
		return compilers() ? 0 : 1;
	if (argc > 1) {
		how = (struct stack_taking){ argv + 1, 65528, 2000, 1500, 300, true };
		return run(argv[1], &how, (struct bounds){ 0, 1e9, 1e9, 0, 0 }) ? 0 : 1;
	}
	good = run("deep_stack", &how, (struct bounds){ 99.9, 60, 20, 10, 30 });
	good &= compilers();
	good &= node();
	return good ? 0 : 1;
}
