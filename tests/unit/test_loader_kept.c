/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry of images with a loader and a directory of kept tables: what was read once is taken
 * from there, unless anything about it is not as it was. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <lzma.h>
#include <sys/stat.h>

#include "image/cache_copy.h"
#include "image/images.h"
#include "unit/loader_bed.h"
#include "unit/scratch.h"

struct bed {
	struct loader *loader;
	struct cache *cache;
	struct images *images;
	char directory[128], kept[160], program[160], debug[160];
};

/* Everything is kept, at once. */
static const struct cache_limits all = { .bytes = 1 << 24, .files = 100 };

/* An ELF file with one symbol; NULL: without, and with a link to one.debug. */
static void write_elf(const char *path, const char *name)
{
	const struct elf_bytes_symbol one = { name, 0x10, 16, STT_FUNC, STB_LOCAL, 1 };
	struct elf_bytes e;
	int fd;

	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	elf_bytes_code(&e, ".text", 0, NULL, 0x1000);
	if (name != NULL)
		elf_bytes_symbols(&e, SHT_SYMTAB, &one, 1);
	else
		elf_bytes_section(&e, ".gnu_debuglink", SHT_PROGBITS, 0, 0, "one.debug\0\0\0\0\0\0",
				  16);
	elf_bytes_build_id(&e, (const uint8_t[20]){ 0xaa, 1 }, 20);
	elf_bytes_finish(&e);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, e.at, e.size), e.size);
	close(fd);
	elf_bytes_done(&e);
}

static int set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	char here[64];

	if (b == NULL || loader_start_serving(&b->loader, true, bed_serve, NULL) != 0)
		return -1;
	/* Below the current directory: /tmp may be mounted nosuid. */
	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(b->directory, sizeof(b->directory), "%s/kept-XXXXXX", here);
	assert_non_null(mkdtemp(b->directory));
	snprintf(b->kept, sizeof(b->kept), "%s/kept", b->directory);
	snprintf(b->program, sizeof(b->program), "%s/program", b->directory);
	snprintf(b->debug, sizeof(b->debug), "%s/one.debug", b->directory);
	write_elf(b->program, "from_file");
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *b = *state;

	images_free(b->images);
	cache_free(b->cache);
	loader_free(b->loader);
	scratch_remove(b->directory);
	free(b);
	return 0;
}

/* As after a new start; skips where nothing of this directory would be kept. */
static void start(struct bed *b)
{
	struct cache_file f;
	int fd = bed_open(b->program);

	assert_true(cache_file_read(fd, 0, &f));
	close(fd);
	images_free(b->images);
	cache_free(b->cache);
	b->images = NULL;
	b->cache = NULL;
	if (!f.trusted || cache_open(&b->cache, b->kept, &all, NULL) != 0) {
		print_message("files here are not to be trusted\n");
		skip();
	}
	b->images = images_new();
	images_use_loader(b->images, b->loader);
	images_use_cache(b->images, b->cache);
}

static void settle(struct images *im)
{
	struct pollfd p = { .fd = images_fd(im), .events = POLLIN };

	images_work(im, UINT64_MAX);
	while (images_wanting(im) > 0) {
		assert_int_equal(poll(&p, 1, BED_WAIT_MS), 1);
		images_work(im, UINT64_MAX);
	}
}

static size_t nr_kept(const struct bed *b)
{
	struct cache_use use;

	assert_int_equal(cache_measure(b->cache, &use), 0);
	return use.files;
}

/* Until all is written down that waits for it. */
static void settle_kept(struct bed *b)
{
	struct pollfd p = { .fd = images_fd(b->images), .events = POLLIN };

	while (loader_in_flight(b->loader) > 0) {
		assert_int_equal(poll(&p, 1, BED_WAIT_MS), 1);
		images_work(b->images, UINT64_MAX);
	}
}

