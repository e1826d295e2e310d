/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places to functions, over images whose state the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/naming.h"
#include "unit/jitdump_bytes.h"
#include "unit/space_records.h"

/* Stands in for the image folder: one state for all, symbols every 256 bytes below 64 KiB but the
 * first. */
struct images {
	enum image_state state;
	const char *source;
	const char *name; /* of symbol 1 */
	unsigned wanted;
	const char *refused; /* NULL: the file was not refused */
	uint32_t replaced;   /* the image that got another table; 0: none */
};

bool images_replaced(struct images *im, uint32_t *ret)
{
	*ret = im->replaced;
	im->replaced = 0;
	return *ret != 0;
}

void images_want(struct images *im, uint32_t image)
{
	(void)image;
	im->wanted++;
}

enum image_state images_state(const struct images *im, uint32_t image)
{
	(void)image;
	return im->state;
}

const char *images_source(const struct images *im, uint32_t image)
{
	(void)image;
	return im->source;
}

const char *images_refused(const struct images *im, uint32_t image)
{
	(void)image;
	return im->refused ? im->refused : "";
}

bool images_symbol(const struct images *im, uint32_t image, uint64_t offset,
		   struct image_symbol *ret)
{
	static char name[32];
	uint32_t index = (uint32_t)(offset / 256);

	(void)image;
	if (im->state != IMAGE_LOADED || !strcmp(im->source, "none") || !index || index >= 256)
		return false;
	snprintf(name, sizeof(name), "symbol_%u", index);
	*ret = (struct image_symbol){ .index = index, .start = index * 256, .size = 256 };
	ret->name = index == 1 ? im->name : name;
	return true;
}

struct bed {
	struct space *space;
	struct images images;
	struct symbols *sy;
};

static int setup(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	if (!bed)
		return -1;
	bed->space = space_new();
	bed->images = (struct images){ .source = "symtab", .name = "start_thread" };
	bed->sy = symbols_new(bed->space, &bed->images);
	*state = bed;
	return bed->space && bed->sy ? 0 : -1;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	symbols_free(bed->sy);
	space_free(bed->space);
	free(bed);
	return 0;
}

static struct function_info info_of(struct bed *bed, uint32_t image, uint64_t offset)
{
	struct function_info info;

	assert_true(symbols_info(bed->sy, symbols_function(bed->sy, image, offset), &info));
	return info;
}

static uint32_t file(struct bed *bed, pid_t pid, uint64_t ino, const char *path)
{
	do_mmap(bed->space, (uint32_t)pid, 0x400000 + ino * 0x100000, 0x100000, 0, ino, path, 1);
	return space_resolve(bed->space, pid, 0x400000 + ino * 0x100000).image;
}

static void loading_then_named(void **state)
{
	struct bed *bed = *state;
	uint32_t image = file(bed, 10, 7, "/usr/lib/libfoo.so.1 (deleted)"), generation;
	struct function_info info = info_of(bed, image, 0x210);

	assert_true(bed->images.wanted > 0);
	assert_string_equal(info.name, "libfoo.so.1");
	assert_string_equal(info.module, "libfoo.so.1");
	assert_string_equal(info.module_path, "/usr/lib/libfoo.so.1 (deleted)");
	assert_false(info.named);
	assert_false(symbols_final(bed->sy, image));
	generation = symbols_generation(bed->sy);
	assert_false(symbols_refresh(bed->sy, 1));
	assert_int_equal(symbols_generation(bed->sy), generation);
	bed->images.state = IMAGE_LOADED;
	assert_true(symbols_refresh(bed->sy, 2));
	assert_int_not_equal(symbols_generation(bed->sy), generation);
	assert_false(symbols_refresh(bed->sy, 3));
	assert_true(symbols_final(bed->sy, image));
	info = info_of(bed, image, 0x210);
	assert_string_equal(info.name, "symbol_2");
	assert_true(info.named && !info.entry && !info.kernel && !info.pseudo);
	assert_int_equal(symbols_function(bed->sy, image, 0x210),
			 symbols_function(bed->sy, image, 0x2ff));
	info = info_of(bed, image, 0x100);
	assert_string_equal(info.name, "start_thread");
	assert_true(info.entry);
	info = info_of(bed, image, 0x12345);
	assert_string_equal(info.name, "libfoo.so.1+0x12345");
	assert_false(info.named);
	assert_false(symbols_info(bed->sy, (uint32_t)symbols_nr_functions(bed->sy), &info));
	/* Another table, with other names at the same places. */
	bed->images.name = "another";
	bed->images.replaced = image;
	assert_true(symbols_refresh(bed->sy, 4));
	assert_int_equal(symbols_names_moved(bed->sy), 1);
	assert_string_equal(info_of(bed, image, 0x100).name, "another");
}

