/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Giving up rights, for good.  Every part that fails is told, none stops the others: inside
 * containers some cannot be had, and the rest still protects.  Internal to the loader.
 */
#ifndef PTOP_IMAGE_LOADER_SANDBOX_H
#define PTOP_IMAGE_LOADER_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

enum sandbox_part {
	SANDBOX_USER = 1 << 0,   /* another user than root */
	SANDBOX_RIGHTS = 1 << 1, /* no capabilities, and none to be gained */
	SANDBOX_CALLS = 1 << 2,  /* few system calls */
	SANDBOX_OFF = 1 << 3,    /* asked to be left out */
};

/*
 * The keeper's part: user nobody where root, no capabilities, no new privileges, no core file, no
 * trace.  @sandbox false: only the last two.  Returns the parts that could not be had,
 * SANDBOX_CALLS among them where the kernel has no seccomp filters.
 */
uint32_t sandbox_keeper(bool sandbox);

/*
 * The worker's part, after the other one: bounds on memory, file size and descriptors, and, with
 * @calls, the list of system calls; any other kills the process.  0 or -errno.
 */
int sandbox_worker(bool calls);

/* Whether this program was built with a sanitizer, which needs more memory and more calls: then
 * only calls that reach out (execve, socket, ptrace, ...) are forbidden. */
bool sandbox_is_relaxed(void);

/* The process dies with its parent, which is @parent (else it ends at once). */
void sandbox_die_with(int parent);

#endif
