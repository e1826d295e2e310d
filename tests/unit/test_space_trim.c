/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forgetting: what samples need stays, the rest goes, and memory stays flat under churn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "space/space.h"
#include "unit/space_records.h"

#define SECOND 1000000000ull

static void trimmed(struct space *s, uint64_t now_ns, uint64_t fold_ns, const uint8_t *used,
		    uint32_t *map)
{
	assert_int_equal(space_trim(s, now_ns, fold_ns, used, map), 0);
}

static uint32_t short_life(struct space *s, uint32_t pid, const char *comm, uint64_t time_ns)
{
	uint32_t task;

	do_fork(s, pid, 1, pid, 1, time_ns);
	do_comm(s, pid, pid, comm, true, time_ns + 1);
	do_mmap(s, pid, 0x400000, 0x1000, 0, 7, "/bin/true", time_ns + 2);
	task = space_task(s, (pid_t)pid, (pid_t)pid);
	do_exit(s, pid, pid, time_ns + 3);
	return task;
}

static void unused_go(void **state)
{
	struct space *s = space_new();
	uint8_t used[8] = { 0 };
	uint32_t map[8], keep, gone;
	struct task_info info;

	(void)state;
	do_comm(s, 1, 1, "init", true, 1);
	gone = short_life(s, 20, "gone", 10);
	keep = short_life(s, 21, "keep", 20);
	do_fork(s, 22, 1, 22, 1, 30); /* alive, never sampled */
	used[keep] = 1;
	trimmed(s, 40, SECOND, used, map);
	assert_int_equal(map[gone], UINT32_MAX);
	assert_int_not_equal(map[keep], UINT32_MAX);
	assert_true(space_task_info(s, map[keep], &info));
	assert_string_equal(info.comm, "keep");
	assert_int_equal(info.pid, 21);
	assert_false(info.folded);
	assert_int_equal(space_nr_tasks(s), 3);
	/* ids of the index moved with it */
	assert_int_equal(space_task(s, 21, 21), map[keep]);
	assert_true(space_task_info(s, space_task(s, 22, 22), &info));
	assert_string_equal(info.comm, "init");
	assert_int_equal(space_nr_tasks(s), 3);
	assert_true(space_resolve(s, 21, 0x400000).image >= IMAGE_FIRST);
	assert_int_equal(space_resolve(s, 20, 0x400000).image, IMAGE_UNKNOWN);
	space_free(s);
}

static void folding(void **state)
{
	struct space *s = space_new();
	uint8_t used[16];
	uint32_t map[16], a, b, c, fold;
	struct task_info info;

	(void)state;
	memset(used, 1, sizeof(used));
	do_comm(s, 1, 1, "init", true, 1);
	a = short_life(s, 20, "sh", 10);
	b = short_life(s, 21, "sh", 20);
	c = short_life(s, 22, "ls", 30);
	trimmed(s, SECOND, 10 * SECOND, used, map);
	assert_int_not_equal(map[a], map[b]);
	trimmed(s, 11 * SECOND, 10 * SECOND, used, map);
	assert_int_equal(map[a], map[b]);
	assert_int_not_equal(map[a], map[c]);
	fold = map[a];
	assert_true(space_task_info(s, fold, &info));
	assert_true(info.folded && info.dead);
	assert_string_equal(info.comm, "sh");
	assert_string_equal(info.process_comm, "sh");
	assert_int_equal(info.pid, -1);
	/* later ones join it, its process stays the same */
	a = short_life(s, 23, "sh", 12 * SECOND);
	trimmed(s, 30 * SECOND, 10 * SECOND, used, map);
	assert_int_equal(map[a], map[fold]);
	{
		uint32_t process = info.process;

		assert_true(space_task_info(s, map[fold], &info));
		assert_int_equal(info.process, process);
	}
	/* and it goes when no sample needs it */
	memset(used, 0, sizeof(used));
	trimmed(s, 31 * SECOND, 10 * SECOND, used, map);
	assert_int_equal(space_nr_tasks(s), 1);
	assert_int_equal(map[fold], UINT32_MAX);
	space_free(s);
}

