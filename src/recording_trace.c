/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A packet there is the CPU and the raw bytes, a packet back is whether there is a text and the
 * text.
 */
#include "recording_trace.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/loader_sandbox.h"
#include "trace/formats.h"

enum {
	RAW_BYTES_MAX = 1 << 16, /* a record is no larger */
	TEXT_BYTES_MAX = 1 << 14,
	PATIENCE_MS = 10000, /* for a sample, and for all formats before the first one */
	CHILD_FD = 3,
};

struct request {
	uint32_t cpu;
	uint8_t raw[RAW_BYTES_MAX];
};

struct reply {
	uint8_t found;
	char text[TEXT_BYTES_MAX];
};

struct rtrace {
	struct perfdata *pd;
	struct symbols *symbols;
	bool sandbox, started;
	pid_t pid;
	int fd; /* -1: no process, or none any more */
	struct request request;
	struct reply reply;
	struct reason why;
};

struct rtrace *rtrace_new(struct perfdata *pd, struct symbols *symbols, bool sandbox)
{
	struct rtrace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->pd = pd;
	t->symbols = symbols;
	t->sandbox = sandbox;
	t->fd = -1;
	return t;
}

static void end(struct rtrace *t)
{
	if (t->fd < 0)
		return;
	close(t->fd);
	t->fd = -1;
	kill(t->pid, SIGKILL);
	while (waitpid(t->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void rtrace_free(struct rtrace *t)
{
	if (!t)
		return;
	end(t);
	free(t);
}

const char *rtrace_why(const struct rtrace *t)
{
	return t->why.text;
}

/* In the child: its copy of the names. */
static const char *function_at(void *ctx, uint64_t addr, uint64_t *ret_start)
{
	struct symbols *sy = ctx;
	struct function_info info;

	if (!symbols_start(sy, IMAGE_KERNEL, addr, ret_start) ||
	    !symbols_info(sy, symbols_function(sy, IMAGE_KERNEL, addr), &info))
		return NULL;
	return info.name;
}

static void serve(struct rtrace *t, const void *bytes, size_t size)
{
	struct formats *f = formats_new(bytes, size, function_at, t->symbols);
	const size_t head = offsetof(struct request, raw);
	ssize_t got;
	int len;

	while (f && (got = read(CHILD_FD, &t->request, sizeof(t->request))) >= (ssize_t)head) {
		len = formats_text(f, t->request.cpu, t->request.raw, (size_t)got - head,
				   t->reply.text, sizeof(t->reply.text));
		t->reply.found = len >= 0;
		if (write(CHILD_FD, &t->reply,
			  offsetof(struct reply, text) + (len > 0 ? (size_t)len : 0)) < 0)
			break;
	}
	_exit(0);
}

/* The child: nothing but the socket and the memory it was born with. */
static void become_server(struct rtrace *t, int fd, pid_t parent, const void *bytes, size_t size)
{
	uint32_t missing;

	sandbox_die_with(parent);
	if (dup2(fd, CHILD_FD) < 0)
		_exit(1);
	syscall(SYS_close_range, CHILD_FD + 1, ~0u, 0);
	for (int i = 0; i < CHILD_FD; i++)
		close(i);
	missing = sandbox_keeper(t->sandbox);
	if (sandbox_worker(t->sandbox && !(missing & SANDBOX_CALLS)))
		_exit(1);
	serve(t, bytes, size);
}

static int start(struct rtrace *t)
{
	pid_t parent = getpid();
	int ends[2], err;
	uint8_t *bytes;
	size_t size;

	if (!formats_built_in())
		return reason_set(&t->why, -ENOSYS,
				  "what tracepoints traced is not printed: this ptop was built "
				  "without libtraceevent");
	err = perfdata_tracing_data(t->pd, &bytes, &size);
	if (err)
		return reason_set(&t->why, err,
				  "what tracepoints traced is not printed: the recording does not "
				  "hold their formats");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		free(bytes);
		return reason_set(&t->why, -errno, "what tracepoints traced is not printed: %s",
				  strerror(errno));
	}
	t->pid = fork();
	if (t->pid == 0)
		become_server(t, ends[1], parent, bytes, size);
	err = t->pid < 0 ? -errno : 0;
	close(ends[1]);
	free(bytes);
	if (err) {
		close(ends[0]);
		return reason_set(&t->why, err, "what tracepoints traced is not printed: %s",
				  strerror(-err));
	}
	t->fd = ends[0];
	return 0;
}

static ssize_t ask(struct rtrace *t, size_t size)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	ssize_t got;
	int nr;

	if (send(t->fd, &t->request, size, MSG_NOSIGNAL) < 0)
		return -errno;
	do
		nr = poll(&p, 1, PATIENCE_MS);
	while (nr < 0 && errno == EINTR);
	if (nr == 0)
		return -ETIMEDOUT;
	got = nr < 0 ? -1 : read(t->fd, &t->reply, sizeof(t->reply) - 1);
	return got > 0 ? got : -EPIPE;
}

const char *rtrace_text(struct rtrace *t, uint32_t cpu, const struct bytes *raw)
{
	const size_t head = offsetof(struct reply, text);
	ssize_t got;

	if (!t->started) {
		t->started = true;
		(void)start(t);
	}
	if (t->fd < 0 || raw->size > RAW_BYTES_MAX)
		return NULL;
	t->request.cpu = cpu;
	memcpy(t->request.raw, raw->at, raw->size);
	got = ask(t, offsetof(struct request, raw) + raw->size);
	if (got < (ssize_t)head) {
		reason_set(
			&t->why, (int)got,
			got == -ETIMEDOUT
				? "what tracepoints traced is printed no further: the recording's "
				  "formats keep their reader busy for more than 10 s"
				: "what tracepoints traced is printed no further: the recording's "
				  "formats made their reader fail");
		end(t);
		return NULL;
	}
	t->reply.text[(size_t)got - head] = '\0';
	return t->reply.found ? t->reply.text : NULL;
}
