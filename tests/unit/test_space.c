/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What records do to processes, threads and images. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "space/space.h"
#include "unit/space_records.h"

static int setup(void **state)
{
	*state = space_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	space_free(*state);
	return 0;
}

static const char *comm_of(struct space *s, pid_t pid, pid_t tid)
{
	struct task_info info;

	assert_true(space_task_info(s, space_task(s, pid, tid), &info));
	assert_int_equal(info.tid, tid);
	return info.comm;
}

static bool is_dead(struct space *s, pid_t pid, pid_t tid)
{
	struct task_info info;

	assert_true(space_task_info(s, space_task(s, pid, tid), &info));
	return info.dead;
}

static void assert_place(struct space *s, pid_t pid, uint64_t addr, uint32_t image, uint64_t offset)
{
	struct place p = space_resolve(s, pid, addr);

	assert_int_equal(p.image, image);
	assert_int_equal(p.offset, offset);
}

/* The number that names a process's mappings moves with them, and with them alone. */
static void generation_names_mappings(void **state)
{
	struct space *s = *state;
	uint32_t first, second;

	assert_int_equal(space_generation(s, 10), 0);
	do_comm(s, 10, 10, "sh", true, 1);
	assert_int_equal(space_generation(s, 10), 0);
	do_mmap(s, 10, 0x400000, 0x1000, 0, 7, "/bin/sh", 2);
	first = space_generation(s, 10);
	assert_int_not_equal(first, 0);
	do_mmap(s, 10, 0x400000, 0x1000, 0, 7, "/bin/sh", 3); /* nothing new */
	assert_int_equal(space_generation(s, 10), first);
	do_fork(s, 11, 10, 11, 10, 4);
	assert_int_equal(space_generation(s, 11), first);
	do_mmap(s, 11, 0x500000, 0x1000, 0, 8, "/lib/x.so", 5);
	second = space_generation(s, 11);
	assert_int_not_equal(second, first);
	assert_int_equal(space_generation(s, 10), first);
	do_mmap(s, 10, 0x500000, 0x1000, 0, 8, "/lib/x.so", 6);
	assert_int_not_equal(space_generation(s, 10), first);
	assert_int_not_equal(space_generation(s, 10), second);
	do_comm(s, 10, 10, "ls", true, 7);
	assert_int_equal(space_generation(s, 10), 0);
}

static void fork_inherits(void **state)
{
	struct space *s = *state;
	uint32_t image;

	do_comm(s, 10, 10, "sh", true, 1);
	do_mmap(s, 10, 0x400000, 0x1000, 0x2000, 7, "/bin/sh", 2);
	image = space_resolve(s, 10, 0x400000).image;
	assert_true(image >= IMAGE_FIRST);
	do_fork(s, 11, 10, 11, 10, 3);
	assert_place(s, 11, 0x400123, image, 0x2123);
	assert_string_equal(comm_of(s, 11, 11), "sh");
	/* the child's changes are its own */
	do_mmap(s, 11, 0x500000, 0x1000, 0, 8, "/lib/x.so", 4);
	assert_place(s, 10, 0x500000, IMAGE_UNKNOWN, 0x500000);
	do_mmap(s, 10, 0x600000, 0x1000, 0, 8, "/lib/x.so", 5);
	assert_place(s, 11, 0x600000, IMAGE_UNKNOWN, 0x600000);
}

static void exec_replaces(void **state)
{
	struct space *s = *state;
	struct task_info before, after;

	do_comm(s, 10, 10, "sh", true, 1);
	do_mmap(s, 10, 0x400000, 0x1000, 0, 7, "/bin/sh", 2);
	do_fork(s, 11, 10, 11, 10, 3);
	assert_true(space_task_info(s, space_task(s, 11, 11), &before));
	do_comm(s, 11, 11, "true", true, 4);
	assert_place(s, 11, 0x400000, IMAGE_UNKNOWN, 0x400000);
	assert_true(space_resolve(s, 10, 0x400000).image >= IMAGE_FIRST);
	assert_true(space_task_info(s, space_task(s, 11, 11), &after));
	assert_string_equal(after.comm, "true");
	assert_string_equal(after.process_comm, "true");
	assert_int_equal(before.process, after.process);
	/* a new name alone drops nothing */
	do_mmap(s, 11, 0x400000, 0x1000, 0, 9, "/bin/true", 5);
	do_comm(s, 11, 11, "renamed", false, 6);
	assert_true(space_resolve(s, 11, 0x400000).image >= IMAGE_FIRST);
}

