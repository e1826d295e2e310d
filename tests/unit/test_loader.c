/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loader: its tables are those built in process, and nothing that a file does to the worker
 * costs another file anything. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "image/build.h"
#include "image/loader_sandbox.h"
#include "unit/loader_bed.h"

/* The loader of a test that failed would be taken for that of the next. */
static struct loader *started;

static int stop_started(void **state)
{
	(void)state;
	loader_free(started);
	started = NULL;
	return 0;
}

static void stop(struct loader *l)
{
	if (l == started)
		started = NULL;
	loader_free(l);
}

static struct loader *start(void)
{
	struct loader *l = NULL;
	struct reason why = { 0 };

	assert_int_equal(loader_start_serving(&l, true, bed_serve, &why), 0);
	assert_string_equal(why.text, "");
	started = l;
	return l;
}

static void is_usable(struct loader *l)
{
	struct loader_answer a = bed_ask(l, LOADER_SYMBOLS, bed_open("/proc/self/exe"));

	assert_int_equal(a.err, 0);
	assert_true(a.table.header->nr_symbols > 100);
	loader_bytes_free(a.bytes, a.size);
}

static void same_tables(struct loader *l, const char *path)
{
	struct table_bytes table;
	struct rows_bytes rows;
	struct loader_answer a = bed_ask(l, LOADER_SYMBOLS, bed_open(path));
	int fd = bed_open(path);

	assert_int_equal(a.err, 0);
	assert_int_equal(build_table(fd, -1, &build_defaults, &table, NULL), 0);
	assert_int_equal(a.size, table.size);
	assert_memory_equal(a.bytes, table.at, table.size);
	assert_ptr_equal(a.table.header, a.bytes);
	free(table.at);
	loader_bytes_free(a.bytes, a.size);

	a = bed_ask(l, LOADER_ROWS, bed_open(path));
	assert_int_equal(a.err, 0);
	assert_int_equal(rows_build(fd, -1, &rows, NULL), 0);
	assert_int_equal(a.size, rows.size);
	assert_memory_equal(a.bytes, rows.at, rows.size);
	assert_ptr_equal(a.rows.header, a.bytes);
	free(rows.at);
	loader_bytes_free(a.bytes, a.size);
	close(fd);
}

