// SPDX-License-Identifier: GPL-2.0-or-later
/* Files made beside their name and given it: what was there, what must not be, what is left. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "output_file.h"

static char folder[64];

static const char *in(const char *name)
{
	static char path[2][128];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void check(const char *path, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(got, sizeof(got), f));
	fclose(f);
	assert_string_equal(got, text);
}

static int count_files(void)
{
	DIR *d = opendir(folder);
	int nr = 0;

	assert_non_null(d);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr - 2;
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_output_file.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "file", "file.old", "link", "aim" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlink(in(names[i]));
	(void)rmdir(in("file"));
	(void)rmdir(in("file.old"));
	return rmdir(folder);
}

static void make(const char *text)
{
	struct output_file f;
	struct reason why;
	int fd;

	assert_int_equal(output_begin(&f, in("file"), &why), 0);
	fd = output_take(&f);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(output_publish(&f, in("file"), &why), 0);
	output_abandon(&f); /* too late to do anything */
	close(fd);
}

static void the_new_one_gets_the_name(void **state)
{
	struct stat st;

	(void)state;
	make("one");
	check(in("file"), "one");
	assert_int_equal(stat(in("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	make("two");
	check(in("file"), "two");
	check(in("file.old"), "one");
	make("three");
	check(in("file.old"), "two");
	assert_int_equal(count_files(), 2);
}

static void the_name_is_free_until_then(void **state)
{
	struct output_file f;
	struct reason why;

	(void)state;
	put(in("file"), "mine");
	assert_int_equal(output_begin(&f, in("file"), &why), 0);
	check(in("file"), "mine");
	assert_int_equal(count_files(), 2);
	output_abandon(&f);
	check(in("file"), "mine");
	assert_int_equal(count_files(), 1);
}

static void refuse(const char *path, int err, const char *word)
{
	struct output_file f;
	struct reason why = { "" };
	int before = count_files();

	assert_int_equal(output_begin(&f, path, &why), err);
	assert_non_null(strstr(why.text, word));
	assert_int_equal(count_files(), before);
}

static void links_and_what_is_no_file_are_left_alone(void **state)
{
	(void)state;
	put(in("aim"), "not this");
	assert_int_equal(symlink("aim", in("link")), 0);
	refuse(in("link"), -EEXIST, "symbolic link");
	check(in("aim"), "not this");
	assert_int_equal(mkdir(in("file"), 0700), 0);
	refuse(in("file"), -EEXIST, "no plain file");
	refuse(in("file/"), -EISDIR, "name a file");
	refuse(in("nowhere/file"), -ENOENT, "folder");
	refuse("", -EISDIR, "name a file");
}

/* A link put there in the meantime is not followed either, and nothing is left behind. */
static void what_comes_in_between_is_left_alone(void **state)
{
	struct output_file f;
	struct reason why;

	(void)state;
	put(in("aim"), "not this");
	assert_int_equal(output_begin(&f, in("file"), &why), 0);
	assert_int_equal(symlink("aim", in("file")), 0);
	assert_int_equal(output_publish(&f, in("file"), &why), -EEXIST);
	check(in("aim"), "not this");
	assert_int_equal(count_files(), 2);
}

static void the_old_one_stays_where_it_cannot_be_moved(void **state)
{
	struct output_file f;
	struct reason why;

	(void)state;
	put(in("file"), "mine");
	assert_int_equal(mkdir(in("file.old"), 0700), 0);
	assert_int_equal(output_begin(&f, in("file"), &why), 0);
	assert_true(output_publish(&f, in("file"), &why) < 0);
	assert_non_null(strstr(why.text, "file.old"));
	check(in("file"), "mine");
	assert_int_equal(count_files(), 2);
}

static void a_new_file_takes_nobodys_place(void **state)
{
	int fd;

	(void)state;
	fd = output_new(in("file"));
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(output_new(in("file")), -EEXIST);
	assert_int_equal(symlink("aim", in("link")), 0);
	assert_int_equal(output_new(in("link")), -EEXIST);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_new_one_gets_the_name),
		TEST(the_name_is_free_until_then),
		TEST(links_and_what_is_no_file_are_left_alone),
		TEST(what_comes_in_between_is_left_alone),
		TEST(the_old_one_stays_where_it_cannot_be_moved),
		TEST(a_new_file_takes_nobodys_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