static void threads(void **state)
{
	struct space *s = *state;
	struct task_info info;

	do_comm(s, 10, 10, "main", true, 1);
	do_fork(s, 10, 10, 12, 10, 2);
	assert_string_equal(comm_of(s, 10, 12), "main");
	do_comm(s, 10, 12, "worker", false, 3);
	assert_string_equal(comm_of(s, 10, 12), "worker");
	assert_string_equal(comm_of(s, 10, 10), "main");
	assert_true(space_task_info(s, space_task(s, 10, 12), &info));
	assert_string_equal(info.process_comm, "main");
	/* the process lives as long as a thread does */
	do_exit(s, 10, 10, 4);
	assert_false(is_dead(s, 10, 12));
	do_exit(s, 10, 12, 5);
	assert_true(is_dead(s, 10, 12));
	assert_true(is_dead(s, 10, 10));
}

/* An exec that gains rights takes a process off its events, which looks like its end. */
static void setuid_exec(void **state)
{
	struct space *s = *state;
	uint32_t task;

	do_fork(s, 20, 10, 20, 10, 1000);
	do_comm(s, 20, 20, "sudo", true, 2000);
	task = space_task(s, 20, 20);
	do_exit(s, 20, 20, 2010);
	do_mmap(s, 20, 0x400000, 0x1000, 0, 7, "/bin/sudo", 2030);
	assert_int_equal(space_task(s, 20, 20), task);
	assert_false(is_dead(s, 20, 20));
	assert_string_equal(comm_of(s, 20, 20), "sudo");
	assert_true(space_resolve(s, 20, 0x400000).image >= IMAGE_FIRST);
	do_exit(s, 20, 20, 9000);
	assert_true(is_dead(s, 20, 20));
	/* much later it is another one, whose FORK was lost */
	do_mmap(s, 20, 0x500000, 0x1000, 0, 8, "/bin/other", 3000000000);
	assert_int_not_equal(space_task(s, 20, 20), task);
}

static void pid_comes_again(void **state)
{
	struct space *s = *state;
	uint32_t first, second;
	struct task_info info;

	do_fork(s, 20, 10, 20, 10, 1);
	do_comm(s, 20, 20, "old", true, 2);
	do_mmap(s, 20, 0x400000, 0x1000, 0, 7, "/bin/old", 3);
	first = space_task(s, 20, 20);
	do_exit(s, 20, 20, 4);
	assert_int_equal(space_task(s, 20, 20), first); /* late samples are still its own */
	assert_true(space_resolve(s, 20, 0x400000).image >= IMAGE_FIRST);
	do_fork(s, 20, 10, 20, 10, 5);
	do_comm(s, 20, 20, "new", true, 6);
	second = space_task(s, 20, 20);
	assert_int_not_equal(first, second);
	assert_place(s, 20, 0x400000, IMAGE_UNKNOWN, 0x400000);
	assert_true(space_task_info(s, first, &info));
	assert_string_equal(info.comm, "old");
	assert_true(info.dead);
	assert_true(space_task_info(s, second, &info));
	assert_string_equal(info.comm, "new");
	assert_false(info.dead);
	/* also where the EXIT was lost */
	do_fork(s, 20, 10, 20, 10, 7);
	assert_int_not_equal(space_task(s, 20, 20), second);
	/* and the same record twice is one process */
	first = space_task(s, 20, 20);
	do_fork(s, 20, 10, 20, 10, 7);
	assert_int_equal(space_task(s, 20, 20), first);
}

static void images_have_one_id(void **state)
{
	struct space *s = *state;
	const struct image_key *key;
	uint32_t libc;

	do_mmap(s, 10, 0x10000, 0x1000, 0, 7, "/lib/libc.so.6", 1);
	do_mmap(s, 11, 0x90000, 0x1000, 0x5000, 7, "/lib/libc.so.6 (deleted)", 2);
	do_mmap(s, 12, 0x10000, 0x1000, 0, 8, "/lib/libc.so.6", 3); /* replaced: another inode */
	libc = space_resolve(s, 10, 0x10000).image;
	assert_place(s, 11, 0x90010, libc, 0x5010);
	assert_int_not_equal(space_resolve(s, 12, 0x10000).image, libc);
	key = space_image(s, libc);
	assert_non_null(key);
	assert_int_equal(key->kind, IMAGE_FILE);
	assert_int_equal(key->ino, 7);
	assert_string_equal(space_string(s, key->path), "/lib/libc.so.6");
	assert_null(space_image(s, IMAGE_KERNEL));
	assert_null(space_image(s, (uint32_t)space_nr_images(s)));
}

