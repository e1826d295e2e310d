/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a recording: which of those in a sysroot, in perf's cache and here are taken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/loader.h"
#include "image/places.h"
#include "support/elf_bytes.h"

enum { WAIT_MS = 20000 };

static const uint8_t id_a[20] = { 0xab, 0xcd, 0xef, 1, [19] = 9 },
		     id_b[20] = { 0x12, 0x34, 0x56, 7, [19] = 9 };

#define CACHED_A ".debug/.build-id/ab/cdef0100000000000000000000000000000009"

/* A directory with a sysroot and a home in it, and the files that tests put there. */
struct bed {
	char directory[32];
	struct loader *loader; /* NULL: files are read in this process */
	struct images *images;
	struct image_places places;
};

static void at(const struct bed *b, const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", b->directory, name);
}

static void make_directory(const struct bed *b, const char *name)
{
	char path[256];

	at(b, name, path);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	(void)mkdir(path, 0700);
}

/* A program with one function, named @symbol. */
static void put(const struct bed *b, const char *name, const uint8_t *id, const char *symbol)
{
	const struct elf_bytes_symbol one = { symbol, 0x10, 16, STT_FUNC, STB_GLOBAL, 1 };
	struct elf_bytes e;
	char path[256];
	int fd;

	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	elf_bytes_code(&e, ".text", 0x10, NULL, 0x100);
	if (id != NULL)
		elf_bytes_build_id(&e, id, 20);
	elf_bytes_symbols(&e, SHT_SYMTAB, &one, 1);
	elf_bytes_finish(&e);
	at(b, name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, e.at, e.size), e.size);
	close(fd);
	elf_bytes_done(&e);
}

static void bed_open(struct bed *b, bool with_loader)
{
	struct reason why;
	char path[256];

	*b = (struct bed){ .directory = "/tmp/ptop-places-XXXXXX" };
	assert_non_null(mkdtemp(b->directory));
	make_directory(b, "root/usr/lib");
	make_directory(b, "own");
	make_directory(b, CACHED_A);
	setenv("HOME", b->directory, 1);
	if (with_loader)
		assert_int_equal(loader_start(&b->loader, true, &why), 0);
	at(b, "root", path);
	assert_int_equal(places_open(&b->places, path, &why), 0);
	b->images = images_new();
	assert_non_null(b->images);
	if (with_loader)
		images_use_loader(b->images, b->loader);
	images_recorded(b->images, &b->places);
}

static void bed_close(struct bed *b)
{
	char command[64];

	images_free(b->images);
	loader_free(b->loader);
	places_done(&b->places);
	snprintf(command, sizeof(command), "rm -r %s", b->directory);
	assert_int_equal(system(command), 0);
}

static void settle(struct bed *b)
{
	struct pollfd p = { .fd = images_fd(b->images), .events = POLLIN };

	images_work(b->images, UINT64_MAX);
	while (images_wanting(b->images) > 0) {
		if (p.fd >= 0)
			assert_int_equal(poll(&p, 1, WAIT_MS), 1);
		images_work(b->images, UINT64_MAX);
	}
}

/* The name of the function in the file that is taken; "": none is. */
static const char *taken(struct bed *b, uint32_t image, const struct image_sight *sight)
{
	struct image_symbol symbol;

	images_see(b->images, image, sight);
	images_want(b->images, image);
	settle(b);
	return images_symbol(b->images, image, 0x18, &symbol) ? symbol.name : "";
}

