/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perf maps: lines, overlaps against a model that paints, files that grow and are rewritten. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/foreign_file.h"
#include "symbol/perfmap.h"

enum { CELLS = 128 };

static const char *name_at(const struct perfmap *m, uint64_t addr)
{
	const struct perfmap_entry *e = perfmap_find(m, addr);

	return e ? &m->names.at[e->name] : "";
}

static void lines(void **state)
{
	static const char text[] =
		"7f00 10 LazyCompile:~foo bar.js:1\n"
		"0x7f20 0x8 with prefix\r\n"
		"7f40 0 empty\n"
		"nonsense\n"
		"ffffffffffffffff 10 wraps\n"
		"7f60 4\n"
		"10000000000000000 4 too large\n"
		" 7f80  4  blanks\n"
		"00007F12AB340000 1A int32 [a] P::Main(int32)[Tier0]\n" /* .NET */
		"7fa0 4 no newline";
	struct perfmap m = { 0 };
	size_t used;

	(void)state;
	assert_int_equal(perfmap_parse(&m, text, sizeof(text) - 1, false, &used), 0);
	assert_string_equal(name_at(&m, 0x7f00), "LazyCompile:~foo bar.js:1");
	assert_string_equal(name_at(&m, 0x7f0f), "LazyCompile:~foo bar.js:1");
	assert_string_equal(name_at(&m, 0x7f10), "");
	assert_string_equal(name_at(&m, 0x7f27), "with prefix");
	assert_string_equal(name_at(&m, 0x7f12ab340019), "int32 [a] P::Main(int32)[Tier0]");
	assert_string_equal(name_at(&m, 0x7f40), "");
	assert_string_equal(name_at(&m, 0x7f60), "");
	assert_string_equal(name_at(&m, 0x7f83), "blanks");
	assert_string_equal(name_at(&m, 0x7fa0), "");
	assert_int_equal(m.at.nr, 4);
	assert_memory_equal(text + used, "7fa0", 4);
	assert_int_equal(perfmap_parse(&m, text + used, sizeof(text) - 1 - used, true, &used), 0);
	assert_string_equal(name_at(&m, 0x7fa0), "no newline");
	perfmap_done(&m);
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Some lines at a time, each painting over those before. */
static void later_lines_win(void **state)
{
	uint64_t seed = 2463534242;

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct perfmap m = { 0 };
		int model[CELLS] = { 0 }, nr = 0;

		for (int batch = 0; batch < 4; batch++) {
			char text[2048];
			size_t size = 0, used;
			unsigned count = draw(&seed) % 20;

			for (unsigned i = 0; i < count; i++) {
				unsigned start = draw(&seed) % CELLS;
				unsigned len = 1 + draw(&seed) % (CELLS - start);

				if (round % 2 && len > 8)
					len = 8;
				if (start + len > CELLS)
					len = CELLS - start;
				nr++;
				size += (size_t)snprintf(text + size, sizeof(text) - size,
							 "%x %x n%d\n", start, len, nr);
				for (unsigned j = start; j < start + len; j++)
					model[j] = nr;
			}
			assert_int_equal(perfmap_parse(&m, text, size, false, &used), 0);
			assert_int_equal(used, size);
			for (unsigned j = 0; j < CELLS; j++) {
				char want[16] = "";

				if (model[j])
					snprintf(want, sizeof(want), "n%d", model[j]);
				assert_string_equal(name_at(&m, j), want);
			}
			for (size_t j = 1; j < m.at.nr; j++)
				assert_true(m.at.at[j - 1].end <= m.at.at[j].start);
		}
		perfmap_done(&m);
	}
}

static void hostile_order(void **state)
{
	/* falling addresses and nested ranges: quadratic in a plain insert */
	struct perfmap m = { 0 };
	size_t size = 0, room = 200000 * 40, used;
	char *text = malloc(room);

	(void)state;
	assert_non_null(text);
	for (unsigned i = 0; i < 100000; i++)
		size += (size_t)snprintf(text + size, room - size, "%x %x d\n", 0x40000000 - i * 16,
					 16 + i * 16);
	assert_int_equal(perfmap_parse(&m, text, size, false, &used), 0);
	assert_int_equal(m.at.nr, 1);
	for (unsigned i = 0; i < size; i++)
		text[i] = (char)(i * 2654435761u >> 13);
	assert_int_equal(perfmap_parse(&m, text, size, true, &used), 0);
	assert_int_equal(used, size);
	free(text);
	perfmap_done(&m);
}