static void tables_are_those_built_in_process(void **state)
{
	struct reason why = { 0 };
	struct loader *l = NULL;
	Dl_info libc;

	(void)state;
	assert_int_equal(loader_start(&l, true, &why), 0);
	assert_true(dladdr((void *)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort_r"), &libc) != 0);
	same_tables(l, libc.dli_fname);
	same_tables(l, "/proc/self/exe");
	assert_int_equal(loader_replaced(l), 0);
	stop(l);
}

static void files_are_identified(void **state)
{
	uint8_t id[20] = { 0xab, 0xcd, 3 }, link[12] = "a.debug";
	struct loader *l = start();
	struct loader_answer a;
	struct elf_bytes e;

	(void)state;
	memcpy(link + 8, "\1\2\3\4", 4);
	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	elf_bytes_build_id(&e, id, sizeof(id));
	elf_bytes_section(&e, ".gnu_debuglink", SHT_PROGBITS, 0, 0, link, sizeof(link));
	elf_bytes_finish(&e);
	a = bed_ask(l, LOADER_IDENTIFY, elf_bytes_fd(e.at, e.size));
	assert_int_equal(a.err, 0);
	assert_int_equal(a.clue.build_id_size, 20);
	assert_memory_equal(a.clue.build_id, id, 20);
	assert_string_equal(a.clue.link, "a.debug");
	assert_int_equal(a.clue.crc, 0x04030201);
	assert_false(a.clue.has_symbols);
	a = bed_ask(l, LOADER_IDENTIFY, bed_text("not ELF"));
	assert_int_equal(a.err, -ENOEXEC);
	assert_false(a.harmed);
	assert_string_not_equal(a.why.text, "");
	elf_bytes_done(&e);
	stop(l);
}

static int debug_file(const uint8_t *id, const char *name)
{
	const struct elf_bytes_symbol one = { name, 0x10, 16, STT_FUNC, STB_LOCAL, 1 };
	struct elf_bytes e;
	int fd;

	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	elf_bytes_code(&e, ".text", 0, NULL, 0x1000);
	if (name != NULL)
		elf_bytes_symbols(&e, SHT_SYMTAB, &one, 1);
	elf_bytes_build_id(&e, id, 20);
	elf_bytes_finish(&e);
	fd = elf_bytes_fd(e.at, e.size);
	elf_bytes_done(&e);
	return fd;
}

/* Of several candidates the one with the same build-id gives the names. */
static void the_debug_file_that_fits_is_taken(void **state)
{
	uint8_t id[20] = { 1, 2 }, other[20] = { 1, 3 };
	struct loader *l = start();
	struct loader_request r = {
		.what = LOADER_SYMBOLS,
		.fds = { debug_file(id, NULL), debug_file(other, "wrong"), debug_file(id, "right"),
			 debug_file(id, "late") },
		.nr_fds = 4,
	};
	struct loader_answer a;
	uint64_t serial;
	uint32_t symbol;

	(void)state;
	assert_int_equal(loader_send(l, &r, &serial), 0);
	bed_take(l, &a);
	assert_int_equal(a.err, 0);
	symbol = table_find(&a.table, 0x18);
	assert_int_not_equal(symbol, TABLE_NO_SYMBOL);
	assert_string_equal(table_name(&a.table, symbol), "right");
	assert_string_equal(table_source_name(&a.table), "debug file");
	loader_bytes_free(a.bytes, a.size);
	stop(l);
}

/* Several in flight, one bad among them: it alone fails, wherever it stands. */
static void one_bad_file_among(const char *text, uint64_t deadline_ns, int err, const char *reason)
{
	struct loader *l = start();
	bool seen[LOADER_IN_FLIGHT_MAX] = { false };

	loader_set_deadline(l, deadline_ns);
	for (uint32_t i = 0; i < LOADER_IN_FLIGHT_MAX; i++) {
		assert_true(loader_has_room(l));
		bed_send(l, i == 2 ? LOADER_SYMBOLS : LOADER_IDENTIFY, i,
			 i == 2 ? bed_text(text) : bed_open("/proc/self/exe"));
	}
	assert_false(loader_has_room(l));
	for (uint32_t i = 0; i < LOADER_IN_FLIGHT_MAX; i++) {
		struct loader_answer a;

		bed_take(l, &a);
		assert_false(seen[a.image]);
		seen[a.image] = true;
		assert_int_equal(a.err, a.image == 2 ? err : 0);
		assert_int_equal(a.harmed, a.image == 2);
		if (a.image == 2)
			assert_non_null(strstr(a.why.text, reason));
	}
	assert_int_equal(loader_replaced(l), 1);
	is_usable(l);
	stop(l);
}

static void a_crash_costs_one_file(void **state)
{
	(void)state;
	one_bad_file_among("DIE!", UINT64_C(20000000000), -EFAULT, "crashed");
}

static void a_hang_costs_one_file(void **state)
{
	(void)state;
	one_bad_file_among("SPIN", UINT64_C(1500000000), -ETIMEDOUT,
			   "reading it took more than 1.5 s");
}

static void a_forbidden_call_costs_one_file(void **state)
{
	(void)state;
	one_bad_file_among("CALL", UINT64_C(20000000000), -EFAULT, "crashed");
	if (!sandbox_is_relaxed())
		one_bad_file_among("EXEC", UINT64_C(20000000000), -EFAULT, "crashed");
}

static void memory_is_bounded(void **state)
{
	struct loader *l = start();
	struct loader_answer a;

	(void)state;
	if (!sandbox_is_relaxed()) {
		a = bed_ask(l, LOADER_SYMBOLS, bed_text("EAT!"));
		assert_int_equal(a.err, -ENOMEM);
		assert_true(strtoul(a.why.text, NULL, 10) >= 1024);
		assert_true(strtoul(a.why.text, NULL, 10) <= 2048);
	}
	stop(l);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Gives a process nearly no share of a CPU, or its usual one. */
static void set_share(pid_t pid, bool small)
{
	struct sched_param param = { 0 };
	char name[64];
	int fd;

	assert_int_equal(sched_setscheduler(pid, small ? SCHED_IDLE : SCHED_OTHER, &param), 0);
	/* Sessions share among themselves, see sched(7). */
	snprintf(name, sizeof(name), "/proc/%d/autogroup", (int)pid);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, small ? "19" : "0", small ? 2 : 1) < 0)
		print_message("the session's share stays\n");
	if (fd >= 0)
		close(fd);
}

/* Keeps the CPU of @worker from it, by a process that ends with this one. */
static pid_t starve(pid_t worker)
{
	volatile int turns = 1;
	cpu_set_t cpu;
	pid_t pid;

	assert_int_equal(sched_getaffinity(0, sizeof(cpu), &cpu), 0);
	for (int i = 0, found = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &cpu) && found++ > 0)
			CPU_CLR(i, &cpu);
	}
	assert_int_equal(sched_setaffinity(worker, sizeof(cpu), &cpu), 0);
	set_share(worker, true);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		sched_setaffinity(0, sizeof(cpu), &cpu);
		while (turns)
			turns = 1;
	}
	assert_true(pid > 0);
	return pid;
}

