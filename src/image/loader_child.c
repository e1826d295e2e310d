/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper waits for orders and for the death of its child in one recvmsg(2): SIGCHLD interrupts
 * it.  A child is killed only before it is reaped, so its number cannot mean another process.  One
 * that cannot die (a read that hangs in the kernel) is left behind and reaped when it does.
 */
#include "image/loader_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/build.h"
#include "image/cache_copy.h"
#include "image/debug_info.h"
#include "image/inlines_kept.h"
#include "image/loader_sandbox.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* A memfd with a copy of the bytes, sealed; or -errno. */
static int sealed_copy(const void *bytes, size_t size)
{
	const char *at = bytes;
	size_t left = size;
	int fd, err = 0;

	if (size > LOADER_TABLE_MAX)
		return -EFBIG;
	fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	while (err == 0 && left > 0) {
		ssize_t nr = write(fd, at, left);

		if (nr < 0 && errno != EINTR)
			err = -errno;
		if (nr > 0) {
			at += nr;
			left -= (size_t)nr;
		}
	}
	if (err == 0 && fcntl(fd, F_ADD_SEALS, SEALS) != 0)
		err = -errno;
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

/* The first that belongs to the file; -1: none. */
static int choose_debug_file(const int *fds, unsigned nr_fds)
{
	struct debug_clue clue;

	if (nr_fds < 2 || debugfile_clue(fds[0], &clue, NULL) != 0)
		return -1;
	for (unsigned i = 1; i < nr_fds; i++) {
		if (debugfile_matches(&clue, fds[i]))
			return fds[i];
	}
	return -1;
}

/* Which file has debug information, and what goes with it. */
static int find_dwarf(const int *fds, unsigned nr_fds, struct worker_message *ret)
{
	int found = debug_info_is_in(fds[0]) ? fds[0] : choose_debug_file(fds, nr_fds);

	if (found < 0 || (found != fds[0] && !debug_info_is_in(found)))
		return reason_set(&ret->why, -ENODATA,
				  "it has no debug information; install its debug package");
	while (fds[ret->which] != found)
		ret->which++;
	debug_info_alt(found, &ret->alt);
	return 0;
}

static int build_inlines(const struct worker_request *r, const int *fds, unsigned nr_fds,
			 struct inlines_kept *kept, void **ret_at, size_t *ret_size,
			 struct reason *why)
{
	struct inlines_bytes inlines;
	int err;

	if (r->nr_places == 0 || r->nr_places > LOADER_PLACES_MAX)
		return reason_set(why, -EINVAL, "no place was asked for");
	err = inlines_kept_build(kept, fds, nr_fds, r->places, r->nr_places, &inlines, why);
	if (err == 0) {
		*ret_at = inlines.at;
		*ret_size = inlines.size;
	}
	return err;
}

static int build(const struct worker_request *r, const int *fds, unsigned nr_fds, void **ret_at,
		 size_t *ret_size, struct reason *why)
{
	int debug_fd, err;

	if (r->what == LOADER_KEPT_SYMBOLS || r->what == LOADER_KEPT_ROWS)
		return cache_copy_in(fds[0], LOADER_TABLE_MAX, ret_at, ret_size, why);
	debug_fd = choose_debug_file(fds, nr_fds);
	if (r->what == LOADER_ROWS) {
		struct rows_bytes rows;

		err = rows_build(fds[0], debug_fd, &rows, why);
		if (err == 0) {
			*ret_at = rows.at;
			*ret_size = rows.size;
		}
	} else {
		struct table_bytes table;

		err = build_table(fds[0], debug_fd, &build_defaults, &table, why);
		if (err == 0) {
			*ret_at = table.at;
			*ret_size = table.size;
		}
	}
	return err;
}

int loader_do(const struct worker_request *r, const int *fds, unsigned nr_fds,
	      struct worker_message *ret, struct inlines_kept *kept)
{
	void *at = NULL;
	size_t size = 0;
	int fd = -1;

	memset(ret, 0, sizeof(*ret));
	ret->magic = LOADER_MAGIC;
	ret->says = WORKER_ANSWER;
	ret->serial = r->serial;
	ret->what = r->what;
	if (nr_fds == 0 || nr_fds > LOADER_FDS_MAX || r->what >= NR_LOADER_WHATS) {
		ret->err =
			reason_set(&ret->why, -EINVAL, "a request that the loader does not know");
	} else if (r->what == LOADER_KEEP) {
		ret->err = nr_fds != 2 ? -EINVAL : cache_copy_out(fds[0], fds[1], &ret->why);
	} else if (r->what == LOADER_IDENTIFY) {
		ret->err = debugfile_clue(fds[0], &ret->clue, &ret->why);
	} else if (r->what == LOADER_FIND_DWARF) {
		ret->err = find_dwarf(fds, nr_fds, ret);
	} else if (r->what == LOADER_INLINES) {
		ret->err = build_inlines(r, fds, nr_fds, kept, &at, &size, &ret->why);
	} else {
		ret->err = build(r, fds, nr_fds, &at, &size, &ret->why);
	}
	if (at != NULL) {
		fd = sealed_copy(at, size);
		ret->size = size;
		if (fd < 0)
			ret->err = reason_set(&ret->why, fd, "no memory for its tables");
		free(at);
	}
	return fd >= 0 ? fd : -1;
}

int loader_ready(int socket)
{
	const struct worker_message ready = {
		.magic = LOADER_MAGIC,
		.says = WORKER_READY,
		.serial = (uint64_t)getpid(),
	};

	return loader_put(socket, &ready, sizeof(ready), NULL, 0);
}

int loader_begin(int socket, const struct worker_request *r)
{
	const struct worker_message begins = {
		.magic = LOADER_MAGIC,
		.says = WORKER_BEGINS,
		.serial = r->serial,
	};

	return loader_put(socket, &begins, sizeof(begins), NULL, 0);
}

void loader_serve(int socket)
{
	struct inlines_kept kept = { 0 };
	struct worker_message answer;
	int err = loader_ready(socket);

	while (err == 0) {
		struct worker_request r;
		int fds[LOADER_FDS_MAX], made;
		unsigned nr_fds;

		err = loader_get(socket, &r, sizeof(r), fds, LOADER_FDS_MAX, &nr_fds);
		if (err == -EAGAIN)
			inlines_kept_drop(&kept);
		if (err == -EINTR || err == -EAGAIN) {
			err = 0;
			continue;
		}
		if (err <= 0)
			break;
		err = loader_begin(socket, &r);
		made = loader_do(&r, fds, nr_fds, &answer, &kept);
		loader_close_fds(fds, nr_fds);
		if (err == 0)
			err = loader_put(socket, &answer, sizeof(answer), &made, made >= 0);
		if (made >= 0)
			close(made);
	}
	inlines_kept_drop(&kept);
}

/* Forked from the keeper. */
static _Noreturn void become_worker(int socket, int keeper, bool calls, loader_serve_fn *serve)
{
	sandbox_die_with(keeper);
	prctl(PR_SET_NAME, "ptop-loader", 0, 0, 0);
	signal(SIGCHLD, SIG_DFL);
	/* A file that grows too large is an error of write(2). */
	signal(SIGXFSZ, SIG_IGN);
	if (sandbox_worker(calls) == 0)
		serve(socket);
	_exit(0);
}

static void on_child(int signal)
{
	(void)signal;
}

static void set_signals(void)
{
	struct sigaction wake = { .sa_handler = on_child };
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGCHLD, &wake, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Closes all descriptors but @socket, which becomes 3.  A library's last words must not reach the
 * terminal, a sanitizer's should. */
static int keep_only(int socket)
{
	int moved = fcntl(socket, F_DUPFD_CLOEXEC, 4), null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < (sandbox_is_relaxed() ? 2 : 3); fd++) {
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	}
	if (dup3(moved, 3, O_CLOEXEC) < 0)
		_exit(0);
	if (syscall(SYS_close_range, 4u, ~0u, 0u) != 0) {
		for (int fd = 4; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
			close(fd);
	}
	return 3;
}

static pid_t reap(pid_t worker)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		if (pid == worker)
			worker = 0;
	}
	return worker;
}