static void append(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void growing_and_rewritten(void **state)
{
	char path[] = "/tmp/ptop-perfmap-XXXXXX";
	int fd = mkstemp(path);
	struct perfmap_file f = { 0 };

	(void)state;
	assert_true(fd >= 0);
	append(fd, "100 10 first\n200 10 half");
	assert_int_equal(perfmap_fd_read(&f, fd, 1 << 20), 13);
	assert_string_equal(name_at(&f.map, 0x105), "first");
	assert_string_equal(name_at(&f.map, 0x205), "");
	append(fd, "way\n");
	assert_true(perfmap_fd_read(&f, fd, 1 << 20));
	assert_false(f.restarted);
	assert_string_equal(name_at(&f.map, 0x205), "halfway");
	assert_int_equal(perfmap_fd_read(&f, fd, 1 << 20), 0);
	/* code moved over the old place */
	append(fd, "104 4 second\n");
	assert_true(perfmap_fd_read(&f, fd, 1 << 20));
	assert_string_equal(name_at(&f.map, 0x105), "second");
	assert_string_equal(name_at(&f.map, 0x108), "first");
	/* shorter, then longer than before with other bytes: read anew */
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	append(fd, "300 10 third\n");
	assert_true(perfmap_fd_read(&f, fd, 1 << 20));
	assert_true(f.restarted);
	assert_string_equal(name_at(&f.map, 0x105), "");
	assert_string_equal(name_at(&f.map, 0x305), "third");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	append(fd, "400 10 fourth\n500 10 fifth\n600 10 sixth\n");
	assert_true(perfmap_fd_read(&f, fd, 1 << 20));
	assert_true(f.restarted);
	assert_string_equal(name_at(&f.map, 0x305), "");
	assert_string_equal(name_at(&f.map, 0x605), "sixth");
	/* a little at a time */
	append(fd, "700 10 seventh\n800 10 eighth\n");
	assert_int_equal(perfmap_fd_read(&f, fd, 16), 15);
	assert_string_equal(name_at(&f.map, 0x805), "");
	assert_int_equal(perfmap_fd_read(&f, fd, 16), 14);
	assert_string_equal(name_at(&f.map, 0x805), "eighth");
	/* a line longer than what is read at once is passed over */
	append(fd, "900 10 0123456789012345678901234567890123456789\na00 10 after\n");
	for (int i = 0; i < 10; i++)
		perfmap_fd_read(&f, fd, 16);
	assert_string_equal(name_at(&f.map, 0xa05), "after");
	unlink(path);
	close(fd);
	perfmap_done(&f.map);
}

static void whose_file(void **state)
{
	struct perfmap_file f = { .pid = getpid() };
	char path[64], other[64];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "/tmp/perf-%d.other", (int)getpid());
	unlink(path);
	assert_int_equal(perfmap_file_read(&f, 1 << 20, 5), 0);
	assert_int_equal(f.due_ns, 1000000005);
	assert_int_equal(perfmap_file_read(&f, 1 << 20, 5), 0);
	assert_int_equal(f.due_ns, 2000000005);
	fd = open(other, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	append(fd, "100 10 name\n");
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(perfmap_file_read(&f, 1 << 20, 5), 0); /* no links */
	unlink(path);
	assert_int_equal(rename(other, path), 0);
	if (geteuid() == 0) { /* another user's */
		assert_int_equal(fchown(fd, 12345, 12345), 0);
		assert_int_equal(perfmap_file_read(&f, 1 << 20, 5), 0);
		assert_int_equal(fchown(fd, 0, 0), 0);
	}
	assert_true(perfmap_file_read(&f, 1 << 20, 5) > 0);
	assert_string_equal(name_at(&f.map, 0x105), "name");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(perfmap_file_read(&f, 1 << 20, 5), 0); /* and does not hang */
	unlink(path);
	close(fd);
	perfmap_done(&f.map);
}

static void file_systems_that_may_not_answer(void **state)
{
	static const char mounts[] =
		"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
		"23 22 0:21 / /proc rw - proc proc rw\n"
		"30 22 0:45 / /home/a/mnt rw shared:7 master:2 - fuse.sshfs a@b: rw\n"
		"31 22 0:46 / /net\\040work rw - nfs4 server:/ rw\n"
		"33 22 0:48 / / rw - overlay overlay rw,lowerdir=/a:/b\n"
		"torn\n"
		"32 22 0:47 / /tmp rw - tmpfs";
	const size_t size = sizeof(mounts) - 1;
	char path[64];
	int fd;

	(void)state;
	assert_false(foreign_mount_waits(mounts, size, 22, false));
	assert_false(foreign_mount_waits(mounts, size, 23, false));
	assert_true(foreign_mount_waits(mounts, size, 30, false));
	assert_true(foreign_mount_waits(mounts, size, 31, false));
	assert_true(foreign_mount_waits(mounts, size, 32, false)); /* not all of it is there */
	assert_true(foreign_mount_waits(mounts, size, 99, false));
	assert_false(foreign_mount_waits(mounts, size, 33, false));
	assert_true(foreign_mount_waits(mounts, size, 33, true)); /* over what, who knows */
	assert_false(foreign_mount_waits(mounts, size, 22, true));
	assert_true(foreign_mount_waits("", 0, 0, false));
	snprintf(path, sizeof(path), "/tmp/ptop-foreign-%d", (int)getpid());
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_false(foreign_waits(fd, 0));
	assert_false(foreign_waits(fd, getpid()));
	close(fd);
	assert_true(foreign_waits(-1, 0));
	fd = foreign_open(0, "tmp", path + 5);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(foreign_open(getpid(), "tmp", path + 5), -ENOENT);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(foreign_open(0, "tmp", path + 5), -EINVAL);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),         cmocka_unit_test(later_lines_win),
		cmocka_unit_test(hostile_order), cmocka_unit_test(growing_and_rewritten),
		cmocka_unit_test(whose_file),    cmocka_unit_test(file_systems_that_may_not_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
