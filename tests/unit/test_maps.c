/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings against a model that paints bytes one by one; /proc/PID/maps and status from bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "space/maps.h"
#include "space/procfs.h"

enum { CELLS = 200, OPERATIONS = 100000, SETS = 4 };

struct model {
	struct {
		uint32_t image; /* 0: none */
		uint64_t offset;
	} at[CELLS];
};

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void check(const struct maps *m, const struct model *model)
{
	for (uint64_t i = 0; i < CELLS; i++) {
		const struct mapping *at = maps_find(m, i);

		assert_int_equal(at ? at->image : 0, model->at[i].image);
		if (at)
			assert_int_equal(i - at->start + at->pgoff, model->at[i].offset);
	}
	for (uint32_t i = 0; m && i < m->nr; i++) {
		assert_true(m->at[i].start < m->at[i].end);
		assert_true(!i || m->at[i - 1].end <= m->at[i].start);
	}
}

static bool model_has(const struct model *model, uint32_t image)
{
	for (int i = 0; i < CELLS; i++) {
		if (model->at[i].image == image)
			return true;
	}
	return false;
}

static void random_operations(void **state)
{
	struct maps *sets[SETS] = { 0 };
	static struct model models[SETS];
	uint64_t seed = 88172645463325252ull;

	(void)state;
	memset(models, 0, sizeof(models));
	for (int n = 0; n < OPERATIONS; n++) {
		unsigned k = draw(&seed) % SETS, from = draw(&seed) % SETS;
		unsigned what = draw(&seed) % 20;
		struct mapping add;
		bool join, fresh, had;

		if (what == 0) { /* fork */
			struct maps *shared = maps_share(sets[from]);

			maps_drop(sets[k]);
			sets[k] = shared;
			models[k] = models[from];
		} else if (what == 1 && n % 7 == 0) { /* exec */
			maps_drop(sets[k]);
			sets[k] = NULL;
			memset(&models[k], 0, sizeof(models[k]));
		} else {
			add.start = draw(&seed) % (CELLS - 1);
			add.end = add.start + 1 + draw(&seed) % 30;
			if (add.end > CELLS)
				add.end = CELLS;
			add.image = 3 + draw(&seed) % 5;
			join = add.image == 3;
			add.pgoff = join ? add.start : draw(&seed) % 64;
			had = model_has(&models[k], add.image);
			assert_int_equal(maps_add(&sets[k], &add, join, &fresh), 0);
			assert_int_equal(fresh, !had);
			for (uint64_t i = add.start; i < add.end; i++) {
				models[k].at[i].image = add.image;
				models[k].at[i].offset = i - add.start + add.pgoff;
			}
		}
		if (n % 16 == 0) {
			for (unsigned i = 0; i < SETS; i++)
				check(sets[i], &models[i]);
		}
	}
	for (unsigned i = 0; i < SETS; i++)
		maps_drop(sets[i]);
}

static void joined(void **state)
{
	struct maps *m = NULL;
	bool fresh;

	(void)state;
	/* a JIT compiler that maps page after page is one mapping, whatever the order */
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t page = (i * 7) % 1000;
		struct mapping add = { page * 4096, (page + 1) * 4096, page * 4096, 3 };

		assert_int_equal(maps_add(&m, &add, true, &fresh), 0);
	}
	assert_int_equal(m->nr, 1);
	assert_int_equal(m->at[0].end, 1000 * 4096);
	maps_drop(m);
}

static const char maps_text[] =
	"55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1835026                    /usr/bin/my prog\n"
	"55d0c0001000-55d0c0003000 r-xp 00001000 fe:01 1835026                    /usr/bin/my prog\n"
	"not a line\n"
	"7f00-7e00 r-xp 00000000 00:00 0 \n"
	"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
	"7f0000002000-7f0000003000 r-xp 00000000 103:0a 9   /tmp/a\\012b (deleted)\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]";

static void maps_lines(void **state)
{
	struct procfs_map m;
	size_t pos = 0, size = sizeof(maps_text) - 1;
	char path[32];

	(void)state;
	assert_true(procfs_next_map(maps_text, size, &pos, &m));
	assert_false(m.exec);
	assert_int_equal(m.path_size, 16);
	assert_memory_equal(m.path, "/usr/bin/my prog", 16);
	assert_true(procfs_next_map(maps_text, size, &pos, &m));
	assert_true(m.exec);
	assert_int_equal(m.start, 0x55d0c0001000);
	assert_int_equal(m.end, 0x55d0c0003000);
	assert_int_equal(m.pgoff, 0x1000);
	assert_int_equal(m.maj, 0xfe);
	assert_int_equal(m.min, 1);
	assert_int_equal(m.ino, 1835026);
	assert_true(procfs_next_map(maps_text, size, &pos, &m));
	assert_int_equal(m.start, 0x7f0000000000);
	assert_int_equal(m.path_size, 0);
	assert_true(procfs_next_map(maps_text, size, &pos, &m));
	assert_int_equal(m.maj, 0x103);
	assert_int_equal(procfs_unescape(path, sizeof(path), m.path, m.path_size), 18);
	assert_string_equal(path, "/tmp/a\nb (deleted)");
	assert_int_equal(procfs_unescape(path, 4, m.path, m.path_size), 3);
	assert_true(procfs_next_map(maps_text, size, &pos, &m));
	assert_memory_equal(m.path, "[vsyscall]", 10);
	assert_false(procfs_next_map(maps_text, size, &pos, &m));
}

static void maps_cut_anywhere(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(maps_text); size++) {
		char *copy = test_malloc(size + 1);
		struct procfs_map m;
		size_t pos = 0;

		memcpy(copy, maps_text, size);
		while (procfs_next_map(copy, size, &pos, &m))
			assert_true(m.start < m.end && pos <= size);
		test_free(copy);
	}
}

static void status(void **state)
{
	static const char text[] = "Name:\tcat\nTgid:\t77\nPid:\t77\nUid:\t1000\t1001\t0\t0\n"
				   "NStgid:\t77\t5\t1\nNSpid:\t77\t5\t1\nThreads:\t12\n";
	struct procfs_status st;

	(void)state;
	assert_int_equal(procfs_status(text, sizeof(text) - 1, &st), 0);
	assert_int_equal(st.tgid, 77);
	assert_int_equal(st.ns_pid, 1);
	assert_int_equal(st.uid, 1000);
	assert_int_equal(st.euid, 1001);
	assert_int_equal(st.threads, 12);
	assert_int_equal(procfs_status(text, 20, &st), -EINVAL);
	assert_int_equal(procfs_status("", 0, &st), -EINVAL);
	assert_int_equal(procfs_status("Tgid:\t9\nUid:\t1\t2\n", 18, &st), 0);
	assert_int_equal(st.ns_pid, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(joined),
		cmocka_unit_test(maps_lines),
		cmocka_unit_test(maps_cut_anywhere),
		cmocka_unit_test(status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