static void same_library_same_function(void **state)
{
	struct bed *bed = *state;
	uint32_t a = file(bed, 10, 7, "/a/libfoo.so"), b = file(bed, 11, 8, "/b/libfoo.so");
	uint32_t c = file(bed, 12, 9, "/b/libbar.so");

	bed->images.state = IMAGE_LOADED;
	assert_int_not_equal(a, b);
	assert_int_equal(symbols_function(bed->sy, a, 0x210), symbols_function(bed->sy, b, 0x210));
	assert_int_not_equal(symbols_function(bed->sy, a, 0x210),
			     symbols_function(bed->sy, c, 0x210));
}

static void parts_count_as_their_function(void **state)
{
	struct bed *bed = *state;
	uint32_t image = file(bed, 10, 7, "/lib/libfoo.so"), other;

	bed->images.state = IMAGE_LOADED;
	bed->images.name = "symbol_2.part.0.cold";
	assert_string_equal(info_of(bed, image, 0x110).name, "symbol_2");
	assert_int_equal(symbols_function(bed->sy, image, 0x110),
			 symbols_function(bed->sy, image, 0x210));
	symbols_full_names(bed->sy);
	other = file(bed, 10, 8, "/lib/libfoo.so");
	assert_string_equal(info_of(bed, other, 0x110).name, "symbol_2.part.0.cold");
	assert_int_not_equal(symbols_function(bed->sy, other, 0x110),
			     symbols_function(bed->sy, other, 0x210));
}

static void tiers_count_as_one(void **state)
{
	static const char *const pairs[][2] = {
		{ "LazyCompile:*hot a.js:3", "LazyCompile:hot a.js:3" },
		{ "JS:~hot a.js:3", "JS:hot a.js:3" },
		{ "JS:^hot a.js:3", "JS:hot a.js:3" },
		{ "JS:+'hot a.js:3", "JS:hot a.js:3" },
		{ "JS:*", "JS:*" },
		{ "JS:", "JS:" },
		{ "Builtin:*x", "Builtin:*x" },
		{ "RegExp:~a*", "RegExp:~a*" },
		{ "int32 [a] P::Main()[OptimizedTier1]", "int32 [a] P::Main()" },
		{ "void [a] P::Main()[PreJIT]", "void [a] P::Main()" },
		{ "int[] [a] P::Main()[x]", "int[] [a] P::Main()[x]" },
		{ "[Tier1]", "[Tier1]" },
		{ "", "" },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		size_t len = fold_tier(out, sizeof(out), pairs[i][0], strlen(pairs[i][0]));

		assert_int_equal(len, strlen(pairs[i][1]));
		assert_memory_equal(out, pairs[i][1], len);
	}
	assert_int_equal(fold_tier(out, 5, "JS:*hot", 7), 5);
	assert_memory_equal(out, "JS:ho", 5);
	assert_int_equal(fold_tier(out, 2, "JS:*hot", 7), 2);
}

static void without_symbols(void **state)
{
	struct bed *bed = *state;
	uint32_t image = file(bed, 10, 7, "/usr/lib/libfoo.so");

	bed->images.state = IMAGE_FAILED;
	assert_string_equal(info_of(bed, image, 0x210).name, "libfoo.so");
	assert_int_equal(symbols_function(bed->sy, image, 1), symbols_function(bed->sy, image, 2));
	assert_true(symbols_final(bed->sy, image));
	bed->images.refused = "another build here";
	assert_string_equal(info_of(bed, image, 0x210).name, "libfoo.so [another build here]");
	assert_false(info_of(bed, image, 0x210).named);
	assert_string_equal(info_of(bed, image, 0x210).module, "libfoo.so");
	bed->images.refused = NULL;
	bed->images.state = IMAGE_LOADED;
	bed->images.source = "none";
	assert_string_equal(info_of(bed, image, 0x210).name, "libfoo.so");
}

