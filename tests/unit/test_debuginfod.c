/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug files from servers, with a program of our own in the place of debuginfod-find. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>

#include "image/debuginfod.h"
#include "image/images.h"
#include "unit/loader_bed.h"
#include "unit/scratch.h"

struct bed {
	struct loader *loader;
	struct debuginfod *debuginfod;
	struct images *images;
	char directory[64], program[128], debug[128];
};

/* Prints the debug file for the build-id aa01…; hangs for cc…; knows no other. */
static const char script[] = "#!/bin/sh\n"
			     "echo $$ >> \"$0.pids\"\n"
			     "test \"$1\" = debuginfo || exit 1\n"
			     "case $2 in\n"
			     "aa01*) echo \"$BED_DEBUG\" ;;\n"
			     "cc*) while :; do sleep 100; done ;;\n"
			     "ee*) echo /no/such/file ;;\n"
			     "*) exit 1 ;;\n"
			     "esac\n";

static void write_elf(const char *path, uint8_t id, const char *name)
{
	const struct elf_bytes_symbol one = { name, 0x10, 16, STT_FUNC, STB_LOCAL, 1 };
	const uint8_t build_id[20] = { id, 1 };
	struct elf_bytes e;
	int fd;

	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	elf_bytes_code(&e, ".text", 0, NULL, 0x1000);
	if (name != NULL)
		elf_bytes_symbols(&e, SHT_SYMTAB, &one, 1);
	if (name != NULL)
		elf_bytes_dwarf(&e);
	elf_bytes_build_id(&e, build_id, 20);
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
	char path[256], find[128];
	int fd;

	assert_non_null(b);
	strcpy(b->directory, "/tmp/ptop-debuginfod-XXXXXX");
	assert_non_null(mkdtemp(b->directory));
	snprintf(b->program, sizeof(b->program), "%s/program", b->directory);
	snprintf(b->debug, sizeof(b->debug), "%s/debug", b->directory);
	snprintf(find, sizeof(find), "%s/debuginfod-find", b->directory);
	fd = open(find, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, script, strlen(script)), strlen(script));
	close(fd);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", b->directory);
	setenv("PATH", path, 1);
	setenv("DEBUGINFOD_URLS", "http://localhost:1/", 1);
	setenv("BED_DEBUG", b->debug, 1);
	assert_int_equal(loader_start(&b->loader, true, NULL), 0);
	assert_int_equal(debuginfod_open(&b->debuginfod, true, NULL), 0);
	b->images = images_new();
	images_use_loader(b->images, b->loader);
	assert_int_equal(images_use_debuginfod(b->images, b->debuginfod), 0);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *b = *state;

	images_free(b->images);
	debuginfod_free(b->debuginfod);
	loader_free(b->loader);
	scratch_remove(b->directory);
	free(b);
	return 0;
}

static void see(struct bed *b, uint32_t id, const char *path)
{
	struct image_sight sight = { .path = path };

	images_see(b->images, id, &sight);
	images_want(b->images, id);
}

/* Until the reason of an image holds a text, or it has none. */
static void work_until(struct bed *b, uint32_t id, const char *why)
{
	struct pollfd p = { .fd = images_fd(b->images), .events = POLLIN };

	images_work(b->images, UINT64_MAX);
	while (images_state(b->images, id) != IMAGE_LOADED ||
	       (why[0] != '\0' ? strstr(images_why(b->images, id), why) == NULL
			       : images_why(b->images, id)[0] != '\0')) {
		assert_int_equal(poll(&p, 1, BED_WAIT_MS), 1);
		images_work(b->images, UINT64_MAX);
	}
}

static const char *name_of(const struct bed *b, uint32_t id)
{
	struct image_symbol symbol;

	return images_symbol(b->images, id, 0x18, &symbol) ? symbol.name : "";
}

/* What is inlined in image 3, once that is known. */
static int inlined(struct bed *b, const char *names[INLINES_DEPTH_MAX], uint32_t *nr)
{
	struct pollfd p = { .fd = images_fd(b->images), .events = POLLIN };
	int err;

	while ((err = images_inlines(b->images, 3, 0x124, names, nr)) == -EAGAIN) {
		images_work(b->images, UINT64_MAX);
		if (images_inlines_waiting(b->images))
			poll(&p, 1, BED_WAIT_MS);
	}
	return err;
}

static void names_come_later(void **state)
{
	struct bed *b = *state;
	size_t before = bed_count_descriptors();
	const char *names[INLINES_DEPTH_MAX];
	uint32_t image = 0, nr = 0;

	images_use_inlines(b->images, true);
	write_elf(b->program, 0xaa, NULL);
	write_elf(b->debug, 0xaa, "from_server");
	see(b, 3, b->program);
	work_until(b, 3, "being asked");
	assert_string_equal(name_of(b, 3), "");
	assert_int_equal(images_wanting(b->images), 0);
	assert_false(images_replaced(b->images, &image));
	work_until(b, 3, "");
	assert_string_equal(name_of(b, 3), "from_server");
	assert_string_equal(images_source(b->images, 3), "debug file");
	assert_true(images_replaced(b->images, &image));
	assert_int_equal(image, 3);
	assert_false(images_replaced(b->images, &image));
	assert_int_equal(inlined(b, names, &nr), 0);
	assert_int_equal(nr, 2);
	assert_string_equal(names[0], "in");
	assert_string_equal(names[1], "deep");
	images_forget(b->images, 3);
	assert_int_equal(bed_count_descriptors(), before);
}