/* What takes long only for want of a CPU is waited for. */
static void a_busy_machine_is_no_hang(void **state)
{
	struct loader *l = start();
	struct pollfd p = { .fd = loader_fd(l), .events = POLLIN };
	struct loader_answer a;
	uint64_t begin;
	pid_t worker, rival;

	(void)state;
	is_usable(l);
	worker = bed_child(bed_child(getpid()));
	rival = starve(worker);
	loader_set_deadline(l, UINT64_C(500000000));
	begin = now_ms();
	bed_send(l, LOADER_SYMBOLS, 1, bed_text("WORK"));
	while (!loader_take(l, &a)) {
		assert_true(poll(&p, 1, 100) >= 0);
		if (rival > 0 && now_ms() - begin > 1000) {
			kill(rival, SIGKILL);
			waitpid(rival, NULL, 0);
			rival = 0;
			set_share(worker, false);
		}
	}
	assert_int_equal(a.err, -ENOEXEC);
	assert_int_equal(loader_replaced(l), 0);
	stop(l);
	if (rival > 0) {
		kill(rival, SIGKILL);
		waitpid(rival, NULL, 0);
		print_message("this machine does not let a process starve\n");
		skip();
	}
}

/* Until the worker says that it begins. */
static void wait_for_word(struct loader *l)
{
	struct pollfd p = { .fd = loader_fd(l), .events = POLLIN };

	assert_int_equal(poll(&p, 1, BED_WAIT_MS), 1);
}

static void a_killed_worker_is_replaced(void **state)
{
	struct loader *l = start();
	struct loader_answer a;
	pid_t worker;

	(void)state;
	is_usable(l);
	loader_set_deadline(l, UINT64_C(20000000000));
	worker = bed_child(bed_child(getpid()));
	assert_true(worker > 0);
	bed_send(l, LOADER_SYMBOLS, 1, bed_text("SPIN"));
	bed_send(l, LOADER_SYMBOLS, 2, bed_open("/proc/self/exe"));
	wait_for_word(l);
	assert_int_equal(kill(worker, SIGKILL), 0);
	bed_take(l, &a);
	assert_int_equal(a.image, 1);
	assert_int_equal(a.err, -EFAULT);
	bed_take(l, &a);
	assert_int_equal(a.image, 2);
	assert_int_equal(a.err, 0);
	loader_bytes_free(a.bytes, a.size);
	/* One killed while it has nothing to do costs nothing. */
	worker = bed_child(bed_child(getpid()));
	assert_int_equal(kill(worker, SIGKILL), 0);
	is_usable(l);
	assert_int_equal(loader_replaced(l), 2);
	stop(l);
}

static void without_keeper_all_fails_at_once(void **state)
{
	struct loader *l = start();
	struct loader_request r = { .what = LOADER_IDENTIFY, .nr_fds = 1 };
	struct loader_answer a;
	uint64_t serial;

	(void)state;
	is_usable(l);
	bed_send(l, LOADER_SYMBOLS, 1, bed_text("SPIN"));
	bed_send(l, LOADER_SYMBOLS, 2, bed_open("/proc/self/exe"));
	wait_for_word(l);
	assert_int_equal(kill(bed_child(getpid()), SIGKILL), 0);
	for (uint32_t i = 1; i <= 2; i++) {
		bed_take(l, &a);
		assert_true(a.err == -EPIPE || (i == 1 && a.err == -EFAULT));
		assert_string_not_equal(a.why.text, "");
	}
	assert_false(loader_take(l, &a));
	assert_true(loader_has_room(l));
	r.fds[0] = bed_open("/proc/self/exe");
	assert_int_equal(loader_send(l, &r, &serial), -EPIPE);
	stop(l);
}

/* After the burst workers come slowly, but they come, and nothing is lost meanwhile. */
static void replacing_is_bounded(void **state)
{
	struct loader *l = start();
	struct loader_answer a;

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		a = bed_ask(l, LOADER_SYMBOLS, bed_text("DIE!"));
		assert_int_equal(a.err, -EFAULT);
	}
	assert_int_equal(loader_replaced(l), 9);
	is_usable(l);
	stop(l);
}

/* A line of /proc/PID/FILE that starts so. */
static void find_line(pid_t pid, const char *file, const char *start, char ret[256])
{
	char name[64];
	FILE *status;
	bool found = false;

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, file);
	status = fopen(name, "re");
	assert_non_null(status);
	while (!found && fgets(ret, 256, status) != NULL)
		found = strncmp(ret, start, strlen(start)) == 0;
	fclose(status);
	assert_true(found);
}

