/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library's constructor that spins: below it are only the dynamic linker's own frames. */
#include "hard.h"

__attribute__((constructor)) static void constructor(void)
{
	ready();
	for (;;) {
		spin();
		sink++;
	}
}
