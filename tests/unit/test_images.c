/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry, on this very program, on the vdso and on files made for the test. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "image/images.h"
#include "image/key.h"
#include "image/open.h"
#include "image/rows.h"
#include "support/elf_bytes.h"

/* The mapping of this process that holds an address. */
struct found_mapping {
	uint64_t start, end, offset, ino;
	unsigned maj, min;
	char path[512];
};

static void find_mapping(const void *address, struct found_mapping *ret)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t at = (uintptr_t)address;
	char line[1024];
	int found = 0;

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps) != NULL) {
		struct found_mapping m = { 0 };

		if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu %511[^\n]", &m.start, &m.end, &m.offset,
			   &m.maj, &m.min, &m.ino, m.path) >= 6 &&
		    at >= m.start && at < m.end) {
			*ret = m;
			found = 1;
		}
	}
	fclose(maps);
	assert_true(found);
}

static struct image_sight sight_of(const struct found_mapping *m)
{
	return (struct image_sight){
		.pid = getpid(),
		.start = m->start,
		.end = m->end,
		.path = m->path,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
	};
}

static size_t count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t nr = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		nr++;
	closedir(d);
	return nr;
}

__attribute__((noinline)) void a_function_to_be_found(void)
{
	__asm__ volatile("");
}

static void this_program_is_named(void **state)
{
	struct images *im = images_new();
	struct found_mapping m;
	struct image_sight sight;
	struct image_symbol symbol;
	uint64_t offset;

	(void)state;
	find_mapping((void *)a_function_to_be_found, &m);
	sight = sight_of(&m);
	offset = (uintptr_t)a_function_to_be_found - m.start + m.offset;
	assert_int_equal(images_state(im, 7), IMAGE_UNSEEN);
	images_want(im, 7);
	assert_int_equal(images_wanting(im), 0);
	images_see(im, 7, &sight);
	assert_int_equal(images_state(im, 7), IMAGE_OPEN);
	assert_int_equal(images_wanting(im), 1);
	assert_false(images_symbol(im, 7, offset, &symbol));
	assert_true(images_work(im, UINT64_C(1000000000)) > 0);
	assert_int_equal(images_wanting(im), 0);
	assert_int_equal(images_state(im, 7), IMAGE_LOADED);
	assert_string_equal(images_source(im, 7), "symtab");
	assert_true(images_symbol(im, 7, offset, &symbol));
	assert_string_equal(symbol.name, "a_function_to_be_found");
	assert_int_equal(symbol.start, offset);
	assert_true(symbol.size > 0);
	assert_int_equal(images_work(im, 0), 0);
	assert_true(images_bytes(im) > 1000);
	images_forget(im, 7);
	assert_int_equal(images_state(im, 7), IMAGE_UNSEEN);
	assert_false(images_symbol(im, 7, offset, &symbol));
	images_forget(im, 7);
	images_free(im);
}

static void the_vdso_is_named(void **state)
{
	struct images *im = images_new();
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	struct found_mapping m;
	struct image_sight sight;
	struct image_symbol symbol;
	bool found = false;

	(void)state;
	if (start == 0)
		skip();
	find_mapping((void *)(uintptr_t)start, &m);
	sight = sight_of(&m);
	sight.vdso = true;
	images_see(im, 0, &sight);
	images_want(im, 0);
	images_work(im, 0);
	assert_int_equal(images_state(im, 0), IMAGE_LOADED);
	for (uint64_t offset = 0; offset < m.end - m.start && !found; offset++)
		found = images_symbol(im, 0, offset, &symbol) &&
			strstr(symbol.name, "clock_gettime") != NULL;
	assert_true(found);
	sight.end += 0x1000;
	images_see(im, 1, &sight);
	images_want(im, 1);
	images_work(im, 0);
	assert_int_equal(images_state(im, 1), IMAGE_FAILED);
	assert_string_not_equal(images_why(im, 1), "");
	images_free(im);
}

static void another_file_is_refused(void **state)
{
	struct images *im = images_new();
	uint8_t id[20] = { 1, 2, 3 };
	struct image_symbol symbol;
	struct found_mapping m;
	struct image_sight sight;

	(void)state;
	find_mapping((void *)a_function_to_be_found, &m);
	sight = sight_of(&m);
	sight.start = sight.end = 0;
	sight.ino++;
	for (int i = 0; i < 6; i++)
		images_see(im, 3, &sight);
	images_want(im, 3);
	assert_int_equal(images_state(im, 3), IMAGE_FAILED);
	assert_string_not_equal(images_why(im, 3), "");
	assert_int_equal(images_wanting(im), 0);
	assert_int_equal(images_work(im, 0), 1);
	assert_int_equal(images_work(im, 0), 0);
	assert_false(images_symbol(im, 3, 0, &symbol));
	assert_string_equal(images_source(im, 3), "none");

	/* A build-id that differs refuses even the right inode, where the file has one. */
	sight = sight_of(&m);
	sight.build_id = id;
	sight.build_id_size = 20;
	images_see(im, 4, &sight);
	if (images_state(im, 4) == IMAGE_OPEN) {
		struct file_key key;
		int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

		assert_int_equal(file_key_read(fd, true, &key), 0);
		assert_int_equal(key.build_id_size, 0);
		close(fd);
	}
	images_free(im);
}

