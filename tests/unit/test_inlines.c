/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of inlined functions: their check, and what is made from DWARF of this machine's compilers
 * in each form that is read, against libdw's own answer for the same addresses.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/inlines.h"
#include "image/inlines_build.h"
#include "image/inlines_kept.h"
#include "image/inlines_parts.h"
#include "unit/scratch.h"

/* ---- the check ------------------------------------------------------------------------------- */

struct bytes {
	struct inlines_header h;
	struct inlines_span spans[2];
	struct inlines_step steps[4];
	struct inlines_scope scopes[3];
	char strings[16];
};

/* [0x1000, 0x1100): outer at 0x10, inner in it at 0x20, outer again at 0x30, nothing from 0x40 on;
 * nothing at all in [0x2000, 0x2010). */
static struct bytes good(void)
{
	struct bytes b = {
		.h = { .magic = INLINES_MAGIC,
		       .version = INLINES_VERSION,
		       .nr_spans = 2,
		       .size = sizeof(b),
		       .base = 0x1000,
		       .nr_steps = 4,
		       .nr_scopes = 3,
		       .spans_at = offsetof(struct bytes, spans),
		       .steps_at = offsetof(struct bytes, steps),
		       .scopes_at = offsetof(struct bytes, scopes),
		       .strings_at = offsetof(struct bytes, strings),
		       .strings_size = sizeof(b.strings) },
		.spans = { { 0x1000, 0x1100 }, { 0x2000, 0x2010 } },
		.steps = { { 0x10, 0 }, { 0x20, 1 }, { 0x30, 0 }, { 0x40, INLINES_NONE } },
		.scopes = { { 1, INLINES_NONE }, { 7, 0 }, { 1, 1 } },
		.strings = "\0outer\0inner",
	};

	return b;
}

static void look_up(void **state)
{
	static const struct {
		uint64_t at;
		uint32_t nr;
	} cases[] = { { 0xfff, 0 },  { 0x1000, 0 }, { 0x100f, 0 }, { 0x1010, 1 }, { 0x101f, 1 },
		      { 0x1020, 2 }, { 0x102f, 2 }, { 0x1030, 1 }, { 0x1040, 0 }, { 0x10ff, 0 },
		      { 0x1100, 0 }, { 0x2000, 0 }, { 0x2010, 0 } };
	struct bytes b = good();
	const char *names[INLINES_DEPTH_MAX];
	struct inlines in;

	(void)state;
	assert_int_equal(inlines_check(&b, sizeof(b), &in), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(inlines_at(&in, cases[i].at, names), cases[i].nr);
		if (cases[i].nr > 0)
			assert_string_equal(names[0], "outer");
		if (cases[i].nr > 1)
			assert_string_equal(names[1], "inner");
	}
	assert_true(inlines_cover(&in, 0x1000) && inlines_cover(&in, 0x200f));
	assert_false(inlines_cover(&in, 0x1100) || inlines_cover(&in, 0xfff) ||
		     inlines_cover(&in, 0x2010));
}

#define REFUSED(change)                                                        \
	do {                                                                   \
		struct bytes b = good();                                       \
		change;                                                        \
		assert_int_equal(inlines_check(&b, sizeof(b), &in), -EBADMSG); \
	} while (0)

static void what_is_out_of_bounds_is_refused(void **state)
{
	struct inlines in;
	struct bytes whole = good();

	(void)state;
	for (size_t size = 0; size < sizeof(whole); size++)
		assert_int_equal(inlines_check(&whole, size, &in), -EBADMSG);
	REFUSED(b.h.magic++);
	REFUSED(b.h.version++);
	REFUSED(b.h.size++);
	REFUSED(b.h.nr_spans = UINT32_MAX);
	REFUSED(b.h.nr_steps = UINT32_MAX);
	REFUSED(b.h.nr_scopes = UINT32_MAX);
	REFUSED(b.h.spans_at = 4);
	REFUSED(b.h.steps_at = UINT64_MAX - 7);
	REFUSED(b.h.scopes_at = sizeof(b));
	REFUSED(b.h.strings_size = 0);
	REFUSED(b.h.strings_size = UINT64_MAX);
	REFUSED(b.h.base = 0x1001);
	REFUSED(b.spans[0].end = b.spans[0].start);
	REFUSED(b.spans[1].start = 0x10ff);
	REFUSED(b.spans[1].end = 0x1000 + (UINT64_C(1) << 32) + 1);
	REFUSED(b.steps[1].start = 0x10);
	REFUSED(b.steps[0].scope = 3);
	REFUSED(b.scopes[0].parent = 0);
	REFUSED(b.scopes[1].parent = 2);
	REFUSED(b.scopes[1].name = 16);
	REFUSED(b.scopes[1].name = 0);
	REFUSED(b.strings[15] = 'x');
}