static void inode_comes_again(void **state)
{
	struct space *s = *state;
	struct record r = record_of(RECORD_MMAP2, 1);
	uint32_t first;

	do_mmap(s, 10, 0x10000, 0x1000, 0, 7, "/tmp/a", 1); /* generation 1 */
	first = space_resolve(s, 10, 0x10000).image;
	r.mmap = (struct record_mmap){ .pid = 10,
				       .tid = 10,
				       .start = 0x20000,
				       .len = 0x1000,
				       .prot = 4,
				       .has_inode = true,
				       .maj = 8,
				       .min = 1,
				       .ino = 7,
				       .ino_generation = 2,
				       .filename = bytes_of("/tmp/a") };
	space_apply(s, &r);
	assert_int_not_equal(space_resolve(s, 10, 0x20000).image, first);
	r.mmap.start = 0x30000; /* a scan does not know the generation: the path decides */
	r.mmap.ino_generation = 0;
	space_apply(s, &r);
	assert_true(space_resolve(s, 10, 0x30000).image >= IMAGE_FIRST);
	r.mmap.start = 0x40000;
	r.mmap.filename = bytes_of("/tmp/other");
	space_apply(s, &r);
	assert_int_not_equal(space_resolve(s, 10, 0x40000).image,
			     space_resolve(s, 10, 0x30000).image);
}

static void build_ids(void **state)
{
	struct space *s = *state;
	struct record r = record_of(RECORD_MMAP2, 1);
	uint32_t image;

	r.mmap = (struct record_mmap){ .pid = 10,
				       .tid = 10,
				       .start = 0x20000,
				       .len = 0x1000,
				       .prot = 4,
				       .has_build_id = true,
				       .build_id_size = 20,
				       .build_id = { 1, 2, 3 },
				       .filename = bytes_of("/a") };
	space_apply(s, &r);
	image = space_resolve(s, 10, 0x20000).image;
	assert_int_equal(space_image(s, image)->build_id_size, 20);
	r.mmap.start = 0x30000;
	r.mmap.filename = bytes_of("/b");
	space_apply(s, &r);
	assert_place(s, 10, 0x30000, image, 0);
	r.mmap.start = 0x40000;
	r.mmap.build_id[19] = 9;
	space_apply(s, &r);
	assert_int_not_equal(space_resolve(s, 10, 0x40000).image, image);
}

static void special_names(void **state)
{
	struct space *s = *state;
	uint32_t vdso, jit, memfd;

	do_mmap(s, 10, 0x7ffff7fc5000, 0x2000, 0, 0, "[vdso]", 1);
	do_mmap(s, 11, 0x7ffff7aa5000, 0x2000, 0, 0, "[vdso]", 1);
	vdso = space_resolve(s, 10, 0x7ffff7fc5000).image;
	assert_int_equal(space_image(s, vdso)->kind, IMAGE_VDSO);
	assert_place(s, 11, 0x7ffff7aa5010, vdso, 0x10);
	do_mmap(s, 10, 0x10000, 0x1000, 0x10, 0, "//anon", 2);
	do_mmap(s, 10, 0x30000, 0x1000, 0, 0, "[heap]", 2);
	do_mmap(s, 11, 0x10000, 0x1000, 0, 0, "//anon", 2);
	jit = space_resolve(s, 10, 0x10000).image;
	assert_int_equal(space_image(s, jit)->kind, IMAGE_ANON);
	assert_int_equal(space_image(s, jit)->pid, 10);
	assert_place(s, 10, 0x10123, jit, 0x10123);
	assert_place(s, 10, 0x30123, jit, 0x30123);
	assert_int_not_equal(space_resolve(s, 11, 0x10000).image, jit);
	/* after exec its code is another program's */
	do_comm(s, 10, 10, "x", true, 3);
	do_mmap(s, 10, 0x10000, 0x1000, 0, 0, "//anon", 4);
	assert_int_not_equal(space_resolve(s, 10, 0x10000).image, jit);
	do_mmap(s, 10, 0x50000, 0x1000, 0x3000, 77, "/memfd:jit (deleted)", 5);
	memfd = space_resolve(s, 10, 0x50000).image;
	assert_int_equal(space_image(s, memfd)->kind, IMAGE_FILE);
	assert_place(s, 10, 0x50010, memfd, 0x3010);
}

