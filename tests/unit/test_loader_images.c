/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry of images with a loader: nothing waits, what comes is what reading in process gives,
 * and a file that does harm is read once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <signal.h>
#include <sys/auxv.h>

#include "image/images_impl.h"
#include "unit/loader_bed.h"

struct bed {
	struct loader *loader;
	struct images *images;
};

static int set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	if (b == NULL || loader_start_serving(&b->loader, true, bed_serve, NULL) != 0)
		return -1;
	b->images = images_new();
	images_use_loader(b->images, b->loader);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *b = *state;

	images_free(b->images);
	loader_free(b->loader);
	free(b);
	return 0;
}

/* Works on until nothing is waited for, as the main loop does. */
static void settle(struct images *im)
{
	struct pollfd p = { .fd = images_fd(im), .events = POLLIN };

	images_work(im, UINT64_MAX);
	while (images_wanting(im) > 0) {
		assert_int_equal(poll(&p, 1, BED_WAIT_MS), 1);
		images_work(im, UINT64_MAX);
	}
}

/* A file of this process, without an inode to hold against it. */
static void see_fd(struct images *im, uint32_t id, int fd)
{
	char path[64];
	struct image_sight sight = { .pid = getpid(), .path = path };

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	images_see(im, id, &sight);
	assert_int_equal(images_state(im, id), IMAGE_OPEN);
}

__attribute__((noinline)) void a_function_to_be_found(void)
{
	__asm__ volatile("");
}

/* Where a function is in this program's file. */
static uint64_t offset_of(const void *function)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t at = (uintptr_t)function, start, end, offset, found = 0;
	char line[1024];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
			    3 &&
		    at >= start && at < end)
			found = at - start + offset;
	}
	fclose(maps);
	assert_true(found > 0);
	return found;
}

static void this_program_is_read(void **state)
{
	const struct bed *b = *state;
	const struct unwind_rule *rule, *rule_in_process;
	struct images *in_process = images_new();
	uint64_t offset = offset_of((void *)a_function_to_be_found);
	int fd = bed_open("/proc/self/exe");
	struct image_symbol symbol;

	see_fd(b->images, 7, fd);
	assert_int_equal(images_wanting(b->images), 0);
	assert_int_equal(images_rule(b->images, 7, offset, &rule), -EAGAIN);
	images_want(b->images, 7);
	images_work(b->images, UINT64_MAX);
	/* On its way: not there, and not forgotten. */
	assert_int_equal(images_state(b->images, 7), IMAGE_OPEN);
	assert_true(images_wanting(b->images) > 0);
	assert_int_equal(images_rule(b->images, 7, offset, &rule), -EAGAIN);
	settle(b->images);
	assert_int_equal(images_state(b->images, 7), IMAGE_LOADED);
	assert_string_equal(images_source(b->images, 7), "symtab");
	assert_true(images_symbol(b->images, 7, offset, &symbol));
	assert_string_equal(symbol.name, "a_function_to_be_found");
	assert_int_equal(symbol.start, offset);

	see_fd(in_process, 7, fd);
	images_rule(in_process, 7, offset, &rule_in_process);
	images_work(in_process, UINT64_MAX);
	assert_int_equal(images_rule(b->images, 7, offset, &rule), 0);
	assert_int_equal(images_rule(in_process, 7, offset, &rule_in_process), 0);
	assert_memory_equal(rule, rule_in_process, sizeof(*rule));
	images_free(in_process);
	close(fd);
}

/* The kernel's own code needs no loader. */
static void the_vdso_is_read_here(void **state)
{
	const struct bed *b = *state;
	struct image_sight sight = { .pid = getpid(), .path = "[vdso]", .vdso = true };

	if (getauxval(AT_SYSINFO_EHDR) == 0)
		skip();
	images_see(b->images, 0, &sight);
	images_want(b->images, 0);
	images_work(b->images, 0);
	assert_int_equal(images_state(b->images, 0), IMAGE_LOADED);
}

static void failures_are_told(void **state)
{
	const struct bed *b = *state;
	const struct unwind_rule *rule;
	int fd = bed_text("no program");

	see_fd(b->images, 1, fd);
	images_want(b->images, 1);
	images_rule(b->images, 1, 0, &rule);
	settle(b->images);
	assert_int_equal(images_state(b->images, 1), IMAGE_FAILED);
	assert_string_not_equal(images_why(b->images, 1), "");
	assert_int_equal(images_rule(b->images, 1, 0, &rule), -ENODATA);
	assert_int_equal(loader_replaced(b->loader), 0);
	close(fd);
}

