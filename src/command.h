/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command that ptop starts to profile: forked, held before its exec until the events are open,
 * then let go.
 */
#ifndef PTOP_COMMAND_H
#define PTOP_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/reason.h"

struct command {
	pid_t pid;    /* 0: none */
	int go_fd;    /* written to let it go; -1 */
	int error_fd; /* tells the errno of a failed exec; -1 */
	bool ended;
	int wait_status; /* as waitpid(2), once ended */
	char name[64];   /* the last part of argv[0] */
};

/*
 * Forks; the child waits.  Its standard input is /dev/null, its output goes to @output, or nowhere
 * when NULL. 0, or -errno with a sentence (then nothing runs).
 */
int command_fork(struct command *c, char **argv, const char *output, struct reason *why);

/* Lets the child exec.  -errno with a sentence when it could not (then it is gone). */
int command_go(struct command *c, char **argv, struct reason *why);

/* Looks whether it ended; true once it did. */
bool command_poll(struct command *c);

/* "exit status 1", "killed by SIGSEGV". */
void command_how(const struct command *c, char *out, size_t size);
/* As a shell would tell it: 128 + n for signal n. */
int command_exit_status(const struct command *c);

/* Ends it when it still runs (SIGTERM) and closes what is open. */
void command_done(struct command *c);

#endif
