/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A download is a process group, its standard output a pipe that gets the path of the file, and a
 * pidfd that tells its end.  A server that is slow is given up by debuginfod-find
 * ($DEBUGINFOD_TIMEOUT), one that makes even that hang by a deadline here.  After some downloads in
 * a row that ended so, no more are begun.
 */
#include "image/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "image/table.h"

#define PROGRAM "debuginfod-find"
#define AT_ONCE 2u
#define SECOND UINT64_C(1000000000)
#define DEADLINE_NS (600 * SECOND)
/* Seconds in which debuginfod-find wants to see some progress. */
#define PROGRESS_S "20"
/* Seconds for a file, as DEADLINE_NS, where nobody is left to watch it. */
#define WHOLE_S "600"
#define SLOW_NS (15 * SECOND)
#define SLOW_MAX 3u
#define PATH_SIZE 4096u

extern char **environ;

enum download_state { WAITING, RUNNING };

struct download {
	enum download_state state;
	uint32_t image;
	char build_id[2 * TABLE_BUILD_ID_MAX + 1];
	pid_t pid;
	int pidfd, output;
	uint64_t start_ns;
};

struct debuginfod {
	int epoll_fd, timer_fd;
	VEC(struct download) downloads; /* oldest first */
	VEC(char *) environment;        /* the last is NULL */
	unsigned slow;                  /* in a row */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static int is_there(void)
{
	const char *path = getenv("PATH");
	char name[PATH_SIZE];

	while (path != NULL && *path != '\0') {
		size_t length = strcspn(path, ":");

		if (length > 0 &&
		    (size_t)snprintf(name, sizeof(name), "%.*s/" PROGRAM, (int)length, path) <
			    sizeof(name) &&
		    access(name, X_OK) == 0)
			return 0;
		path += length + (path[length] == ':');
	}
	return -ENOENT;
}

static int refuse(bool as_root, struct reason *why)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (geteuid() == 0 && !as_root)
		return reason_set(
			why, -EPERM,
			"root downloads nothing by default: --debuginfod-as-root allows it");
	if (urls == NULL || urls[strspn(urls, " ")] == '\0')
		return reason_set(
			why, -ENOENT,
			"no debuginfod server is named: export DEBUGINFOD_URLS=https://debuginfod.elfutils.org/");
	if (is_there() != 0)
		return reason_set(
			why, -ENOENT,
			PROGRAM
			" is not installed: it is in the package debuginfod or elfutils-debuginfod-client");
	return 0;
}

/* Ours, without what would make it talk, and with a bound on silence where the user set none. */
static int copy_environment(struct debuginfod *d)
{
	int err = 0;

	for (char **e = environ; *e != NULL && err == 0; e++) {
		if (strncmp(*e, "DEBUGINFOD_PROGRESS=", 20) != 0 &&
		    strncmp(*e, "DEBUGINFOD_VERBOSE=", 19) != 0)
			err = vec_push(&d->environment, *e);
	}
	if (err == 0 && getenv("DEBUGINFOD_TIMEOUT") == NULL)
		err = vec_push(&d->environment, "DEBUGINFOD_TIMEOUT=" PROGRESS_S);
	/* Who is killed cannot end it. */
	if (err == 0 && getenv("DEBUGINFOD_MAXTIME") == NULL)
		err = vec_push(&d->environment, "DEBUGINFOD_MAXTIME=" WHOLE_S);
	return err == 0 ? vec_push(&d->environment, NULL) : err;
}