/* Puts a new worker in the place of the old one; it serves @end. */
static pid_t replace(pid_t worker, int socket, int end, bool calls, loader_serve_fn *serve)
{
	pid_t keeper = getpid();

	if (worker > 0)
		kill(worker, SIGKILL);
	worker = fork();
	if (worker == 0) {
		close(socket);
		become_worker(end, keeper, calls, serve);
	}
	return worker > 0 ? worker : 0;
}

_Noreturn void loader_keeper(int socket, bool sandbox, loader_serve_fn *serve)
{
	struct keeper_hello hello = { .magic = LOADER_MAGIC };
	pid_t parent = getppid(), worker = 0;
	int got = 1;

	set_signals();
	setsid();
	prctl(PR_SET_NAME, "ptop-keeper", 0, 0, 0);
	socket = keep_only(socket);
	hello.missing = sandbox_keeper(sandbox);
	sandbox_die_with(parent);
	if (loader_put(socket, &hello, sizeof(hello), NULL, 0) != 0)
		_exit(0);
	while (got == 1 || got == -EINTR) {
		bool calls = sandbox && (hello.missing & SANDBOX_CALLS) == 0;
		struct keeper_order order;
		unsigned nr_fds = 0;
		int end;

		got = loader_get(socket, &order, sizeof(order), &end, 1, &nr_fds);
		worker = reap(worker);
		if (got == 1 && nr_fds == 1 && order.magic == LOADER_MAGIC)
			worker = replace(worker, socket, end, calls, serve);
		if (got == 1)
			loader_close_fds(&end, nr_fds);
	}
	if (worker > 0)
		kill(worker, SIGKILL);
	_exit(0);
}