/* Reads the program as image @id; the name of its symbol. */
static const char *name_of(struct bed *b, uint32_t id, const char *path)
{
	struct image_sight sight = { .path = path };
	struct image_symbol symbol;

	images_see(b->images, id, &sight);
	images_want(b->images, id);
	settle(b->images);
	settle_kept(b);
	assert_int_equal(images_state(b->images, id), IMAGE_LOADED);
	return images_symbol(b->images, id, 0x18, &symbol) ? symbol.name : "";
}

/* The only kept table of symbols. */
static int open_kept(const struct bed *b)
{
	char command[256], path[512] = { 0 };
	FILE *names;
	int fd;

	snprintf(command, sizeof(command), "ls %s/*.names", b->kept);
	names = popen(command, "r");
	assert_non_null(names);
	assert_non_null(fgets(path, sizeof(path), names));
	pclose(names);
	path[strcspn(path, "\n")] = '\0';
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Changes a kept table: @from to @to, of one length, wherever it is in it. */
static void change_kept(const struct bed *b, const void *from, const void *to, size_t length,
			bool checksum)
{
	struct cache_header h;
	uint8_t *bytes;
	int fd;

	fd = open_kept(b);
	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	bytes = malloc(h.size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, h.size, CACHE_TABLE_AT), h.size);
	for (size_t i = 0; i + length <= h.size; i++) {
		if (memcmp(bytes + i, from, length) == 0) {
			memcpy(bytes + i, to, length);
			break;
		}
	}
	if (checksum)
		h.crc = lzma_crc64(bytes, h.size, 0);
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(pwrite(fd, bytes, h.size, CACHE_TABLE_AT), h.size);
	free(bytes);
	close(fd);
}

/* That it is the kept one shows by its having been changed. */
static void what_was_read_is_kept_and_taken(void **state)
{
	struct bed *b = *state;
	const struct unwind_rule *rule;
	size_t before = bed_count_descriptors();

	start(b);
	assert_string_equal(name_of(b, 1, b->program), "from_file");
	assert_int_equal(nr_kept(b), 1);
	change_kept(b, "from_file", "from_disk", 9, true);
	start(b);
	assert_string_equal(name_of(b, 1, b->program), "from_disk");
	assert_string_equal(images_source(b->images, 1), "symtab");
	/* Its rows are another table; that there are none is not kept. */
	images_rule(b->images, 1, 0, &rule);
	settle(b->images);
	settle_kept(b);
	assert_int_equal(images_rule(b->images, 1, 0, &rule), -ENODATA);
	assert_int_equal(nr_kept(b), 1);
	images_free(b->images);
	cache_free(b->cache);
	b->images = NULL;
	b->cache = NULL;
	assert_int_equal(bed_count_descriptors(), before);
}

static void rows_are_kept_too(void **state)
{
	struct bed *b = *state;
	const struct unwind_rule *rule;
	struct image_sight sight = { .path = "/proc/self/exe" };

	for (int turn = 0; turn < 2; turn++) {
		start(b);
		images_see(b->images, 1, &sight);
		assert_int_equal(images_rule(b->images, 1, 0, &rule), -EAGAIN);
		settle(b->images);
		settle_kept(b);
		assert_int_equal(images_rule(b->images, 1, 0, &rule), 0);
	}
}

static void a_new_file_is_read_anew(void **state)
{
	struct bed *b = *state;

	start(b);
	name_of(b, 1, b->program);
	change_kept(b, "from_file", "from_disk", 9, true);
	write_elf(b->program, "from_a_new_one");
	assert_string_equal(name_of(b, 2, b->program), "from_a_new_one");
	assert_int_equal(nr_kept(b), 2);
}

/* A debug package installed since. */
static void a_new_debug_file_wins(void **state)
{
	struct bed *b = *state;

	write_elf(b->program, NULL);
	start(b);
	assert_string_equal(name_of(b, 1, b->program), "");
	assert_int_equal(nr_kept(b), 1);
	write_elf(b->debug, "from_debug");
	start(b);
	assert_string_equal(name_of(b, 1, b->program), "from_debug");
	assert_int_equal(nr_kept(b), 2);
	unlink(b->debug);
	assert_string_equal(name_of(b, 2, b->program), "");
	assert_int_equal(nr_kept(b), 2);
}