static void threads_of_the_living(void **state)
{
	struct space *s = space_new();
	uint8_t used[8];
	uint32_t map[8];
	struct task_info info;

	(void)state;
	memset(used, 1, sizeof(used));
	do_comm(s, 5, 5, "server", true, 1);
	for (uint32_t tid = 6; tid < 9; tid++) {
		do_fork(s, 5, 5, tid, 5, 2);
		do_comm(s, 5, tid, "conn", false, 3);
		do_exit(s, 5, tid, 4);
	}
	trimmed(s, 20 * SECOND, 10 * SECOND, used, map);
	assert_int_equal(map[1], map[2]);
	assert_int_equal(map[1], map[3]);
	assert_int_not_equal(map[0], map[1]);
	assert_true(space_task_info(s, map[1], &info));
	assert_int_equal(info.pid, 5);
	assert_int_equal(info.tid, -1);
	assert_true(info.folded);
	assert_string_equal(info.process_comm, "server");
	/* the whole process later */
	do_exit(s, 5, 5, 21 * SECOND);
	trimmed(s, 40 * SECOND, 10 * SECOND, used, map);
	assert_int_equal(map[0], map[1]);
	assert_int_equal(space_nr_tasks(s), 1);
	space_free(s);
}

struct forgot {
	unsigned nr;
	uint32_t last;
};

static void forget(void *ctx, uint32_t image)
{
	struct forgot *f = ctx;

	f->nr++;
	f->last = image;
}

static void images(void **state)
{
	struct space *s = space_new();
	uint8_t used[8] = { 0 }, used_images[16] = { 0 };
	struct forgot forgot = { 0 };
	uint32_t map[8], sampled, never;

	(void)state;
	do_mmap(s, 5, 0x1000, 0x1000, 0, 11, "/never", 1);
	do_mmap(s, 5, 0x3000, 0x1000, 0, 12, "/sampled", 1);
	do_mmap(s, 6, 0x3000, 0x1000, 0, 13, "/mapped", 1);
	sampled = space_resolve(s, 5, 0x3000).image;
	never = IMAGE_FIRST;
	assert_string_equal(space_string(s, space_image(s, never)->path), "/never");
	do_exit(s, 5, 5, 2);
	trimmed(s, 3, 0, used, map); /* without the hook nothing goes */
	assert_non_null(space_image(s, never));
	space_on_forget(s, forget, &forgot);
	trimmed(s, 3, 0, used, map);
	assert_int_equal(forgot.nr, 1);
	assert_int_equal(forgot.last, never);
	assert_null(space_image(s, never));
	assert_non_null(space_image(s, sampled));
	used_images[sampled] = 1;
	assert_int_equal(space_trim_images(s, used_images), 0);
	used_images[sampled] = 0;
	assert_int_equal(space_trim_images(s, used_images), 1);
	assert_int_equal(forgot.last, sampled);
	assert_true(space_resolve(s, 6, 0x3000).image >= IMAGE_FIRST);
	/* ids come again, files are found again */
	do_mmap(s, 6, 0x5000, 0x1000, 0, 12, "/sampled", 4);
	assert_true(space_resolve(s, 6, 0x5000).image < space_nr_images(s));
	assert_int_equal(space_nr_images(s), IMAGE_FIRST + 3);
	space_free(s);
}

static void churn_is_flat(void **state)
{
	struct space *s = space_new();
	struct forgot forgot = { 0 };
	size_t early = 0;
	uint64_t now = SECOND;
	char comm[16], path[64];

	(void)state;
	space_on_forget(s, forget, &forgot);
	do_comm(s, 1, 1, "init", true, 1);
	do_mmap(s, 1, 0x400000, 0x10000, 0, 5, "/sbin/init", 1);
	for (uint32_t i = 0; i < 40000; i++, now += SECOND / 180) {
		uint32_t pid = 100 + i % 30000;

		snprintf(comm, sizeof(comm), "job-%u", i);
		snprintf(path, sizeof(path), "/tmp/build-%u/a.out", i);
		do_fork(s, pid, 1, pid, 1, now);
		do_comm(s, pid, pid, comm, true, now + 1);
		do_mmap(s, pid, 0x400000, 0x1000, 0, 1000 + i, path, now + 2);
		do_mmap(s, pid, 0x700000, 0x1000, 0, 0, "//anon", now + 2);
		space_task(s, (pid_t)pid, (pid_t)pid);
		do_exit(s, pid, pid, now + 3);
		if (i % 200 == 199) {
			size_t nr = space_nr_tasks(s);
			uint8_t *used = calloc(nr, 1);
			uint32_t *map = calloc(nr, sizeof(*map));

			used[nr - 1] = 1;
			trimmed(s, now + 4, SECOND, used, map);
			free(used);
			free(map);
		}
		if (i == 4000)
			early = space_bytes(s);
	}
	assert_true(space_nr_tasks(s) < 300);
	assert_true(space_nr_processes(s) < 500);
	assert_true(space_nr_images(s) < 1000);
	assert_true(space_bytes(s) < early + early / 4);
	assert_int_equal(space_failed(s), 0);
	space_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unused_go),
		cmocka_unit_test(folding),
		cmocka_unit_test(threads_of_the_living),
		cmocka_unit_test(images),
		cmocka_unit_test(churn_is_flat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
