/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separate debug files beside a program in a directory made for the test. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/debugfile.h"
#include "support/elf_bytes.h"

static char *directory;

static int make_directory(void **state)
{
	static char name[] = "/tmp/ptop-debugfile-XXXXXX";
	char inner[64];

	(void)state;
	directory = mkdtemp(name);
	if (directory == NULL)
		return -1;
	snprintf(inner, sizeof(inner), "%s/.debug", directory);
	return mkdir(inner, 0700);
}

static void write_file(const char *name, const struct elf_bytes *e)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, e->at, e->size), e->size);
	close(fd);
}

static void remove_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(remove(path), 0);
}

static int remove_directory(void **state)
{
	(void)state;
	remove_file(".debug");
	return rmdir(directory);
}

static void stripped(struct elf_bytes *e, const uint8_t *id, const char *link, uint32_t crc)
{
	uint8_t bytes[64] = { 0 };
	size_t crc_at = (strlen(link) + 4) / 4 * 4;

	elf_bytes_init(e, ET_DYN, EM_X86_64);
	elf_bytes_segment(e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	if (id != NULL)
		elf_bytes_build_id(e, id, 20);
	memcpy(bytes, link, strlen(link));
	memcpy(bytes + crc_at, &crc, 4);
	elf_bytes_section(e, ".gnu_debuglink", SHT_PROGBITS, 0, 0, bytes, crc_at + 4);
	elf_bytes_finish(e);
}

static void debug_file(struct elf_bytes *e, const uint8_t *id)
{
	static const struct elf_bytes_symbol one = { "one", 0x10, 1, STT_FUNC, STB_LOCAL, 1 };

	elf_bytes_init(e, ET_DYN, EM_X86_64);
	if (id != NULL)
		elf_bytes_build_id(e, id, 20);
	elf_bytes_symbols(e, SHT_SYMTAB, &one, 1);
	elf_bytes_finish(e);
}

static int search(const struct elf_bytes *program)
{
	char path[128];
	int fd = elf_bytes_fd(program->at, program->size), found;

	snprintf(path, sizeof(path), "%s/program", directory);
	found = debugfile_open(fd, getpid(), path);
	close(fd);
	return found;
}

static uint32_t crc_of(const struct elf_bytes *e)
{
	int fd = elf_bytes_fd(e->at, e->size);
	uint32_t crc = 0;

	assert_int_equal(debugfile_crc(fd, &crc), 0);
	close(fd);
	return crc;
}

static const uint8_t id_a[20] = { 0xde, 0xad, 0xfa, 0xce, 1 },
		     id_b[20] = { 0xde, 0xad, 0xfa, 0xce, 2 };

static void crc_is_that_of_zlib(void **state)
{
	int fd = elf_bytes_fd("123456789", 9);
	uint32_t crc = 0;

	(void)state;
	assert_int_equal(debugfile_crc(fd, &crc), 0);
	assert_int_equal(crc, 0xcbf43926);
	close(fd);
}

static void build_id_decides(void **state)
{
	static const char *const places[] = { "program.debug", ".debug/program.debug" };
	struct elf_bytes program, right, wrong;
	int fd;

	(void)state;
	stripped(&program, id_a, "program.debug", 0x1234);
	debug_file(&right, id_a);
	debug_file(&wrong, id_b);
	assert_int_equal(search(&program), -ENOENT);
	for (size_t i = 0; i < 2; i++) {
		write_file(places[i], &wrong);
		assert_int_equal(search(&program), -ENOENT);
		write_file(places[i], &right);
		fd = search(&program);
		assert_true(fd >= 0);
		close(fd);
		remove_file(places[i]);
	}
	elf_bytes_done(&program);
	elf_bytes_done(&right);
	elf_bytes_done(&wrong);
}

static void without_build_id_the_crc_decides(void **state)
{
	struct elf_bytes program, right, wrong;
	int fd;

	(void)state;
	debug_file(&right, NULL);
	debug_file(&wrong, id_b);
	stripped(&program, NULL, "p.debug", crc_of(&right));
	write_file("p.debug", &wrong);
	assert_int_equal(search(&program), -ENOENT);
	write_file("p.debug", &right);
	fd = search(&program);
	assert_true(fd >= 0);
	close(fd);
	remove_file("p.debug");
	elf_bytes_done(&program);
	elf_bytes_done(&right);
	elf_bytes_done(&wrong);
}

/* A FIFO in its place must not block, a link name must not leave its directory. */
/* Regular files to stat(2), by a symbolic link: what reading them does is not ours to do. */
static void what_the_kernel_makes_up_is_not_opened(void **state)
{
	static const char *const made_up[] = { "/proc/self/maps", "/sys/kernel/notes" };
	struct elf_bytes program;
	struct debug_clue clue;
	int fd, fds[DEBUG_CANDIDATES_MAX];
	char path[128], link[128];

	(void)state;
	stripped(&program, NULL, "link", 0);
	fd = elf_bytes_fd(program.at, program.size);
	assert_int_equal(debugfile_clue(fd, &clue, NULL), 0);
	snprintf(path, sizeof(path), "%s/program", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	write_file("stored", &program);
	assert_int_equal(symlink("stored", link), 0);
	assert_int_equal(debugfile_candidates(&clue, fd, getpid(), path, fds), 1);
	close(fds[0]);
	for (size_t i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++) {
		remove_file("link");
		assert_int_equal(symlink(made_up[i], link), 0);
		assert_int_equal(debugfile_candidates(&clue, fd, getpid(), path, fds), 0);
	}
	remove_file("link");
	remove_file("stored");
	close(fd);
	elf_bytes_done(&program);
}

static void hostile_places(void **state)
{
	static const char *const links[] = { "../p.debug", "/etc/passwd", "..", ".", "" };
	struct elf_bytes program;
	char path[128];

	(void)state;
	stripped(&program, id_a, "fifo", 0);
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(search(&program), -ENOENT);
	remove_file("fifo");
	elf_bytes_done(&program);
	for (size_t i = 0; i < 5; i++) {
		stripped(&program, NULL, links[i], 0);
		assert_int_equal(search(&program), -ENOENT);
		elf_bytes_done(&program);
	}
}

static void a_file_with_symbols_needs_none(void **state)
{
	struct elf_bytes e;

	(void)state;
	debug_file(&e, id_a);
	assert_int_equal(search(&e), -ENOENT);
	elf_bytes_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc_is_that_of_zlib),
		cmocka_unit_test(build_id_decides),
		cmocka_unit_test(without_build_id_the_crc_decides),
		cmocka_unit_test(hostile_places),
		cmocka_unit_test(what_the_kernel_makes_up_is_not_opened),
		cmocka_unit_test(a_file_with_symbols_needs_none),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
