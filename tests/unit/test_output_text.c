/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text and folded writers, against what they must write. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "output/folded.h"
#include "output/json.h"
#include "output/script.h"
#include "output/text.h"
#include "unit/output_bed.h"

static struct bed bed;

static int setup(void **state)
{
	bed_init(&bed);
	*state = &bed;
	return 0;
}

static char *text_of(const struct report *r, bool ascii)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(text_write(f, r, ascii), 0);
	fclose(f);
	return text;
}

static char *folded_of(const struct report *r)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(folded_write(f, r), 0);
	fclose(f);
	return text;
}

static void expect_text(const struct report *r, const char *wanted)
{
	char *text = text_of(r, false);

	assert_string_equal(text, wanted);
	free(text);
}

static void expect_folded(const struct report *r, const char *wanted)
{
	char *text = folded_of(r);

	assert_string_equal(text, wanted);
	free(text);
}

#define HEAD                                                                        \
	"ptop  1970-01-02 00:00:00  box  cpu-clock 999Hz  user  mysqld[4242]\n"     \
	"4.0s window  10 samples  2.50 CPUs  1.50 idle hidden  stacks 60% complete" \
	"  10% broken  20% cut  10% deep  30% unnamed"                              \
	"  lost 7  dropped 8  throttled 9  ptop 0.6% 23 MB\n"                       \
	"note: user side only\n\n"

static void test_text(void **state)
{
	struct bed *b = *state;

	expect_text(&b->report, HEAD "  TOTAL    SELF   CPUs  FUNCTION              MODULE\n"
				     "  40.0%   40.0%   1.00  leaf                  libc.so.6\n"
				     "  60.0%   30.0%   1.50  work                  app\n"
				     "  40.0%   20.0%   1.00  rest                  app\n"
				     "  10.0%   10.0%   0.25  tiny                  app\n"
				     " 100.0%    0.0%   2.50  start                 app\n\n");
}

static void test_text_outlines(void **state)
{
	struct bed *b = *state;
	struct answer callers = *b->report.tree;

	b->report.min_percent = 25;
	b->report.outline = b->report.tree;
	expect_text(&b->report, HEAD "  TOTAL    SELF   CPUs  FUNCTION\n"
				     " 100.0%    0.0%   2.50  start  app\n"
				     "  60.0%   30.0%   1.50    work  app\n"
				     "  30.0%   30.0%   0.75      leaf  libc.so.6\n"
				     "  40.0%   20.0%   1.00    rest  app\n\n");
	callers.orientation = QUERY_CALLERS;
	b->report.outline = &callers;
	expect_text(&b->report, HEAD "  TOTAL   CPUs  FUNCTION\n"
				     " 100.0%   2.50  start  app\n"
				     "  60.0%   1.50    work  app\n"
				     "  30.0%   0.75      leaf  libc.so.6\n"
				     "  40.0%   1.00    rest  app\n\n");
}

static void test_text_rows_and_groups(void **state)
{
	struct bed *b = *state;

	b->report.rows = 2;
	bed_group_all(b);
	expect_text(&b->report, HEAD "  TOTAL    SELF   CPUs  FUNCTION              MODULE\n"
				     " 100.0%    0.0%   2.50  app[1]\n"
				     "  40.0%   40.0%   1.00  leaf                  libc.so.6\n"
				     "  60.0%   30.0%   1.50  work                  app\n\n");
}