static void the_build_id_decides(void **state)
{
	const struct image_sight sight = {
		.path = "/usr/lib/libx.so.1", .build_id = id_a, .build_id_size = 20, .foreign = true
	};

	(void)state;
	for (int with_loader = 0; with_loader < 2; with_loader++) {
		struct bed b;
		const char *why;

		bed_open(&b, with_loader);
		assert_string_equal(taken(&b, 0, &sight), "");
		assert_string_equal(images_refused(b.images, 0), "recorded file not here");
		assert_non_null(strstr(images_why(b.images, 0), "--sysroot"));

		put(&b, "root/usr/lib/libx.so.1", id_b, "of_another_build");
		assert_string_equal(taken(&b, 1, &sight), "");
		assert_string_equal(images_refused(b.images, 1), "another build here");
		why = images_why(b.images, 1);
		assert_non_null(strstr(why, "abcdef01"));
		if (with_loader)
			assert_non_null(strstr(why, "12345607"));

		put(&b, CACHED_A "/elf", id_a, "of_the_cache");
		assert_string_equal(taken(&b, 2, &sight), "of_the_cache");
		assert_string_equal(images_refused(b.images, 2), "");

		put(&b, "root/usr/lib/libx.so.1", id_a, "of_the_sysroot");
		assert_string_equal(taken(&b, 3, &sight), "of_the_sysroot");
		bed_close(&b);
	}
}

/* Told late, as in pipe mode: what was refused for want of it is looked for again. */
static void a_build_id_that_comes_late(void **state)
{
	struct image_sight sight = { .path = "/usr/lib/libx.so.1", .foreign = true };
	struct bed b;

	(void)state;
	bed_open(&b, true);
	assert_string_equal(taken(&b, 0, &sight), "");
	for (int i = 0; i < 10; i++)
		assert_string_equal(taken(&b, 0, &sight), "");
	assert_string_equal(images_refused(b.images, 0), "no build-id recorded");
	put(&b, "root/usr/lib/libx.so.1", id_a, "found");
	sight.build_id = id_a;
	sight.build_id_size = 20;
	assert_string_equal(taken(&b, 0, &sight), "found");
	bed_close(&b);
}

/* Without a build-id a file in the sysroot is believed, one of ours only by its inode. */
static void without_a_build_id(void **state)
{
	struct image_sight sight = { .path = "/usr/lib/libx.so.1", .foreign = true };
	char path[256];
	struct stat st;
	struct bed b;

	(void)state;
	bed_open(&b, true);
	put(&b, "root/usr/lib/libx.so.1", NULL, "believed");
	assert_string_equal(taken(&b, 0, &sight), "believed");
	put(&b, "own/libx.so.1", NULL, "ours");
	at(&b, "own/libx.so.1", path);
	assert_int_equal(stat(path, &st), 0);
	sight = (struct image_sight){ .path = path, .ino = st.st_ino };
	assert_string_equal(taken(&b, 1, &sight), "ours");
	sight.ino++;
	assert_string_equal(taken(&b, 2, &sight), "");
	assert_non_null(strstr(images_why(b.images, 2), "replaced"));
	bed_close(&b);
}

static void a_sysroot_cannot_be_left(void **state)
{
	struct image_sight sight = { .path = "/usr/lib/libx.so.1", .foreign = true };
	char from[256], to[256];
	struct bed b;

	(void)state;
	bed_open(&b, true);
	put(&b, "own/libx.so.1", NULL, "outside");
	at(&b, "own/libx.so.1", to);
	at(&b, "root/usr/lib/libx.so.1", from);
	assert_int_equal(symlink(to, from), 0);
	assert_string_equal(taken(&b, 0, &sight), "");
	sight.path = "/../own/libx.so.1";
	assert_string_equal(taken(&b, 1, &sight), "");
	assert_int_equal(unlink(from), 0);
	assert_int_equal(mkfifo(from, 0600), 0);
	sight.path = "/usr/lib/libx.so.1";
	assert_string_equal(taken(&b, 2, &sight), ""); /* and does not wait for a writer */
	bed_close(&b);
}

static void a_sysroot_that_is_none(void **state)
{
	struct image_places places;
	struct reason why = { "" };

	(void)state;
	assert_int_equal(places_open(&places, "/dev/null", &why), -ENOTDIR);
	assert_non_null(strstr(why.text, "/dev/null"));
	places_done(&places);
	places_done(&places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_build_id_decides),
		cmocka_unit_test(a_build_id_that_comes_late),
		cmocka_unit_test(without_a_build_id),
		cmocka_unit_test(a_sysroot_cannot_be_left),
		cmocka_unit_test(a_sysroot_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
