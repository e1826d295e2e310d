/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker in the hands of whoever made the file it reads: each lie is refused, costs the file that
 * was being read, and the worker. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "image/loader_reply.h"
#include "unit/loader_bed.h"

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* What the worker says instead of the truth, and the descriptors with it. */
struct speech {
	struct worker_message m;
	int fds[2];
	unsigned nr_fds;
	size_t size; /* of the message */
	bool silent; /* it says nothing but what the lie itself said */
	int socket;
};

/* A memfd with @size bytes, of which the first come from the true answer. */
static int copy_of(const struct speech *s, size_t size, int seals)
{
	int fd = memfd_create("lie", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *truth = mmap(NULL, s->m.size, PROT_READ, MAP_PRIVATE, s->fds[0], 0);

	if (truth == MAP_FAILED || ftruncate(fd, (off_t)size) != 0 ||
	    pwrite(fd, truth, s->m.size, 0) < 0)
		_exit(1);
	munmap(truth, s->m.size);
	fcntl(fd, F_ADD_SEALS, seals);
	return fd;
}

static void lie_magic(struct speech *s)
{
	s->m.magic++;
}

static void lie_serial(struct speech *s)
{
	s->m.serial += 1000;
}

static void lie_what(struct speech *s)
{
	s->m.what = LOADER_ROWS;
}

static void lie_says(struct speech *s)
{
	s->m.says = 77;
}

static void lie_positive_error(struct speech *s)
{
	s->m.err = 1;
	s->nr_fds = 0;
}

static void lie_huge_error(struct speech *s)
{
	s->m.err = INT32_MIN;
	s->nr_fds = 0;
}

static void lie_endless_reason(struct speech *s)
{
	s->m.err = -EIO;
	memset(s->m.why.text, 'x', sizeof(s->m.why.text));
	s->nr_fds = 0;
}

static void lie_no_table(struct speech *s)
{
	s->nr_fds = 0;
}

static void lie_table_of_a_failure(struct speech *s)
{
	s->m.err = -EIO;
}

static void lie_two_tables(struct speech *s)
{
	s->fds[1] = s->fds[0];
	s->nr_fds = 2;
}

static void lie_unsealed(struct speech *s)
{
	s->fds[0] = copy_of(s, s->m.size, 0);
}

static void lie_writable(struct speech *s)
{
	s->fds[0] = copy_of(s, s->m.size, ALL_SEALS & ~F_SEAL_WRITE);
}

static void lie_can_shrink(struct speech *s)
{
	s->fds[0] = copy_of(s, s->m.size, ALL_SEALS & ~F_SEAL_SHRINK);
}

static void lie_size(struct speech *s)
{
	s->m.size += 4096;
}

static void lie_no_size(struct speech *s)
{
	s->m.size = 0;
}

static void lie_enormous(struct speech *s)
{
	s->m.size = UINT64_MAX;
}

/* All zeroes that nobody has paid for yet. */
static void lie_hole(struct speech *s)
{
	s->fds[0] = copy_of(s, (size_t)256 << 20, ALL_SEALS);
	s->m.size = (size_t)256 << 20;
}

static void lie_pipe(struct speech *s)
{
	int ends[2];

	if (pipe(ends) != 0)
		_exit(1);
	s->fds[0] = ends[0];
}

static void lie_socket(struct speech *s)
{
	s->fds[0] = s->socket;
}

static void damage(struct speech *s, off_t at)
{
	int fd = copy_of(s, s->m.size, 0);

	if (pwrite(fd, "\xff\xff\xff\xff", 4, at) != 4)
		_exit(1);
	fcntl(fd, F_ADD_SEALS, ALL_SEALS);
	s->fds[0] = fd;
}

static void lie_damaged_table(struct speech *s)
{
	damage(s, offsetof(struct table_header, nr_symbols));
}

static void lie_damaged_rows(struct speech *s)
{
	damage(s, offsetof(struct rows_header, nr_rows));
}

static void lie_short(struct speech *s)
{
	s->size -= 8;
}

static void lie_ready_again(struct speech *s)
{
	loader_ready(s->socket);
}

static void lie_begins_twice(struct speech *s)
{
	const struct worker_request r = { .serial = s->m.serial };

	loader_begin(s->socket, &r);
}

static void lie_long(struct speech *s)
{
	char bytes[sizeof(s->m) + 64] = { 0 };

	memcpy(bytes, &s->m, sizeof(s->m));
	loader_put(s->socket, bytes, sizeof(bytes), NULL, 0);
	s->silent = true;
}

static void lie_link_leads_elsewhere(struct speech *s)
{
	strcpy(s->m.clue.link, "../etc/shadow");
}

static void lie_link_without_end(struct speech *s)
{
	memset(s->m.clue.link, 'x', sizeof(s->m.clue.link));
}

static void lie_hidden_link(struct speech *s)
{
	strcpy(s->m.clue.link, "..");
}

static void lie_long_build_id(struct speech *s)
{
	s->m.clue.build_id_size = 255;
}

static void lie_no_bool(struct speech *s)
{
	s->m.clue.has_symbols = 2;
}

static const struct {
	const char *name;
	void (*lie)(struct speech *s);
	enum loader_what what;
} lies[] = {
	{ "magic", lie_magic, LOADER_SYMBOLS },
	{ "serial", lie_serial, LOADER_SYMBOLS },
	{ "what", lie_what, LOADER_SYMBOLS },
	{ "says", lie_says, LOADER_SYMBOLS },
	{ "positive error", lie_positive_error, LOADER_SYMBOLS },
	{ "huge error", lie_huge_error, LOADER_SYMBOLS },
	{ "endless reason", lie_endless_reason, LOADER_SYMBOLS },
	{ "no table", lie_no_table, LOADER_SYMBOLS },
	{ "table of a failure", lie_table_of_a_failure, LOADER_SYMBOLS },
	{ "two tables", lie_two_tables, LOADER_SYMBOLS },
	{ "unsealed", lie_unsealed, LOADER_SYMBOLS },
	{ "writable", lie_writable, LOADER_SYMBOLS },
	{ "can shrink", lie_can_shrink, LOADER_SYMBOLS },
	{ "size", lie_size, LOADER_SYMBOLS },
	{ "no size", lie_no_size, LOADER_SYMBOLS },
	{ "enormous", lie_enormous, LOADER_SYMBOLS },
	{ "hole", lie_hole, LOADER_SYMBOLS },
	{ "pipe", lie_pipe, LOADER_SYMBOLS },
	{ "socket", lie_socket, LOADER_SYMBOLS },
	{ "damaged table", lie_damaged_table, LOADER_SYMBOLS },
	{ "damaged rows", lie_damaged_rows, LOADER_ROWS },
	{ "short", lie_short, LOADER_SYMBOLS },
	{ "long", lie_long, LOADER_SYMBOLS },
	{ "ready again", lie_ready_again, LOADER_SYMBOLS },
	{ "begins twice", lie_begins_twice, LOADER_SYMBOLS },
	{ "link leads elsewhere", lie_link_leads_elsewhere, LOADER_IDENTIFY },
	{ "link without end", lie_link_without_end, LOADER_IDENTIFY },
	{ "hidden link", lie_hidden_link, LOADER_IDENTIFY },
	{ "long build-id", lie_long_build_id, LOADER_IDENTIFY },
	{ "no bool", lie_no_bool, LOADER_IDENTIFY },
};

/* Lies of the file's kind: a second descriptor's first byte says which. */
static void serve(int socket)
{
	struct inlines_kept kept = { 0 };
	struct worker_request r;
	struct speech s = { .socket = socket, .size = sizeof(s.m) };
	int fds[LOADER_FDS_MAX];
	unsigned nr;

	loader_ready(socket);
	while (loader_get(socket, &r, sizeof(r), fds, LOADER_FDS_MAX, &nr) == 1) {
		uint8_t which = 255;

		loader_begin(socket, &r);
		s.fds[0] = loader_do(&r, fds, 1, &s.m, &kept);
		s.nr_fds = s.fds[0] >= 0;
		if (nr == 2 && pread(fds[1], &which, 1, 0) == 1)
			lies[which].lie(&s);
		if (!s.silent)
			loader_put(socket, &s.m, s.size, s.fds, s.nr_fds);
		loader_close_fds(fds, nr);
	}
}

static void lies_are_refused(void **state)
{
	size_t before = bed_count_descriptors();

	(void)state;
	for (uint8_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct loader_request r = { .what = lies[i].what, .nr_fds = 2 };
		struct loader *l = NULL;
		struct loader_answer a;
		uint64_t serial;

		/* Without the worker's sandbox, for it stands in the way of some lies. */
		assert_int_equal(loader_start_serving(&l, false, serve, NULL), 0);
		r.fds[0] = bed_open("/proc/self/exe");
		r.fds[1] = elf_bytes_fd(&i, 1);
		assert_int_equal(loader_send(l, &r, &serial), 0);
		bed_take(l, &a);
		if (a.err != -EBADMSG)
			fail_msg("%s: %d", lies[i].name, a.err);
		assert_int_equal(a.serial, serial);
		assert_non_null(strstr(a.why.text, "damaged answer"));
		assert_null(a.bytes);
		assert_int_equal(loader_replaced(l), 1);
		/* The next worker tells the truth. */
		a = bed_ask(l, LOADER_SYMBOLS, bed_open("/proc/self/exe"));
		assert_int_equal(a.err, 0);
		loader_bytes_free(a.bytes, a.size);
		loader_free(l);
	}
	assert_int_equal(bed_count_descriptors(), before);
}

/* Reasons reach the screen. */
static void reasons_are_scrubbed(void **state)
{
	struct worker_message m = {
		.magic = LOADER_MAGIC,
		.says = WORKER_ANSWER,
		.what = LOADER_SYMBOLS,
		.serial = 1,
		.err = -EIO,
		.why = { "bad \033[2J\n" },
	};
	const struct flight f = { .request = { .what = LOADER_SYMBOLS }, .serial = 1 };
	struct loader_answer a;

	(void)state;
	assert_int_equal(loader_reply(&f, &m, NULL, 0, &a), 0);
	assert_int_equal(a.err, -EIO);
	assert_string_equal(a.why.text, "bad ?[2J?");
	m.why.text[0] = '\0';
	assert_int_equal(loader_reply(&f, &m, NULL, 0, &a), 0);
	assert_string_not_equal(a.why.text, "");
}

static void serve_nothing(int socket)
{
	(void)socket;
}

/* Workers that die before they do anything: nobody's fault, and an end to trying. */
static void workers_that_never_work_are_given_up(void **state)
{
	struct loader *l = NULL;
	struct loader_answer a;

	(void)state;
	assert_int_equal(loader_start_serving(&l, true, serve_nothing, NULL), 0);
	bed_send(l, LOADER_SYMBOLS, 1, bed_open("/proc/self/exe"));
	bed_send(l, LOADER_SYMBOLS, 2, bed_open("/proc/self/exe"));
	for (uint32_t i = 1; i <= 2; i++) {
		bed_take(l, &a);
		assert_int_equal(a.image, i);
		assert_int_equal(a.err, -EPIPE);
	}
	assert_int_equal(loader_in_flight(l), 0);
	assert_int_equal(loader_replaced(l), 5);
	loader_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lies_are_refused),
		cmocka_unit_test(reasons_are_scrubbed),
		cmocka_unit_test(workers_that_never_work_are_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