static void places_are_bounded(void **state)
{
	struct bed *bed = *state;
	uint32_t image = file(bed, 10, 7, "/lib/libfoo.so");

	bed->images.state = IMAGE_LOADED;
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_not_equal(symbols_function(bed->sy, image, 0x20000 + i), UINT32_MAX);
	assert_int_equal(symbols_nr_functions(bed->sy), PLACES_MAX + 1);
	assert_string_equal(info_of(bed, image, 0x20000 + 9999).name, "libfoo.so+?");
	assert_string_equal(info_of(bed, image, 0x20000).name, "libfoo.so+0x20000");
}

static void special_images(void **state)
{
	struct bed *bed = *state;
	struct function_info info = info_of(bed, IMAGE_UNKNOWN, 0x1234);

	assert_string_equal(info.name, "[unknown]");
	assert_false(info.named);
	assert_int_equal(symbols_function(bed->sy, IMAGE_UNKNOWN, 1),
			 symbols_function(bed->sy, IMAGE_UNKNOWN, 2));
	info = info_of(bed, IMAGE_PSEUDO, PSEUDO_CUT);
	assert_string_equal(info.name, "[stack cut]");
	assert_string_equal(info.module, "");
	assert_true(info.pseudo);
	assert_string_equal(info_of(bed, IMAGE_PSEUDO, PSEUDO_BROKEN).name, "[broken stack]");
	assert_string_equal(info_of(bed, IMAGE_PSEUDO, PSEUDO_DEEP).name, "[deep stack]");
	assert_string_equal(info_of(bed, IMAGE_PSEUDO, PSEUDO_NO_STACK).name, "[no stack]");
	assert_string_equal(info_of(bed, IMAGE_PSEUDO, 99).name, "[broken stack]");
	assert_string_equal(info_of(bed, 12345, 1).name, "[unknown]");
	assert_true(symbols_final(bed->sy, IMAGE_UNKNOWN));
	assert_true(symbols_final(bed->sy, IMAGE_PSEUDO));
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void ksymbol(struct bed *bed, uint64_t addr, uint32_t len, const char *name, uint16_t flags)
{
	struct record r = record_of(RECORD_KSYMBOL, 1);

	r.ksymbol.addr = addr;
	r.ksymbol.len = len;
	r.ksymbol.ksym_type = 1;
	r.ksymbol.flags = flags;
	r.ksymbol.name = bytes_of(name);
	symbols_apply(bed->sy, &r);
}

static void kernel(void **state)
{
	struct bed *bed = *state;
	char path[64];
	struct function_info info;
	uint32_t moved;

	snprintf(path, sizeof(path), "/tmp/ptop-kallsyms-%d", (int)getpid());
	info = info_of(bed, IMAGE_KERNEL, 0xffffffff81000010);
	assert_string_equal(info.name, "[kernel]");
	assert_true(info.kernel && !info.named);
	assert_false(symbols_final(bed->sy, IMAGE_KERNEL));
	write_file(path, "0000000000000000 T a\n0000000000000000 T b\n");
	assert_int_equal(symbols_load_kernel_from(bed->sy, path), -EACCES);
	assert_non_null(strstr(symbols_kernel_why(bed->sy), "kernel names are hidden"));
	assert_non_null(strstr(symbols_kernel_why(bed->sy), "sysctl kernel.kptr_restrict=0"));
	write_file(path, "ffffffff81000000 T do_idle\nffffffff81000100 t ret_from_fork_asm\n"
			 "ffffffff81000200 T _etext\nffffffffc0001000 t hook\t[nf_tables]\n");
	assert_int_equal(symbols_load_kernel_from(bed->sy, path), 0);
	assert_string_equal(symbols_kernel_why(bed->sy), "");
	assert_true(symbols_final(bed->sy, IMAGE_KERNEL));
	info = info_of(bed, IMAGE_KERNEL, 0xffffffff81000010);
	assert_string_equal(info.name, "do_idle");
	assert_string_equal(info.module, "[kernel]");
	assert_true(info.kernel && info.named && !info.entry);
	assert_true(info_of(bed, IMAGE_KERNEL, 0xffffffff81000110).entry);
	assert_string_equal(info_of(bed, IMAGE_KERNEL, 0xffffffffc0001004).module, "[nf_tables]");
	info = info_of(bed, IMAGE_KERNEL, 0xffffffffc0900000);
	assert_string_equal(info.name, "[kernel]+0xffffffffc0900000");
	assert_false(info.named);
	assert_false(symbols_final(bed->sy, IMAGE_KERNEL));
	/* a BPF program comes there, goes, and another takes its place */
	ksymbol(bed, 0xffffffffc0900000, 64, "bpf_prog_one", 0);
	info = info_of(bed, IMAGE_KERNEL, 0xffffffffc0900000);
	assert_string_equal(info.name, "bpf_prog_one");
	assert_string_equal(info.module, "[bpf]");
	ksymbol(bed, 0xffffffffc0900000, 64, "bpf_prog_one", 1);
	assert_string_equal(info_of(bed, IMAGE_KERNEL, 0xffffffffc0900000).name, "bpf_prog_one");
	moved = symbols_names_moved(bed->sy);
	ksymbol(bed, 0xffffffffc0900020, 64, "bpf_prog_\033two", 0);
	assert_int_not_equal(symbols_names_moved(bed->sy), moved);
	assert_string_equal(info_of(bed, IMAGE_KERNEL, 0xffffffffc0900020).name, "bpf_prog_?two");
	/* a registered program goes before the table, one that is gone does not */
	ksymbol(bed, 0xffffffff81000040, 16, "patched", 0);
	assert_string_equal(info_of(bed, IMAGE_KERNEL, 0xffffffff81000040).name, "patched");
	assert_string_equal(info_of(bed, IMAGE_KERNEL, 0xffffffff81000050).name, "do_idle");
	ksymbol(bed, 0xffffffff81000040, 16, "patched", 1);
	assert_string_equal(info_of(bed, IMAGE_KERNEL, 0xffffffff81000040).name, "do_idle");
	/* once an address had no name, it is read again: 5 s on, then 10 s on, … */
	write_file(path, "ffffffff81000000 T do_idle\nffffffff81000200 T _etext\n"
			 "ffffffffc0a00000 t late\t[late]\n");
	assert_false(symbols_reload_kernel_from(bed->sy, path, 1000000000));
	assert_false(symbols_reload_kernel_from(bed->sy, path, 5999999999));
	assert_string_equal(info_of(bed, IMAGE_KERNEL, 0xffffffffc0a00000).module, "[kernel]");
	assert_true(symbols_reload_kernel_from(bed->sy, path, 9000000000));
	assert_string_equal(info_of(bed, IMAGE_KERNEL, 0xffffffffc0a00000).module, "[late]");
	assert_false(symbols_reload_kernel_from(bed->sy, path, 60000000000));
	assert_false(info_of(bed, IMAGE_KERNEL, 0xffffffff91000000).named);
	assert_false(symbols_reload_kernel_from(bed->sy, path, 18000000000));
	assert_true(symbols_reload_kernel_from(bed->sy, path, 19000000002));
	/* a reload that fails keeps the names there are */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symbols_load_kernel_from(bed->sy, path), -ENOENT);
	assert_string_equal(info_of(bed, IMAGE_KERNEL, 0xffffffff81000010).name, "do_idle");
}