/* A file that kills the worker, or never ends: read once, for neither names nor rows again, and the
 * others come all the same. */
static void harm_is_done_once(void **state)
{
	const struct bed *b = *state;
	const struct unwind_rule *rule;
	int bad[2] = { bed_text("DIE!"), bed_text("SPIN") }, good = bed_open("/proc/self/exe");

	loader_set_deadline(b->loader, UINT64_C(1500000000));
	for (uint32_t id = 0; id < 6; id++) {
		see_fd(b->images, id, id < 2 ? bad[id] : good);
		images_want(b->images, id);
		images_rule(b->images, id, 0, &rule);
	}
	settle(b->images);
	assert_int_equal(loader_replaced(b->loader), 2);
	for (uint32_t id = 0; id < 6; id++) {
		assert_int_equal(images_state(b->images, id), id < 2 ? IMAGE_FAILED : IMAGE_LOADED);
		assert_int_equal(images_rule(b->images, id, 0, &rule), id < 2 ? -ENODATA : 0);
	}
	assert_non_null(strstr(images_why(b->images, 0), "crashed"));
	assert_non_null(strstr(images_why(b->images, 1), "more than 1.5 s"));
	for (uint32_t id = 0; id < 2; id++) {
		struct image_sight sight = { .pid = getpid(), .path = "/proc/self/exe" };

		images_see(b->images, id, &sight);
		images_want(b->images, id);
		images_rule(b->images, id, 0, &rule);
	}
	settle(b->images);
	assert_int_equal(images_state(b->images, 0), IMAGE_FAILED);
	assert_int_equal(loader_replaced(b->loader), 2);
	close(bad[0]);
	close(bad[1]);
	close(good);
}

static void many_images_hold_few_descriptors(void **state)
{
	const struct bed *b = *state;
	size_t before = bed_count_descriptors();
	const struct unwind_rule *rule;
	int fd = bed_open("/proc/self/exe");

	for (uint32_t id = 0; id < 300; id++) {
		see_fd(b->images, id, fd);
		images_want(b->images, id);
		images_work(b->images, 0);
		assert_true(bed_count_descriptors() - before <=
			    257 + LOADER_IN_FLIGHT_MAX * LOADER_FDS_MAX);
	}
	images_rule(b->images, 299, 0, &rule);
	settle(b->images);
	for (uint32_t id = 0; id < 300; id++)
		assert_int_equal(images_state(b->images, id), IMAGE_LOADED);
	close(fd);
	for (uint32_t id = 0; id < 300; id++)
		images_forget(b->images, id);
	assert_int_equal(bed_count_descriptors(), before);
}

static void what_is_forgotten_meanwhile_is_dropped(void **state)
{
	const struct bed *b = *state;
	size_t bytes = images_bytes(b->images);
	int fd = bed_open("/proc/self/exe");

	for (int round = 0; round < 3; round++) {
		see_fd(b->images, 1, fd);
		images_want(b->images, 1);
		images_work(b->images, 0);
		images_forget(b->images, 1);
	}
	see_fd(b->images, 1, fd);
	images_want(b->images, 1);
	settle(b->images);
	assert_int_equal(images_state(b->images, 1), IMAGE_LOADED);
	assert_true(images_bytes(b->images) > bytes + 1000);
	images_forget(b->images, 1);
	assert_true(images_bytes(b->images) < bytes + 1000);
	close(fd);
}

static void build(struct elf_bytes *e, const uint8_t *id, const char *name)
{
	const struct elf_bytes_symbol one = { name, 0x10, 16, STT_FUNC, STB_LOCAL, 1 };

	elf_bytes_init(e, ET_DYN, EM_X86_64);
	elf_bytes_segment(e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	elf_bytes_code(e, ".text", 0, NULL, 0x1000);
	if (name != NULL)
		elf_bytes_symbols(e, SHT_SYMTAB, &one, 1);
	else
		elf_bytes_section(e, ".gnu_debuglink", SHT_PROGBITS, 0, 0, "one.debug\0\0\0\0\0\0",
				  16);
	elf_bytes_build_id(e, id, 20);
	elf_bytes_finish(e);
}

static void write_file(const char *directory, const char *name, const struct elf_bytes *e)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, e->at, e->size), e->size);
	close(fd);
}