/* ---- building -------------------------------------------------------------------------------- */

struct fixture {
	char directory[64];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return -1;
	strcpy(f->directory, "/tmp/ptop-inlines-XXXXXX");
	*state = f;
	return mkdtemp(f->directory) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	scratch_remove(f->directory);
	free(f);
	return 0;
}

/* Runs a command in the fixture's directory, where $SRC is the program's source. */
static bool run(const struct fixture *f, const char *command)
{
	const char *top = getenv("top_srcdir");
	char line[1024];

	snprintf(line, sizeof(line),
		 "exec >/dev/null 2>&1; SRC='%s/tests/support/inlined.c'; cd '%s' && %s",
		 top != NULL ? top : ".", f->directory, command);
	return system(line) == 0;
}

static int open_in(const struct fixture *f, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* libdw's answer: the inlined functions around @pc, the innermost first. */
static unsigned oracle(Dwarf *dwarf, Dwarf_Addr pc, const char *ret[64])
{
	Dwarf_Die unit, innermost, *scopes;
	Dwarf_CU *cu = NULL;
	unsigned nr = 0;
	int n = 0;

	while (n <= 0 && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		if (dwarf_haspc(&unit, pc) == 1)
			n = dwarf_getscopes(&unit, pc, &scopes);
	}
	if (n <= 0)
		return 0;
	innermost = scopes[0];
	free(scopes);
	n = dwarf_getscopes_die(&innermost, &scopes);
	for (int i = 0; i < n && nr < 64; i++) {
		if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine)
			ret[nr++] = dwarf_diename(&scopes[i]);
	}
	if (n > 0)
		free(scopes);
	return nr;
}

/* The code of work(), which others are inlined into. */
static void range_of_work(Dwarf *dwarf, Dwarf_Addr *ret_start, Dwarf_Addr *ret_end)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, die;

	*ret_start = *ret_end = 0;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		if (dwarf_child(&unit, &die) != 0)
			continue;
		do {
			const char *name = dwarf_diename(&die);

			if (dwarf_tag(&die) == DW_TAG_subprogram && name != NULL &&
			    strcmp(name, "work") == 0) {
				assert_int_equal(dwarf_lowpc(&die, ret_start), 0);
				assert_int_equal(dwarf_highpc(&die, ret_end), 0);
			}
		} while (dwarf_siblingof(&die, &die) == 0);
	}
	assert_true(*ret_start < *ret_end);
}

static struct inlines_bytes build(int fd, int alt_fd, uint64_t at)
{
	int fds[2] = { fd, alt_fd };
	struct inlines_kept kept = { 0 };
	struct inlines_bytes b = { 0 };
	struct reason why = { 0 };
	struct inlines in;

	if (inlines_kept_build(&kept, fds, alt_fd >= 0 ? 2 : 1, &at, 1, &b, &why) != 0)
		fail_msg("%s", why.text);
	assert_int_equal(inlines_check(b.at, b.size, &in), 0);
	assert_true(inlines_cover(&in, at));
	inlines_kept_drop(&kept);
	return b;
}

/* Every address of work() has the same inlined functions as by libdw, and all are seen. */
static void agrees_with_libdw(const struct fixture *f, const char *name)
{
	int fd = open_in(f, name);
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	const char *own[INLINES_DEPTH_MAX], *theirs[64];
	unsigned deepest = 0, one_part = 0;
	Dwarf_Addr start, end;
	struct inlines_bytes b;
	struct inlines in;

	assert_non_null(dwarf);
	range_of_work(dwarf, &start, &end);
	b = build(fd, -1, start);
	inlines_check(b.at, b.size, &in);
	for (Dwarf_Addr pc = start; pc < end; pc++) {
		unsigned nr = oracle(dwarf, pc, theirs);

		assert_int_equal(inlines_at(&in, pc, own), nr);
		for (unsigned i = 0; i < nr; i++) {
			assert_string_equal(own[i], theirs[nr - 1 - i]);
			one_part += strcmp(own[i], "one_part") == 0;
		}
		deepest = nr > deepest ? nr : deepest;
	}
	assert_true(deepest >= 2 && one_part > 0);
	free(b.at);
	dwarf_end(dwarf);
	close(fd);
}

