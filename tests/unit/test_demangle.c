/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names as compilers make them, and as people know them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "image/demangle.h"
#include "image/suffix.h"

struct pair {
	const char *name, *shown; /* shown NULL: left as it is */
};

static void assert_pairs(const struct pair *pairs, size_t nr)
{
	struct demangler *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	for (size_t i = 0; i < nr; i++) {
		const char *shown = demangle(d, pairs[i].name);

		if (pairs[i].shown == NULL) {
			assert_null(shown);
			continue;
		}
		assert_non_null(shown);
		assert_string_equal(shown, pairs[i].shown);
		assert_int_equal(d->length, strlen(shown));
	}
	free(d);
}

static void cplusplus(void **state)
{
	static const struct pair pairs[] = {
		{ "_ZN3foo3barEi", "foo::bar" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo" },
		{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()" },
		{ "_ZNK4llvm5Value7getTypeEv", "llvm::Value::getType" },
		{ "_ZTv0_n24_N3FooD1Ev", "virtual thunk to Foo::~Foo()" },
		{ "_Znwm", "operator new" },
		{ "_Z", NULL },
		{ "_ZN", NULL },
		{ "_Zebra", NULL },
		{ "main", NULL },
		{ "", NULL },
	};

	(void)state;
	assert_pairs(pairs, sizeof(pairs) / sizeof(pairs[0]));
}

/* The hash goes, in both manglings; without one "17h" is a part of a C++ name like any other. */
static void rust(void **state)
{
	static const struct pair pairs[] = {
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_ZN50_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$Clone$GT$5clone17h0123456789abcdefE",
		  "<alloc::vec::Vec<T> as Clone>::clone" },
		{ "_ZN4main4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
		  "main::main::{{closure}}" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}" },
		{ "_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>" },
		{ "_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3new",
		  "<std::path::PathBuf>::new" },
		{ "_RNvC4test", NULL },
		{ "_ZN3foo17hxyE", NULL },
	};

	(void)state;
	assert_pairs(pairs, sizeof(pairs) / sizeof(pairs[0]));
}

static void dlang(void **state)
{
	static const struct pair pairs[] = {
		{ "_D3std5stdio7writelnFAyaZv", "std.stdio.writeln" },
		{ "_D4test__T3fooTiTaZ3barFiZv", "test.foo!(int, char).bar" },
		{ "_D2rt6dmain211_d_run_mainUiPPaPUAAaZiZ6runAllMFZv",
		  "rt.dmain2._d_run_main(int, char**, extern(C) int(char[][]) function).runAll" },
		{ "_Dmain", "D main" },
		{ "_DYNAMIC", NULL },
		{ "_D", NULL },
	};

	(void)state;
	assert_pairs(pairs, sizeof(pairs) / sizeof(pairs[0]));
}

/* Names that would grow without end, or are too long to begin with. */
static void bombs(void **state)
{
	struct demangler *d = calloc(1, sizeof(*d));
	char name[DEMANGLE_IN_MAX + 3] = "_D1a";

	(void)state;
	assert_non_null(d);
	for (size_t at = 4; at + 2 <= DEMANGLE_IN_MAX; at += 2)
		memcpy(name + at, "Qc", 3);
	assert_null(demangle(d, name));
	memset(name, 'x', DEMANGLE_IN_MAX + 1);
	memcpy(name, "_Z", 2);
	assert_null(demangle(d, name));
	free(d);
}

static void suffixes(void **state)
{
	static const struct pair pairs[] = {
		{ "foo", "foo" },
		{ "foo.cold", "foo" },
		{ "foo.cold.1", "foo" },
		{ "foo.part.0.isra.0.cold", "foo" },
		{ "foo.constprop.12", "foo" },
		{ "foo.lto_priv.0", "foo" },
		{ "foo.llvm.12345678901234567890", "foo" },
		{ "foo.__uniq.99.llvm.1", "foo" },
		{ "foo.localalias", "foo" },
		{ "runtime.goexit.abi0", "runtime.goexit" },
		{ "foo(int) [clone .isra.0] [clone .cold]", "foo(int)" },
		{ "foo [clone .cold]", "foo" },
		/* functions in their own right, and what only looks alike */
		{ "foo.resume", "foo.resume" },
		{ "foo._omp_fn.0", "foo._omp_fn.0" },
		{ "foo.avx2", "foo.avx2" },
		{ "foo.123", "foo.123" },
		{ "foo.cold.x", "foo.cold.x" },
		{ "foo.colder", "foo.colder" },
		{ "main.part", "main.part" },
		{ "foo.clone.3", "foo" },
		{ "runtime.clone.abi0", "runtime.clone" },
		{ ".cold", ".cold" },
		{ ".cold.0", ".cold.0" },
		{ "x[1]", "x[1]" },
		{ " [clone .cold]", " [clone .cold]" },
		{ "[clone .cold]", "[clone .cold]" },
		{ "]", "]" },
		{ ".", "." },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		assert_int_equal(suffix_start(pairs[i].name, strlen(pairs[i].name)),
				 strlen(pairs[i].shown));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cplusplus), cmocka_unit_test(rust),     cmocka_unit_test(dlang),
		cmocka_unit_test(bombs),     cmocka_unit_test(suffixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