/* What has its names needs none. */
static void who_has_names_is_not_asked_for(void **state)
{
	struct bed *b = *state;
	char pids[160];

	write_elf(b->program, 0xaa, "its_own");
	see(b, 1, b->program);
	work_until(b, 1, "");
	snprintf(pids, sizeof(pids), "%s/debuginfod-find.pids", b->directory);
	assert_int_equal(access(pids, F_OK), -1);
}

static void what_does_not_come_is_told(void **state)
{
	struct bed *b = *state;
	uint32_t image;

	/* Another build, against all that the server says. */
	write_elf(b->program, 0xaa, NULL);
	write_elf(b->debug, 0xbb, "of_another");
	see(b, 1, b->program);
	work_until(b, 1, "another build");
	assert_string_equal(name_of(b, 1), "");
	/* No ELF file. */
	assert_int_equal(truncate(b->debug, 10), 0);
	see(b, 2, b->program);
	work_until(b, 2, "another build");
	write_elf(b->program, 0xdd, NULL);
	see(b, 3, b->program);
	work_until(b, 3, "do not have it");
	write_elf(b->program, 0xee, NULL);
	see(b, 4, b->program);
	work_until(b, 4, "no file");
	assert_false(images_replaced(b->images, &image));
}

/* The first pid that debuginfod-find wrote down; waits for it. */
static pid_t wait_pid(const struct bed *b)
{
	char path[160];
	int pid = 0;

	snprintf(path, sizeof(path), "%s/debuginfod-find.pids", b->directory);
	for (int i = 0; i < BED_WAIT_MS && pid == 0; i++) {
		FILE *file = fopen(path, "re");

		if (file == NULL || fscanf(file, "%d", &pid) != 1)
			poll(NULL, 0, 1);
		if (file != NULL)
			fclose(file);
	}
	assert_true(pid > 0);
	return pid;
}

static void assert_ends(pid_t pid)
{
	for (int i = 0; i < BED_WAIT_MS; i++) {
		if (bed_state(pid) == 'Z' || bed_state(pid) == 0)
			return;
		poll(NULL, 0, 1);
	}
	fail_msg("it lives on");
}

/* Nobody waits for a server that does not answer, and quitting ends the download. */
static void a_download_that_hangs_is_ended(void **state)
{
	struct bed *b = *state;
	size_t before = bed_count_descriptors();
	pid_t pid;

	write_elf(b->program, 0xcc, NULL);
	see(b, 1, b->program);
	work_until(b, 1, "being asked");
	images_work(b->images, UINT64_MAX);
	pid = wait_pid(b);
	assert_int_equal(images_wanting(b->images), 0);
	images_forget(b->images, 1);
	assert_ends(pid);
	assert_int_equal(bed_count_descriptors(), before);
	/* Another, and the end of all. */
	see(b, 2, b->program);
	work_until(b, 2, "being asked");
	images_work(b->images, UINT64_MAX);
	images_free(b->images);
	debuginfod_free(b->debuginfod);
	b->images = NULL;
	b->debuginfod = NULL;
	for (int i = 0; i < BED_WAIT_MS && bed_count_children(getpid()) > 1; i++)
		poll(NULL, 0, 1);
	assert_int_equal(bed_count_children(getpid()), 1);
}

static void many_wait_and_few_run(void **state)
{
	struct bed *b = *state;
	const uint8_t id[20] = { 0xcc };
	struct debuginfod_answer a;

	for (uint32_t i = 0; i < DEBUGINFOD_MAX; i++)
		assert_int_equal(debuginfod_ask(b->debuginfod, i, id, 20), 0);
	assert_int_equal(debuginfod_ask(b->debuginfod, 99, id, 20), -EAGAIN);
	assert_false(debuginfod_take(b->debuginfod, &a));
	assert_int_equal(bed_count_children(getpid()), 1 + 2);
	assert_int_equal(debuginfod_ask(b->debuginfod, 99, id, 2), -EINVAL);
	for (uint32_t i = 0; i < DEBUGINFOD_MAX; i++)
		debuginfod_cancel(b->debuginfod, i);
	assert_false(debuginfod_take(b->debuginfod, &a));
	assert_int_equal(debuginfod_ask(b->debuginfod, 99, id, 20), 0);
}

static void refusals_say_why(void **state)
{
	struct debuginfod *d;
	struct reason why;

	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	assert_int_equal(debuginfod_open(&d, true, &why), -ENOENT);
	assert_non_null(strstr(why.text, "DEBUGINFOD_URLS"));
	setenv("DEBUGINFOD_URLS", "http://localhost:1/", 1);
	setenv("PATH", "/no/such", 1);
	assert_int_equal(debuginfod_open(&d, true, &why), -ENOENT);
	assert_non_null(strstr(why.text, "not installed"));
	if (geteuid() == 0) {
		assert_int_equal(debuginfod_open(&d, false, &why), -EPERM);
		assert_non_null(strstr(why.text, "--debuginfod-as-root"));
	}
	setenv("PATH", "/usr/bin:/bin", 1);
}

int main(void)
{
#define WITH_BED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_BED(names_come_later),           WITH_BED(who_has_names_is_not_asked_for),
		WITH_BED(what_does_not_come_is_told), WITH_BED(a_download_that_hangs_is_ended),
		WITH_BED(many_wait_and_few_run),      cmocka_unit_test(refusals_say_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
