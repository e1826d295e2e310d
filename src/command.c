/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In the child: never returns. */
static void become(char **argv, int output_fd, int go_fd, int error_fd)
{
	sigset_t none;
	char byte;
	ssize_t got;
	int null_fd, err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	null_fd = open("/dev/null", O_RDWR);
	if (null_fd < 0 || dup2(null_fd, 0) < 0 ||
	    dup2(output_fd < 0 ? null_fd : output_fd, 1) < 0 || dup2(1, 2) < 0)
		goto failed;
	do
		got = read(go_fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(127); /* ptop gave up before it let us go */
	execvp(argv[0], argv);
failed:
	err = errno;
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int command_fork(struct command *c, char **argv, const char *output, struct reason *why)
{
	int go[2] = { -1, -1 }, error[2] = { -1, -1 }, output_fd = -1, err;
	const char *base = strrchr(argv[0], '/');

	*c = (struct command){ .go_fd = -1, .error_fd = -1 };
	snprintf(c->name, sizeof(c->name), "%s", base ? base + 1 : argv[0]);
	if (output) {
		output_fd = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (output_fd < 0)
			return reason_set(why, -errno, "cannot write %s: %s", output,
					  strerror(errno));
	}
	if (pipe2(go, O_CLOEXEC) || pipe2(error, O_CLOEXEC))
		goto failed;
	c->pid = fork();
	if (c->pid < 0)
		goto failed;
	if (c->pid == 0) {
		close(go[1]);
		become(argv, output_fd, go[0], error[1]);
	}
	close_fd(&output_fd);
	close_fd(&go[0]);
	close_fd(&error[1]);
	c->go_fd = go[1];
	c->error_fd = error[0];
	return 0;
failed:
	err = errno;
	c->pid = 0;
	close_fd(&output_fd);
	for (int i = 0; i < 2; i++) {
		close_fd(&go[i]);
		close_fd(&error[i]);
	}
	return reason_set(why, -err, "cannot start %s: %s", argv[0], strerror(err));
}

int command_go(struct command *c, char **argv, struct reason *why)
{
	int err = 0;
	ssize_t got;

	if (write(c->go_fd, "g", 1) != 1)
		err = errno;
	close_fd(&c->go_fd);
	do
		got = read(c->error_fd, &err,
			   sizeof(err)); /* ends at the exec, which closes the pipe */
	while (got < 0 && errno == EINTR);
	close_fd(&c->error_fd);
	if (!err)
		return 0;
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
	return reason_set(why, -err, "cannot run %s: %s", argv[0], strerror(err));
}

bool command_poll(struct command *c)
{
	if (c->pid > 0 && !c->ended && waitpid(c->pid, &c->wait_status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

int command_exit_status(const struct command *c)
{
	if (WIFSIGNALED(c->wait_status))
		return 128 + WTERMSIG(c->wait_status);
	return WEXITSTATUS(c->wait_status);
}

void command_how(const struct command *c, char *out, size_t size)
{
	const char *name;

	if (!WIFSIGNALED(c->wait_status)) {
		snprintf(out, size, "exit status %d", WEXITSTATUS(c->wait_status));
		return;
	}
	name = sigabbrev_np(WTERMSIG(c->wait_status));
	if (name)
		snprintf(out, size, "killed by SIG%s", name);
	else
		snprintf(out, size, "killed by signal %d", WTERMSIG(c->wait_status));
}

void command_done(struct command *c)
{
	if (c->pid <= 0)
		return;
	close_fd(&c->go_fd);
	close_fd(&c->error_fd);
	if (!command_poll(c))
		kill(c->pid, SIGTERM);
	c->pid = 0;
}
