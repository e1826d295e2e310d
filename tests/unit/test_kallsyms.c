/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's symbol table and the records that change it. */
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

#include "symbol/kallsyms.h"
#include "symbol/ksymbols.h"

static const char text[] = "0000000000004000 A per_cpu_thing\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T startup_64\n"
			   "ffffffff81000100 t __pfx_do_one\n"
			   "ffffffff81000110 t do_one\n"
			   "ffffffff81000200 W __weak_two\n"
			   "ffffffff81000200 t local_two\n"
			   "ffffffff81000200 T do_two\n"
			   "ffffffff81000280 T __ia32_sys_one\n"
			   "ffffffff81000280 T __x64_sys_one\n"
			   "ffffffff81000300 T last_of_text\n"
			   "ffffffff81000400 T _etext\n"
			   "ffffffff81000480 D some_data\n"
			   "ffffffff81600000 D more_data\n"
			   "ffffffff81700000 t before_gap\n"
			   "ffffffffc0400000 t mod_two\t[nf_tables]\n"
			   "ffffffffc0300000 t mod_one\t[nf_tables]\n"
			   "garbage\n"
			   "ffffffffc0500000 t bpf_prog_aa_x\t[bpf]\n"
			   "ffffffffc0500040 t tramp\t[__builtin__ftrace]";

static void assert_name(const struct kallsyms *k, uint64_t addr, const char *name,
			const char *module)
{
	uint32_t i = kallsyms_find(k, addr);

	if (!name) {
		assert_int_equal(i, UINT32_MAX);
		return;
	}
	assert_int_not_equal(i, UINT32_MAX);
	assert_string_equal(kallsyms_name(k, i), name);
	assert_string_equal(kallsyms_module(k, i), module);
}

static void names(void **state)
{
	struct kallsyms k;

	(void)state;
	assert_int_equal(kallsyms_parse(text, sizeof(text) - 1, &k), 0);
	assert_name(&k, 0x4000, NULL, NULL);
	assert_name(&k, 0xffffffff80ffffff, NULL, NULL);
	assert_name(&k, 0xffffffff81000000, "startup_64", "[kernel]");
	assert_name(&k, 0xffffffff810000ff, "startup_64", "[kernel]");
	assert_name(&k, 0xffffffff81000100, "do_one", "[kernel]");
	assert_int_equal(kallsyms_find(&k, 0xffffffff81000105),
			 kallsyms_find(&k, 0xffffffff81000110));
	assert_name(&k, 0xffffffff810001ff, "do_one", "[kernel]");
	assert_name(&k, 0xffffffff81000200, "do_two", "[kernel]");
	assert_name(&k, 0xffffffff81000280, "__x64_sys_one", "[kernel]");
	assert_name(&k, 0xffffffff810003ff, "last_of_text", "[kernel]");
	assert_name(&k, 0xffffffff81000400, NULL, NULL);
	assert_name(&k, 0xffffffff81650000, NULL, NULL);
	assert_name(&k, 0xffffffff81700010, "before_gap", "[kernel]");
	assert_name(&k, 0xffffffff81900000, NULL, NULL);
	assert_name(&k, 0xffffffffc0300010, "mod_one", "[nf_tables]");
	assert_name(&k, 0xffffffffc0400010, "mod_two", "[nf_tables]");
	assert_name(&k, 0xffffffffc0500010, "bpf_prog_aa_x", "[bpf]");
	assert_name(&k, 0xffffffffc0500050, "tramp", "[__builtin__ftrace]");
	assert_name(&k, UINT64_MAX, NULL, NULL);
	assert_true(kallsyms_bytes(&k) < 2 * sizeof(text));
	kallsyms_done(&k);
}

static void hidden(void **state)
{
	static const char zeros[] = "0000000000000000 T _stext\n0000000000000000 t do_one\n"
				    "0000000000000000 t x\t[mod]\n";
	struct kallsyms k;

	(void)state;
	assert_int_equal(kallsyms_parse(zeros, sizeof(zeros) - 1, &k), -EACCES);
	assert_int_equal(kallsyms_parse("", 0, &k), -ENODATA);
	assert_int_equal(kallsyms_parse("no\nsymbols\n", 11, &k), -ENODATA);
	assert_int_equal(kallsyms_read("/does/not/exist", &k), -ENOENT);
}

static void cut_anywhere(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(text); size++) {
		char *copy = test_malloc(size + 1);
		struct kallsyms k;

		memcpy(copy, text, size);
		if (!kallsyms_parse(copy, size, &k)) {
			for (size_t i = 1; i < k.at.nr; i++)
				assert_true(k.at.at[i - 1].addr < k.at.at[i].addr);
			kallsyms_done(&k);
		}
		test_free(copy);
	}
}

