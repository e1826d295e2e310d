/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Its thread has a name that would do things to a terminal; the test renames the function so. */
#include <sys/prctl.h>

#include "hard.h"

NOINLINE void plain_function(void)
{
	spin();
	sink++;
}

int main(void)
{
	prctl(PR_SET_NAME, "\033[31m\n\xe2\x80\xae\x9b"
			   "1;x");
	ready();
	for (;;)
		plain_function();
}