static void nothing_but_regular_files_is_opened(void **state)
{
	static const char *const paths[] = { "/dev/null",       "/",
					     "/nowhere/at/all", "",
					     "relative",        "[heap]",
					     "//anon",          "/proc/self/fd/0" };
	struct images *im = images_new();
	size_t before = count_descriptors();

	(void)state;
	for (uint32_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct image_sight sight = { .pid = getpid(), .path = paths[i], .ino = 123456789 };

		images_see(im, i, &sight);
		assert_int_equal(images_state(im, i), IMAGE_FAILED);
	}
	assert_int_equal(count_descriptors(), before);
	images_free(im);
}

/* What is no ELF file fails once, and stays so. */
static void failures_are_kept(void **state)
{
	struct images *im = images_new();
	struct image_sight sight = { .pid = getpid(), .path = "/proc/self/exe" };
	char path[64];
	int fd = elf_bytes_fd("no program", 10);

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	sight.path = path;
	images_see(im, 1, &sight);
	images_want(im, 1);
	while (images_wanting(im) > 0)
		images_work(im, 0);
	assert_int_equal(images_state(im, 1), IMAGE_FAILED);
	assert_string_not_equal(images_why(im, 1), "");
	for (int i = 0; i < 10; i++)
		images_see(im, 1, &sight);
	assert_int_equal(images_state(im, 1), IMAGE_FAILED);
	assert_int_equal(images_wanting(im), 0);
	images_free(im);
	close(fd);
}

static void descriptors_are_bounded(void **state)
{
	struct images *im = images_new();
	size_t before = count_descriptors();
	struct image_symbol symbol;
	struct found_mapping m;
	struct image_sight sight;
	uint64_t offset;

	(void)state;
	find_mapping((void *)a_function_to_be_found, &m);
	sight = sight_of(&m);
	offset = (uintptr_t)a_function_to_be_found - m.start + m.offset;
	for (uint32_t id = 0; id < 600; id++)
		images_see(im, id, &sight);
	assert_true(count_descriptors() - before <= 256);
	assert_int_equal(images_state(im, 0), IMAGE_UNSEEN);
	assert_int_equal(images_state(im, 599), IMAGE_OPEN);
	/* One that was closed is opened again for building. */
	images_want(im, 0);
	assert_int_equal(images_wanting(im), 1);
	images_work(im, 0);
	assert_int_equal(images_state(im, 0), IMAGE_LOADED);
	assert_true(images_symbol(im, 0, offset, &symbol));
	images_free(im);
	assert_int_equal(count_descriptors(), before);
}

/* One table a call at least, one only where the budget is used up by it; the newest wanted first.
 */
static void work_comes_in_slices(void **state)
{
	struct images *im = images_new();
	struct found_mapping m;
	struct image_sight sight;

	(void)state;
	find_mapping((void *)a_function_to_be_found, &m);
	sight = sight_of(&m);
	for (uint32_t id = 0; id < 3; id++) {
		images_see(im, id, &sight);
		images_want(im, id);
		images_want(im, id);
	}
	assert_int_equal(images_wanting(im), 3);
	images_work(im, 0);
	assert_int_equal(images_state(im, 2), IMAGE_LOADED);
	assert_int_equal(images_state(im, 0), IMAGE_OPEN);
	assert_int_equal(images_wanting(im), 2);
	images_forget(im, 1);
	assert_int_equal(images_wanting(im), 1);
	assert_int_equal(images_work(im, UINT64_MAX), 1);
	assert_int_equal(images_state(im, 0), IMAGE_LOADED);
	images_free(im);
}