static void ignored_maps(void **state)
{
	struct space *s = *state;
	struct record r = record_of(RECORD_MMAP2, 1);

	r.mmap = (struct record_mmap){ .pid = 10,
				       .tid = 10,
				       .start = 0x20000,
				       .len = 0x1000,
				       .prot = 3,
				       .filename = bytes_of("/data") };
	space_apply(s, &r);
	r.mmap.prot = 4;
	r.mmap.is_data = true;
	space_apply(s, &r);
	r.mmap.is_data = false;
	r.mmap.len = 0;
	space_apply(s, &r);
	r.mmap.len = UINT64_MAX;
	space_apply(s, &r);
	r.mmap.len = 0x1000;
	r.cpumode = CPUMODE_KERNEL;
	space_apply(s, &r);
	assert_place(s, 10, 0x20000, IMAGE_UNKNOWN, 0x20000);
	assert_int_equal(space_nr_images(s), IMAGE_FIRST);
	r = record_of(99, 1);
	space_apply(s, &r);
	assert_int_equal(space_failed(s), 0);
}

static void unknown_tasks(void **state)
{
	struct space *s = *state;

	assert_int_equal(space_task(s, 500, 501), 0);
	assert_string_equal(comm_of(s, 500, 501), "?[501]");
	do_comm(s, 500, 501, "told", false, 1);
	assert_string_equal(comm_of(s, 500, 501), "told");
	assert_string_equal(comm_of(s, 0, 0), "swapper");
	assert_string_equal(comm_of(s, -1, -1), "[exiting]");
	assert_int_equal(space_nr_tasks(s), 3);
	assert_false(space_task_info(s, 3, &(struct task_info){ 0 }));
}

struct seen {
	unsigned nr;
	uint32_t image;
	pid_t pid;
	uint64_t start, end;
};

static void see(void *ctx, uint32_t image, pid_t pid, uint64_t start, uint64_t end)
{
	struct seen *seen = ctx;

	*seen = (struct seen){ seen->nr + 1, image, pid, start, end };
}

static void hook_and_users(void **state)
{
	struct space *s = *state;
	struct seen seen = { 0 };
	struct mapping m;
	uint64_t addr = 0;
	uint32_t image;

	space_on_image(s, see, &seen);
	do_mmap(s, 10, 0x400000, 0x1000, 0x2000, 7, "/bin/sh", 2);
	assert_int_equal(seen.nr, 1);
	assert_int_equal(seen.pid, 10);
	assert_int_equal(seen.start, 0x400000);
	assert_int_equal(seen.end, 0x401000);
	do_mmap(s, 10, 0x500000, 0x1000, 0x4000, 7, "/bin/sh", 3); /* the same file again */
	assert_int_equal(seen.nr, 1);
	do_mmap(s, 11, 0x400000, 0x1000, 0x2000, 7, "/bin/sh", 4);
	assert_int_equal(seen.nr, 2);
	do_mmap(s, 11, 0x600000, 0x1000, 0, 0, "//anon", 4);
	assert_int_equal(seen.nr, 2);
	image = space_resolve(s, 10, 0x400000).image;
	assert_int_equal(seen.image, image);
	assert_int_equal(space_image_user(s, image, &m), 11);
	assert_int_equal(m.start, 0x400000);
	assert_int_equal(space_image_address(s, image, 0x4010, &addr), 10);
	assert_int_equal(addr, 0x500010);
	assert_true(space_address(s, 11, image, 0x2010, &addr));
	assert_int_equal(addr, 0x400010);
	assert_false(space_address(s, 11, image, 0x4010, &addr));
	assert_false(space_address(s, 12, image, 0x2010, &addr));
	do_exit(s, 11, 11, 5);
	assert_int_equal(space_image_user(s, image, &m), 10);
	assert_int_equal(space_image_user(s, image + 100, &m), 0);
	assert_true(space_mapping(s, 10, 0x500800, &m));
	assert_int_equal(m.pgoff, 0x4000);
	assert_false(space_mapping(s, 10, 0x501000, &m));
}

static bool is_dump(const char *path)
{
	return !strcmp(path, "/tmp/a.dump");
}

/* Looked for only where mappings changed. */
static void a_file_among_the_mappings(void **state)
{
	struct space *s = *state;
	struct mapping m;
	uint32_t generation = 0;

	assert_false(space_find_file(s, 10, is_dump, &generation, &m));
	do_mmap(s, 10, 0x400000, 0x1000, 0, 7, "/bin/sh", 1);
	do_mmap(s, 10, 0x600000, 0x1000, 0, 0, "//anon", 1);
	assert_false(space_find_file(s, 10, is_dump, &generation, &m));
	assert_int_not_equal(generation, 0);
	do_mmap(s, 10, 0x500000, 0x1000, 0, 8, "/tmp/a.dump", 2);
	do_mmap(s, 10, 0x700000, 0x1000, 0, 0, "//anon", 2);
	assert_true(space_find_file(s, 10, is_dump, &generation, &m));
	assert_int_equal(m.start, 0x500000);
	assert_int_equal(m.image, space_resolve(s, 10, 0x500000).image);
	assert_false(space_find_file(s, 10, is_dump, &generation, &m));
}