static int watch(struct debuginfod *d, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int debuginfod_open(struct debuginfod **ret, bool as_root, struct reason *why)
{
	struct debuginfod *d;
	int err = refuse(as_root, why);

	if (err != 0)
		return err;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return reason_set(why, -ENOMEM, "out of memory");
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	d->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = d->epoll_fd < 0 || d->timer_fd < 0 ? -errno : watch(d, d->timer_fd);
	if (err == 0)
		err = copy_environment(d);
	if (err != 0) {
		debuginfod_free(d);
		return reason_set(why, err, "no debug files can be downloaded: %s", strerror(-err));
	}
	*ret = d;
	return 0;
}

/* What a killed process leaves is collected if it can be had at once, else by init when we end. */
static void stop(struct debuginfod *d, struct download *l)
{
	if (l->state != RUNNING)
		return;
	kill(-l->pid, SIGKILL);
	waitpid(l->pid, NULL, WNOHANG);
	epoll_ctl(d->epoll_fd, EPOLL_CTL_DEL, l->pidfd, NULL);
	close(l->pidfd);
	close(l->output);
	l->state = WAITING;
}

static void drop(struct debuginfod *d, size_t i)
{
	stop(d, &d->downloads.at[i]);
	d->downloads.nr--;
	memmove(&d->downloads.at[i], &d->downloads.at[i + 1],
		(d->downloads.nr - i) * sizeof(d->downloads.at[0]));
}

void debuginfod_free(struct debuginfod *d)
{
	if (d == NULL)
		return;
	while (d->downloads.nr > 0)
		drop(d, d->downloads.nr - 1);
	vec_done(&d->downloads);
	vec_done(&d->environment);
	if (d->timer_fd >= 0)
		close(d->timer_fd);
	if (d->epoll_fd >= 0)
		close(d->epoll_fd);
	free(d);
}

int debuginfod_fd(const struct debuginfod *d)
{
	return d->epoll_fd;
}

/* The timer goes off at once (something can be done now), or when the oldest has had its time. */
static void arm(struct debuginfod *d, uint64_t at_ns)
{
	const struct itimerspec at = {
		.it_value = { .tv_sec = (time_t)(at_ns / SECOND),
			      .tv_nsec = (long)(at_ns % SECOND) },
	};

	timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static int spawn(struct debuginfod *d, struct download *l, int output)
{
	char *arguments[] = { PROGRAM, "debuginfo", l->build_id, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawnattr_init(&attributes);
	if (err != 0)
		return -err;
	err = posix_spawn_file_actions_init(&files);
	if (err != 0) {
		posix_spawnattr_destroy(&attributes);
		return -err;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	err = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (err == 0)
		err = posix_spawn_file_actions_adddup2(&files, output, 1);
	if (err == 0)
		err = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	if (err == 0)
		err = posix_spawnp(&l->pid, PROGRAM, &files, &attributes, arguments,
				   d->environment.at);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -err;
}

static int begin(struct debuginfod *d, struct download *l)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	err = spawn(d, l, ends[1]);
	close(ends[1]);
	if (err != 0) {
		close(ends[0]);
		return err;
	}
	l->output = ends[0];
	l->state = RUNNING;
	l->start_ns = now_ns();
	l->pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	if (l->pidfd < 0)
		err = -errno;
	else
		err = watch(d, l->pidfd);
	if (err != 0)
		stop(d, l);
	return err;
}

int debuginfod_ask(struct debuginfod *d, uint32_t image, const uint8_t *build_id, size_t size)
{
	struct download l = { .state = WAITING, .image = image, .pidfd = -1, .output = -1 };

	if (size < 4 || size > TABLE_BUILD_ID_MAX)
		return -EINVAL;
	if (d->downloads.nr >= DEBUGINFOD_MAX)
		return -EAGAIN;
	for (size_t i = 0; i < size; i++)
		snprintf(l.build_id + 2 * i, 3, "%02x", build_id[i]);
	if (vec_push(&d->downloads, l) != 0)
		return -ENOMEM;
	arm(d, 1);
	return 0;
}

void debuginfod_cancel(struct debuginfod *d, uint32_t image)
{
	for (size_t i = d->downloads.nr; i > 0; i--) {
		if (d->downloads.at[i - 1].image == image)
			drop(d, i - 1);
	}
	arm(d, 1);
}

/* The file whose path was printed. */
static int open_result(const struct download *l, struct reason *why)
{
	char path[PATH_SIZE];
	ssize_t nr = read(l->output, path, sizeof(path) - 1);
	struct stat st;
	int fd;

	if (nr <= 0)
		return reason_set(why, -ENODATA, "the debuginfod servers do not have it");
	path[nr] = '\0';
	path[strcspn(path, "\n")] = '\0';
	fd = path[0] == '/' ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	if (fd < 0)
		return reason_set(why, -ENOENT, PROGRAM " printed no file that can be read");
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return reason_set(why, -ENOENT, PROGRAM " printed no regular file");
	}
	return fd;
}

/* debuginfod-find tells a time-out by its words only, which are not read: by its time. */
static bool was_slow(const struct download *l, uint64_t now)
{
	return now - l->start_ns >= SLOW_NS;
}

static void finish(struct debuginfod *d, size_t i, uint64_t now, struct debuginfod_answer *ret)
{
	struct download *l = &d->downloads.at[i];
	int status;

	*ret = (struct debuginfod_answer){ .image = l->image, .fd = -ENODATA };
	if (waitpid(l->pid, &status, WNOHANG) == l->pid && WIFEXITED(status) &&
	    WEXITSTATUS(status) == 0)
		ret->fd = open_result(l, &ret->why);
	else
		reason_set(&ret->why, 0, "the debuginfod servers do not have it");
	if (ret->fd < 0 && was_slow(l, now)) {
		reason_set(&ret->why, 0, "the debuginfod server does not answer");
		d->slow++;
	} else {
		d->slow = 0;
	}
	drop(d, i);
}

static bool has_ended(const struct download *l)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       info.si_pid == l->pid;
}

/* One that is running and has ended or had its time. */
static bool take_ended(struct debuginfod *d, uint64_t now, struct debuginfod_answer *ret)
{
	for (size_t i = 0; i < d->downloads.nr; i++) {
		struct download *l = &d->downloads.at[i];

		if (l->state != RUNNING)
			continue;
		if (has_ended(l)) {
			finish(d, i, now, ret);
			return true;
		}
		if (now - l->start_ns < DEADLINE_NS)
			continue;
		*ret = (struct debuginfod_answer){ .image = l->image, .fd = -ETIMEDOUT };
		reason_set(&ret->why, 0, "downloading it took more than %d minutes",
			   (int)(DEADLINE_NS / SECOND / 60));
		d->slow++;
		drop(d, i);
		return true;
	}
	return false;
}

/* Begins what may run; true where one could not. */
static bool begin_waiting(struct debuginfod *d, struct debuginfod_answer *ret)
{
	unsigned running = 0;

	for (size_t i = 0; i < d->downloads.nr; i++)
		running += d->downloads.at[i].state == RUNNING;
	for (size_t i = 0; i < d->downloads.nr; i++) {
		struct download *l = &d->downloads.at[i];
		int err = d->slow >= SLOW_MAX ? -ETIMEDOUT : 0;

		if (l->state == RUNNING || (err == 0 && running >= AT_ONCE))
			continue;
		if (err == 0)
			err = begin(d, l);
		if (err == 0) {
			running++;
			continue;
		}
		*ret = (struct debuginfod_answer){ .image = l->image, .fd = err };
		if (err == -ETIMEDOUT)
			reason_set(&ret->why, 0, "the debuginfod server does not answer");
		else
			reason_set(&ret->why, 0, PROGRAM " cannot be started: %s", strerror(-err));
		drop(d, i);
		return true;
	}
	return false;
}

bool debuginfod_take(struct debuginfod *d, struct debuginfod_answer *ret)
{
	uint64_t now = now_ns(), first = 0, expirations;

	if (read(d->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
		return false;
	if (take_ended(d, now, ret) || begin_waiting(d, ret)) {
		arm(d, 1); /* there may be more */
		return true;
	}
	for (size_t i = 0; i < d->downloads.nr; i++) {
		const struct download *l = &d->downloads.at[i];

		if (l->state == RUNNING && (first == 0 || l->start_ns < first))
			first = l->start_ns;
	}
	arm(d, first == 0 ? 0 : first + DEADLINE_NS);
	return false;
}