static void test_text_modules(void **state)
{
	struct bed *b = *state;

	bed_modules(b);
	b->report.show_modules = true;
	expect_text(&b->report, HEAD
		    "  TOTAL    SELF  UNNAMED  BROKEN   CPUs  NAMES            ROWS  MODULE\n"
		    " 100.0%   60.0%    30.0%   20.0%   1.50  symtab           no    app\n"
		    "  40.0%   40.0%     0.0%   10.0%   1.00  dynsym           yes   libc.so.6\n"
		    "\n"
		    "/srv/app (build-id 0123abcd):\n"
		    "    no unwind rows: it has no .eh_frame\n"
		    "/usr/lib/libc.so.6:\n"
		    "    names dynsym: only exported functions have names\n"
		    "    to mend: apt install libc6-dbg\n\n");
	b->report.rows = 1;
	b->report.cpus = b->report.hidden_idle_cpus = NAN;
	expect_text(&b->report,
		    "ptop  1970-01-02 00:00:00  box  cpu-clock 999Hz  user  mysqld[4242]\n"
		    "4.0s window  10 samples  stacks 60% complete"
		    "  10% broken  20% cut  10% deep  30% unnamed"
		    "  lost 7  dropped 8  throttled 9  ptop 0.6% 23 MB\n"
		    "note: user side only\n\n"
		    "  TOTAL    SELF  UNNAMED  BROKEN  NAMES            ROWS  MODULE\n"
		    " 100.0%   60.0%    30.0%   20.0%  symtab           no    app\n"
		    "\n"
		    "/srv/app (build-id 0123abcd):\n"
		    "    no unwind rows: it has no .eh_frame\n\n");
}

static void test_text_without_time(void **state)
{
	static const uint32_t ids[] = { 5, 6 };
	struct bed *b = *state;
	struct report *r = &b->report;

	r->cpus = r->hidden_idle_cpus = NAN;
	r->by_frequency = false;
	r->rate = 100003;
	r->event = "page-faults";
	r->nr_exclude = r->nr_notes = 0;
	r->rows = 1;
	r->target = (struct report_target){
		.kind = "tids", .ids = ids, .nr_ids = 2, .cpus = "0-3", .ended = true
	};
	expect_text(r, "ptop  1970-01-02 00:00:00  box  page-faults period 100003  user+kernel"
		       "  tids 5,6  CPUs 0-3  ended\n"
		       "4.0s window  10 samples  stacks 60% complete"
		       "  10% broken  20% cut  10% deep  30% unnamed"
		       "  lost 7  dropped 8  throttled 9  ptop 0.6% 23 MB\n\n"
		       "  TOTAL    SELF  FUNCTION              MODULE\n"
		       "  40.0%   40.0%  leaf                  libc.so.6\n\n");
}

static void test_text_of_nothing(void **state)
{
	struct bed *b = *state;
	struct report *r = &b->report;

	r->samples = r->weight = r->unnamed = 0;
	r->nr_notes = 0;
	r->cpus = r->hidden_idle_cpus = 0;
	memset(r->ends, 0, sizeof(r->ends));
	b->flat.nr_rows = 0;
	b->flat.first = NONE;
	expect_text(r, "ptop  1970-01-02 00:00:00  box  cpu-clock 999Hz  user  mysqld[4242]\n"
		       "4.0s window  0 samples  0.00 CPUs"
		       "  lost 7  dropped 8  throttled 9  ptop 0.6% 23 MB\n\n"
		       "  TOTAL    SELF   CPUs  FUNCTION              MODULE\n\n");
}