/* Names from the debug file beside it, and none from the file of another build. */
static void debug_files_are_found(void **state)
{
	const uint8_t id[20] = { 0xaa, 1 }, other[20] = { 0xaa, 2 };
	const struct bed *b = *state;
	char directory[] = "/tmp/ptop-loader-XXXXXX", path[128];
	struct image_sight sight = { .pid = getpid(), .path = path };
	struct image_symbol symbol;
	struct elf_bytes program, debug;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/program", directory);
	build(&program, id, NULL);
	write_file(directory, "program", &program);
	for (uint32_t i = 0; i < 2; i++) {
		build(&debug, i == 0 ? other : id, "from_debug_file");
		write_file(directory, "one.debug", &debug);
		elf_bytes_done(&debug);
		images_see(b->images, i, &sight);
		images_want(b->images, i);
		settle(b->images);
		assert_int_equal(images_state(b->images, i), IMAGE_LOADED);
		assert_int_equal(images_symbol(b->images, i, 0x18, &symbol), i);
	}
	assert_string_equal(symbol.name, "from_debug_file");
	assert_string_equal(images_source(b->images, 1), "debug file");
	/* Mapped with another build-id: not that file. */
	sight.build_id = other;
	sight.build_id_size = 20;
	images_see(b->images, 2, &sight);
	images_want(b->images, 2);
	settle(b->images);
	assert_int_equal(images_state(b->images, 2), IMAGE_FAILED);
	assert_non_null(strstr(images_why(b->images, 2), "replaced"));
	sight.build_id = id;
	images_see(b->images, 3, &sight);
	images_want(b->images, 3);
	settle(b->images);
	assert_int_equal(images_state(b->images, 3), IMAGE_LOADED);
	elf_bytes_done(&program);
	unlink(path);
	snprintf(path, sizeof(path), "%s/one.debug", directory);
	unlink(path);
	rmdir(directory);
}

static void without_a_loader_all_fails_with_the_reason(void **state)
{
	const struct bed *b = *state;
	const struct unwind_rule *rule;
	int fd = bed_open("/proc/self/exe");

	for (uint32_t id = 0; id < 20; id++) {
		see_fd(b->images, id, fd);
		images_want(b->images, id);
		images_rule(b->images, id, 0, &rule);
	}
	assert_int_equal(kill(bed_child(getpid()), SIGKILL), 0);
	settle(b->images);
	for (uint32_t id = 0; id < 20; id++) {
		if (images_state(b->images, id) == IMAGE_LOADED)
			continue;
		assert_int_equal(images_state(b->images, id), IMAGE_FAILED);
		assert_string_not_equal(images_why(b->images, id), "");
	}
	close(fd);
}

/* A program with debug information, made by the compiler that is here. */
static int compile(const char *source)
{
	const char *top = getenv("top_srcdir");
	char path[] = "/tmp/ptop-inlined-XXXXXX", command[1024];
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	snprintf(command, sizeof(command),
		 "${CC:-cc} -O2 -g -gz=zlib -o %s %s/tests/support/%s >/dev/null 2>&1", path,
		 top != NULL ? top : ".", source);
	err = system(command);
	close(fd);
	fd = bed_open(path);
	unlink(path);
	if (err == 0)
		return fd;
	close(fd);
	return -1;
}

static int await_inlines(struct images *im, uint64_t offset, const char *names[INLINES_DEPTH_MAX],
			 uint32_t *nr)
{
	struct pollfd p = { .fd = images_fd(im), .events = POLLIN };
	int err;

	while ((err = images_inlines(im, 7, offset, names, nr)) == -EAGAIN) {
		images_work(im, UINT64_MAX);
		/* Nothing waits for them. */
		assert_int_equal(images_wanting(im), 0);
		if (images_inlines_waiting(im))
			poll(&p, 1, BED_WAIT_MS);
	}
	return err;
}