static void dwarf_5_and_4(void **state)
{
	if (!run(*state, "${CC:-cc} -O2 -gdwarf-5 -o five \"$SRC\" && "
			 "${CC:-cc} -O2 -gdwarf-4 -o four \"$SRC\""))
		skip();
	agrees_with_libdw(*state, "five");
	agrees_with_libdw(*state, "four");
}

/* clang writes no .debug_aranges. */
static void without_aranges(void **state)
{
	if (!run(*state, "clang -O2 -g -gdwarf-4 -o clang4 \"$SRC\" && "
			 "clang -O2 -g -gdwarf-5 -o clang5 \"$SRC\" && "
			 "! readelf -SW clang5 | grep aranges"))
		skip();
	agrees_with_libdw(*state, "clang4");
	agrees_with_libdw(*state, "clang5");
}

/* However the sections are packed, the table is the same. */
static void packed(const struct fixture *f, const char *how)
{
	int plain = open_in(f, "plain"), fd = open_in(f, how);
	Dwarf *dwarf = dwarf_begin(plain, DWARF_C_READ);
	struct inlines_bytes a, b;
	Dwarf_Addr start, end;

	assert_non_null(dwarf);
	range_of_work(dwarf, &start, &end);
	a = build(plain, -1, start);
	b = build(fd, -1, start);
	assert_int_equal(a.size, b.size);
	assert_memory_equal(a.at, b.at, a.size);
	free(a.at);
	free(b.at);
	dwarf_end(dwarf);
	close(plain);
	close(fd);
}

static void packed_sections(void **state)
{
	static const char *const hows[] = { "zlib", "zlib-gnu", "zstd" };
	char command[128];
	unsigned done = 0;

	if (!run(*state, "${CC:-cc} -O2 -g -o plain \"$SRC\""))
		skip();
	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		snprintf(command, sizeof(command), "objcopy --compress-debug-sections=%s plain %s",
			 hows[i], hows[i]);
		if (!run(*state, command)) {
			print_message("objcopy cannot pack by %s\n", hows[i]);
			continue;
		}
		packed(*state, hows[i]);
		done++;
	}
	assert_true(done > 0);
}

/* Names that dwz moved to another file are read from there, and only from the right one. */
static void common_parts_elsewhere(void **state)
{
	int fd, alt, wrong;
	struct inlines_bytes b;
	struct debug_alt told;
	Dwarf_Addr start, end;
	const char *names[INLINES_DEPTH_MAX];
	bool seen = false;
	struct inlines in;
	Dwarf *dwarf;

	if (!run(*state, "${CC:-cc} -O2 -g -Wl,--build-id -o a \"$SRC\" && cp a plain && cp a b && "
			 "dwz -m common -M common a b"))
		skip();
	fd = open_in(*state, "a");
	alt = open_in(*state, "common");
	wrong = open_in(*state, "plain");
	debug_info_alt(fd, &told);
	assert_string_equal(told.path, "common");
	assert_true(debugfile_alt_is_sound(&told) && debugfile_alt_matches(&told, alt));
	assert_false(debugfile_alt_matches(&told, wrong));
	dwarf = dwarf_begin(wrong, DWARF_C_READ);
	range_of_work(dwarf, &start, &end);
	b = build(fd, alt, start);
	inlines_check(b.at, b.size, &in);
	for (Dwarf_Addr pc = start; pc < end && !seen; pc++) {
		unsigned nr = inlines_at(&in, pc, names);

		seen = nr > 1 && strcmp(names[0], "both") == 0 &&
		       strcmp(names[1], "three_parts") == 0;
	}
	assert_true(seen);
	free(b.at);
	free(build(fd, wrong, start).at);
	dwarf_end(dwarf);
	close(fd);
	close(alt);
	close(wrong);
}

static void refused(const struct fixture *f, const char *name, int err, const char *word)
{
	int fd = open_in(f, name);
	struct inlines_kept kept = { 0 };
	struct inlines_bytes b;
	struct reason why = { 0 };
	uint64_t at = 0x1000;

	assert_int_equal(inlines_kept_build(&kept, &fd, 1, &at, 1, &b, &why), err);
	assert_non_null(strstr(why.text, word));
	inlines_kept_drop(&kept);
	close(fd);
}

