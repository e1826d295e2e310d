/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry of images with an opener: what the main process does waits for no file system, and
 * one that never answers costs its own files their names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "image/images.h"
#include "image/open.h"
#include "image/opener.h"
#include "unit/loader_bed.h"
#include "unit/scratch.h"

struct bed {
	struct loader *loader, *opener;
	struct images *images;
	char directory[64], program[128];
};

/* An opener to whom some files never open. */
static void serve(int socket)
{
	struct worker_message m;
	struct worker_request r;
	int fds[LOADER_FDS_MAX], opened[LOADER_FDS_MAX];
	unsigned nr_fds, nr;

	loader_ready(socket);
	while (loader_get(socket, &r, sizeof(r), fds, LOADER_FDS_MAX, &nr_fds) == 1) {
		loader_begin(socket, &r);
		while (strstr(r.order.path, "HANG") != NULL)
			pause();
		while (r.what == OPENER_DEBUG && strstr(r.order.path, "NO-DEBUG") != NULL)
			pause();
		nr = opener_do(&r, fds, nr_fds, &m, opened);
		loader_close_fds(fds, nr_fds);
		loader_put(socket, &m, sizeof(m), opened, nr);
		loader_close_fds(opened, nr);
	}
}

static void write_program(const char *path)
{
	const struct elf_bytes_symbol one = { "a_function", 0x10, 16, STT_FUNC, STB_LOCAL, 1 };
	struct elf_bytes e;
	int fd;

	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	elf_bytes_code(&e, ".text", 0, NULL, 0x1000);
	elf_bytes_symbols(&e, SHT_SYMTAB, &one, 1);
	elf_bytes_build_id(&e, (const uint8_t[20]){ 0xbb, 1 }, 20);
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

	if (b == NULL || loader_start(&b->loader, true, NULL) != 0 ||
	    loader_start_serving(&b->opener, false, serve, NULL) != 0)
		return -1;
	b->images = images_new();
	images_use_loader(b->images, b->loader);
	assert_int_equal(images_use_opener(b->images, b->opener), 0);
	strcpy(b->directory, "/tmp/ptop-opener-XXXXXX");
	assert_non_null(mkdtemp(b->directory));
	snprintf(b->program, sizeof(b->program), "%s/program", b->directory);
	write_program(b->program);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *b = *state;

	images_free(b->images);
	loader_free(b->opener);
	loader_free(b->loader);
	scratch_remove(b->directory);
	free(b);
	return 0;
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

static struct image_sight sight_of(const char *path)
{
	struct image_sight sight = { .pid = getpid(), .path = path };
	struct stat st;

	if (stat(path, &st) == 0)
		sight.ino = st.st_ino;
	return sight;
}

static void see(struct bed *b, uint32_t id, const struct image_sight *sight)
{
	const struct unwind_rule *rule;

	images_see(b->images, id, sight);
	images_want(b->images, id);
	images_rule(b->images, id, 0, &rule);
}

static void a_program_is_opened_and_read(void **state)
{
	struct bed *b = *state;
	size_t before = bed_count_descriptors();
	struct image_sight sight = sight_of(b->program);
	const struct unwind_rule *rule;
	struct image_symbol symbol;

	see(b, 1, &sight);
	settle(b->images);
	assert_int_equal(images_state(b->images, 1), IMAGE_LOADED);
	assert_true(images_symbol(b->images, 1, 0x18, &symbol));
	assert_string_equal(symbol.name, "a_function");
	assert_int_equal(images_rule(b->images, 1, 0, &rule), -ENODATA);
	/* And one that has both. */
	sight = sight_of("/proc/self/exe");
	see(b, 2, &sight);
	settle(b->images);
	assert_int_equal(images_state(b->images, 2), IMAGE_LOADED);
	assert_int_equal(images_rule(b->images, 2, 0, &rule), 0);
	images_forget(b->images, 1);
	images_forget(b->images, 2);
	assert_int_equal(bed_count_descriptors(), before);
}

/* A worker's receive has a bound on its time; past it nothing is lost. */
static void an_idle_worker_stays(void **state)
{
	struct timeval soon = { .tv_usec = 1000 };
	struct worker_request r = { .magic = LOADER_MAGIC, .what = OPENER_FILE, .serial = 7 };
	struct worker_message m = { 0 };
	struct pollfd p = { .events = POLLIN };
	int ends[2], fds[LOADER_FDS_MAX];
	unsigned nr_fds;
	pid_t worker;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	worker = fork();
	if (worker == 0) {
		close(ends[0]);
		opener_serve(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(loader_get(ends[0], &m, sizeof(m), fds, LOADER_FDS_MAX, &nr_fds), 1);
	assert_int_equal(m.says, WORKER_READY);
	p.fd = ends[0];
	assert_int_equal(poll(&p, 1, 30), 0); /* its end would be told */
	strcpy(r.order.path, "/proc/self/exe");
	assert_int_equal(loader_put(ends[0], &r, sizeof(r), NULL, 0), 0);
	assert_int_equal(loader_get(ends[0], &m, sizeof(m), fds, LOADER_FDS_MAX, &nr_fds), 1);
	assert_int_equal(m.says, WORKER_BEGINS);
	assert_int_equal(loader_get(ends[0], &m, sizeof(m), fds, LOADER_FDS_MAX, &nr_fds), 1);
	assert_int_equal(m.serial, 7);
	loader_close_fds(fds, nr_fds);
	close(ends[0]);
	assert_int_equal(waitpid(worker, NULL, 0), worker);
}

/* What was seen is held: deleted, it still has names; another in its place gives none. */
static void what_was_seen_is_held(void **state)
{
	struct bed *b = *state;
	struct image_sight sight = sight_of(b->program);
	enum file_via via;
	int pin = open_pin(&sight, &via);

	if (pin < 0) {
		print_message("this kernel cannot tell whether a path is in memory\n");
		skip();
	}
	close(pin);
	images_see(b->images, 1, &sight);
	assert_int_equal(images_state(b->images, 1), IMAGE_OPEN);
	assert_int_equal(unlink(b->program), 0);
	images_want(b->images, 1);
	settle(b->images);
	assert_int_equal(images_state(b->images, 1), IMAGE_LOADED);
	write_program(b->program);
	sight.ino += 1000000;
	images_see(b->images, 2, &sight);
	images_want(b->images, 2);
	settle(b->images);
	assert_int_equal(images_state(b->images, 2), IMAGE_FAILED);
	assert_non_null(strstr(images_why(b->images, 2), "replaced"));
}

/* Glimpsed before it is seen: the file may be gone by then. */
static void what_was_glimpsed_is_held(void **state)
{
	struct bed *b = *state;
	struct image_sight sight = sight_of(b->program);
	size_t before = bed_count_descriptors();

	images_glimpse(b->images, &sight);
	if (bed_count_descriptors() == before) {
		print_message("this kernel cannot tell whether a path is in memory\n");
		skip();
	}
	assert_int_equal(unlink(b->program), 0);
	see(b, 1, &sight);
	settle(b->images);
	assert_int_equal(images_state(b->images, 1), IMAGE_LOADED);
	images_forget(b->images, 1);
	assert_int_equal(bed_count_descriptors(), before);
	/* Known files are not taken hold of again, unknown ones up to a bound. */
	write_program(b->program);
	sight = sight_of(b->program);
	see(b, 2, &sight);
	settle(b->images);
	before = bed_count_descriptors();
	images_glimpse(b->images, &sight);
	assert_int_equal(bed_count_descriptors(), before);
	for (int i = 0; i < 300; i++) {
		sight.ino += 1000000;
		images_glimpse(b->images, &sight);
		assert_true(bed_count_descriptors() - before <= 64);
	}
}

static void what_is_not_there_fails_with_the_reason(void **state)
{
	struct bed *b = *state;
	struct image_sight sight = { .pid = getpid(), .path = "/no/such/file" };
	const struct unwind_rule *rule;

	for (int turn = 0; turn < 6; turn++) {
		see(b, 1, &sight);
		settle(b->images);
		assert_int_equal(images_state(b->images, 1), IMAGE_FAILED);
		assert_string_not_equal(images_why(b->images, 1), "");
		assert_int_equal(images_rule(b->images, 1, 0, &rule), -ENODATA);
	}
	sight.path = "/dev/null";
	see(b, 2, &sight);
	settle(b->images);
	assert_int_equal(images_state(b->images, 2), IMAGE_FAILED);
}

/* Seeing, wanting and working come back at once; the others get their names, the one that hangs a
 * reason, once. */
static void an_opening_that_hangs_costs_one_file_its_names(void **state)
{
	struct bed *b = *state;
	struct image_sight hangs = { .pid = getpid(), .path = "/HANG/file", .min = 99, .ino = 5 };
	struct image_sight sight = sight_of(b->program);
	const struct unwind_rule *rule;

	loader_set_deadline(b->opener, UINT64_C(300000000));
	see(b, 1, &hangs);
	for (uint32_t id = 2; id < 6; id++)
		see(b, id, &sight);
	settle(b->images);
	assert_int_equal(images_state(b->images, 1), IMAGE_FAILED);
	assert_non_null(strstr(images_why(b->images, 1), "does not answer"));
	assert_int_equal(images_rule(b->images, 1, 0, &rule), -ENODATA);
	for (uint32_t id = 2; id < 6; id++)
		assert_int_equal(images_state(b->images, id), IMAGE_LOADED);
	assert_int_equal(loader_replaced(b->opener), 1);
	/* Neither it nor another of its file system is tried again now. */
	see(b, 1, &hangs);
	hangs.ino = 6;
	see(b, 7, &hangs);
	settle(b->images);
	assert_int_equal(images_state(b->images, 7), IMAGE_FAILED);
	assert_non_null(strstr(images_why(b->images, 7), "does not answer"));
	assert_int_equal(loader_replaced(b->opener), 1);
	/* One of another is. */
	hangs.min = 98;
	see(b, 8, &hangs);
	settle(b->images);
	assert_int_equal(loader_replaced(b->opener), 2);
}

/* Where only the search for a debug file hangs, the file has the names that it has itself. */
static void a_search_that_hangs_costs_the_debug_file(void **state)
{
	struct bed *b = *state;
	char path[200];
	struct image_sight sight;

	loader_set_deadline(b->opener, UINT64_C(300000000));
	snprintf(path, sizeof(path), "%s/NO-DEBUG", b->directory);
	write_program(path);
	sight = sight_of(path);
	see(b, 1, &sight);
	settle(b->images);
	assert_int_equal(images_state(b->images, 1), IMAGE_LOADED);
	assert_int_equal(loader_replaced(b->opener), 1);
}

static void forgotten_meanwhile(void **state)
{
	struct bed *b = *state;
	size_t before = bed_count_descriptors();
	struct image_sight sight = sight_of(b->program);

	for (int round = 0; round < 20; round++) {
		see(b, 1, &sight);
		for (int steps = round % 5; steps > 0; steps--)
			images_work(b->images, UINT64_MAX);
		images_forget(b->images, 1);
	}
	see(b, 1, &sight);
	settle(b->images);
	assert_int_equal(images_state(b->images, 1), IMAGE_LOADED);
	images_forget(b->images, 1);
	assert_int_equal(bed_count_descriptors(), before);
}

static void many_images_hold_few_descriptors(void **state)
{
	struct bed *b = *state;
	size_t before = bed_count_descriptors();
	struct image_sight sight = sight_of(b->program);

	for (uint32_t id = 0; id < 400; id++) {
		see(b, id, &sight);
		images_work(b->images, 0);
		assert_true(bed_count_descriptors() - before <=
			    257 + 2 * LOADER_IN_FLIGHT_MAX * LOADER_FDS_MAX);
	}
	settle(b->images);
	for (uint32_t id = 0; id < 400; id++)
		assert_int_equal(images_state(b->images, id), IMAGE_LOADED);
}

static void without_the_opener_all_fails_with_the_reason(void **state)
{
	struct bed *b = *state;
	struct image_sight sight = sight_of(b->program);

	for (uint32_t id = 0; id < 20; id++)
		see(b, id, &sight);
	assert_int_equal(kill(loader_keeper_pid(b->opener), SIGKILL), 0);
	settle(b->images);
	for (uint32_t id = 0; id < 20; id++) {
		if (images_state(b->images, id) != IMAGE_LOADED) {
			assert_int_equal(images_state(b->images, id), IMAGE_FAILED);
			assert_string_not_equal(images_why(b->images, id), "");
		}
	}
}

int main(void)
{
#define WITH_BED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_worker_stays),
		WITH_BED(a_program_is_opened_and_read),
		WITH_BED(what_was_seen_is_held),
		WITH_BED(what_was_glimpsed_is_held),
		WITH_BED(what_is_not_there_fails_with_the_reason),
		WITH_BED(an_opening_that_hangs_costs_one_file_its_names),
		WITH_BED(a_search_that_hangs_costs_the_debug_file),
		WITH_BED(forgotten_meanwhile),
		WITH_BED(many_images_hold_few_descriptors),
		WITH_BED(without_the_opener_all_fails_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