static void jit(void **state)
{
	struct bed *bed = *state;
	pid_t self = getpid();
	char path[64];
	uint32_t image, function;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)self);
	unlink(path);
	do_mmap(bed->space, (uint32_t)self, 0x10000, 0x1000, 0, 0, "//anon", 1);
	image = space_resolve(bed->space, self, 0x10000).image;
	assert_string_equal(info_of(bed, image, 0x10010).name, "[jit]");
	assert_false(info_of(bed, image, 0x10010).named);
	assert_int_equal(symbols_function(bed->sy, image, 0x10010),
			 symbols_function(bed->sy, image, 0x10020));
	write_file(path, "10000 100 LazyCompile:*hot\033 a.js\n10200 10 other\n");
	assert_true(symbols_refresh(bed->sy, 1000000000));
	assert_string_equal(info_of(bed, image, 0x10010).name, "LazyCompile:hot? a.js");
	assert_string_equal(info_of(bed, image, 0x10010).module, "[jit]");
	assert_true(info_of(bed, image, 0x10010).named);
	function = symbols_function(bed->sy, image, 0x10010);
	assert_int_equal(symbols_function(bed->sy, image, 0x100ff), function);
	/* nothing missed: not read again; missed: at most once a second */
	write_file(path, "10000 100 rewritten\n10100 100 grown\n");
	assert_false(symbols_refresh(bed->sy, 3000000000));
	assert_string_equal(info_of(bed, image, 0x10110).name, "[jit]");
	assert_true(symbols_refresh(bed->sy, 3100000000));
	assert_string_equal(info_of(bed, image, 0x10010).name, "rewritten");
	assert_string_equal(info_of(bed, image, 0x10110).name, "grown");
	assert_string_equal(info_of(bed, image, 0x10300).name, "[jit]");
	write_file(path, "10300 100 late\n");
	assert_false(symbols_refresh(bed->sy, 3200000000));
	assert_true(symbols_refresh(bed->sy, 4200000000));
	assert_string_equal(info_of(bed, image, 0x10300).name, "late");
	assert_false(symbols_final(bed->sy, image));
	/* code in a memfd, which is no ELF file, by where it is mapped */
	bed->images.state = IMAGE_FAILED;
	do_mmap(bed->space, (uint32_t)self, 0x10000, 0x1000, 0x5000, 77,
		"/memfd:doublemapper (deleted)", 2);
	image = space_resolve(bed->space, self, 0x10000).image;
	assert_string_equal(info_of(bed, image, 0x5310).name, "late");
	assert_string_equal(info_of(bed, image, 0x5010).name, "memfd:doublemapper");
	/* better names may come, but never one that begins a thread */
	assert_false(symbols_final(bed->sy, image));
	assert_true(symbols_read(bed->sy, image));
	bed->images.state = IMAGE_OPEN;
	assert_false(symbols_read(bed->sy, image));
	unlink(path);
}