/* Rows come apart from names, from the same descriptor or opened anew. */
static void rows_are_read_when_asked_for(void **state)
{
	struct images *im = images_new();
	const struct unwind_rule *rule;
	size_t before = count_descriptors(), bytes;
	struct found_mapping m;
	struct image_sight sight;
	uint64_t offset;

	(void)state;
	find_mapping((void *)a_function_to_be_found, &m);
	sight = sight_of(&m);
	offset = (uintptr_t)a_function_to_be_found - m.start + m.offset;
	/* Nobody knows the file yet. */
	assert_int_equal(images_rule(im, 7, offset, &rule), -EAGAIN);
	assert_int_equal(images_wanting(im), 0);
	images_see(im, 7, &sight);
	assert_int_equal(images_wanting(im), 1);
	assert_int_equal(images_rule(im, 7, offset, &rule), -EAGAIN);
	assert_int_equal(images_wanting(im), 1);
	bytes = images_bytes(im);
	assert_true(images_work(im, 0) > 0);
	assert_true(images_bytes(im) > bytes + 100);
	assert_int_equal(images_rule(im, 7, offset, &rule), 0);
	assert_int_equal(rule->cfa, RULE_CFA_REG);
	assert_int_equal(rule->ra, RULE_AT_CFA);
	assert_int_equal(rule->ra_offset, -8);
	assert_int_equal(images_rule(im, 7, UINT64_MAX, &rule), 0);
	assert_int_equal(rule->cfa, RULE_CFA_NONE);
	assert_string_equal(images_rows_why(im, 7), "");
	assert_int_equal(images_state(im, 7), IMAGE_OPEN);
	/* Names first, rows later: the descriptor of an image is kept for them. */
	images_see(im, 8, &sight);
	images_want(im, 8);
	while (images_wanting(im) > 0)
		images_work(im, 0);
	assert_int_equal(images_state(im, 8), IMAGE_LOADED);
	assert_int_equal(count_descriptors(), before + 2);
	assert_int_equal(images_rule(im, 8, offset, &rule), -EAGAIN);
	images_work(im, 0);
	assert_int_equal(images_rule(im, 8, offset, &rule), 0);
	assert_int_equal(count_descriptors(), before + 1);
	images_forget(im, 8);
	assert_int_equal(images_rule(im, 8, offset, &rule), -EAGAIN);
	images_free(im);
	assert_int_equal(count_descriptors(), before);
}

static void rows_of_a_loaded_image_are_read_anew(void **state)
{
	struct images *im = images_new();
	const struct unwind_rule *rule;
	size_t before = count_descriptors();
	struct found_mapping m;
	struct image_sight sight;
	uint64_t offset;

	(void)state;
	find_mapping((void *)a_function_to_be_found, &m);
	sight = sight_of(&m);
	offset = (uintptr_t)a_function_to_be_found - m.start + m.offset;
	images_see(im, 1, &sight);
	images_want(im, 1);
	images_work(im, 0);
	assert_int_equal(images_state(im, 1), IMAGE_LOADED);
	assert_int_equal(count_descriptors(), before);
	assert_int_equal(images_rule(im, 1, offset, &rule), -EAGAIN);
	assert_int_equal(images_wanting(im), 1);
	images_work(im, 0);
	assert_int_equal(images_rule(im, 1, offset, &rule), 0);
	assert_int_not_equal(rule->cfa, RULE_CFA_NONE);
	assert_int_equal(images_state(im, 1), IMAGE_LOADED);
	assert_int_equal(count_descriptors(), before);
	images_free(im);
}

/* A file without unwind information says so once; one whose names failed may have rows. */
static void rows_fail_on_their_own(void **state)
{
	struct images *im = images_new();
	const struct unwind_rule *rule;
	struct image_sight sight = { .pid = getpid() };
	struct elf_bytes e;
	char path[64];
	int fd;

	(void)state;
	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x100);
	elf_bytes_code(&e, ".text", 0, NULL, 0x100);
	elf_bytes_finish(&e);
	fd = elf_bytes_fd(e.at, e.size);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	sight.path = path;
	images_see(im, 1, &sight);
	assert_int_equal(images_rule(im, 1, 0x10, &rule), -EAGAIN);
	assert_int_equal(images_work(im, 0), 2);
	assert_int_equal(images_rule(im, 1, 0x10, &rule), -ENODATA);
	assert_string_not_equal(images_rows_why(im, 1), "");
	assert_int_equal(images_wanting(im), 0);
	images_want(im, 1);
	images_work(im, 0);
	assert_int_equal(images_state(im, 1), IMAGE_LOADED);
	assert_int_equal(images_rule(im, 1, 0x10, &rule), -ENODATA);
	/* One that cannot be opened at all. */
	sight.path = "/nowhere/at/all";
	images_see(im, 2, &sight);
	images_rule(im, 2, 0x10, &rule);
	while (images_wanting(im) > 0)
		images_work(im, 0);
	assert_int_equal(images_rule(im, 2, 0x10, &rule), -ENODATA);
	/* Until another process maps it. */
	sight.path = path;
	images_see(im, 2, &sight);
	assert_int_equal(images_wanting(im), 1);
	assert_int_equal(images_rule(im, 2, 0x10, &rule), -EAGAIN);
	images_work(im, 0);
	assert_int_equal(images_rule(im, 2, 0x10, &rule), -ENODATA);
	images_free(im);
	close(fd);
	elf_bytes_done(&e);
}

