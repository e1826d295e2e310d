/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: execs OTHER: forks a child that spins and then becomes OTHER, which spins at the same
 * addresses under other names, again and again.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hard.h"

#ifndef FUNCTION
#define FUNCTION before_exec
#endif

NOINLINE void FUNCTION(void)
{
	for (int i = 0; i < 40; i++)
		spin();
	sink++;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		FUNCTION();
		return 0;
	}
	ready();
	for (;;) {
		pid_t child = fork();

		if (child == 0) {
			FUNCTION();
			execl(argv[1], argv[1], (char *)NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
	}
}