/* The name of what this process ran at an address at a time. */
static const char *seen(struct bed *bed, uint32_t image, uint64_t addr, uint64_t time_ns)
{
	uint64_t offset = symbols_place(bed->sy, getpid(), image, addr, time_ns);

	return info_of(bed, image, offset).name;
}

static void append_dump(FILE *f, struct dump_bytes *b)
{
	assert_int_equal(fwrite(b->at, 1, b->size, f), b->size);
	assert_int_equal(fflush(f), 0);
	b->size = 0;
}

/* A dump tells what was where and when: what a sample saw stays, whatever comes there later. */
static void dumped(void **state)
{
	struct bed *bed = *state;
	pid_t self = getpid();
	struct dump_bytes b = { 0 };
	char path[64];
	uint32_t image;
	uint64_t spin, start;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)self);
	unlink(path);
	f = fopen(path, "wxe");
	assert_non_null(f);
	dump_header(&b, 0);
	dump_load(&b, 1000, 0x10000, 0x100, "JS:~spin a.js");
	dump_load(&b, 2000, 0x10000, 0x80, "other");
	dump_move(&b, 3000, 0x10000, 0x10800, 0x80);
	append_dump(f, &b);
	do_mmap(bed->space, (uint32_t)self, 0x10000, 0x1000, 0, 0, "//anon", 1);
	do_mmap(bed->space, (uint32_t)self, 0x20000, 0x1000, 0, 0, path, 2);
	image = space_resolve(bed->space, self, 0x10000).image;
	assert_string_equal(seen(bed, image, 0x10010, 900), "[jit]");
	spin = symbols_place(bed->sy, self, image, 0x10010, 1500);
	assert_string_equal(info_of(bed, image, spin).name, "JS:spin a.js");
	assert_string_equal(info_of(bed, image, spin).module, "[jit]");
	assert_true(info_of(bed, image, spin).named);
	assert_true(symbols_place_final(bed->sy, image, spin));
	assert_false(symbols_place_final(bed->sy, image, 0x10010));
	assert_true(symbols_start(bed->sy, image, 0x10010, &start) && start == 0x10000);
	assert_string_equal(seen(bed, image, 0x10010, 2500), "other");
	assert_string_equal(seen(bed, image, 0x10090, 2500), "[jit]");
	assert_string_equal(seen(bed, image, 0x10010, 3500), "[jit]");
	assert_string_equal(seen(bed, image, 0x10810, 3500), "other");
	assert_false(symbols_start(bed->sy, image, 0x10010, &start));
	assert_string_equal(info_of(bed, image, spin).name, "JS:spin a.js");
	/* what is told of late names what was seen before, and keeps its name */
	dump_load(&b, 4000, 0x10000, 0x100, "late");
	append_dump(f, &b);
	assert_string_equal(seen(bed, image, 0x10010, 4500), "[jit]");
	assert_true(symbols_refresh(bed->sy, 1000000000));
	assert_string_equal(info_of(bed, image, 0x10010).name, "late");
	dump_load(&b, 5000, 0x10000, 0x100, "later");
	append_dump(f, &b);
	assert_string_equal(seen(bed, image, 0x10010, 2000000000), "later");
	assert_string_equal(info_of(bed, image, 0x10010).name, "late");
	/* the code of another process, and no code at all */
	assert_int_equal(symbols_place(bed->sy, 1, IMAGE_UNKNOWN, 0x10010, 2000000000), 0x10010);
	symbols_forget(bed->sy, image);
	assert_string_equal(seen(bed, image, 0x10010, 2000000000), "later");
	fclose(f);
	unlink(path);
}

