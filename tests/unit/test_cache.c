/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of kept tables: who may hold it, what is found in it, what goes first. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/cache.h"
#include "image/cache_copy.h"
#include "image/cache_dir.h"
#include "unit/scratch.h"

#define TABLE "a table of some bytes"

struct bed {
	char directory[64], inner[96];
	struct cache *cache;
	struct cache_file file;
};

static const struct cache_limits small = { .bytes = 80000, .files = 10 };

static int set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	strcpy(b->directory, "/tmp/ptop-cache-XXXXXX");
	assert_non_null(mkdtemp(b->directory));
	snprintf(b->inner, sizeof(b->inner), "%s/a/ptop", b->directory);
	assert_int_equal(cache_open(&b->cache, b->inner, &small, NULL), 0);
	b->file = (struct cache_file){ .trusted = true, .settled = true };
	b->file.identity.ino = 1;
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *b = *state;

	cache_free(b->cache);
	scratch_remove(b->directory);
	free(b);
	return 0;
}

static struct cache_key key_of(const struct bed *b, uint64_t ino)
{
	const uint8_t id[20] = { 0xab, 0xcd };
	struct cache_file file = b->file;
	struct cache_key key;

	file.identity.ino = ino;
	assert_true(cache_key_make(b->cache, CACHE_SYMBOLS, id, 20, &file, 1, &key));
	return key;
}

static int keep(struct bed *b, const struct cache_key *key, const void *table, size_t size)
{
	int from = memfd_create("table", MFD_CLOEXEC), to;

	assert_true(from >= 0);
	assert_int_equal(write(from, table, size), size);
	to = cache_begin(b->cache, key, size);
	if (to >= 0) {
		assert_int_equal(cache_copy_out(from, to, NULL), 0);
		close(to);
	}
	close(from);
	return to < 0 ? to : cache_commit(b->cache);
}

static void assert_kept(struct bed *b, const struct cache_key *key, const char *table)
{
	int fd = cache_find(b->cache, key);
	size_t size = 0;
	void *bytes = NULL;

	assert_true(fd >= 0);
	assert_int_equal(cache_copy_in(fd, 1 << 20, &bytes, &size, NULL), 0);
	assert_int_equal(size, strlen(table));
	assert_memory_equal(bytes, table, size);
	free(bytes);
	close(fd);
}

/* The only file there. */
static void only_file(const struct bed *b, char path[512])
{
	DIR *d = opendir(b->inner);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] != '.')
			snprintf(path, 512, "%s/%s", b->inner, e->d_name);
	}
	closedir(d);
}