static void inlined_functions_are_read_when_asked_for(void **state)
{
	const struct bed *b = *state;
	const char *names[INLINES_DEPTH_MAX];
	struct image_symbol symbol;
	uint64_t offset = 0, seen[3] = { 0 };
	uint32_t nr = 0, generation;
	int fd = compile("inlined.c");

	if (fd < 0)
		skip();
	see_fd(b->images, 7, fd);
	assert_int_equal(images_inlines(b->images, 7, 0, names, &nr), -ENODATA);
	images_use_inlines(b->images, true);
	assert_int_equal(images_inlines(b->images, 7, 0, names, &nr), -EAGAIN);
	images_want(b->images, 7);
	settle(b->images);
	for (offset = 0;
	     !images_symbol(b->images, 7, offset, &symbol) || strcmp(symbol.name, "work") != 0;
	     offset++)
		assert_true(offset < 1 << 20);
	generation = images_inlines_generation(b->images);
	assert_int_equal(images_inlines(b->images, 7, offset, names, &nr), -EAGAIN);
	for (; offset < symbol.start + symbol.size; offset++) {
		assert_int_equal(await_inlines(b->images, offset, names, &nr), 0);
		assert_true(nr < 4);
		seen[0] += nr == 2 && strcmp(names[0], "one_part") == 0;
		seen[1] += nr == 3 && strcmp(names[0], "both") == 0 &&
			   strcmp(names[1], "three_parts") == 0 && strcmp(names[2], "churn") == 0;
		seen[2] += nr == 0;
	}
	assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
	assert_true(images_inlines_generation(b->images) != generation);
	assert_string_equal(images_inlines_why(b->images, 7), "");
	images_forget(b->images, 7);
	close(fd);
}

/* Where memory is short the last table alone is kept; what it does not answer is asked for again.
 */
static void tables_of_inlined_functions_are_bounded(void **state)
{
	const struct bed *b = *state;
	const char *names[INLINES_DEPTH_MAX];
	size_t most = 0, bytes = images_bytes(b->images);
	uint64_t answered = 0;
	uint32_t nr = 0;
	int fd = bed_open("/proc/self/exe");

	see_fd(b->images, 7, fd);
	images_use_inlines(b->images, true);
	b->images->inlines_bytes_max = 1;
	images_want(b->images, 7);
	settle(b->images);
	for (int round = 0; round < 2; round++) {
		for (uint64_t at = 0; at < b->images->at.at[7]->table.segments[0].filesz;
		     at += 4096) {
			uint64_t offset = b->images->at.at[7]->table.segments[0].offset + at;

			if (await_inlines(b->images, offset, names, &nr) != 0)
				skip();
			answered++;
			assert_true(b->images->inlines_tables.nr <= 1);
			most = b->images->inlines_bytes > most ? b->images->inlines_bytes : most;
		}
	}
	assert_true(answered > 4 && most > 0);
	images_forget(b->images, 7);
	assert_true(images_bytes(b->images) < bytes + 4096);
	close(fd);
}

static void without_debug_information_the_reason_is_told(void **state)
{
	const struct bed *b = *state;
	const char *names[INLINES_DEPTH_MAX];
	struct elf_bytes e;
	uint32_t nr;
	int fd;

	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	elf_bytes_code(&e, ".text", 0x100, NULL, 0x400);
	elf_bytes_finish(&e);
	fd = elf_bytes_fd(e.at, e.size);
	images_use_inlines(b->images, true);
	see_fd(b->images, 7, fd);
	images_want(b->images, 7);
	settle(b->images);
	assert_int_equal(await_inlines(b->images, 0x180, names, &nr), -ENODATA);
	assert_non_null(strstr(images_inlines_why(b->images, 7), "no debug information"));
	assert_int_equal(images_state(b->images, 7), IMAGE_LOADED);
	elf_bytes_done(&e);
	close(fd);
}

int main(void)
{
#define WITH_BED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_BED(this_program_is_read),
		WITH_BED(the_vdso_is_read_here),
		WITH_BED(failures_are_told),
		WITH_BED(harm_is_done_once),
		WITH_BED(many_images_hold_few_descriptors),
		WITH_BED(what_is_forgotten_meanwhile_is_dropped),
		WITH_BED(debug_files_are_found),
		WITH_BED(inlined_functions_are_read_when_asked_for),
		WITH_BED(tables_of_inlined_functions_are_bounded),
		WITH_BED(without_debug_information_the_reason_is_told),
		WITH_BED(without_a_loader_all_fails_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