/* All but the line breaks that are the writer's own. */
static void expect_clean(const char *text, size_t lines)
{
	size_t found = 0;

	for (const char *at = text; *at; at++) {
		found += *at == '\n';
		assert_true(*at == '\n' ||
			    ((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f));
	}
	assert_int_equal(found, lines);
}

static void test_text_hostile(void **state)
{
	static const char *const notes[] = { HOSTILE };
	struct bed *b = *state;
	char *text;

	b->functions[F_LEAF] = b->modules[F_WORK] = HOSTILE "\xc3\xa9";
	b->report.host = b->report.event = HOSTILE;
	b->report.target.command = b->report.target.user = b->report.target.cpus = HOSTILE;
	b->report.notes = notes;
	text = text_of(&b->report, true);
	expect_clean(text, 3 + 1 + 1 + 5 + 1);
	free(text);
}

static void test_folded(void **state)
{
	struct bed *b = *state;

	expect_folded(&b->report, "start;work 3\n"
				  "start;work;leaf 3\n"
				  "start;rest 2\n"
				  "start;rest;leaf 1\n"
				  "start;rest;tiny 1\n");
	b->tree.bare_samples = 4;
	b->report.min_percent = 50;
	expect_folded(&b->report, "start;work 3\n"
				  "start;work;leaf 3\n"
				  "start;rest 2\n"
				  "start;rest;leaf 1\n"
				  "start;rest;tiny 1\n"
				  "[no stack] 4\n");
	b->report.tree = NULL;
	expect_folded(&b->report, "");
}

static void test_folded_groups(void **state)
{
	struct bed *b = *state;
	uint32_t other;

	bed_group_all(b);
	other = bed_row(&b->tree, UINT32_MAX, 1, NONE, 2, 3);
	bed_row(&b->tree, F_TINY, 1, other, 1, 1);
	expect_folded(&b->report, "app[1];start;work 3\n"
				  "app[1];start;work;leaf 3\n"
				  "app[1];start;rest 2\n"
				  "app[1];start;rest;leaf 1\n"
				  "app[1];start;rest;tiny 1\n"
				  "other[2] 2\n"
				  "other[2];tiny 1\n");
}

static void test_folded_hostile(void **state)
{
	struct bed *b = *state;
	char *text;

	b->functions[F_WORK] = "a;b\nc d\r\033[2J";
	b->functions[F_LEAF] = "";
	text = folded_of(&b->report);
	assert_string_equal(text, "start;a:b?c d??[2J 3\n"
				  "start;a:b?c d??[2J;[unknown] 3\n"
				  "start;rest 2\n"
				  "start;rest;[unknown] 1\n"
				  "start;rest;tiny 1\n");
	free(text);
}

typedef int writer_fn(FILE *out, const struct report *r);

static int write_text(FILE *out, const struct report *r)
{
	return text_write(out, r, false);
}

static void test_failed_writes(void **state)
{
	static writer_fn *const writers[] = { write_text, folded_write, json_write };
	struct bed *b = *state;

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++) {
		FILE *full = fopen("/dev/full", "we");
		int ends[2];
		FILE *closed;

		assert_non_null(full);
		assert_int_equal(writers[i](full, &b->report), -ENOSPC);
		fclose(full);
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		close(ends[0]);
		closed = fdopen(ends[1], "w");
		assert_non_null(closed);
		assert_int_equal(writers[i](closed, &b->report), -EPIPE);
		fclose(closed);
	}
}

/* A load that missed the L1 and hit the L3, modified; and whatever bits there are, in any room. */
static void test_source_of_data(void **state)
{
	char text[512], small[40];

	(void)state;
	script_data_source(0x2 | 1ull << 6 | 1ull << 11 | 1ull << 23 | 1ull << 27, text,
			   sizeof(text));
	assert_string_equal(text, "         8800842 |OP LOAD|LVL L3 hit|SNP HitM|TLB N/A hit"
				  "|LCK No|BLK  N/A");
	for (unsigned bit = 0; bit < 64; bit++)
		for (size_t size = 1; size < sizeof(small); size++) {
			script_data_source(~0ull >> bit, small, size);
			assert_true(strlen(small) < size);
		}
	script_data_source(UINT64_MAX, text, sizeof(text));
	assert_non_null(strstr(text, "|LCK N/A|BLK  N/A"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(test_text),
		cmocka_unit_test(test_source_of_data),
		T(test_text_modules),
		T(test_text_outlines),
		T(test_text_rows_and_groups),
		T(test_text_without_time),
		T(test_text_of_nothing),
		T(test_text_hostile),
		T(test_folded),
		T(test_folded_groups),
		T(test_folded_hostile),
		T(test_failed_writes),
	};

	setenv("TZ", "UTC0", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