static void what_cannot_be_had_is_told(void **state)
{
	if (!run(*state, "${CC:-cc} -O2 -o bare \"$SRC\" && echo text >text && "
			 "${CC:-cc} -O2 -g -gsplit-dwarf -c -o split.o \"$SRC\" && "
			 "${CC:-cc} -o split split.o"))
		skip();
	refused(*state, "bare", -ENODATA, "no debug information");
	refused(*state, "text", -ENOEXEC, "not an ELF file");
	refused(*state, "split", -ENODATA, ".dwo");
}

/* Between and beyond the units nothing is inlined, and that is an answer. */
static void room_between_units(void **state)
{
	const char *names[INLINES_DEPTH_MAX];
	struct inlines_bytes b;
	struct inlines in;
	int fd;

	if (!run(*state, "${CC:-cc} -O2 -g -o plain \"$SRC\""))
		skip();
	fd = open_in(*state, "plain");
	for (unsigned i = 0; i < 64; i++) {
		uint64_t at = UINT64_C(1) << i;

		b = build(fd, -1, at);
		inlines_check(b.at, b.size, &in);
		inlines_at(&in, at, names);
		free(b.at);
	}
	close(fd);
}

/* ---- which table answers --------------------------------------------------------------------- */

static struct inlines_table *table_of(uintptr_t number)
{
	return (struct inlines_table *)(number * 8);
}

/* Many at once become what they become one by one: who came first keeps a place. */
static void spans_at_once_as_one_by_one(void **state)
{
	enum { PLACES = 4000, TABLES = 12 };
	static struct inlines_table *owner[PLACES];
	struct inlines_parts p = { 0 };
	uint64_t seed = 88172645463325252ull;

	(void)state;
	for (uintptr_t t = 1; t <= TABLES; t++) {
		struct inlines_span spans[PLACES];
		uint32_t nr = 0;

		for (uint64_t at = 0;; nr++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			spans[nr].start = at + seed % (t % 3 ? 9 : 900);
			spans[nr].end = spans[nr].start + 1 + (seed >> 32) % 7;
			at = spans[nr].end;
			if (at > PLACES)
				break;
			for (uint64_t i = spans[nr].start; i < at; i++)
				owner[i] = owner[i] != NULL ? owner[i] : table_of(t);
		}
		assert_int_equal(parts_add_spans(&p, spans, nr, table_of(t)), 0);
		if (t == 5)
			parts_drop(&p, table_of(2));
		for (uint64_t i = 0; i < PLACES; i++) {
			const struct inlines_part *part = parts_find(&p, i);

			if (t == 5 && owner[i] == table_of(2))
				owner[i] = NULL;
			assert_ptr_equal(part != NULL ? part->table : NULL, owner[i]);
		}
		for (size_t i = 1; i < p.at.nr; i++)
			assert_true(p.at.at[i - 1].end <= p.at.at[i].start);
	}
	vec_done(&p.at);
}

/* Units that lie among each other, as a file may have them: the second costs no more. */
static void units_among_each_other(void **state)
{
	enum { SPANS = 300000 };
	struct inlines_span *spans = calloc(SPANS, sizeof(*spans));
	struct inlines_parts p = { 0 };

	(void)state;
	assert_non_null(spans);
	for (uint64_t t = 0; t < 3; t++) {
		for (uint64_t i = 0; i < SPANS; i++)
			spans[i] = (struct inlines_span){ i * 12 + t * 4, i * 12 + t * 4 + 4 };
		assert_int_equal(parts_add_spans(&p, spans, SPANS, table_of(t + 1)), 0);
	}
	assert_int_equal(p.at.nr, 3 * SPANS);
	assert_ptr_equal(parts_find(&p, 12 * 1000 + 7)->table, table_of(2));
	vec_done(&p.at);
	free(spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(look_up),
		cmocka_unit_test(spans_at_once_as_one_by_one),
		cmocka_unit_test(units_among_each_other),
		cmocka_unit_test(what_is_out_of_bounds_is_refused),
		cmocka_unit_test_setup_teardown(dwarf_5_and_4, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_aranges, set_up, tear_down),
		cmocka_unit_test_setup_teardown(packed_sections, set_up, tear_down),
		cmocka_unit_test_setup_teardown(common_parts_elsewhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_had_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(room_between_units, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