static int marker(int x)
{
	return x + 1;
}

static void scan_self(void **state)
{
	struct space *s = *state;
	struct record r = record_of(RECORD_COMM, 999);
	pid_t self = getpid();
	struct mapping m;
	struct task_info info;

	assert_int_equal(space_scan(s, self, 1000), 0);
	assert_true(space_mapping(s, self, (uint64_t)(uintptr_t)marker, &m));
	assert_int_equal(space_image(s, m.image)->kind, IMAGE_FILE);
	assert_true(space_task_info(s, space_task(s, self, self), &info));
	assert_non_null(strstr("test_space", info.comm));
	/* a record from before the scan tells nothing new */
	r.comm.pid = r.comm.tid = (uint32_t)self;
	r.comm.exec = true;
	r.comm.comm = bytes_of("stale");
	space_apply(s, &r);
	assert_true(space_mapping(s, self, (uint64_t)(uintptr_t)marker, &m));
	assert_string_equal(comm_of(s, self, self), info.comm);
	do_exit(s, (uint32_t)self, (uint32_t)self, 999);
	assert_false(is_dead(s, self, self));
	do_comm(s, (uint32_t)self, (uint32_t)self, "later", false, 1001);
	assert_string_equal(comm_of(s, self, self), "later");
	assert_int_equal(space_scan(s, 0x7ffffffe, 1000), -ENOENT);
	assert_true(space_scan_all(s, 1002) >= 1);
	assert_int_equal(marker(1), 2);
}

static bool mmap_replaces(struct space *s, uint64_t start, uint64_t len, const char *name)
{
	struct record r = { .type = RECORD_MMAP2, .cpumode = CPUMODE_USER };

	r.mmap.pid = r.mmap.tid = 10;
	r.mmap.start = start;
	r.mmap.len = len;
	r.mmap.prot = PROT_EXEC;
	r.mmap.filename = (struct bytes){ (const uint8_t *)name, (uint32_t)strlen(name) + 1 };
	return space_replaces(s, &r);
}

static void what_replaces(void **state)
{
	struct record r = { .type = RECORD_COMM };
	struct space *s = *state;

	assert_false(space_replaces(s, &r)); /* a thread's new name */
	r.comm.exec = true;
	assert_true(space_replaces(s, &r));
	assert_false(mmap_replaces(s, 0x400000, 0x1000, "/bin/sh")); /* nobody knows the process */
	do_mmap(s, 10, 0x400000, 0x2000, 0, 7, "/bin/sh", 1);
	do_mmap(s, 10, 0x700000, 0x2000, 0, 0, "//anon", 2);
	assert_false(mmap_replaces(s, 0x402000, 0x1000, "/lib/x.so"));
	assert_false(mmap_replaces(s, 0x3ff000, 0x1000, "/lib/x.so"));
	assert_true(mmap_replaces(s, 0x3ff000, 0x1001, "/lib/x.so"));
	assert_true(mmap_replaces(s, 0x401000, 0x1000, "//anon"));
	assert_false(mmap_replaces(s, 0x701000, 0x4000, "//anon"));
	assert_true(mmap_replaces(s, 0x701000, 0x4000, "/lib/x.so"));
	assert_true(mmap_replaces(s, 0x401000, 0x800000, "//anon"));
	assert_false(mmap_replaces(s, 0x401000, UINT64_MAX - 0x1000, "//anon")); /* no range */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(generation_names_mappings, setup, teardown),
		cmocka_unit_test_setup_teardown(fork_inherits, setup, teardown),
		cmocka_unit_test_setup_teardown(exec_replaces, setup, teardown),
		cmocka_unit_test_setup_teardown(threads, setup, teardown),
		cmocka_unit_test_setup_teardown(pid_comes_again, setup, teardown),
		cmocka_unit_test_setup_teardown(images_have_one_id, setup, teardown),
		cmocka_unit_test_setup_teardown(inode_comes_again, setup, teardown),
		cmocka_unit_test_setup_teardown(build_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(special_names, setup, teardown),
		cmocka_unit_test_setup_teardown(ignored_maps, setup, teardown),
		cmocka_unit_test_setup_teardown(setuid_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_tasks, setup, teardown),
		cmocka_unit_test_setup_teardown(hook_and_users, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_among_the_mappings, setup, teardown),
		cmocka_unit_test_setup_teardown(what_replaces, setup, teardown),
		cmocka_unit_test_setup_teardown(scan_self, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