/* What is read piece by piece is the same as what is parsed whole. */
static void read_in_pieces(void **state)
{
	char path[] = "/tmp/ptop-kallsyms-XXXXXX";
	int fd = mkstemp(path);
	size_t size = 0, room = 8000 * 64;
	char *whole = malloc(room);
	struct kallsyms a, b;

	(void)state;
	assert_true(fd >= 0);
	assert_non_null(whole);
	for (unsigned i = 0; i < 8000; i++)
		size += (size_t)snprintf(whole + size, room - size, "ffffffff81%06x t %s_%u%s\n",
					 i * 64, i % 3 ? "short" : "a_rather_long_name_of", i,
					 i > 6000 ? "\t[mod]" : "");
	assert_int_equal(write(fd, whole, size), size);
	close(fd);
	assert_int_equal(kallsyms_parse(whole, size, &a), 0);
	assert_int_equal(kallsyms_read(path, &b), 0);
	assert_int_equal(a.at.nr, 8000);
	assert_int_equal(b.at.nr, 8000);
	for (uint32_t i = 0; i < 8000; i++) {
		assert_true(a.at.at[i].addr == b.at.at[i].addr);
		assert_string_equal(kallsyms_name(&a, i), kallsyms_name(&b, i));
		assert_string_equal(kallsyms_module(&a, i), kallsyms_module(&b, i));
	}
	unlink(path);
	free(whole);
	kallsyms_done(&a);
	kallsyms_done(&b);
}

/* To where a recording had the kernel and its modules. */
static void moved(void **state)
{
	static const struct kallsyms_module modules[] = { { "nf_tables", 0xffffffffc0a00000 } };
	struct kallsyms_places places = {
		.anchor = "_stext",
		.at = 0xffffffff91000000,
		.nr_modules = 1,
		.modules = modules,
	};
	struct kallsyms k;

	(void)state;
	assert_int_equal(kallsyms_parse(text, sizeof(text) - 1, &k), 0);
	assert_int_equal(kallsyms_move(&k, &places), 0);
	assert_name(&k, 0xffffffff81000110, NULL, NULL);
	assert_name(&k, 0xffffffff91000110, "do_one", "[kernel]");
	assert_name(&k, 0xffffffff91000400, NULL, NULL); /* the gap went along */
	assert_name(&k, 0xffffffffc0a00010, "mod_one", "[nf_tables]");
	assert_name(&k, 0xffffffffc0b00010, "mod_two", "[nf_tables]");
	assert_name(&k, 0xffffffffc0500010, NULL, NULL); /* of another boot */
	kallsyms_done(&k);

	places.nr_modules = 0;
	places.at = 0xffffffff81000000;
	assert_int_equal(kallsyms_parse(text, sizeof(text) - 1, &k), 0);
	assert_int_equal(kallsyms_move(&k, &places), 0);
	assert_name(&k, 0xffffffff81000110, "do_one", "[kernel]");
	assert_name(&k, 0xffffffffc0300010, "mod_one", "[nf_tables]");
	places.anchor = "_text";
	assert_int_equal(kallsyms_move(&k, &places), -ESRCH);
	kallsyms_done(&k);
}

static void registered(void **state)
{
	struct ksymbols k = { 0 };
	bool replaced = true;

	(void)state;
	assert_int_equal(ksymbols_add(&k, 0x1000, 0x1100, 1, &replaced), 0);
	assert_false(replaced);
	assert_int_equal(ksymbols_add(&k, 0x800, 0x900, 2, &replaced), 0);
	assert_int_equal(ksymbols_add(&k, 0x1100, 0x1200, 3, &replaced), 0);
	assert_false(replaced);
	assert_int_equal(ksymbols_find(&k, 0x10ff)->function, 1);
	assert_int_equal(ksymbols_find(&k, 0x1100)->function, 3);
	assert_null(ksymbols_find(&k, 0x1200));
	assert_null(ksymbols_find(&k, 0xfff));
	ksymbols_remove(&k, 0x1000);
	ksymbols_remove(&k, 0x1001);
	assert_true(ksymbols_find(&k, 0x1010)->gone);
	assert_false(ksymbols_find(&k, 0x1110)->gone);
	/* the addresses come again, over two of them */
	assert_int_equal(ksymbols_add(&k, 0x10f0, 0x1110, 4, &replaced), 0);
	assert_true(replaced);
	assert_int_equal(k.at.nr, 2);
	assert_null(ksymbols_find(&k, 0x1010));
	assert_int_equal(ksymbols_find(&k, 0x1100)->function, 4);
	assert_int_equal(ksymbols_add(&k, 0x10, 0x10, 5, &replaced), -EINVAL);
	assert_int_equal(ksymbols_add(&k, UINT64_MAX, 4, 5, &replaced), -EINVAL);
	ksymbols_done(&k);
}

static void bounded(void **state)
{
	struct ksymbols k = { 0 };
	bool replaced;
	int err = 0;

	(void)state;
	for (uint64_t i = 0; i < 70000; i++) {
		err = ksymbols_add(&k, i * 16, i * 16 + 16, 1, &replaced);
		if (i % 2)
			ksymbols_remove(&k, i * 16);
		assert_int_equal(err, 0);
	}
	assert_true(k.at.nr <= 1 << 16);
	ksymbols_done(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),        cmocka_unit_test(hidden),
		cmocka_unit_test(cut_anywhere), cmocka_unit_test(registered),
		cmocka_unit_test(bounded),      cmocka_unit_test(read_in_pieces),
		cmocka_unit_test(moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