/* With the checksum wrong, and with a right checksum over what is no table. */
static void what_is_damaged_is_removed_and_read_anew(void **state)
{
	const uint64_t magic = TABLE_MAGIC, nonsense = 1;
	struct bed *b = *state;

	start(b);
	name_of(b, 1, b->program);
	for (int way = 0; way < 2; way++) {
		if (way == 0)
			change_kept(b, "from_file", "from_disk", 9, false);
		else
			change_kept(b, &magic, &nonsense, sizeof(magic), true);
		start(b);
		assert_string_equal(name_of(b, 1, b->program), "from_file");
		assert_non_null(strstr(cache_damaged(b->cache), "removed"));
		assert_string_equal(cache_why(b->cache), "");
		assert_int_equal(nr_kept(b), 1);
		start(b);
		assert_string_equal(name_of(b, 1, b->program), "from_file");
		assert_string_equal(cache_damaged(b->cache), "");
	}
}

/* Whatever byte is changed, in header or table, and wherever it ends: never another name. */
static void no_change_goes_unseen(void **state)
{
	struct bed *b = *state;
	uint32_t random = 1;

	for (int turn = 0; turn < 60; turn++) {
		struct stat st;
		uint8_t byte;
		off_t at;
		int fd;

		start(b);
		assert_string_equal(name_of(b, 1, b->program), "from_file");
		fd = open_kept(b);
		assert_int_equal(fstat(fd, &st), 0);
		random = random * 1103515245 + 12345;
		at = (random >> 8) %
		     (turn % 2 ? (uint32_t)sizeof(struct cache_header) : (uint32_t)st.st_size);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= (uint8_t)(1 << turn % 8);
		if (turn % 8 == 7)
			assert_int_equal(ftruncate(fd, at), 0);
		else
			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
	}
}

/* What others may write to is not kept; nor what a worker says afterwards, which is therefore
 * replaced. */
static void files_of_others_are_not_kept(void **state)
{
	struct bed *b = *state;
	char foreign[200];
	pid_t worker;

	start(b);
	snprintf(foreign, sizeof(foreign), "%s/foreign", b->directory);
	write_elf(foreign, "from_else");
	assert_int_equal(chmod(foreign, 0666), 0);
	assert_string_equal(name_of(b, 1, foreign), "from_else");
	assert_int_equal(nr_kept(b), 0);
	worker = bed_child(bed_child(getpid()));
	assert_string_equal(name_of(b, 2, b->program), "from_file");
	assert_int_equal(nr_kept(b), 1);
	assert_int_equal(loader_replaced(b->loader), 0);
	assert_int_not_equal(bed_child(bed_child(getpid())), worker);
}

static void what_goes_quickly_is_not_kept(void **state)
{
	const struct cache_limits slow = { .bytes = 1 << 24,
					   .files = 100,
					   .least_ns = UINT64_C(3600000000000) };
	struct bed *b = *state;

	start(b);
	cache_free(b->cache);
	assert_int_equal(cache_open(&b->cache, b->kept, &slow, NULL), 0);
	images_use_cache(b->images, b->cache);
	name_of(b, 1, b->program);
	assert_int_equal(nr_kept(b), 0);
}

static void without_room_all_goes_on(void **state)
{
	struct bed *b = *state;

	start(b);
	assert_int_equal(rmdir(b->kept), 0);
	assert_string_equal(name_of(b, 1, b->program), "from_file");
	assert_string_not_equal(cache_why(b->cache), "");
	assert_string_equal(name_of(b, 2, b->program), "from_file");
}

int main(void)
{
#define WITH_BED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_BED(what_was_read_is_kept_and_taken),
		WITH_BED(rows_are_kept_too),
		WITH_BED(a_new_file_is_read_anew),
		WITH_BED(a_new_debug_file_wins),
		WITH_BED(what_is_damaged_is_removed_and_read_anew),
		WITH_BED(no_change_goes_unseen),
		WITH_BED(files_of_others_are_not_kept),
		WITH_BED(what_goes_quickly_is_not_kept),
		WITH_BED(without_room_all_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