static void what_is_kept_is_found(void **state)
{
	struct bed *b = *state;
	struct cache_key key = key_of(b, 1), other = key_of(b, 2);
	struct cache_use use;
	struct stat st;
	char path[512] = "";

	assert_int_equal(cache_find(b->cache, &key), -ENOENT);
	assert_int_equal(keep(b, &key, TABLE, strlen(TABLE)), 0);
	assert_kept(b, &key, TABLE);
	/* The same build-id in another file. */
	assert_int_equal(cache_find(b->cache, &other), -ENOENT);
	assert_int_equal(keep(b, &key, "newer", 5), 0);
	assert_kept(b, &key, "newer");
	assert_int_equal(cache_measure(b->cache, &use), 0);
	assert_int_equal(use.files, 1);
	assert_int_equal(use.bytes, CACHE_TABLE_AT + 5);
	only_file(b, path);
	assert_non_null(strstr(path, "/abcd0000"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(b->inner, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_string_equal(cache_damaged(b->cache), "");
}

/* Every fact of every file counts, and who may change a file is not kept at all. */
static void a_key_tells_all_files(void **state)
{
	struct bed *b = *state;
	struct cache_file files[2] = { b->file, b->file };
	struct cache_key first, next;

	files[1].identity.ino = 5;
	assert_true(cache_key_make(b->cache, CACHE_SYMBOLS, NULL, 0, files, 2, &first));
	for (size_t i = 0; i < 2; i++) {
		struct cache_file kept = files[i];

		files[i].identity.ctime_ns++;
		assert_true(cache_key_make(b->cache, CACHE_SYMBOLS, NULL, 0, files, 2, &next));
		assert_memory_not_equal(&first, &next, sizeof(first));
		files[i] = kept;
		files[i].identity.uid++;
		assert_true(cache_key_make(b->cache, CACHE_SYMBOLS, NULL, 0, files, 2, &next));
		assert_memory_not_equal(&first, &next, sizeof(first));
		files[i] = kept;
		files[i].trusted = false;
		assert_false(cache_key_make(b->cache, CACHE_SYMBOLS, NULL, 0, files, 2, &next));
		files[i] = kept;
		files[i].settled = false;
		assert_false(cache_key_make(b->cache, CACHE_SYMBOLS, NULL, 0, files, 2, &next));
		files[i] = kept;
	}
	assert_true(cache_key_make(b->cache, CACHE_SYMBOLS, NULL, 0, files, 1, &next));
	assert_memory_not_equal(&first, &next, sizeof(first));
	assert_true(cache_key_make(b->cache, CACHE_ROWS, NULL, 0, files, 2, &next));
	assert_memory_not_equal(&first, &next, sizeof(first));
	assert_true(cache_key_make(b->cache, CACHE_SYMBOLS, NULL, 0, files, 2, &next));
	assert_memory_equal(&first, &next, sizeof(first));
	assert_false(cache_key_make(b->cache, CACHE_SYMBOLS, NULL, 0, files, 0, &next));
}

static void files_are_judged(void **state)
{
	struct cache_file f;
	int fd = memfd_create("file", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_true(cache_file_read(fd, 0, &f));
	assert_true(f.trusted);
	assert_true(f.settled);
	assert_int_equal(f.identity.size, 0);
	/* Just made: another change might not show. */
	assert_true(cache_file_read(fd, UINT64_C(3600000000000), &f));
	assert_false(f.settled);
	assert_int_equal(fchmod(fd, 0646), 0);
	assert_true(cache_file_read(fd, 0, &f));
	assert_false(f.trusted);
	assert_int_equal(fchmod(fd, 0644), 0);
	if (geteuid() == 0) {
		assert_int_equal(fchown(fd, 65534, 65534), 0);
		assert_true(cache_file_read(fd, 0, &f));
		assert_false(f.trusted);
	}
	close(fd);
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	assert_true(cache_file_read(fd, 0, &f));
	assert_false(f.trusted);
	close(fd);
	assert_false(cache_file_read(-1, 0, &f));
}

/* In a child with mounts of its own: an overlay, and a file in it.  Its descriptor, told by a byte
 * that it is there; the child goes with the other end of @talk. */
static void overlay_in_child(const char *directory, int talk)
{
	char option[256], merged[96];
	struct cache_file f = { 0 };
	char byte = 0;
	int fd;

	snprintf(option, sizeof(option), "lowerdir=%s/low:%s/none", directory, directory);
	snprintf(merged, sizeof(merged), "%s/merged", directory);
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("overlay", merged, "overlay", 0, option) == 0) {
		snprintf(merged, sizeof(merged), "%s/merged/file", directory);
		fd = open(merged, O_RDONLY | O_CLOEXEC);
		byte = cache_file_read(fd, 0, &f) && f.trusted ? 't' : 'n';
	}
	if (write(talk, &byte, 1) == 1)
		(void)!read(talk, &byte, 1);
	_exit(0);
}

static void overlays_of_others_are_not_believed(void **state)
{
	struct bed *b = *state;
	char path[160], byte = 0;
	struct cache_file f;
	int talk[2], fd;
	pid_t child;

	snprintf(path, sizeof(path), "%s/merged", b->directory);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/none", b->directory);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/low", b->directory);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/low/file", b->directory);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk), 0);
	child = fork();
	if (child == 0) {
		close(talk[0]);
		overlay_in_child(b->directory, talk[1]);
	}
	close(talk[1]);
	assert_int_equal(read(talk[0], &byte, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/root%s/merged/file", (int)child, b->directory);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (byte != 0) {
		assert_int_equal(byte, 't'); /* the child's own */
		assert_true(fd >= 0);
		assert_true(cache_file_read(fd, 0, &f));
		assert_false(f.trusted);
	}
	if (fd >= 0)
		close(fd);
	close(talk[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	if (byte == 0) {
		print_message("no overlay can be mounted here\n");
		skip();
	}
}

/* Cut, changed, open to others, a link, of another key: removed, told once, made anew. */
static void what_is_not_right_is_removed(void **state)
{
	struct bed *b = *state;
	struct cache_key key = key_of(b, 1);
	char path[512] = "", other[600];
	char told[320] = "";

	for (int way = 0; way < 6; way++) {
		int fd;

		assert_int_equal(keep(b, &key, TABLE, strlen(TABLE)), 0);
		only_file(b, path);
		snprintf(other, sizeof(other), "%s-2", path);
		fd = open(path, O_RDWR | O_CLOEXEC);
		assert_true(fd >= 0);
		switch (way) {
		case 0:
			assert_int_equal(ftruncate(fd, CACHE_TABLE_AT + 3), 0);
			break;
		case 1:
			assert_int_equal(ftruncate(fd, 20), 0);
			break;
		case 2:
			assert_int_equal(fchmod(fd, 0644), 0);
			break;
		case 3:
			assert_int_equal(link(path, other), 0);
			break;
		case 4:
			assert_int_equal(rename(path, other), 0);
			assert_int_equal(symlink(other, path), 0);
			break;
		default:
			assert_int_equal(pwrite(fd, "x", 1, offsetof(struct cache_header, key)), 1);
			break;
		}
		close(fd);
		assert_int_equal(cache_find(b->cache, &key), -ENOENT);
		assert_int_equal(access(path, F_OK), -1);
		assert_string_not_equal(cache_damaged(b->cache), "");
		if (way == 0)
			strcpy(told, cache_damaged(b->cache));
		assert_string_equal(cache_damaged(b->cache), told);
		unlink(other);
	}
	assert_int_equal(keep(b, &key, TABLE, strlen(TABLE)), 0);
	assert_kept(b, &key, TABLE);
}

static void a_changed_table_is_refused(void **state)
{
	struct bed *b = *state;
	struct cache_key key = key_of(b, 1);
	char path[512] = "";
	struct reason why;
	size_t size;
	void *bytes;
	int fd;

	assert_int_equal(keep(b, &key, TABLE, strlen(TABLE)), 0);
	only_file(b, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "x", 1, CACHE_TABLE_AT + 2), 1);
	close(fd);
	fd = cache_find(b->cache, &key);
	assert_true(fd >= 0);
	assert_int_equal(cache_copy_in(fd, 1 << 20, &bytes, &size, &why), -EBADMSG);
	/* Nor is what is too large. */
	assert_int_equal(cache_copy_in(fd, 3, &bytes, &size, &why), -EBADMSG);
	close(fd);
}

static void what_was_not_used_goes_first(void **state)
{
	struct bed *b = *state;
	char table[10000] = { 0 };
	struct cache_use use;
	struct cache_key key;
	int fd;

	for (uint64_t i = 1; i <= 30; i++) {
		key = key_of(b, i);
		assert_int_equal(keep(b, &key, table, sizeof(table)), 0);
		assert_int_equal(cache_measure(b->cache, &use), 0);
		assert_true(use.bytes <= small.bytes);
		assert_true(use.files <= small.files);
		/* The first was used long ago, then again. */
		fd = cache_find(b->cache, &key);
		assert_true(fd >= 0);
		assert_int_equal(
			futimens(fd, (struct timespec[2]){ { (time_t)i, 0 }, { (time_t)i, 0 } }),
			0);
		close(fd);
		key = key_of(b, 1);
		fd = cache_find(b->cache, &key);
		assert_true(fd >= 0);
		close(fd);
	}
	key = key_of(b, 2);
	assert_int_equal(cache_find(b->cache, &key), -ENOENT);
	key = key_of(b, 29);
	fd = cache_find(b->cache, &key);
	assert_true(fd >= 0);
	close(fd);
}

static void too_large_is_not_kept(void **state)
{
	struct bed *b = *state;
	struct cache_key key = key_of(b, 1);

	assert_int_equal(cache_begin(b->cache, &key, small.bytes / 2), -EFBIG);
	assert_string_equal(cache_why(b->cache), "");
	assert_int_equal(keep(b, &key, TABLE, strlen(TABLE)), 0);
}

/* Half a file is never found, and does not stay. */
static void what_is_begun_is_not_there(void **state)
{
	struct bed *b = *state;
	struct cache_key key = key_of(b, 1);
	struct cache_use use;
	int fd = cache_begin(b->cache, &key, 100);

	assert_true(fd >= 0);
	assert_int_equal(cache_find(b->cache, &key), -ENOENT);
	/* Shorter than it was said to be. */
	assert_int_equal(cache_commit(b->cache), -EBADMSG);
	close(fd);
	fd = cache_begin(b->cache, &key, 100);
	assert_true(fd >= 0);
	cache_abort(b->cache);
	close(fd);
	assert_int_equal(cache_commit(b->cache), -ENOENT);
	assert_int_equal(cache_measure(b->cache, &use), 0);
	assert_int_equal(use.files, 0);
}

static void a_directory_that_goes_stops_it(void **state)
{
	struct bed *b = *state;
	struct cache_key key = key_of(b, 1);

	assert_int_equal(rmdir(b->inner), 0);
	assert_int_equal(cache_find(b->cache, &key), -ENOENT);
	assert_true(cache_begin(b->cache, &key, 10) < 0);
	assert_non_null(strstr(cache_why(b->cache), "cannot be kept"));
	assert_int_equal(cache_begin(b->cache, &key, 10), -ENOENT);
	assert_int_equal(cache_find(b->cache, &key), -ENOENT);
}

static void refuse(const char *path, int err)
{
	struct reason why = { 0 };
	struct cache *c;

	assert_int_equal(cache_open(&c, path, &small, &why), err);
	assert_string_not_equal(why.text, "");
}

static void directories_of_others_are_refused(void **state)
{
	struct bed *b = *state;
	char path[128], above[160], way[200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/others", b->directory);
	snprintf(above, sizeof(above), "%s/below", path);
	snprintf(way, sizeof(way), "%s/more", above);
	refuse("relative", -EINVAL);
	/* Anybody may put another directory in its place. */
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chmod(path, 0777), 0);
	refuse(above, -EPERM);
	assert_int_equal(access(above, F_OK), -1);
	refuse(way, -EPERM);
	/* Sticky: nobody but the owner may. */
	assert_int_equal(chmod(path, 01777), 0);
	assert_int_equal(mkdir(above, 0755), 0);
	cache_free(b->cache);
	assert_int_equal(cache_open(&b->cache, above, &small, NULL), 0);
	assert_int_equal(stat(above, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	/* By a link it is the way behind the link that counts. */
	assert_int_equal(chmod(path, 0777), 0);
	snprintf(way, sizeof(way), "%s/link", b->directory);
	assert_int_equal(symlink(above, way), 0);
	refuse(way, -EPERM);
	if (geteuid() == 0) {
		assert_int_equal(chmod(path, 0755), 0);
		assert_int_equal(chown(above, 65534, 65534), 0);
		refuse(above, -EPERM);
		assert_int_equal(chown(above, 0, 0), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		refuse(above, -EPERM);
	}
	snprintf(way, sizeof(way), "%s/file", b->directory);
	assert_int_equal(close(open(way, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	refuse(way, -ENOTDIR);
}

static void the_usual_place(void **state)
{
	char path[64];

	(void)state;
	setenv("HOME", "/h", 1);
	setenv("XDG_CACHE_HOME", "/x", 1);
	assert_int_equal(cache_directory(path, sizeof(path), NULL), 0);
	assert_string_equal(path, "/x/ptop");
	setenv("XDG_CACHE_HOME", "not/from/the/root", 1);
	assert_int_equal(cache_directory(path, sizeof(path), NULL), 0);
	assert_string_equal(path, "/h/.cache/ptop");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_int_equal(cache_directory(path, sizeof(path), NULL), -ENOENT);
	setenv("HOME", "/a/path/that/is/far/too/long/for/the/room/that/is/given/it/there", 1);
	assert_int_equal(cache_directory(path, sizeof(path), NULL), -ENAMETOOLONG);
}

int main(void)
{
#define WITH_BED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_BED(what_is_kept_is_found),
		WITH_BED(a_key_tells_all_files),
		cmocka_unit_test(files_are_judged),
		cmocka_unit_test_setup_teardown(overlays_of_others_are_not_believed, set_up,
						tear_down),
		WITH_BED(what_is_not_right_is_removed),
		WITH_BED(a_changed_table_is_refused),
		WITH_BED(what_was_not_used_goes_first),
		WITH_BED(too_large_is_not_kept),
		WITH_BED(what_is_begun_is_not_there),
		WITH_BED(a_directory_that_goes_stops_it),
		WITH_BED(directories_of_others_are_refused),
		cmocka_unit_test(the_usual_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
