/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: churn_libraries A.so B.so
 * Loads and unloads two libraries in turn, which come to lie at the same addresses.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "hard.h"

NOINLINE void calls_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*function)(void);

	if (library == NULL)
		exit(1);
	function = (void (*)(void))dlsym(library, "entry");
	for (int i = 0; i < 20; i++)
		function();
	sink++;
	dlclose(library);
}

int main(int argc, char **argv)
{
	ready();
	for (int i = 1; argc > 2; i = 3 - i)
		calls_library(argv[i]);
	return 1;
}
