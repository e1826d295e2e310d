/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracing data built by hand, and what is printed by it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/formats.h"

struct build {
	uint8_t at[8192];
	size_t size;
};

static void put(struct build *b, const void *bytes, size_t size)
{
	assert_true(b->size + size <= sizeof(b->at));
	memcpy(b->at + b->size, bytes, size);
	b->size += size;
}

static void put_u32(struct build *b, uint32_t x)
{
	put(b, &x, sizeof(x));
}

static void put_string(struct build *b, const char *text)
{
	put(b, text, strlen(text) + 1);
}

static void put_sized(struct build *b, const char *text)
{
	uint64_t size = strlen(text);

	put(b, &size, sizeof(size));
	put(b, text, size);
}

static const char page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
			   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			   "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

static const char format[] =
	"name: work_done\n"
	"ID: 77\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:int amount;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:char who[8];\toffset:12;\tsize:8;\tsigned:0;\n"
	"\tfield:void * where;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\n"
	"print fmt: \"amount=%d who=%s kind=%s where=%pS\", REC->amount, REC->who, "
	"__print_symbolic(REC->amount, { 1, \"one\" }, { 2, \"two\" }), REC->where\n";

static void tracing_data(struct build *b)
{
	const uint8_t little = 0, long_size = 8;

	put(b, "\x17\x08\x44tracing", 10);
	put_string(b, "0.6");
	put(b, &little, 1);
	put(b, &long_size, 1);
	put_u32(b, 4096);
	put_string(b, "header_page");
	put_sized(b, page);
	put_string(b, "header_event");
	put_sized(b, "# compressed entry header\n");
	put_u32(b, 0); /* of ftrace */
	put_u32(b, 1); /* systems */
	put_string(b, "work");
	put_u32(b, 1);
	put_sized(b, format);
	put_u32(b, 0);
	put_u32(b, 0);
}

static const char *function(void *ctx, uint64_t addr, uint64_t *ret_start)
{
	(void)ctx;
	*ret_start = addr & ~0xffull;
	return addr >> 32 ? "do_the_work" : NULL;
}

static void raw(uint8_t bytes[32], uint16_t type)
{
	const int32_t amount = 2;
	const uint64_t where = 0xffffffff81000110;

	memset(bytes, 0, 32);
	memcpy(bytes, &type, sizeof(type));
	memcpy(bytes + 8, &amount, sizeof(amount));
	memcpy(bytes + 12, "makers", 6);
	memcpy(bytes + 24, &where, sizeof(where));
}

static void prints_by_the_format(void **state)
{
	struct build b = { .size = 0 };
	struct formats *f;
	uint8_t bytes[32];
	char text[128];
	int len;

	(void)state;
	if (!formats_built_in())
		skip();
	tracing_data(&b);
	f = formats_new(b.at, b.size, function, NULL);
	assert_non_null(f);
	raw(bytes, 77);
	len = formats_text(f, 0, bytes, sizeof(bytes), text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, "amount=2 who=makers kind=two where=do_the_work+0x10");
	assert_int_equal(formats_text(f, 0, bytes, sizeof(bytes), text, 9), 8);
	assert_string_equal(text, "amount=2");
	raw(bytes, 78);
	assert_int_equal(formats_text(f, 0, bytes, sizeof(bytes), text, sizeof(text)), -ENOENT);
	assert_int_equal(formats_text(f, 0, bytes, 1, text, sizeof(text)), -ENOENT);
	formats_free(f);
}

/* The library itself is not made for damaged formats; what leads to them is. */
static void what_is_cut_short(void **state)
{
	struct build b = { .size = 0 };
	size_t formats_at;

	(void)state;
	if (!formats_built_in())
		skip();
	tracing_data(&b);
	formats_at = b.size - 8 - (sizeof(format) - 1);
	for (size_t size = 0; size < b.size; size++) {
		uint8_t *copy = test_malloc(size + 1);
		struct formats *f;
		uint8_t bytes[32];
		char text[128];

		memcpy(copy, b.at, size);
		f = formats_new(copy, size, NULL, NULL);
		if (f && size < formats_at) {
			raw(bytes, 77);
			assert_int_equal(formats_text(f, 0, bytes, sizeof(bytes), text,
						      sizeof(text)),
					 -ENOENT);
		}
		formats_free(f);
		test_free(copy);
	}
	assert_null(formats_new("tracing", 7, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_by_the_format),
		cmocka_unit_test(what_is_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