/* Of a recording whose clock is another: the last of each address. */
static void dumped_without_times(void **state)
{
	struct bed *bed = *state;
	pid_t self = getpid();
	struct dump_bytes b = { 0 };
	char path[64];
	uint32_t image;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)self);
	unlink(path);
	f = fopen(path, "wxe");
	assert_non_null(f);
	dump_header(&b, 0);
	dump_load(&b, 1ull << 50, 0x10000, 0x100, "first");
	dump_load(&b, 1ull << 51, 0x10000, 0x100, "last");
	append_dump(f, &b);
	fclose(f);
	do_mmap(bed->space, 42, 0x10000, 0x1000, 0, 0, "//anon", 1);
	do_mmap(bed->space, 42, 0x20000, 0x1000, 0, 0, path, 2);
	image = space_resolve(bed->space, 42, 0x10000).image;
	symbols_timeless(bed->sy);
	symbols_recorded(bed->sy, false);
	assert_string_equal(seen(bed, image, 0x10010, 5), "[jit]");
	symbols_recorded(bed->sy, true);
	assert_string_equal(seen(bed, image, 0x10010, 5), "last");
	unlink(path);
}

static void forgotten(void **state)
{
	struct bed *bed = *state;
	uint32_t image = file(bed, 10, 7, "/lib/libfoo.so");
	uint32_t function = symbols_function(bed->sy, image, 0x210);
	size_t bytes;

	symbols_forget(bed->sy, image);
	symbols_forget(bed->sy, image);
	symbols_forget(bed->sy, IMAGE_KERNEL);
	symbols_forget(bed->sy, 99999);
	assert_int_equal(symbols_function(bed->sy, image, 0x210), function);
	bed->images.state = IMAGE_LOADED;
	assert_true(symbols_refresh(bed->sy, 1));
	bytes = symbols_bytes(bed->sy);
	for (int i = 0; i < 1000; i++) {
		symbols_function(bed->sy, image, 0x210);
		symbols_forget(bed->sy, image);
	}
	assert_true(symbols_bytes(bed->sy) <= bytes);
}

static void long_and_hostile_names(void **state)
{
	struct bed *bed = *state;
	uint32_t image = file(bed, 10, 7, "/lib/\033]0;title\a.so");
	char *name = malloc(20001);

	assert_non_null(name);
	memset(name, 'x', 20000);
	name[20000] = '\0';
	bed->images.name = name;
	bed->images.state = IMAGE_LOADED;
	assert_true(strlen(info_of(bed, image, 0x100).name) < 4096);
	assert_string_equal(info_of(bed, image, 0x100).module, "?]0;title?.so");
	free(name);
}

static void entries(void **state)
{
	static const char *const yes[] = { "_start",
					   "clone3",
					   "start_thread",
					   "__libc_start_call_main",
					   "kthread",
					   "ret_from_fork",
					   "runtime.goexit",
					   "_rt0_amd64_linux",
					   "runtime.mstart.abi0",
					   "runtime.rt0_go" };
	static const char *const no[] = { "main",
					  "__libc_start_mainly",
					  "",
					  "_startx",
					  "entry_SYSCALL_64_after_hwframe",
					  "rt0_",
					  "runtime.goexit.abi1",
					  ".abi0",
					  "runtime.mstart1" };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(function_is_entry(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(function_is_entry(no[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(loading_then_named, setup, teardown),
		cmocka_unit_test_setup_teardown(same_library_same_function, setup, teardown),
		cmocka_unit_test_setup_teardown(parts_count_as_their_function, setup, teardown),
		cmocka_unit_test(tiers_count_as_one),
		cmocka_unit_test_setup_teardown(without_symbols, setup, teardown),
		cmocka_unit_test_setup_teardown(places_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(special_images, setup, teardown),
		cmocka_unit_test_setup_teardown(kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(jit, setup, teardown),
		cmocka_unit_test_setup_teardown(dumped, setup, teardown),
		cmocka_unit_test_setup_teardown(dumped_without_times, setup, teardown),
		cmocka_unit_test_setup_teardown(forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(long_and_hostile_names, setup, teardown),
		cmocka_unit_test(entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