static void the_vdso_has_rows(void **state)
{
	struct images *im = images_new();
	uint64_t start = getauxval(AT_SYSINFO_EHDR), covered = 0;
	const struct unwind_rule *rule;
	struct found_mapping m;
	struct image_sight sight;

	(void)state;
	if (start == 0)
		skip();
	find_mapping((void *)(uintptr_t)start, &m);
	sight = sight_of(&m);
	sight.vdso = true;
	images_see(im, 0, &sight);
	assert_int_equal(images_rule(im, 0, 0, &rule), -EAGAIN);
	images_work(im, 0);
	for (uint64_t offset = 0; offset < m.end - m.start; offset++) {
		assert_int_equal(images_rule(im, 0, offset, &rule), 0);
		covered += rule->cfa != RULE_CFA_NONE;
	}
	assert_true(covered > 100);
	images_free(im);
}

static void identity_rules(void **state)
{
	uint8_t id[20] = { 9, 8, 7 }, other[20] = { 9, 8, 6 };
	struct file_key key = { .dev = makedev(0, 41), .ino = 100 };
	struct image_sight s = { .ino = 100, .maj = 254, .min = 1 };

	(void)state;
	/* An anonymous device on one side: the view of an overlay or a subvolume. */
	assert_true(file_key_matches(&key, &s, VIA_PATH, false));
	key.dev = makedev(8, 1);
	assert_false(file_key_matches(&key, &s, VIA_PATH, false));
	assert_true(file_key_matches(&key, &s, VIA_MAP_FILES, false));
	key.ino = 101;
	assert_false(file_key_matches(&key, &s, VIA_MAP_FILES, false));
	assert_true(file_key_matches(&key, &s, VIA_MAP_FILES, true));
	/* Build-ids decide before all else; the kernel pads short ones. */
	s.build_id = id;
	s.build_id_size = 20;
	memcpy(key.build_id, id, 20);
	key.build_id_size = 16;
	assert_true(file_key_matches(&key, &s, VIA_PATH, false));
	memcpy(key.build_id, other, 20);
	key.ino = 100;
	assert_false(file_key_matches(&key, &s, VIA_MAP_FILES, true));
	/* Told by build-id only, a file without one is not it. */
	s.ino = 0;
	key.build_id_size = 0;
	assert_false(file_key_matches(&key, &s, VIA_PATH, false));
}

/* A program deleted and replaced after it was mapped is still read, through its mapping, by who
 * may. */
static void a_replaced_file_is_not_taken_for_it(void **state)
{
	char path[] = "/tmp/ptop-images-XXXXXX";
	static const struct elf_bytes_symbol one = { "old_one", 0x10, 16, STT_FUNC, STB_LOCAL, 1 };
	struct image_symbol symbol;
	struct images *im = images_new();
	struct found_mapping m;
	struct image_sight sight;
	struct elf_bytes e;
	void *map;
	int fd = mkstemp(path);

	(void)state;
	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x100);
	elf_bytes_code(&e, ".text", 0, NULL, 0x100);
	elf_bytes_symbols(&e, SHT_SYMTAB, &one, 1);
	elf_bytes_finish(&e);
	assert_int_equal(write(fd, e.at, e.size), e.size);
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(map != MAP_FAILED);
	find_mapping(map, &m);
	unlink(path);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	sight = sight_of(&m);
	sight.path = path;
	images_see(im, 1, &sight);
	images_want(im, 1);
	images_work(im, 0);
	if (images_state(im, 1) == IMAGE_LOADED) {
		assert_true(images_symbol(im, 1, 0x18, &symbol));
		assert_string_equal(symbol.name, "old_one");
	} else {
		assert_int_equal(images_state(im, 1), IMAGE_FAILED);
		assert_false(images_symbol(im, 1, 0x18, &symbol));
	}
	munmap(map, 4096);
	unlink(path);
	close(fd);
	elf_bytes_done(&e);
	images_free(im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_program_is_named),
		cmocka_unit_test(the_vdso_is_named),
		cmocka_unit_test(another_file_is_refused),
		cmocka_unit_test(nothing_but_regular_files_is_opened),
		cmocka_unit_test(failures_are_kept),
		cmocka_unit_test(descriptors_are_bounded),
		cmocka_unit_test(work_comes_in_slices),
		cmocka_unit_test(rows_are_read_when_asked_for),
		cmocka_unit_test(rows_of_a_loaded_image_are_read_anew),
		cmocka_unit_test(rows_fail_on_their_own),
		cmocka_unit_test(the_vdso_has_rows),
		cmocka_unit_test(identity_rules),
		cmocka_unit_test(a_replaced_file_is_not_taken_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