static void rights_are_given_up(void **state)
{
	struct loader *l = start();
	pid_t keeper, worker;
	unsigned ids[4];
	char line[256];

	(void)state;
	is_usable(l);
	keeper = bed_child(getpid());
	worker = bed_child(keeper);
	assert_true(keeper > 0 && worker > 0);
	for (pid_t pid = keeper; pid != 0; pid = pid == keeper ? worker : 0) {
		find_line(pid, "status", "Uid:", line);
		assert_int_equal(
			sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]), 4);
		for (int i = 0; i < 4; i++)
			assert_int_equal(ids[i], geteuid() == 0 ? 65534 : geteuid());
		find_line(pid, "status", "CapEff:", line);
		assert_int_equal(strtoul(line + 7, NULL, 16), 0);
		find_line(pid, "status", "CapPrm:", line);
		assert_int_equal(strtoul(line + 7, NULL, 16), 0);
		find_line(pid, "status", "NoNewPrivs:", line);
		assert_int_equal(strtoul(line + 11, NULL, 10), 1);
	}
	find_line(worker, "status", "Seccomp:", line);
	assert_int_equal(strtoul(line + 8, NULL, 10), 2);
	find_line(worker, "limits", "Max core file size", line);
	assert_int_equal(strtoul(line + 26, NULL, 10), 0);
	find_line(worker, "limits", "Max open files", line);
	assert_true(strtoul(line + 26, NULL, 10) <= 32);
	find_line(worker, "limits", "Max file size", line);
	assert_true(strtoul(line + 26, NULL, 10) <= LOADER_TABLE_MAX);
	assert_string_equal(loader_weakness(l), "");
	stop(l);
	assert_int_equal(kill(keeper, 0), -1);
}

/* Runs a loader as another user, in a process of its own. */
static void an_ordinary_user_has_one_too(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		struct pollfd p = { .events = POLLIN };
		struct loader_request r = { .what = LOADER_SYMBOLS, .nr_fds = 1 };
		struct loader_answer a = { .err = -1 };
		struct loader *l;
		uint64_t serial;

		r.fds[0] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		if (setgroups(0, NULL) != 0 || setresgid(12345, 12345, 12345) != 0 ||
		    setresuid(12345, 12345, 12345) != 0 || loader_start(&l, true, NULL) != 0 ||
		    loader_weakness(l)[0] != '\0' || loader_send(l, &r, &serial) != 0)
			_exit(1);
		p.fd = loader_fd(l);
		while (!loader_take(l, &a)) {
			if (poll(&p, 1, BED_WAIT_MS) != 1)
				_exit(2);
		}
		_exit(a.err == 0 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void protection_can_be_left_out(void **state)
{
	struct reason why = { 0 };
	struct loader *l = NULL;
	char line[256];

	(void)state;
	assert_int_equal(loader_start(&l, false, &why), 0);
	assert_non_null(strstr(loader_weakness(l), "without protection"));
	is_usable(l);
	find_line(bed_child(bed_child(getpid())), "status", "Seccomp:", line);
	assert_int_equal(strtoul(line + 8, NULL, 10), 0);
	stop(l);
}

static void nothing_is_leaked(void **state)
{
	struct loader *l = start();
	struct pollfd p = { .fd = loader_fd(l), .events = POLLIN };
	struct loader_answer a;
	size_t before;

	(void)state;
	is_usable(l);
	before = bed_count_descriptors();
	for (unsigned i = 0; i < 20; i++)
		is_usable(l);
	a = bed_ask(l, LOADER_SYMBOLS, bed_text("DIE!"));
	assert_int_equal(a.err, -EFAULT);
	is_usable(l);
	assert_int_equal(bed_count_descriptors(), before);
	/* Nothing to do: nobody is woken. */
	assert_false(loader_take(l, &a));
	assert_int_equal(poll(&p, 1, 0), 0);
	bed_send(l, LOADER_SYMBOLS, 1, bed_text("SPIN"));
	stop(l);
	loader_free(NULL);
	assert_true(bed_count_descriptors() < before);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_teardown(test, stop_started)
	const struct CMUnitTest tests[] = {
		TEST(tables_are_those_built_in_process),
		TEST(files_are_identified),
		TEST(the_debug_file_that_fits_is_taken),
		TEST(a_crash_costs_one_file),
		TEST(a_hang_costs_one_file),
		TEST(a_busy_machine_is_no_hang),
		TEST(a_forbidden_call_costs_one_file),
		TEST(memory_is_bounded),
		TEST(a_killed_worker_is_replaced),
		TEST(without_keeper_all_fails_at_once),
		TEST(replacing_is_bounded),
		TEST(rights_are_given_up),
		TEST(an_ordinary_user_has_one_too),
		TEST(protection_can_be_left_out),
		TEST(nothing_is_leaked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
